#include "harness/devices/simulation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "fixtures/simgpu/spec/machine_file.h"
#include "harness/base/json.h"
#include "harness/base/named_file.h"
#include "harness/base/text.h"
#include "harness/base/words.h"
#include "harness/devices/library_search.h"
#include "harness/journal/child_protocol.h"

namespace proctor {
namespace {

constexpr const char* kXpuDriverLibrary = "libze_intel_gpu.so.1";
constexpr const char* kXpuLoaderLibrary = "libze_loader.so.1";
constexpr const char* kSimulatorLibrary = "libproctor_ze_sim.so";
constexpr const char* kCudaRuntimeLibrary = "libcudart.so.13";
constexpr const char* kCudaSimulatorDirectory = "cuda_sim";

// Returns the words of the loader; empty if `directories` contain no C library.
std::vector<std::string> loader_words_of(const std::vector<std::string>& directories) {
  const std::string loader = find_library(kDynamicLoader, directories);
  if (loader.empty()) return {};
  return {loader, "--library-path", fmt::format("{}", fmt::join(directories, ":"))};
}

// Makes the paths below a prefix absolute, for processes in any directory.
std::vector<std::string> driver_directories(const SimDriver& driver, std::string_view library_path) {
  if (driver.prefix.empty()) return system_library_directories(library_path);
  return prefix_library_directories(std::filesystem::absolute(driver.prefix).lexically_normal().string());
}

Result<simgpu::Topology> read_machine(const std::string& path) {
  const auto text = read_found_file(path);
  if (!text) {
    return Error::refused(fmt::format("--sim {}: {}", path, text.error().message()), text.error().hint);
  }
  return simgpu::parse_machine(*text, path, path);
}

bool are_equal(const std::vector<simgpu::Card>& cards) {
  return std::all_of(cards.begin(), cards.end(), [&](const simgpu::Card& card) {
    return card.device_id == cards.front().device_id && card.tiles.size() == cards.front().tiles.size();
  });
}

// The parts of the value of --sim.
struct SimText {
  std::string_view topology;
  std::optional<std::string_view> driver;
  std::optional<std::string_view> state;
};

// Returns "driver" for "driver=intel", and "" for a device such as "xpu:2x2:mem=1GiB".
std::string_view key_of(std::string_view item) {
  const auto equals = item.find('=');
  const auto key = item.substr(0, equals == item.npos ? 0 : equals);
  return std::ranges::all_of(key, [](char c) { return c >= 'a' && c <= 'z'; }) ? key : "";
}

std::optional<Error> read_setting(std::string_view text, std::string_view item, SimText& parts) {
  const auto refuse = [&](const std::string& why, std::string hint) {
    return Error::refused(fmt::format("--sim {} is not valid: {}", text, why), std::move(hint));
  };
  const auto key = key_of(item);
  if (key.empty()) {
    return refuse(fmt::format("'{}' is neither driver=NAME nor state=DIR", item),
                  "Give the devices first, and a directory without a comma in its name.");
  }
  if (key != "driver" && key != "state") {
    return refuse(fmt::format("there is no '{}='", key),
                  did_you_mean(key, {"driver", "state"}, "Known are driver=NAME and state=DIR."));
  }
  auto& place = key == "driver" ? parts.driver : parts.state;
  if (place) return refuse(fmt::format("{} is given twice", key), "Remove one of them.");
  place = item.substr(key.size() + 1);
  if (key == "state" && place->empty()) return refuse("state= needs a directory", "Write state=DIR.");
  return {};
}

// Splits the value into the devices and the settings that follow them.
Result<SimText> split_sim(std::string_view text) {
  SimText parts{.topology = text, .driver = {}, .state = {}};
  const auto items = split(text, ',');
  if (key_of(items.front()) == "driver" || key_of(items.front()) == "state") {
    return Error::refused(fmt::format("--sim {} is not valid: it has no devices", text),
                          "Give the devices first, for example xpu:2x2.");
  }
  const auto has_key = [](std::string_view item) { return !key_of(item).empty(); };
  const auto first = std::find_if(items.begin() + 1, items.end(), has_key);
  if (first == items.end()) return parts;
  parts.topology = text.substr(0, static_cast<std::size_t>(first->data() - text.data()) - 1);
  for (auto item = first; item != items.end(); ++item) {
    if (auto error = read_setting(text, *item, parts)) return *std::move(error);
  }
  return parts;
}

}  // namespace

Result<simgpu::Topology> parse_sim_topology(std::string_view text) {
  if (simgpu::is_machine_file(text)) return read_machine(std::string(text));
  return simgpu::parse_topology(text, "--sim");
}

Result<SimDriver> parse_sim_driver(std::string_view text) {
  const auto at = text.find('@');
  const auto name = text.substr(0, at);
  SimDriver driver;
  if (name == child::kSimgpuDriver) {
    if (at == std::string_view::npos) return driver;
    return Error::refused(fmt::format("--sim driver={} is not valid: simgpu takes no directory", text),
                          "Write simgpu, or intel@DIR.");
  }
  if (name != child::kIntelDriver) {
    return Error::refused(fmt::format("--sim driver={} is not valid: there is no driver '{}'", text, name),
                          did_you_mean(name, {"intel", "simgpu"}, "The drivers are intel and simgpu."));
  }
  driver.kind = SimDriverKind::kIntel;
  if (at == std::string_view::npos) return driver;
  driver.prefix = text.substr(at + 1);
  if (driver.prefix.empty()) {
    return Error::refused(fmt::format("--sim driver={} needs a directory after '@'", text),
                          "Write intel@DIR, where DIR is the directory of the unpacked driver.");
  }
  return driver;
}

Result<Simulation> parse_simulation(std::string_view text) {
  const auto parts = split_sim(text);
  if (!parts) return parts.error();
  const auto topology = parts->topology;
  auto parsed_topology = parse_sim_topology(topology);
  if (!parsed_topology) return parsed_topology.error();
  auto parsed_driver = parse_sim_driver(parts->driver.value_or(child::kSimgpuDriver));
  if (!parsed_driver) return parsed_driver.error();
  const bool intel = parsed_driver->kind == SimDriverKind::kIntel;
  if (intel && parsed_topology->cuda_cards() > 0) {
    return Error::refused(
        fmt::format("--sim {} is not valid: Intel's driver has no 'cuda' devices", topology),
        "Leave out cuda:N, or use driver=simgpu.");
  }
  if (intel && parsed_topology->described()) {
    return Error::refused(
        fmt::format("--sim {} is not valid: Intel's driver simulates only its own cards", topology),
        "Use driver=simgpu, or give cards and tiles, for example xpu:2x2.");
  }
  if (intel && !are_equal(parsed_topology->xpu)) {
    return Error::refused(
        fmt::format("--sim {} is not valid: Intel's driver simulates only equal cards", topology),
        "Give one group, for example xpu:2x2, or use driver=simgpu.");
  }
  return Simulation{.topology = *std::move(parsed_topology),
                    .driver = *std::move(parsed_driver),
                    .state = std::string(parts->state.value_or(""))};
}

SimInfo to_sim_info(const Simulation& simulation) {
  const bool intel = simulation.driver.kind == SimDriverKind::kIntel;
  return {simulation.topology.name, intel ? child::kIntelDriver : child::kSimgpuDriver};
}

EqualCards equal_cards(const simgpu::Topology& topology) {
  return {topology.xpu_cards(), topology.most_tiles()};
}

std::string simulated_id(Backend backend, std::size_t card) {
  return fmt::format("{}-sim:{}", to_string(backend), card);
}

std::vector<Backend> backends_of(const simgpu::Topology& topology) {
  std::vector<Backend> backends;
  if (!topology.xpu.empty()) backends.push_back(Backend::kXpu);
  if (topology.cuda_cards() > 0) backends.push_back(Backend::kCuda);
  return backends;
}

std::vector<Backend> discrete_backends_of(const simgpu::Topology& topology) {
  std::vector<Backend> backends;
  if (!std::ranges::all_of(topology.xpu, [](const simgpu::Card& card) { return card.intel.integrated; }))
    backends.push_back(Backend::kXpu);
  if (!std::ranges::all_of(topology.cuda,
                           [](const simgpu::Card& card) { return card.surroundings.integrated; }))
    backends.push_back(Backend::kCuda);
  return backends;
}

std::vector<Device> simulated_devices(const Simulation& simulation) {
  std::vector<Device> devices;
  for (const simgpu::Card& card : simulation.topology.xpu) {
    Device device;
    device.id = simulated_id(Backend::kXpu, devices.size());
    device.backend = "xpu";
    device.name = "Intel driver without hardware";
    device.type = "gpu";
    device.tiles = static_cast<int>(card.tiles.size());
    device.simulated = true;
    devices.push_back(std::move(device));
  }
  return devices;
}

SimEnvironment intel_environment(const EqualCards& cards, const SimDriver& driver,
                                 std::string_view library_path) {
  SimEnvironment environment;
  const auto directories = driver_directories(driver, library_path);
  if (!driver.prefix.empty()) environment.loader_words = loader_words_of(directories);
  environment.driver_path = find_library(kXpuDriverLibrary, directories);
  // A driver with its own C library must not search the directories of this system.
  const auto everywhere =
      environment.loader_words.empty() ? system_library_directories(library_path) : directories;
  if (environment.driver_path.empty()) {
    environment.missing = ReasonText(Reason::kLibraryMissing, kXpuDriverLibrary).text();
  } else if (find_library(kXpuLoaderLibrary, directories).empty() &&
             find_library(kXpuLoaderLibrary, everywhere).empty()) {
    environment.missing = ReasonText(Reason::kLibraryMissing, kXpuLoaderLibrary).text();
  }
  environment.set = {{"NEOReadDebugKeys", "1"},
                     {"SetCommandStreamReceiver", "1"},  // capture to a file instead of a device
                     {"UseAubStream", "0"},  // drivers of 2023 and later crash without it; 22.43 ignores it
                     {"ProductFamilyOverride", "pvc"},  // the only product with tiles in every driver version
                     {"HardwareInfoOverride", "2x4x8"},
                     {"CreateMultipleRootDevices", std::to_string(cards.cards)},
                     {"CreateMultipleSubDevices", std::to_string(cards.tiles)},
                     {child::kSimTopologyVariable, fmt::format("xpu:{}x{}", cards.cards, cards.tiles)},
                     {child::kSimDriverVariable, child::kIntelDriver}};
  environment.whole = true;
  // A mask or another driver of the caller would shrink or replace the requested devices.
  environment.unset = {"ZE_AFFINITY_MASK", "ZE_ENABLE_ALT_DRIVERS", "ZE_FLAT_DEVICE_HIERARCHY",
                       "ZE_ENABLE_PCI_ID_DEVICE_ORDER"};
  if (!environment.loader_words.empty()) {
    // The loader gets the directories as arguments, for this program only. Programs that it starts use the
    // libraries of this system.
    environment.set.emplace_back(child::kLauncherVariable, nlohmann::json(environment.loader_words).dump());
  } else if (!driver.prefix.empty() && !environment.driver_path.empty()) {
    auto path = environment.driver_path.substr(0, environment.driver_path.rfind('/'));
    if (!library_path.empty()) path += fmt::format(":{}", library_path);
    environment.set.emplace_back("LD_LIBRARY_PATH", std::move(path));
  }
  return environment;
}

std::vector<std::string> simulator_directories(const std::string& programs) {
  return {programs, programs.substr(0, programs.rfind('/')) + "/lib"};
}

SimEnvironment simgpu_environment(const simgpu::Topology& topology,
                                  const std::vector<std::string>& directories) {
  SimEnvironment environment;
  environment.driver_path = find_library(kSimulatorLibrary, directories);
  if (environment.driver_path.empty()) {
    environment.missing = ReasonText(Reason::kLibraryMissing, kSimulatorLibrary).text();
  }
  environment.set = {{"ZE_ENABLE_ALT_DRIVERS", environment.driver_path},
                     {child::kSimTopologyVariable, topology.text},
                     {child::kSimDriverVariable, child::kSimgpuDriver}};
  environment.unset = {kSimStateVariable, kSimLogVariable, kSimFaultsVariable};
  return environment;
}

SimEnvironment cuda_environment(const simgpu::Topology& topology,
                                const std::vector<std::string>& directories) {
  SimEnvironment environment;
  std::vector<std::string> directories_of_cuda;
  for (const auto& directory : directories)
    directories_of_cuda.push_back(directory + "/" + kCudaSimulatorDirectory);
  environment.driver_path = find_library(kCudaRuntimeLibrary, directories_of_cuda);
  if (environment.driver_path.empty()) {
    environment.missing = ReasonText(Reason::kLibraryMissing,
                                     fmt::format("{}/{}", kCudaSimulatorDirectory, kCudaRuntimeLibrary))
                              .text();
  }
  environment.library_directory = environment.driver_path.substr(0, environment.driver_path.rfind('/'));
  environment.set = {{child::kSimTopologyVariable, topology.text},
                     {child::kSimDriverVariable, child::kSimgpuDriver}};
  environment.unset = {kSimStateVariable, kSimLogVariable, kSimFaultsVariable};
  return environment;
}

SimEnvironment environment_of(const Simulation& simulation, Backend backend, std::string_view library_path,
                              const std::string& programs) {
  if (backend == Backend::kCuda)
    return cuda_environment(simulation.topology, simulator_directories(programs));
  if (simulation.driver.kind == SimDriverKind::kSimgpu)
    return simgpu_environment(simulation.topology, simulator_directories(programs));
  return intel_environment(equal_cards(simulation.topology), simulation.driver, library_path);
}

std::string prepended(const std::string& directory, const std::string& library_path) {
  if (directory.empty()) return library_path;
  return library_path.empty() ? directory : directory + ":" + library_path;
}

void bind_session(SimEnvironments& environments, const SimSession& session) {
  for (auto& [backend, environment] : environments) bind_session(environment, session);
}

void bind_session(SimEnvironment& environment, const SimSession& session) {
  const auto set = [&](const char* name, const std::string& value) {
    std::erase_if(environment.set, [&](const auto& known) { return known.first == name; });
    if (!value.empty()) environment.set.emplace_back(name, value);
  };
  set(kSimStateVariable, session.state);
  set(kSimLogVariable, session.log);
  set(kSimFaultsVariable, session.faults);
}

}  // namespace proctor
