// A step of conformance.yml: the program, with the variables of the step.
'use strict';
const { spawnSync } = require('node:child_process');
const path = require('node:path');
const { entry, error, input } = require('../../action/runner');

entry(async () => {
  const program = path.join(__dirname, input('program'));
  const done = spawnSync('python3', ['-B', program], { stdio: ['ignore', 'inherit', 'inherit'] });
  if (done.error) error(`python3 does not start: ${done.error.message}`);
  return done.status ?? 1;
});
