// Parses the simulated devices of --sim, and makes the environment in which a program sees them.
//
//   --sim devices[,driver=NAME][,state=DIR]
//
//   TOPOLOGY             fixtures/simgpu/spec/topology.h has the grammar: xpu:2x2, xpu:1x2+2x1,cuda:4
//   FILE.toml            any other machine, card by card: fixtures/simgpu/spec/machine_file.h
//   driver=simgpu        Proctor's simulator (the default). Intel: a driver for the real Level Zero loader.
//                        NVIDIA: replaces the CUDA Runtime and NVML. Kernels execute, and faults can be
//                        injected. The devices are leased and masked as hardware is.
//   driver=intel[@DIR]   Intel's own Level Zero driver in its no-hardware mode: enumeration, masks and memory
//                        are the vendor's code, nothing executes. Each process has its own topology, which a
//                        lease cannot narrow. @DIR: a driver unpacked in DIR, which may be a whole root with
//                        its own C library.
//   state=DIR            The directory of a simulated machine that several runs share, with its leases.
//
// The no-hardware mode is a set of debug keys of Intel's compute-runtime (source: intel/compute-runtime,
// shared/source/debug_settings/debug_variables_base.inl). It writes *.aub files into the working directory,
// so every process with it needs its own scratch directory.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fixtures/simgpu/spec/topology.h"
#include "harness/base/backend.h"
#include "harness/base/result.h"
#include "harness/devices/device.h"
#include "harness/journal/events.h"

namespace proctor {

inline constexpr const char* kSimStateVariable = "PROCTOR_SIM_STATE";
inline constexpr const char* kSimLogVariable = "PROCTOR_SIM_LOG";
inline constexpr const char* kSimFaultsVariable = "PROCTOR_SIM_FAULTS";

// The name of the dynamic loader in a C library that a directory of drivers can contain.
#if defined(__aarch64__)
inline constexpr const char* kDynamicLoader = "ld-linux-aarch64.so.1";
#else
inline constexpr const char* kDynamicLoader = "ld-linux-x86-64.so.2";
#endif

enum class SimDriverKind { kSimgpu, kIntel };

// The driver of a simulation.
struct SimDriver {
  SimDriverKind kind = SimDriverKind::kSimgpu;
  std::string prefix;  // Intel's driver: the directory in which it is unpacked; "": the system's driver
};

// The machines that Intel's no-hardware mode can simulate.
struct EqualCards {
  int cards = 0;
  int tiles = 1;  // per card
};

// The parsed value of --sim.
struct Simulation {
  simgpu::Topology topology;
  SimDriver driver;
  std::string state;     // directory of a machine that several runs share; "": each process has its own
  std::string faults{};  // simgpu: PROCTOR_SIM_FAULTS, checked
};

// An error is a usage error with the value, the place of the mistake, and the nearest valid word.
Result<simgpu::Topology> parse_sim_topology(std::string_view text);
Result<SimDriver> parse_sim_driver(std::string_view text);
// Parses the value of --sim. Refuses what the driver cannot simulate: for Intel's driver, cuda cards, cards
// that differ from each other, and files.
Result<Simulation> parse_simulation(std::string_view text);

// Returns the simulation as a record for the journal.
SimInfo to_sim_info(const Simulation& simulation);
// Returns the topology as equal cards, for Intel's driver.
EqualCards equal_cards(const simgpu::Topology& topology);
// Returns the devices that Intel's driver will provide: "xpu-sim:0" ... in card order. Does not start the
// driver.
std::vector<Device> simulated_devices(const Simulation& simulation);

// Returns the id of a simulated card: "xpu-sim:1", "cuda-sim:1".
std::string simulated_id(Backend backend, std::size_t card);
// Returns the backends for which `topology` has cards.
std::vector<Backend> backends_of(const simgpu::Topology& topology);
// Returns the backends that have a card that is not integrated.
std::vector<Backend> discrete_backends_of(const simgpu::Topology& topology);

// The environment in which the child processes of a run see the simulated devices.
struct SimEnvironment {
  std::vector<std::pair<std::string, std::string>> set;
  std::vector<std::string> unset;
  // The reason why the simulation does not work here ("library_missing:libze_intel_gpu.so.1"), or "". Cases
  // that need the backend are skipped with this reason.
  std::string missing;
  std::string driver_path;  // the driver library that will be loaded
  // The directory in which libraries are searched first, or "".
  std::string library_directory;
  bool whole = false;  // every process sees the whole topology: no mask
  // Words that precede each command. If the driver has its own C library, only the dynamic loader of that
  // library can start a program with the driver. Empty: no loader is necessary.
  std::vector<std::string> loader_words;
};

// `library_path` is the caller's LD_LIBRARY_PATH. It is searched first. In the child's LD_LIBRARY_PATH, the
// driver's directories precede it.
SimEnvironment intel_environment(const EqualCards& cards, const SimDriver& driver,
                                 std::string_view library_path);

// `directories` are searched for the libraries of the simulator. The environment has no faults, because a
// probe must not see any.
SimEnvironment simgpu_environment(const simgpu::Topology& topology,
                                  const std::vector<std::string>& directories);
SimEnvironment cuda_environment(const simgpu::Topology& topology,
                                const std::vector<std::string>& directories);
// Calls the function above for `backend`.
SimEnvironment environment_of(const Simulation& simulation, Backend backend, std::string_view library_path,
                              const std::string& programs);
// Returns the directory of the programs, and the directory lib next to it.
std::vector<std::string> simulator_directories(const std::string& programs);

// State that the processes of one run share: the directory with the simulated memory, the log of the faults
// that occurred, and the faults ("" for none).
struct SimSession {
  std::string state;
  std::string log;
  std::string faults;
};
// This is not named `bind`: with a std::map as argument, that name finds std::bind, which does nothing.
void bind_session(SimEnvironment& environment, const SimSession& session);

// The simulated devices of each backend.
using SimEnvironments = std::map<Backend, SimEnvironment>;
void bind_session(SimEnvironments& environments, const SimSession& session);

// Returns `directory`, followed by the entries of LD_LIBRARY_PATH.
std::string prepended(const std::string& directory, const std::string& library_path);

}  // namespace proctor
