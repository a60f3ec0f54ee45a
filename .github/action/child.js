// A child process that gets each signal of a cancel at once. The runner signals only the process that it started.
'use strict';
const { spawn } = require('node:child_process');
const { constants } = require('node:os');
const { Refused } = require('./runner');

const STOPPING = ['SIGINT', 'SIGTERM', 'SIGHUP'];

let listener = null;
let signalled = false;

// From here on a signal ends only the child that listens, and this process goes on to report.
function passSignalsOn() {
  for (const name of STOPPING) {
    process.on(name, () => {
      signalled = true;
      listener?.kill(name);
    });
  }
}

// options: those of spawn(), and `listens: false` for a child that a cancel must not end.
// Returns the exit code as a shell shows it, and whether one of these signals ended it.
function start(program, words, { listens = true, ...options } = {}) {
  return new Promise((resolve, reject) => {
    const refuse = (failure) => reject(new Refused(`${program} does not start: ${failure.message}`));
    try {
      const child = spawn(program, words, { stdio: ['ignore', 'inherit', 'inherit'], ...options });
      listener = listens ? child : null;
      child.on('error', refuse);
      child.on('close', (code, signal) => {
        listener = null;
        resolve({ code: code ?? 128 + constants.signals[signal], wasStopped: STOPPING.includes(signal) });
      });
    } catch (failure) {
      refuse(failure);
    }
  });
}

const wasSignalled = () => signalled;

module.exports = { passSignalsOn, start, wasSignalled };
