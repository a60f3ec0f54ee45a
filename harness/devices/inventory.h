// Lists the devices of this machine. The runner loads no driver: a contained child for each vendor
// (proctor-probe-xpu, proctor-probe-cuda) finds the devices within a time limit and prints one JSON document.
// A driver that hangs costs no more than the time limit.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/base/duration.h"
#include "harness/base/result.h"
#include "harness/devices/device.h"
#include "harness/devices/simulation.h"
#include "harness/journal/machine_facts.h"

namespace proctor {

class Containment;

// The result of a probe for one vendor: devices, versions, and problems.
struct Inventory {
  std::vector<Device> devices;
  // "xpu.loader" -> "1.8.12", "xpu.driver" -> "22.43.24595" (release name if the driver has one, else its
  // version number, for example "1.3.24595"), "xpu.api" -> "1.3". "cuda.driver" -> "580.95.05", "cuda.api" ->
  // "13.0" (newest version that the driver supports), "cuda.runtime" -> "13.0", "cuda.compatibility" ->
  // "native" (cuda_versions.h).
  std::vector<std::pair<std::string, std::string>> stack;
  // The reason why no program can use a device here, or why the list of devices failed; empty: no problem.
  //   library_missing:libze_loader.so.1   no_driver   no_device   init:ZE_RESULT_... init:cudaError...
  //   driver_too_old:12.2<13.0   probe_timeout   probe_crash:SIGNAL   probe_unreadable   probe_failed:STEP
  std::string problem;
  std::string detail;  // one sentence about `problem`
  // The same for programs that use the CUDA Runtime of this machine, such as Proctor's suites. Other programs
  // bring their own.
  std::string runtime_problem;
  std::string runtime_detail;
  // Versions as numbers, 13000 for 13.0; 0: unknown. cuda_runtime: the CUDA Runtime that works here, or else
  // the newest installed one. cuda_driver: the newest version that the driver supports.
  int cuda_runtime = 0;
  int cuda_driver = 0;
  // The simulator that was loaded in place of a driver, or "". All devices are simulated if it is not empty.
  std::string simulated_driver;
  // The driver library, or simulator, that the probe loaded; "": none, or unknown.
  std::string driver_file;
  // Level Zero entry points newer than 1.0 that this loader lacks: checks that need them are skipped.
  std::vector<std::string> missing_symbols;

  // `problem`, or else `runtime_problem`, with its sentence, for users.
  std::string words() const;
};

// How a probe is started.
struct ProbeOptions {
  std::string probe;                        // path of the probe; "": the probe next to the guard
  std::vector<std::string> loader_words{};  // words before it (SimEnvironment::loader_words)
  std::vector<std::string> env;             // NAME=VALUE: the whole environment of the probe, masks included
  Milliseconds timeout{15'000};
};

// Returns the path of `proctor-probe-xpu` or `proctor-probe-cuda` in the directory of the programs.
std::string probe_program(Backend backend, const std::string& programs);

// Runs the probe. It never fails: an error is in `problem`. The probe runs in a scratch directory, because
// drivers write files.
Inventory probe_devices(Backend backend, Containment& containment, ProbeOptions options);

// The same for a simulation, without its faults. The devices are "xpu-sim:N" or "cuda-sim:N" and marked as
// simulated. `env` is the environment without the simulation. On simgpu, its mask, hierarchy and order apply
// as on hardware.
Inventory probe_simulated(Backend backend, Containment& containment, const Simulation& simulation,
                          ProbeOptions options);

// Parses the JSON document of a probe. For tests and for stored probes.
Result<Inventory> parse_probe(Backend backend, std::string_view json);

// Returns `env` with the variables of a simulation applied.
std::vector<std::string> with_simulation(std::vector<std::string> env, const SimEnvironment& simulation);

// ---- The facts of one device (harness/journal/machine_facts.h) ----
// A contained child queries this device alone, within a time limit. A query that hangs costs no more than the
// limit, and affects no other device.

class Containment;

// The query for the facts of one device.
struct FactsRequest {
  std::vector<std::string> argv;  // the probe, preceded by the words of a launcher
  std::vector<std::string> env;   // NAME=VALUE: the environment of the probe that found the devices
  std::size_t device = 0;         // in the probe's order
  std::string directory;          // the probe runs there, because drivers write files
  Milliseconds limit{5'000};
};

// The error completes "failed to ...": there was no response in time, or the library is not installed.
Result<CardFacts> ask_facts(Containment& containment, FactsRequest request);

// Parses one line of the probe (suites/probe/probe_main.h).
Result<CardFacts> parse_facts(std::string_view line);

}  // namespace proctor
