#include "harness/devices/inventory.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "harness/base/argv.h"
#include "harness/base/held_directory.h"
#include "harness/base/json.h"
#include "harness/base/temp_dir.h"
#include "harness/devices/cuda_versions.h"
#include "harness/process/contained_process.h"
#include "harness/process/containment.h"

namespace proctor {
namespace {

constexpr const char* kLibraryPath = "LD_LIBRARY_PATH";

class ScratchDirectory {
 public:
  ScratchDirectory() : held_(make()) {}
  ~ScratchDirectory() {
    // a leftover directory does not change the result
    if (held_) static_cast<void>(remove_tree(held_->path));
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  explicit operator bool() const { return static_cast<bool>(held_); }
  const std::string& path() const { return held_->path; }
  int sys_errno() const { return held_.error().sys_errno; }

 private:
  static Result<HeldDirectory> make() {
    const char* base = std::getenv("TMPDIR");
    return make_held_directory(base != nullptr && *base != '\0' ? base : "/tmp", kProbeScratch);
  }

  Result<HeldDirectory> held_;
};

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

Inventory judge_probe(Backend backend, const ProcessEnd& end, const std::string& document,
                      const ProbeOptions& options) {
  const std::string said = first_line(end.output.stderr_tail);
  switch (end.cause) {
    case EndCause::kSpawnFailed:
      return failed("probe_failed:" + end.spawn_error->step,
                    fmt::format("{}: {}", options.probe, std::strerror(end.spawn_error->err)));
    case EndCause::kTimeout:
    case EndCause::kStall:
    case EndCause::kStopped:
      return failed("probe_timeout",
                    fmt::format("the driver did not respond within {}", format_duration(options.timeout)));
    case EndCause::kGuardLost:
      return failed("probe_failed:guard", "the probe's guard process was lost");
    case EndCause::kExited:
      break;
  }
  if (end.exit_signal) return failed(fmt::format("probe_crash:{}", *end.exit_signal), said);
  if (end.exit_code != 0) return failed(fmt::format("probe_failed:exit:{}", *end.exit_code), said);
  auto inventory = parse_probe(backend, document);
  if (!inventory) return failed("probe_unreadable", inventory.error().what);
  return *std::move(inventory);
}

std::string value_in(const std::vector<std::string>& env, const std::string& name) {
  for (const auto& variable : env) {
    if (variable.starts_with(name + "=")) return variable.substr(name.size() + 1);
  }
  return {};
}

// Returns a sentence about the missing part of a simulation.
const char* words_about_missing(Backend backend, const Simulation& simulation) {
  if (backend == Backend::kCuda)
    return "Proctor's simulated CUDA Runtime is not installed next to this program";
  return simulation.driver.kind == SimDriverKind::kIntel
             ? "simulated Intel devices require Intel's Level Zero driver"
             : "Proctor's simulated Level Zero driver is not installed next to this program";
}

bool has_cards(Backend backend, const simgpu::Topology& topology) {
  const auto backends = backends_of(topology);
  return std::find(backends.begin(), backends.end(), backend) != backends.end();
}

}  // namespace

std::string Inventory::words() const {
  const std::string& what = problem.empty() ? runtime_problem : problem;
  const std::string& why = problem.empty() ? runtime_detail : detail;
  return why.empty() ? what : what + ": " + why;
}

std::string probe_program(Backend backend, const std::string& programs) {
  return fmt::format("{}/proctor-probe-{}", programs, to_string(backend));
}

Inventory probe_devices(Backend backend, Containment& containment, ProbeOptions options) {
  if (options.probe.empty()) options.probe = probe_program(backend, containment.programs());
  std::string document;
  ProcessSpec spec;
  spec.argv = options.loader_words;
  spec.argv.push_back(options.probe);
  spec.env = options.env;
  const ScratchDirectory scratch;
  if (!scratch) return failed("probe_failed:mkdtemp", std::strerror(scratch.sys_errno()));
  spec.directory = scratch.path();
  spec.events = true;
  spec.limits.timeout = options.timeout;
  spec.limits.fair = true;
  spec.limits.grace = Milliseconds{500};
  spec.on_event_line = [&document](std::string_view line) { document = line; };
  const ProcessEnd end = run_contained(containment, std::move(spec));
  return judge_probe(backend, end, document, options);
}

Inventory probe_simulated(Backend backend, Containment& containment, const Simulation& simulation,
                          ProbeOptions options) {
  if (!has_cards(backend, simulation.topology))
    return failed("no_device", fmt::format("the simulation has no {} devices", to_string(backend)));
  auto environment =
      environment_of(simulation, backend, value_in(options.env, kLibraryPath), containment.programs());
  if (!environment.missing.empty())
    return failed(environment.missing, words_about_missing(backend, simulation));
  const ScratchDirectory state;  // the files of the probe do not matter to any run
  if (!state) return failed("probe_failed:mkdtemp", std::strerror(state.sys_errno()));
  if (!environment.whole) bind_session(environment, {.state = state.path(), .log = {}, .faults = {}});
  options.env = with_simulation(std::move(options.env), environment);
  options.loader_words = environment.loader_words;
  auto inventory = probe_devices(backend, containment, options);
  for (std::size_t i = 0; i < inventory.devices.size(); ++i) {
    inventory.devices[i].id = simulated_id(backend, i);
    inventory.devices[i].simulated = true;
  }
  return inventory;
}

std::vector<std::string> with_simulation(std::vector<std::string> env, const SimEnvironment& simulation) {
  for (const auto& name : simulation.unset) unset_variable(env, name);
  for (const auto& [name, value] : simulation.set) set_variable(env, name, value);
  if (simulation.library_directory.empty()) return env;
  set_variable(env, kLibraryPath, prepended(simulation.library_directory, value_in(env, kLibraryPath)));
  return env;
}

// ---- Parses the output of the probes (suites/probe/main_xpu.cc, main_cuda.cc) ----

namespace {

using nlohmann::json;

constexpr std::uint32_t kNvidia = 0x10de;  // PCI vendor
constexpr const char* kTooOld = "driver_too_old";

void add_stack(Inventory& inventory, std::string key, std::string value) {
  if (!value.empty()) inventory.stack.emplace_back(std::move(key), std::move(value));
}

// ---- Level Zero ----

Device parse_xpu_device(const json& entry, int ordinal) {
  Device device;
  device.backend = "xpu";
  device.name = entry.value("name", "");
  device.type = entry.value("type", "");
  device.uuid = entry.value("uuid", "");
  device.pci = entry.value("pci", "");
  device.ordinal = ordinal;
  device.vendor_id = entry.value("vendor_id", 0U);
  device.device_id = entry.value("device_id", 0U);
  for (const json& tile : entry.value("sub_devices", json::array()))
    device.tile_uuids.push_back(tile.value("uuid", ""));
  device.tiles = std::max(1, static_cast<int>(device.tile_uuids.size()));
  device.memory_bytes = entry.value("memory_bytes", std::uint64_t{0});
  device.integrated = entry.value("integrated", false);
  device.id = "xpu:" + (device.pci.empty() ? device.uuid : device.pci);
  return device;
}

// The key of a second driver, such as that of an NPU, is "xpu.driver.1".
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
    inventory.devices.push_back(parse_xpu_device(entry, static_cast<int>(inventory.devices.size())));
  }
}

void parse_xpu(const json& document, Inventory& inventory) {
  inventory.missing_symbols = document.value("missing_symbols", std::vector<std::string>{});
  add_stack(inventory, "xpu.loader", document.value("loader", json::object()).value("version", ""));
  const json drivers = document.value("drivers", json::array());
  for (std::size_t i = 0; i < drivers.size(); ++i) add_driver(inventory, drivers[i], i);
  if (!drivers.empty()) inventory.driver_file = drivers.front().value("library", "");
}

// ---- CUDA ----

Device parse_cuda_device(const json& entry) {
  Device device;
  device.backend = "cuda";
  device.name = entry.value("name", "");
  device.type = "gpu";
  device.uuid = entry.value("uuid", "");
  device.pci = entry.value("pci", "");
  device.ordinal = entry.value("ordinal", -1);
  device.capability = entry.value("capability", "");
  device.vendor_id = kNvidia;
  device.device_id = entry.value("device_id", 0U);
  device.memory_bytes = entry.value("memory_bytes", std::uint64_t{0});
  device.integrated = entry.value("integrated", false);
  device.id = "cuda:" + device.uuid;
  return device;
}

// Reports runtime and driver versions that do not fit together. A driver that is too old by the table of
// releases is reported even if the libraries accept it.
void judge_versions(int runtime, int cuda, const std::string& driver, Inventory& inventory) {
  const CudaRelation relation = cuda_relation(runtime, driver, cuda);
  if (relation != CudaRelation::kUnknown)
    add_stack(inventory, "cuda.compatibility", std::string(to_string(relation)));
  const bool refused = inventory.problem == kTooOld || inventory.runtime_problem == kTooOld;
  if (!refused && (relation != CudaRelation::kTooOld || !inventory.problem.empty())) return;
  const std::string reason =
      fmt::format("{}:{}<{}", kTooOld, cuda_version_text(cuda), cuda_version_text(runtime));
  const std::string words = needed_cuda_driver(runtime, driver, cuda);
  if (inventory.problem == kTooOld) {
    inventory.problem = reason;
    inventory.detail = words;
  } else {
    inventory.runtime_problem = reason;
    inventory.runtime_detail = words;
  }
}

void parse_cuda(const json& document, Inventory& inventory) {
  const json runtime = document.value("runtime", json::object());
  const std::string driver = document.value("driver", "");
  const int cuda = document.value("cuda", 0);
  const int version = runtime.value("version", 0);
  if (inventory.problem.empty()) {
    inventory.runtime_problem = runtime.value("problem", "");
    inventory.runtime_detail = runtime.value("detail", "");
  }
  inventory.cuda_runtime = version;
  inventory.cuda_driver = cuda;
  inventory.driver_file = document.value("library", "");
  add_stack(inventory, "cuda.driver", driver);
  if (cuda > 0) add_stack(inventory, "cuda.api", cuda_version_text(cuda));
  if (version > 0) add_stack(inventory, "cuda.runtime", cuda_version_text(version));
  for (const json& entry : document.value("devices", json::array()))
    inventory.devices.push_back(parse_cuda_device(entry));
  if (cuda > 0 || !driver.empty()) judge_versions(version, cuda, driver, inventory);
}

}  // namespace

