// Which devices this machine has, found without loading a driver here: a contained child for each vendor
// (proctor-probe-xpu, proctor-probe-cuda) does that under a deadline, and prints one JSON document. A driver
// that hangs or crashes costs one deadline.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/core/duration.h"
#include "harness/core/result.h"
#include "harness/devices/device.h"
#include "harness/devices/simulation.h"

namespace proctor {

class Containment;

struct Inventory {
  std::vector<Device> devices;
  // "xpu.loader" -> "1.8.12", "xpu.driver" -> "22.43.24595" (release name if the driver carries it,
  // else its own number, e.g. "1.3.24595"), "xpu.api" -> "1.3". "cuda.driver" -> "580.95.05",
  // "cuda.api" -> "13.0" (what that driver can do at most), "cuda.runtime" -> "13.0",
  // "cuda.compatibility" -> "native" (cuda_versions.h).
  std::vector<std::pair<std::string, std::string>> stack;
  // Why no program here can use a device, or why they could not be listed; empty when all is well:
  //   library_missing:libze_loader.so.1   no_driver   no_device   init:ZE_RESULT_... init:cudaError...
  //   driver_too_old:12.2<13.0   probe_timeout   probe_crash:SIGNAL   probe_unreadable   probe_failed:STEP
  std::string problem;
  std::string detail;  // one sentence about `problem`
  // The same for programs that use this machine's CUDA Runtime, as ours do. Other programs bring their own.
  std::string runtime_problem;
  std::string runtime_detail;
  // Versions as numbers, 13000 for 13.0; 0: not known. Of the CUDA Runtime that works here or, where none does, the newest
  // that is here; and the newest that the driver can do.
  int cuda_runtime = 0;
  int cuda_driver = 0;
  // What was loaded in place of a driver with hardware, for whatever reason; "" = nothing. All devices are then
  // simulated.
  std::string stand_in;
  // The driver's library that the probe had loaded, or what was in its place; "": none, or it is not known.
  std::string driver_file;
  // Level Zero entry points newer than 1.0 that this loader lacks: checks that need them are skipped.
  std::vector<std::string> missing_symbols;

  // `problem`, or else `runtime_problem`, with its sentence. For people.
  std::string words() const;
};

struct ProbeOptions {
  std::string probe;                        // path of the probe; "" = default_probe()
  std::vector<std::string> loader_words{};  // words before it, see SimEnvironment
  std::vector<std::string> env;             // NAME=VALUE: the whole environment of the probe, masks included
  Milliseconds timeout{15'000};
};

// `proctor-probe-xpu` or `proctor-probe-cuda` beside the running executable.
std::string default_probe(Backend backend);

// Never fails: `problem` says what went wrong. The probe runs in a scratch directory, because drivers write
// files.
Inventory probe_devices(Backend backend, Containment& containment, ProbeOptions options);

// The same through a simulation, without its faults. The devices are "xpu-sim:N" or "cuda-sim:N" and marked
// as simulated. `env` is the environment without the simulation; on simgpu its mask, hierarchy and order
// count as on hardware.
Inventory probe_simulated(Backend backend, Containment& containment, const Simulation& simulation,
                          ProbeOptions options);

// Reads a probe's JSON document. For tests and for stored probes.
Result<Inventory> parse_probe(Backend backend, std::string_view json);

// `env` with the variables of a simulation applied.
std::vector<std::string> with_simulation(std::vector<std::string> env, const SimEnvironment& simulation);

}  // namespace proctor
