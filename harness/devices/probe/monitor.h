// The state of the devices, again and again, for as long as a run lasts: a run that started a program for
// each look would pay for the driver's start-up every time.
//
// One byte from the FIFO asks for one look; the answer is one line of JSON:
//   {"v":1, "devices":[{"state":"ok" | "lost" | CODE,
//                       "memory":{"used":BYTES,"total":BYTES} | null,
//                       "holders":[{"pid":PID,"bytes":BYTES}] | null}]}
// in the order of describe_level_zero(). null: the driver does not say. The end of the FIFO ends the program.
//
// Two bytes ask for telemetry instead: kAskSysman, followed by 16 hex digits whose bits choose the devices by
// that order, and kAskNvml. Their answer is one line as well, see sysman_sampler.h and nvml_sampler.h; its
// keys are those of Metric (harness/devices/telemetry_sample.h). No driver is loaded that nobody asks about.
#pragma once

#include <cstddef>

namespace proctor::probe {

inline constexpr char kAskLook = '?';
inline constexpr char kAskSysman = 's';
inline constexpr char kAskNvml = 'n';
inline constexpr std::size_t kMaskDigits = 16;

// Returns the exit status: 0 after the end of the FIFO, 1 when the devices cannot be listed or the answer
// cannot be written.
int monitor(const char* fifo, int out_fd);

}  // namespace proctor::probe