Result<Inventory> parse_probe(Backend backend, std::string_view text) {
  const json document = parse_json(text);
  if (!document.is_object() || !document.contains("v") || document["v"] != 1) {
    return Error::internal("read the probe's answer: not a document of version 1");
  }
  try {  // nlohmann::json throws if a value has the wrong type
    Inventory inventory;
    inventory.problem = document.value("problem", "");
    inventory.detail = document.value("detail", "");
    inventory.simulated_driver = document.value("simulated_driver", "");
    backend == Backend::kCuda ? parse_cuda(document, inventory) : parse_xpu(document, inventory);
    if (inventory.driver_file.empty()) inventory.driver_file = inventory.simulated_driver;
    for (Device& device : inventory.devices) device.simulated = !inventory.simulated_driver.empty();
    return inventory;
  } catch (const json::exception& error) {
    return Error::internal(fmt::format("read the probe's answer: {}", error.what()));
  }
}

namespace {

constexpr Milliseconds kProbeGrace{500};

Error no_facts(const std::string& why) {
  return {ErrorKind::kSystem, "query the management library about a device: " + why, {}, 0};
}

std::string why_no_answer(const ProcessEnd& end, Milliseconds limit) {
  if (end.cause != EndCause::kExited) return "no response within " + format_duration(limit);
  if (end.exit_signal) return fmt::format("the probe ended by signal {}", *end.exit_signal);
  return fmt::format("the probe ended with code {}", end.exit_code.value_or(0));
}

}  // namespace

