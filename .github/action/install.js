// Where Proctor comes from: a directory, an archive with its SHA-256, or the release of the action's own version.
'use strict';
const { spawnSync } = require('node:child_process');
const { createHash } = require('node:crypto');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { download } = require('./download');
const { Refused, input, workspace } = require('./runner');

const HINT = 'Give `path` or `archive`.';

// Returns the directory with the program `proctor`, which runs here.
async function install() {
  const given = ['path', 'archive'].filter(input);
  if (given.length > 1) throw new Refused('give path or archive, not both');
  if (input('sha256') && !input('archive')) throw new Refused('sha256 is given without archive');
  if (!['', 'required'].includes(input('attestation')))
    throw new Refused(`attestation must be empty or 'required' (got '${input('attestation')}')`);
  if (input('attestation') && given.length)
    throw new Refused(`only the release of the action has an attestation: give no ${given[0]}, or no attestation`);
  const directory = input('path') ? existing(input('path')) : await (input('archive') ? archive() : release());
  requireThatItRuns(`${directory}/proctor`);
  return directory;
}

function existing(directory) {
  const found = path.resolve(workspace, directory);
  if (!fs.statSync(found, { throwIfNoEntry: false })?.isDirectory())
    throw new Refused(`path '${directory}' is not a directory`);
  return found;
}

function requireThatItRuns(program) {
  const done = spawnSync(program, ['--version'], { stdio: ['ignore', 'inherit', 'inherit'] });
  const why = done.error?.message ?? (done.signal ? `it ended with ${done.signal}` : `exit code ${done.status}`);
  if (done.status !== 0) throw new Refused(`${program} does not run here: ${why}`);
}

// ---- A given archive ----

async function archive() {
  const source = input('archive');
  if (/\.whl([?#]|$)/i.test(source))
    throw new Refused(`archive '${source}' is a wheel: give the tarball proctor-VERSION-linux-PROCESSOR.tar.gz, or ` +
      'install the wheel with pip and give `path`, the directory of its program proctor');
  if (!/^[0-9a-f]{64}$/.test(input('sha256')))
    throw new Refused(`archive needs its sha256, 64 hexadecimal digits (got '${input('sha256')}')`);
  const bytes = await read(source);
  requireDigest(source, bytes, input('sha256'));
  return unpack(newRoot(), source, bytes);
}

function read(source) {
  if (source.startsWith('https://')) return download(source);
  if (/^[\w+.-]+:\/\//.test(source)) throw new Refused(`archive '${source}' must be a file or an https address`);
  try {
    return fs.readFileSync(path.resolve(workspace, source));
  } catch (failure) {
    throw new Refused(`failed to read the archive: ${failure.message}`);
  }
}

function requireDigest(source, bytes, expected) {
  const found = createHash('sha256').update(bytes).digest('hex');
  if (found !== expected) throw new Refused(`${source} has the SHA-256 ${found}, not the expected ${expected}`);
}

// ---- The release of the action's own version ----

async function release() {
  const { GITHUB_ACTION_REPOSITORY: repository, GITHUB_ACTION_REF: tag, GITHUB_SERVER_URL: server } = process.env;
  if (!repository || !tag) throw new Refused(`an action of the workspace belongs to no release. ${HINT}`);
  if (!/^v\d+(\.\d+)*([-+][\w.+-]+)?$/.test(tag))
    throw new Refused(`'${tag}' is not a version tag, such as v1, so it belongs to no release. ${HINT}`);
  const address = `${server}/${repository}/releases/download/${tag}`;
  const { name, sum } = assetIn(String(await download(`${address}/SHA256SUMS`)), `${address}/SHA256SUMS`);
  const bytes = await download(`${address}/${name}`);
  requireDigest(`${address}/${name}`, bytes, sum);
  const root = newRoot();
  requireAttestation(root, name, bytes, repository);
  return unpack(root, name, bytes);
}

// A moving tag, such as v1, does not contain the version that the name of the file has.
function assetIn(sums, where) {
  const processor = { x64: 'x86_64', arm64: 'aarch64' }[process.arch];
  if (!processor) throw new Refused(`no release is for the processor ${process.arch}. ${HINT}`);
  const found = [...sums.matchAll(/^([0-9a-f]{64}) [ *](proctor-[\w.+~-]+-linux-(\w+)\.tar\.gz)$/gm)]
    .filter((match) => match[3] === processor);
  if (found.length !== 1)
    throw new Refused(`${where} has ${found.length} files proctor-VERSION-linux-${processor}.tar.gz, not one. ${HINT}`);
  return { sum: found[0][1], name: found[0][2] };
}

function requireAttestation(root, name, bytes, repository) {
  const env = { ...process.env, GH_TOKEN: input('token'), GH_HOST: new URL(process.env.GITHUB_SERVER_URL).host };
  if (spawnSync('gh', ['attestation', 'verify', '--help'], { stdio: 'ignore' }).status !== 0) {
    const message = `the attestation of ${name} was not verified: the program gh (2.49 or later) is missing`;
    if (input('attestation') === 'required') throw new Refused(message);
    console.log(`proctor: ${message}`);
    return;
  }
  const file = path.join(root, name);
  fs.writeFileSync(file, bytes);
  const done = spawnSync('gh', ['attestation', 'verify', file, '--repo', repository],
    { env, stdio: ['ignore', 'inherit', 'inherit'] });
  fs.rmSync(file);
  if (done.status !== 0) throw new Refused(`the attestation of ${name} is not valid (gh attestation verify)`);
}

// ---- Unpacking ----

const newRoot = () => fs.mkdtempSync(path.join(process.env.RUNNER_TEMP || os.tmpdir(), 'proctor-'));

// Returns the directory with the program.
function unpack(root, source, bytes) {
  const file = path.join(root, 'archive.tar');
  fs.writeFileSync(file, bytes);
  const words = ['--extract', '--file', file, '--directory', root, '--no-same-owner'];
  const done = spawnSync('tar', words, { stdio: ['ignore', 'inherit', 'inherit'] });
  if (done.status !== 0) throw new Refused(`tar failed to unpack ${source}${done.error ? `: ${done.error.message}` : ''}`);
  fs.rmSync(file);
  const found = ['.', ...fs.readdirSync(root)].map((name) => path.join(root, name, 'bin'))
    .filter((directory) => fs.existsSync(path.join(directory, 'proctor')));
  if (found.length !== 1) throw new Refused(`${source}: ${found.length} programs bin/proctor, not one`);
  return found[0];
}

module.exports = { install };
