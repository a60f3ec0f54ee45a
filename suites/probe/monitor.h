// Reads the state of the devices repeatedly while a run lasts. If a run started a program for each reading,
// it would pay for the driver's start-up every time.
//
// One byte from the FIFO asks for one reading; the answer is one line of JSON:
//   {"v":1, "problem":"" | WHY, "devices":[{"state":"ok" | "lost" | CODE,
//                       "memory":{"used":BYTES,"total":BYTES} | null,
//                       "holders":[{"pid":PID,"bytes":BYTES}] | null}]}
// in the order of the probe's document. null: the driver does not say. The end of the FIFO ends the program.
//
// Another byte asks for telemetry instead: kRequestSample, followed by 16 hex digits whose bits choose the
// devices in that order. The answer is also one line:
//   {"v":1,"source":"sysman" | "nvml","problem":"" | "library_missing:libnvidia-ml.so.1" | WHY,
//    "devices":[{"device":INDEX,"values":{..},"missing":{..}}]}
// with the keys of Metric (harness/devices/telemetry/telemetry_sample.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>

namespace proctor::probe {

inline constexpr char kRequestSnapshot = '?';
inline constexpr char kRequestSample = 's';
inline constexpr std::size_t kMaskDigits = 16;

// A vendor's devices, held open.
class WatchedDevices {
 public:
  WatchedDevices() = default;
  WatchedDevices(const WatchedDevices&) = delete;
  WatchedDevices& operator=(const WatchedDevices&) = delete;
  virtual ~WatchedDevices() = default;
  virtual nlohmann::json snapshot() = 0;
  // Samples the devices whose bits are set in `mask`.
  virtual nlohmann::json sample(std::uint64_t mask) = 0;
  // What is known of a device besides (facts.h).
  virtual nlohmann::json facts(std::size_t device) = 0;
};
// Null if the devices cannot be listed. Called at the first request.
using OpenDevices = std::unique_ptr<WatchedDevices> (*)();

// Returns the exit status: 0 after the end of the FIFO, 1 when the devices cannot be listed or the answer
// cannot be written.
int monitor(const char* fifo, int out_fd, OpenDevices open_devices);

}  // namespace proctor::probe
