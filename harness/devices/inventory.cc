#include "harness/devices/inventory.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "harness/base/environment_list.h"
#include "harness/base/held_directory.h"
#include "harness/base/remove_tree.h"
#include "harness/process/contained_process.h"
#include "harness/process/containment.h"

namespace proctor {
namespace {

constexpr const char* kLibraryPath = "LD_LIBRARY_PATH";

class ScratchDirectory {
 public:
  ScratchDirectory() : held_(make()) {}
  ~ScratchDirectory() {
    if (held_) static_cast<void>(remove_tree(held_->path));  // a leftover directory spoils no answer
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
                    fmt::format("the driver did not answer within {}", format_duration(options.timeout)));
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

// What a simulation lacks here, in words.
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
  const ScratchDirectory state;  // what the probe leaves in it concerns no run
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

}  // namespace proctor
