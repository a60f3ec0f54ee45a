// `proctor run`, and what follows it once: the rest of the run is ended, its reports are complete, GitHub shows them.
'use strict';
const fs = require('node:fs');
const path = require('node:path');
const { start, wasSignalled } = require('./child');
const { Refused, environmentOfPrograms, input, text, workspace } = require('./runner');

// A run is {program, directory}; the directory is relative to the workspace, where it is in it.
const place = (run) => path.resolve(workspace, run.directory);
const hasJournal = (run) => fs.existsSync(path.join(place(run), 'journal.jsonl'));
const isDone = (run, what) => fs.existsSync(`${place(run)}.${what}`);
const setDone = (run, what) => fs.writeFileSync(`${place(run)}.${what}`, '');

function workingDirectory() {
  const directory = path.resolve(workspace, input('working-directory') || '.');
  if (!fs.statSync(directory, { throwIfNoEntry: false })?.isDirectory())
    throw new Refused(`working-directory '${input('working-directory')}' is not a directory`);
  return directory;
}

// The run directories of one name in this attempt of the job: NAME, NAME+2, NAME+3, ... A name has no '+'.
function* directories() {
  const name = input('name');
  if (!/^[A-Za-z0-9._-]+$/.test(name))
    throw new Refused(`name '${name}' must consist of letters, digits, '.', '_' and '-'`);
  const { GITHUB_RUN_ID: id, GITHUB_RUN_ATTEMPT: attempt } = process.env;
  const first = path.join(workingDirectory(), 'proctor-out', `${id}-${attempt}-${name}`);
  for (let number = 1; ; ++number) {
    const relative = path.relative(workspace, number === 1 ? first : `${first}+${number}`);
    yield relative.startsWith('..') ? path.resolve(workspace, relative) : relative;
  }
}

function newRun(program) {
  for (const directory of directories()) {
    if (!fs.existsSync(path.resolve(workspace, directory))) return { program, directory };
  }
}

// The last one of this name that was started.
function lastRun(program) {
  let last = null;
  for (const directory of directories()) {
    if (!fs.existsSync(path.resolve(workspace, directory))) return last;
    last = { program, directory };
  }
}

// In a job container the user is root, and the workspace belongs to the runner's user of the host.
function environment() {
  const kept = environmentOfPrograms();
  if (process.getuid() === 0) kept.PROCTOR_TRUST_USER ??= String(fs.statSync(workspace).uid);
  return kept;
}

// Tests must not write outputs or variables of the job. Proctor makes workflow commands in their output ineffective.
function environmentOfTests() {
  const kept = environment();
  for (const name in kept) if (/^GITHUB_(OUTPUT|ENV|PATH|STATE|STEP_SUMMARY)$/.test(name)) delete kept[name];
  return kept;
}

function options() {
  const given = ['plan', 'shard', 'deadline'].filter(input).map((name) => `--${name}=${input(name)}`);
  return [...given, ...text('arguments').split('\n').filter((line) => line !== '')];
}

function execute(run) {
  const directory = workingDirectory();
  const out = path.relative(directory, place(run));
  return start(run.program, ['run', '--out', out, ...options()], { cwd: directory, env: environmentOfTests() });
}

// Returns 0 or an exit code: 75 if a process or device memory is left. Until it is 0, the next call tries again.
async function finish(run) {
  if (isDone(run, 'finished')) return 0;
  const { code } = await start(run.program, ['finish', '--stop', run.directory],
    { cwd: workspace, env: environment() });
  if (code === 0) setDone(run, 'finished');
  return code;
}

// Outputs.
function setOutputs(run) {
  const { GITHUB_STEP_SUMMARY, GITHUB_ACTIONS, ...env } = environment();
  return showInGithub(run, env);
}

// Outputs, and at the first call summary and annotations.
async function report(run) {
  if (isDone(run, 'reported')) return setOutputs(run);
  const code = await showInGithub(run, environment());
  if (code === 0) setDone(run, 'reported');
  return code;
}

async function showInGithub(run, env) {
  const { code } = await start(run.program, ['report', 'render', run.directory, '--format', 'github'],
    { cwd: workspace, env, listens: false });
  return code;
}

// What follows proctor run. After a cancel this is only what is quick, and post.js does the rest. If another process
// stopped the run, that one also reports: finish.js or post.js in a container, where no signal reaches this process.
async function conclude(run, { wasStopped }) {
  if (wasStopped && !wasSignalled()) return setOutputs(run);
  const left = wasSignalled() ? 0 : await finish(run);
  const reported = await report(run);
  return left || reported;
}

module.exports = { conclude, execute, finish, hasJournal, isDone, lastRun, newRun, report };
