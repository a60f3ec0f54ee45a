// What the probes of both vendors have in common: each loads its driver, lists what is there, prints one JSON
// document and exits. It runs in a contained child of the runner, because loading a driver may hang, crash or
// write files. The document goes to the descriptor in PROCTOR_EVENTS_FD as one line, or to stdout with
// --stdout. Exit status: 0 whenever a document was written, 2 for a usage error, 1 when it could not be
// written.
//
// With --facts INDEX it says what is known of one device (facts.h).
// With --monitor FIFO a probe stays and says how the devices are whenever it is asked (monitor()).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace proctor::probe {

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

// Writes the document as one line. False if it could not be written.
bool write_line(int fd, const nlohmann::json& document);

// The devices of each vendor, held open for a monitor.
std::unique_ptr<WatchedDevices> open_xpu_devices();   // through Level Zero and Sysman
std::unique_ptr<WatchedDevices> open_cuda_devices();  // through NVML

// Everything that a vendor's libraries say about this machine, as the probe's JSON
// document (main_xpu.cc, main_cuda.cc).
nlohmann::json describe_level_zero();
nlohmann::json describe_cuda();

// The release name that a driver library carries for its own build number, e.g. "22.43.24595" for build
// 24595, or "". Level Zero itself tells the build number only, while Intel publishes releases by this name.
std::string release_name(const std::string& library_path, unsigned build);

struct Program {
  const char* name;
  nlohmann::json (*describe)();
  OpenDevices open_devices;
};

[[noreturn]] void probe_main(int argc, char** argv, const Program& program);

}  // namespace proctor::probe
