// Simulated devices as asked for with --sim and --sim-driver, and the environment that makes them appear.
//
//   --sim xpu:RxT[,cuda:N]     R Intel cards with T tiles each, N NVIDIA cards
//   --sim-driver intel[@DIR]   Intel's own Level Zero driver in its no-hardware mode: enumeration, masks and
//   memory
//                              are the vendor's code, nothing executes. @DIR: a driver unpacked below DIR.
//
// The no-hardware mode is a set of debug keys of Intel's compute-runtime (source: intel/compute-runtime,
// shared/source/debug_settings/debug_variables_base.inl); it writes *.aub files into the working directory,
// so every process that uses it needs a scratch directory of its own.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/core/events.h"
#include "harness/core/result.h"
#include "harness/devices/device.h"

namespace proctor {

struct XpuTopology {
  int cards = 0;
  int tiles = 1;  // per card

  friend bool operator==(const XpuTopology&, const XpuTopology&) = default;
};

struct SimTopology {
  std::string text;  // as given
  std::optional<XpuTopology> xpu;
  int cuda_cards = 0;
};

enum class SimDriverKind { kIntel };

struct SimDriver {
  SimDriverKind kind = SimDriverKind::kIntel;
  std::string prefix;  // of an unpacked driver; "" = the system's
};

struct Simulation {
  SimTopology topology;
  SimDriver driver;
};

// Errors are usage errors that name value, place and near miss.
Result<SimTopology> parse_sim_topology(std::string_view text);
Result<SimDriver> parse_sim_driver(std::string_view text);
// Both options together; also refuses what the driver cannot simulate (cuda cards on Intel's driver).
Result<Simulation> parse_simulation(std::string_view topology, std::string_view driver);

// What the journal says about the simulation.
SimInfo to_sim_info(const Simulation& simulation);
// The devices that the simulation provides: "xpu-sim:0" ... in card order.
std::vector<Device> simulated_devices(const Simulation& simulation);

// How the children of a run reach the simulated devices.
struct SimEnvironment {
  std::vector<std::pair<std::string, std::string>> set;
  std::vector<std::string> unset;
  // Named reason why it cannot work here ("library_missing:libze_intel_gpu.so.1"), or empty. Cases that need
  // the backend are skipped with it.
  std::string missing;
  std::string driver_path;  // the driver library that was found
};

// `library_path` is the caller's LD_LIBRARY_PATH: it is searched first, and kept behind the prefix.
SimEnvironment intel_environment(const XpuTopology& topology, const SimDriver& driver,
                                 std::string_view library_path);

}  // namespace proctor
