#include "harness/devices/inventory.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "harness/process/contained_process.h"
#include "harness/process/containment.h"

namespace proctor {
namespace {

using nlohmann::json;

constexpr const char* kProbeName = "proctor-probe-xpu";

class ScratchDirectory {
 public:
  ScratchDirectory() {
    const char* base = std::getenv("TMPDIR");
    path_ = std::string(base != nullptr && *base != '\0' ? base : "/tmp") + "/prp-XXXXXX";
    if (mkdtemp(path_.data()) == nullptr) path_.clear();
  }
  ~ScratchDirectory() {
    std::error_code ignored;  // a leftover directory spoils no answer
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

Device parse_device(const json& entry) {
  Device device;
  device.backend = "xpu";
  device.name = entry.value("name", "");
  device.type = entry.value("type", "");
  device.uuid = entry.value("uuid", "");
  device.pci = entry.value("pci", "");
  device.vendor_id = entry.value("vendor_id", 0U);
  device.device_id = entry.value("device_id", 0U);
  device.tiles = std::max<int>(1, static_cast<int>(entry.value("sub_devices", json::array()).size()));
  device.memory_bytes = entry.value("memory_bytes", std::uint64_t{0});
  device.integrated = entry.value("integrated", false);
  device.id = "xpu:" + (device.pci.empty() ? device.uuid : device.pci);
  return device;
}

void add_stack(Inventory& inventory, std::string key, std::string value) {
  if (!value.empty()) inventory.stack.emplace_back(std::move(key), std::move(value));
}

// A second driver (an NPU's, say) is "xpu.driver.1".
void add_driver(Inventory& inventory, const json& driver, std::size_t index) {
  const std::string suffix = index == 0 ? "" : fmt::format(".{}", index);
  const std::string release = driver.value("release", "");
  add_stack(inventory, "xpu.driver" + suffix, release.empty() ? driver.value("version", "") : release);
  add_stack(inventory, "xpu.api" + suffix, driver.value("api", ""));
  for (const json& entry : driver.value("devices", json::array())) {
    if (const auto problem = entry.value("problem", ""); !problem.empty()) {
      inventory.problem = problem;
      inventory.detail = "the driver lists a device that it cannot describe";
      continue;
    }
    inventory.devices.push_back(parse_device(entry));
  }
}

Inventory failed(std::string problem, std::string detail) {
  Inventory inventory;
  inventory.problem = std::move(problem);
  inventory.detail = std::move(detail);
  return inventory;
}

std::string first_line(const std::string& text) {
  const auto from = text.find_first_not_of(" \n\r\t");
  return from == std::string::npos ? "" : text.substr(from, text.find('\n', from) - from);
}

Inventory judge_probe(const ProcessEnd& end, const std::string& document, const ProbeOptions& options) {
  const std::string said = first_line(end.output.stderr_tail);
  switch (end.cause) {
    case EndCause::kSpawnFailed:
      return failed("probe_failed:" + end.spawn_error->step,
                    fmt::format("{}: {}", options.probe, std::strerror(end.spawn_error->err)));
    case EndCause::kTimeout:
    case EndCause::kStall:
    case EndCause::kStopped:
      return failed("probe_timeout",
                    fmt::format("the driver did not answer within {}", format_duration(options.timeout)));
    case EndCause::kGuardLost:
      return failed("probe_failed:guard", "the probe's guard process was lost");
    case EndCause::kExited:
      break;
  }
  if (end.exit_signal) return failed(fmt::format("probe_crash:{}", *end.exit_signal), said);
  if (end.exit_code != 0) return failed(fmt::format("probe_failed:exit:{}", *end.exit_code), said);
  auto inventory = parse_xpu_probe(document);
  if (!inventory) return failed("probe_unreadable", inventory.error().what);
  return *std::move(inventory);
}

std::string library_path_of(const std::vector<std::string>& env) {
  constexpr std::string_view kName = "LD_LIBRARY_PATH=";
  for (const auto& variable : env) {
    if (variable.starts_with(kName)) return variable.substr(kName.size());
  }
  return {};
}

}  // namespace

std::string default_xpu_probe() {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  if (length <= 0) return kProbeName;
  const std::string self(path, static_cast<std::size_t>(length));
  return self.substr(0, self.rfind('/') + 1) + kProbeName;
}

Result<Inventory> parse_xpu_probe(std::string_view text) {
  const json document = json::parse(text, nullptr, false);
  if (!document.is_object() || !document.contains("v") || document["v"] != 1) {
    return Error::internal("read the probe's answer: not a document of version 1");
  }
  try {  // a wrong type somewhere inside; the edge of the JSON library
    Inventory inventory;
    inventory.problem = document.value("problem", "");
    inventory.detail = document.value("detail", "");
    inventory.missing_symbols = document.value("missing_symbols", std::vector<std::string>{});
    add_stack(inventory, "xpu.loader", document.value("loader", json::object()).value("version", ""));
    const json drivers = document.value("drivers", json::array());
    for (std::size_t i = 0; i < drivers.size(); ++i) add_driver(inventory, drivers[i], i);
    return inventory;
  } catch (const json::exception& error) {
    return Error::internal(fmt::format("read the probe's answer: {}", error.what()));
  }
}

Inventory probe_xpu(Containment& containment, ProbeOptions options) {
  if (options.probe.empty()) options.probe = default_xpu_probe();
  std::string document;
  ProcessSpec spec;
  spec.argv = options.launcher;
  spec.argv.push_back(options.probe);
  spec.env = options.env;
  const ScratchDirectory scratch;
  if (scratch.path().empty()) return failed("probe_failed:mkdtemp", std::strerror(errno));
  spec.directory = scratch.path();
  spec.events = true;
  spec.timeout = options.timeout;
  spec.grace = Milliseconds{500};
  spec.on_event_line = [&document](std::string_view line) { document = line; };
  const ProcessEnd end = run_contained(containment, std::move(spec));
  return judge_probe(end, document, options);
}

Inventory probe_simulated_xpu(Containment& containment, const Simulation& simulation, ProbeOptions options) {
  if (simulation.topology.xpu.empty()) return failed("no_device", "the simulation has no xpu devices");
  const bool intel = simulation.driver.kind == SimDriverKind::kIntel;
  auto environment = intel ? intel_environment(equal_cards(simulation.topology), simulation.driver,
                                               library_path_of(options.env))
                           : simgpu_environment(simulation.topology, simulator_directories());
  if (!environment.missing.empty()) {
    return failed(environment.missing, intel ? "the simulated Intel cards need Intel's Level Zero driver"
                                             : "our simulated Level Zero driver is not beside this program");
  }
  const ScratchDirectory state;  // what the probe leaves in it concerns no run
  if (state.path().empty()) return failed("probe_failed:mkdtemp", std::strerror(errno));
  if (!intel) bind(environment, {.state = state.path(), .log = {}, .faults = {}});
  options.env = with_simulation(std::move(options.env), environment);
  options.launcher = environment.launcher;
  auto inventory = probe_xpu(containment, std::move(options));
  for (std::size_t i = 0; i < inventory.devices.size(); ++i) {
    inventory.devices[i].id = simulated_id(i);
    inventory.devices[i].simulated = true;
  }
  return inventory;
}

std::vector<std::string> with_simulation(std::vector<std::string> env, const SimEnvironment& simulation) {
  const auto drop = [&env](const std::string& name) {
    std::erase_if(env, [&](const std::string& variable) { return variable.starts_with(name + "="); });
  };
  for (const auto& name : simulation.unset) drop(name);
  for (const auto& [name, value] : simulation.set) {
    drop(name);
    env.push_back(name + "=" + value);
  }
  return env;
}

}  // namespace proctor