Result<CardFacts> parse_facts(std::string_view line) {
  try {
    const nlohmann::json document = parse_json(line);
    if (const auto problem = document.at("problem").get<std::string>(); !problem.empty())
      return no_facts(problem);
    CardFacts facts;
    for (const auto& [key, value] : document.at("values").items()) facts.values[key] = value;
    for (const auto& [key, why] : document.at("missing").items()) facts.missing[key] = why.get<std::string>();
    return facts;
  } catch (const nlohmann::json::exception& error) {
    return no_facts(error.what());
  }
}

Result<CardFacts> ask_facts(Containment& containment, FactsRequest request) {
  std::string document;
  ProcessSpec spec;
  spec.argv = std::move(request.argv);
  spec.argv.emplace_back("--facts");
  spec.argv.push_back(std::to_string(request.device));
  spec.env = std::move(request.env);
  spec.directory = std::move(request.directory);
  spec.events = true;
  spec.limits.timeout = request.limit;
  spec.limits.fair = true;
  spec.limits.grace = kProbeGrace;
  spec.on_event_line = [&document](std::string_view line) { document = line; };
  const ProcessEnd end = run_contained(containment, std::move(spec));
  if (document.empty()) return no_facts(why_no_answer(end, request.limit));
  return parse_facts(document);
}

}  // namespace proctor
