// What GitHub's runner gives to an action and reads from it: inputs, state, outputs, PATH, errors.
'use strict';
const fs = require('node:fs');

// A mistake in the workflow, or a machine that lacks something: one sentence, exit code 2.
class Refused extends Error {}

const workspace = process.env.GITHUB_WORKSPACE || process.cwd();

const text = (name) => process.env[`INPUT_${name.toUpperCase()}`] ?? '';
const input = (name) => text(name).trim();
const state = (name) => process.env[`STATE_${name}`] ?? '';

// Without what only actions have: inputs, state, and tokens for artifacts, caches and identities.
function environmentOfPrograms() {
  const kept = { ...process.env };
  for (const name in kept)
    if (/^(INPUT|STATE|ACTIONS_(RUNTIME|RESULTS|CACHE|ID_TOKEN))_/.test(name)) delete kept[name];
  return kept;
}

function append(variable, line) {
  if (/[\r\n]/.test(line)) throw new Refused(`a line break in ${JSON.stringify(line)} is not allowed`);
  if (process.env[variable]) fs.appendFileSync(process.env[variable], `${line}\n`);
}

const setOutput = (name, value) => append('GITHUB_OUTPUT', `${name}=${value}`);
const setState = (name, value) => append('GITHUB_STATE', `${name}=${value}`);

// For later steps, and for the processes of this one.
function addPath(directory) {
  append('GITHUB_PATH', directory);
  process.env.PATH = `${directory}:${process.env.PATH ?? ''}`;
}

function error(message) {
  const codes = { '%': '%25', '\r': '%0D', '\n': '%0A' };
  console.log(`::error::proctor: ${message.replace(/[%\r\n]/g, (character) => codes[character])}`);
}

// `body` returns the exit code of the step.
async function entry(body) {
  try {
    process.exitCode = await body();
  } catch (failure) {
    error(failure instanceof Refused ? failure.message : String(failure.stack));
    process.exitCode = failure instanceof Refused ? 2 : 1;
  }
}

module.exports = { Refused, addPath, entry, environmentOfPrograms, error, input, setOutput, setState, state, text, workspace };
