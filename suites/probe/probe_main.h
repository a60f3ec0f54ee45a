// What the probes of both vendors have in common: each loads its driver, lists what is there, prints one JSON
// document and exits. It runs in a contained child of the runner, because loading a driver may hang, crash or
// write files. The document goes to the descriptor in PROCTOR_EVENTS_FD as one line, or to stdout with
// --stdout. Exit status: 0 whenever a document was written, 2 for a usage error, 1 when it could not be
// written.
//
// With --facts INDEX it says what is known of one device (facts_document()).
// With --monitor FIFO a probe stays and says how the devices are whenever it is asked (monitor()).
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
// What a management library says of one card besides how it is: `PROBE --facts INDEX` prints it and ends. INDEX is the place
// of the device in the probe's document. One process asks about one device: a query that hangs costs nobody else's answer.
//   {"v":1,"source":"nvml" | "sysman","problem":"" | WHY,"values":{KEY:VALUE},"missing":{KEY:WHY}}
//
// key                  value
// pcie_width           lanes of the link to the host; pcie_generation: its speed. pcie_width_max, pcie_generation_max: the
//                      most that both ends can have
// replays              packets that the link to the host repeated, since its driver started
// links, links_up      direct links to other cards: how many there are, and work
// firmware             version
// ecc, persistence     true or false
// clock_max_mhz, power_limit_w
// rows_remapped, remap_pending, remap_failed
// memory_health        "ok", or what the card says of its memory
// errors_corrected, errors_uncorrected             of memory, since the driver started; errors_uncorrected_lifetime: ever
// reset_reason         why the card wants to be reset; "": it does not

// What one device says at one moment, in the form of the monitor's answer: values, and the reasons why others
// are missing. The keys are those of Metric (harness/devices/telemetry/telemetry_sample.h).
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
  // What is known of a device besides (facts_document()).
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
