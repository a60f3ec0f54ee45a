// A file from the network. The caller checks its digest.
'use strict';
const { setTimeout: wait } = require('node:timers/promises');
const { Refused } = require('./runner');

const ATTEMPTS = 3;
const PAUSE_MS = 1000;
const LIMIT_MS = 300_000;

async function download(address) {
  for (let attempt = 1; ; ++attempt) {
    const { bytes, why, isFinal } = await get(address);
    if (bytes) return bytes;
    if (isFinal || attempt === ATTEMPTS) throw new Refused(`failed to download ${address}: ${why}`);
    console.log(`proctor: ${address}: ${why}; next attempt`);
    await wait(PAUSE_MS * attempt);
  }
}

async function get(address) {
  try {
    const answer = await fetch(address, { signal: AbortSignal.timeout(LIMIT_MS) });
    if (new URL(answer.url).protocol !== new URL(address).protocol)
      return { why: `redirected to ${answer.url}`, isFinal: true };
    if (!answer.ok) return { why: `HTTP ${answer.status}`, isFinal: answer.status < 500 };
    return { bytes: Buffer.from(await answer.arrayBuffer()) };
  } catch (failure) {
    return { why: failure.cause?.message || failure.message };
  }
}

module.exports = { download };
