// The common part of the probes of both vendors. A probe loads its driver, lists the devices, prints one JSON
// document and exits. It runs in a contained child of the runner, because loading a driver may hang, crash or
// write files. The document is one line, written to the descriptor in PROCTOR_EVENTS_FD, or to stdout with
// --stdout. Exit status: 0 if a document was written, 2 for a usage error, 1 if it could not be written.
//
// The option --facts INDEX prints the facts of one device (facts_document()). The option --monitor FIFO keeps
// the probe running, and it reports the state of the devices at each request (monitor()).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace proctor::probe {

// ---- Facts ----
// `PROBE --facts INDEX` prints the facts of one card from a management library, apart from its state, and
// exits. INDEX is the position of the device in the probe's document. One process queries one device, so a
// query that hangs does not affect other devices.
//   {"v":1,"source":"nvml" | "sysman","problem":"" | WHY,"values":{KEY:VALUE},"missing":{KEY:WHY}}
//
// key                  value
// pcie_width           lanes of the link to the host; pcie_generation: its speed. pcie_width_max,
//                      pcie_generation_max: the maximum of both ends
// replays              packets that the link to the host repeated, since its driver started
// links, links_up      direct links to other cards: how many exist, and how many are up
// firmware             version
// ecc, persistence     true or false
// clock_max_mhz, power_limit_w
// rows_remapped, remap_pending, remap_failed
// memory_health        "ok", or the card's description of a memory problem
// errors_corrected, errors_uncorrected             of memory, since the driver started;
//                      errors_uncorrected_lifetime: ever
// reset_reason         why the card must be reset; "": no reset is necessary

// The readings of one device at one time, in the form of the monitor's response: values, and the reasons for
// missing values. The keys are those of Metric (harness/devices/telemetry/telemetry_sample.h).
class Reading {
 public:
  void set(const char* key, nlohmann::json value) { values_[key] = std::move(value); }
  void miss(const char* key, const std::string& reason) { missing_[key] = reason; }

  nlohmann::json json() const { return {{"values", values_}, {"missing", missing_}}; }

 private:
  nlohmann::json values_ = nlohmann::json::object();
  nlohmann::json missing_ = nlohmann::json::object();
};

nlohmann::json facts_document(const char* source, const std::string& problem, const Reading& reading);

// ---- The monitor ----
// The monitor reads the state of the devices repeatedly while a run lasts. A new program for each reading would start
// the driver every time.
//
// One byte from the FIFO requests one reading. The response is one line of JSON:
//   {"v":1, "problem":"" | WHY, "devices":[{"state":"ok" | "lost" | CODE,
//                       "memory":{"used":BYTES,"total":BYTES} | null,
//                       "holders":[{"pid":PID,"bytes":BYTES}] | null}]}
// in the order of the probe's document. null: the driver does not report it. The end of the FIFO ends the program.
//
// Another byte requests telemetry instead: kRequestSample, followed by 16 hex digits whose bits select the
// devices in that order. The response is also one line:
//   {"v":1,"source":"sysman" | "nvml","problem":"" | "library_missing:libnvidia-ml.so.1" | WHY,
//    "devices":[{"device":INDEX,"values":{..},"missing":{..}}]}
// with the keys of Metric (harness/devices/telemetry/telemetry_sample.h).
inline constexpr char kRequestSnapshot = '?';
inline constexpr char kRequestSample = 's';
inline constexpr std::size_t kMaskDigits = 16;

// The devices of one vendor, which stay open while the monitor runs.
class WatchedDevices {
 public:
  WatchedDevices() = default;
  WatchedDevices(const WatchedDevices&) = delete;
  WatchedDevices& operator=(const WatchedDevices&) = delete;
  virtual ~WatchedDevices() = default;
  virtual nlohmann::json snapshot() = 0;
  // Samples the devices whose bits are set in `mask`.
  virtual nlohmann::json sample(std::uint64_t mask) = 0;
  // Returns the facts of a device (facts_document()).
  virtual nlohmann::json facts(std::size_t device) = 0;
};
// Opens the devices at the first request. Returns null if they cannot be listed.
using OpenDevices = std::unique_ptr<WatchedDevices> (*)();

// Returns the exit status: 0 after the end of the FIFO, 1 if the devices cannot be listed or the response
// cannot be written.
int monitor(const char* fifo, int out_fd, OpenDevices open_devices);

// Writes the document as one line. Returns false on failure.
bool write_line(int fd, const nlohmann::json& document);

// The devices of each vendor for a monitor.
std::unique_ptr<WatchedDevices> open_xpu_devices();   // through Level Zero and Sysman
std::unique_ptr<WatchedDevices> open_cuda_devices();  // through NVML

// Return the probe's JSON document (main_xpu.cc, main_cuda.cc): the state of the vendor's libraries on this
// machine.
nlohmann::json describe_level_zero();
nlohmann::json describe_cuda();

// Returns the release name of a build number in a driver library, for example "22.43.24595" for build 24595,
// or "". Level Zero reports only the build number, while Intel publishes releases by this name.
std::string release_name(const std::string& library_path, unsigned build);

// The functions of one vendor's probe.
struct Program {
  const char* name;
  nlohmann::json (*describe)();
  OpenDevices open_devices;
};

[[noreturn]] void probe_main(int argc, char** argv, const Program& program);

}  // namespace proctor::probe
