// After all steps of the job, also of a cancelled one: what main.js could not do. GitHub ignores outputs of this step.
'use strict';
const { passSignalsOn } = require('./child');
const { finish, hasJournal, isDone, report } = require('./run');
const { entry, state } = require('./runner');

entry(async () => {
  const run = { program: state('program'), directory: state('directory') };
  if (!run.directory || !hasJournal(run)) {
    console.log('proctor: no run was started');
    return 0;
  }
  passSignalsOn();
  const left = await finish(run);
  return left || (isDone(run, 'reported') ? 0 : report(run));
});
