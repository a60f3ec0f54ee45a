// The step itself: installs Proctor, runs it, and reports. After a cancel it leaves what takes time to post.js.
'use strict';
const { passSignalsOn } = require('./child');
const { install } = require('./install');
const { conclude, execute, hasJournal, newRun } = require('./run');
const { Refused, addPath, entry, error, input, setOutput, setState } = require('./runner');

function setOutputsWithoutRun(code) {
  const machine = code === 75;
  setOutput('verdict', machine ? 'machine_failed' : 'incomplete');
  setOutput('exit-code', code);
  setOutput('retry', machine);
}

async function runAndReport(program) {
  const run = newRun(program);
  setState('program', program);
  setState('directory', run.directory);
  passSignalsOn();
  const end = await execute(run);
  if (!hasJournal(run)) {
    setOutputsWithoutRun(end.code);
    error(`no run was started: proctor run ended with exit code ${end.code}`);
    return end.code || 2;
  }
  const failed = await conclude(run, end);
  return end.code || failed;
}

entry(async () => {
  const wanted = input('run') || 'true';
  if (!['true', 'false'].includes(wanted)) throw new Refused(`run must be true or false (got '${wanted}')`);
  if (wanted === 'true') setOutputsWithoutRun('');
  const directory = await install();
  addPath(directory);
  setOutput('directory', directory);
  return wanted === 'true' ? runAndReport(`${directory}/proctor`) : 0;
});
