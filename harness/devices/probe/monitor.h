// The state of the devices, again and again, for as long as a run lasts: a run that started a program for
// each look would pay for the driver's start-up every time.
//
// One byte from the FIFO asks for one look; the answer is one line of JSON:
//   {"v":1, "devices":[{"state":"ok" | "lost" | CODE,
//                       "memory":{"used":BYTES,"total":BYTES} | null,
//                       "holders":[{"pid":PID,"bytes":BYTES}] | null}]}
// in the order of describe_level_zero(). null: the driver does not say. The end of the FIFO ends the program.
#pragma once

namespace proctor::probe {

// Returns the exit status: 0 after the end of the FIFO, 1 when the devices cannot be listed or the answer
// cannot be written.
int monitor(const char* fifo, int out_fd);

}  // namespace proctor::probe
