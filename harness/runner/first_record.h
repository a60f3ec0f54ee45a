// Fills in the first record of the journal, RunPlanned: the request, the machine, the programs and the devices.
// finish_run() calls it.
#pragma once

namespace proctor::runner {

struct Checked;
struct Prepared;

// Fills in `prepared.planned`. Facts that people should see are added to the warnings and to the notes of the devices.
void write_first_record(const Checked& checked, Prepared& prepared);

}  // namespace proctor::runner
