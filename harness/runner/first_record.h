// The first record of the journal: what was asked for, on which machine, with which programs and devices.
#pragma once

namespace proctor::runner {

struct Checked;
struct Prepared;

// Fills in `prepared.planned`. What people should know of it goes to the warnings and the notes.
void write_first_record(const Checked& checked, Prepared& prepared);

}  // namespace proctor::runner
