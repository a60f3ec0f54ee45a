#include "harness/cli/listing.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "harness/cli/run_devices.h"
#include "harness/cli/run_discovery.h"
#include "harness/process/contained_process.h"
#include "harness/run/attempt/case_environment.h"
#include "harness/run/care/device_pool.h"
#include "harness/run/record/scratch.h"

namespace proctor::cli {
namespace {

constexpr Milliseconds kDiscoveryTimeout{60'000};
constexpr Milliseconds kDiscoveryGrace{2'000};
constexpr std::size_t kMaxEventBytes = 64 * 1024 * 1024;

Error machine_error(std::string what) { return {ErrorKind::kSystem, std::move(what), {}, 0}; }

ListOutput to_list_output(ProcessEnd end, std::vector<std::string> lines) {
  ListOutput output;
  output.exit_code = end.exit_code;
  output.exit_signal = end.exit_signal;
  output.timed_out = end.cause == EndCause::kTimeout;
  if (end.spawn_error)
    output.spawn_error = end.spawn_error->step + ": " + std::strerror(end.spawn_error->err);
  output.stdout_text = std::move(end.kept_stdout);
  output.stdout_truncated = end.kept_stdout_truncated;
  output.stderr_tail = std::move(end.output.stderr_tail);
  output.event_lines = std::move(lines);
  output.events_too_long = end.events_too_long;
  return output;
}

// Our own suites for CUDA list their cases without it, but they start only where its library is. The
// simulated one will do, after all that the caller has.
void add_simulated_libraries(Environment& environment) {
  const auto simulated = cuda_environment({}, simulator_directories());
  if (simulated.library_directory.empty()) return;
  auto& path = environment["LD_LIBRARY_PATH"];
  path = path.empty() ? simulated.library_directory : prepended(path, simulated.library_directory);
}

// What find_devices() looks at of a plan.
Plan plan_for(const Suite& suite, int devices) {
  Plan plan;
  plan.suites.push_back(suite);
  plan.cases.emplace_back();
  plan.cases.back().devices = devices;
  return plan;
}

}  // namespace

std::string lease_path(const PlanOptions& options, const std::string& state_dir, bool simulated) {
  if (simulated) return options.sim_state.empty() ? "" : options.sim_state + "/leases";
  return state_dir.empty() ? LeaseDirectory::kDefaultPath : state_dir;
}

Result<ListOutput> Listing::run(const Process& process) {
  std::vector<std::string> lines;
  std::size_t bytes = 0;
  std::uint64_t dropped = 0;
  ProcessSpec spec;
  spec.argv = process.argv;
  spec.env = process.env;
  spec.directory = process.directory;
  spec.leases = process.leases;
  spec.events = true;
  spec.keep_stdout = true;
  spec.limits.timeout = kDiscoveryTimeout;
  spec.limits.grace = kDiscoveryGrace;
  spec.on_event_line = [&](std::string_view line) {
    bytes += line.size();
    if (bytes <= kMaxEventBytes) {
      lines.emplace_back(line);
    } else {
      ++dropped;
    }
  };
  ProcessEnd end = run_contained(containment_, std::move(spec));
  if (end.cause == EndCause::kGuardLost)
    return machine_error("list the cases: the guard of the process was lost");
  if (dropped > 0) {
    return machine_error("list the cases: more than " + std::to_string(kMaxEventBytes >> 20) +
                         " MiB of events");
  }
  return to_list_output(std::move(end), std::move(lines));
}

Result<ListOutput> Listing::without_devices(const std::vector<std::string>& argv,
                                            const std::map<std::string, std::string>& extra_env,
                                            const std::string& directory) {
  Environment environment = caller_environment();
  const auto hidden = plan_visibility(VisibilityRequest{});
  if (!hidden) return hidden.error();
  apply(*hidden, environment);
  for (const auto& [name, value] : extra_env) environment[name] = value;
  if (argv.front().starts_with(program_directory() + "/")) add_simulated_libraries(environment);
  return run({.argv = argv, .env = to_list(environment), .directory = directory});
}

Result<ListOutput> Listing::with_devices(const Suite& suite, const std::vector<std::string>& argv) {
  const std::string backend(to_string(suite.backend));
  const int count = std::max(1, suite.devices);
  auto devices = find_devices(plan_for(suite, count), simulation_, containment_, caller_environment());
  if (!devices) return devices.error();
  std::optional<LeaseDirectory> leases;
  if (const auto path = lease_path(options_, state_dir_, simulation_.has_value()); !path.empty()) {
    auto opened = LeaseDirectory::open(path);
    if (!opened) return opened.error();
    leases = std::move(*opened);
  }
  DevicePool pool(devices->pool, std::move(leases), "listing");
  const auto ids = pool.lease(backend, count, "listing of " + suite.name);
  if (!ids || ids->empty()) {
    const std::string why =
        pool.held_elsewhere().empty() ? "there are not so many" : pool.held_elsewhere().front();
    warnings_.push_back({"listed_without_devices", suite.name + " was listed without its " +
                                                       std::to_string(count) + " " + backend +
                                                       " device(s): " + why});
    return without_devices(argv, suite.env, suite.directory);
  }
  auto scratch = ScratchRoot::create();
  if (!scratch) return scratch.error();
  if (!devices->simulations.empty()) {
    const auto state =
        options_.sim_state.empty() ? (*scratch)->new_directory() : Result<std::string>(options_.sim_state);
    if (!state) return state.error();
    bind(devices->simulations, {.state = *state, .log = {}, .faults = {}});
  }
  CaseEnvironments environments(caller_environment(), devices->leasable, devices->simulations,
                                (*scratch)->path(), options_.size);
  const auto environment = environments.of(suite, *ids);
  if (!environment) return environment.error();
  std::vector<std::string> words = devices->simulations[suite.backend].launcher;
  words.insert(words.end(), argv.begin(), argv.end());
  auto output = run(
      {.argv = words, .env = *environment, .directory = suite.directory, .leases = pool.descriptors(*ids)});
  // As it was found: nobody has examined it. What was killed may have left something there, and stays dirty.
  if (output && output->exit_code) pool.return_unused(*ids);
  return output;
}

}  // namespace proctor::cli
