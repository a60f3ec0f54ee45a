// A step of conformance.yml: the program, with the variables of the step, and with the signals of a cancel.
'use strict';
const path = require('node:path');
const { passSignalsOn, start } = require('../../action/child');
const { entry, environmentOfPrograms, input } = require('../../action/runner');

entry(async () => {
  passSignalsOn();
  const program = path.join(__dirname, input('program'));
  const { code } = await start('python3', ['-B', program], { env: environmentOfPrograms() });
  return code;
});
