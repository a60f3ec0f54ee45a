#include "harness/runner/machine/discover_plan.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include "harness/base/argv.h"
#include "harness/base/clock.h"
#include "harness/base/duration.h"
#include "harness/base/regular_file.h"
#include "harness/base/text.h"
#include "harness/frameworks/all_kinds.h"
#include "harness/journal/child_protocol.h"
#include "harness/plan/config.h"
#include "harness/plan/discovery.h"
#include "harness/plan/recognise.h"
#include "harness/plan/suite_options.h"
#include "harness/process/contained_process.h"
#include "harness/request/suite_arguments.h"
#include "harness/runner/machine/default_devices.h"
#include "harness/runner/machine/installation.h"
#include "harness/runner/machine/known_listings.h"
#include "harness/runner/machine/program_needs.h"

namespace proctor {
namespace {

constexpr Milliseconds kDiscoveryGrace{2'000};
constexpr std::size_t kMaxEventBytes = 64 * 1024 * 1024;
constexpr Milliseconds kAskAgain{1'000};

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

// Proctor's suites for CUDA list their cases without devices, but they start only if the CUDA library exists. The
// simulated library is sufficient. It has a lower priority than the paths of the caller.
void add_simulated_libraries(const std::string& programs, Environment& environment) {
  const auto simulated = cuda_environment({}, simulator_directories(programs));
  if (simulated.library_directory.empty()) return;
  auto& path = environment["LD_LIBRARY_PATH"];
  path = path.empty() ? simulated.library_directory : prepended(path, simulated.library_directory);
}

// A listing command, contained and with a deadline. All devices are hidden from it, or it gets leased devices of its
// backend.
class Listing {
 public:
  Listing(Machine& machine, const PlanOptions& options) : machine_(machine), options_(options) {}

  // Lists without a visible device, because a driver that hangs must not block discovery.
  Result<ListOutput> without_devices(const ListCommand& command);
  // Lists with as many devices as the cases get, or as many as exist. It waits for devices of other runs as long as a
  // case does, because the set of cases must not depend on other runs.
  Result<ListOutput> with_devices(const Suite& suite, const ListCommand& command);
  // Returns whether the last listing had devices. The listing of a suite that may not need devices does not wait for
  // them.
  bool saw_devices() const { return saw_devices_; }

 private:
  struct Process {
    std::vector<std::string> argv;
    std::vector<std::string> env;
    std::string directory;
    std::string file_option;
    std::vector<int> leases = {};
    bool host_pids = false;
  };
  Result<ListOutput> run(const Process& process);
  Result<std::string> new_file();
  Result<std::vector<std::string>> lease(const Suite& suite, DevicePool& pool) const;

  Machine& machine_;
  const PlanOptions& options_;
  bool saw_devices_ = false;
};

Result<std::string> Listing::new_file() {
  const auto scratch = machine_.scratch();
  if (!scratch) return scratch.error();
  return (*scratch)->new_file_name();
}

// Reads the file of a listing, if it is a regular file of acceptable size.
std::string read_list_file(const std::string& file) {
  auto text = read_regular(file, kMaxEventBytes);
  std::error_code ignored;
  std::filesystem::remove(file, ignored);
  return text ? *std::move(text) : std::string();
}

Result<ListOutput> Listing::run(const Process& process) {
  const auto containment = machine_.containment();
  if (!containment) return containment.error();
  std::string list_file;
  if (!process.file_option.empty()) {
    auto file = new_file();
    if (!file) return file.error();
    list_file = *std::move(file);
  }
  std::vector<std::string> lines;
  std::size_t bytes = 0;
  std::uint64_t dropped = 0;
  ProcessSpec spec;
  spec.argv = process.argv;
  if (!list_file.empty()) spec.argv.push_back(process.file_option + list_file);
  spec.env = process.env;
  spec.directory = process.directory;
  if (process.host_pids) spec.reach = Reach::kHostPids;
  spec.leases = process.leases;
  spec.events = true;
  spec.keep_stdout = true;
  spec.limits.timeout = options_.listing_timeout;
  spec.limits.fair = true;
  spec.limits.grace = kDiscoveryGrace;
  spec.on_event_line = [&](std::string_view line) {
    bytes += line.size();
    if (bytes <= kMaxEventBytes) {
      lines.emplace_back(line);
    } else {
      ++dropped;
    }
  };
  ProcessEnd end = run_contained(**containment, std::move(spec));
  if (end.cause == EndCause::kGuardLost)
    return machine_error("list the cases: the guard of the process was lost");
  if (dropped > 0) {
    return machine_error("list the cases: more than " + std::to_string(kMaxEventBytes >> 20) +
                         " MiB of events");
  }
  ListOutput output = to_list_output(std::move(end), std::move(lines));
  if (!list_file.empty()) output.file_text = read_list_file(list_file);
  return output;
}

Result<ListOutput> Listing::without_devices(const ListCommand& command) {
  saw_devices_ = false;
  Environment environment = machine_.caller();
  for (const std::string& name : all_caller_filters()) environment.erase(name);
  for (const std::string& name : channel_variables()) environment.erase(name);
  for (const auto& [name, value] : command.env) environment[name] = value;
  const auto hidden = plan_visibility(VisibilityRequest{});
  if (!hidden) return hidden.error();
  apply(*hidden, environment);
  std::vector<std::string> argv = command.argv;
  const std::string programs = machine_.installation().directory();
  if (argv.front().starts_with(programs + "/")) {
    add_simulated_libraries(programs, environment);
    argv.front() = startable_cuda_program(argv.front(), environment["LD_LIBRARY_PATH"]);
  }
  return run({.argv = std::move(argv),
              .env = to_list(environment),
              .directory = command.directory,
              .file_option = command.file_option,
              .host_pids = command.host_pids});
}

// Waits until a lease may have ended, or for a second: other machines may use the directory too.
void await_change(const LeaseDirectory& leases, Clock::time_point until) {
  const auto left = std::chrono::ceil<Milliseconds>(until - Clock::now());
  const auto longest = std::clamp(left, Milliseconds(0), kAskAgain);
  const auto watch = leases.watch();
  pollfd change{.fd = watch ? watch->get() : -1, .events = POLLIN, .revents = 0};
  poll(&change, 1, static_cast<int>(longest.count()));
}

std::string why_drained(DevicePool& pool) {
  std::string why;
  for (const Warning& warning : pool.take_warnings()) {
    if (warning.code == WarningCode::kDeviceDrained) why += (why.empty() ? "" : "; ") + warning.text;
  }
  return why;
}

// Returns nothing if no device exists. The run reports this.
Result<std::vector<std::string>> Listing::lease(const Suite& suite, DevicePool& pool) const {
  const std::string backend(to_string(suite.backend));
  const std::string what = "list the cases of suite " + suite.name + " with its devices: ";
  const auto until = Clock::now() + options_.lease_wait;
  auto there = pool.width(backend);
  if (there == 0) return std::vector<std::string>();
  for (bool reported = false;;) {
    const int count = std::min(std::max(1, suite.devices), there.value_or(suite.devices));
    if (auto ids = pool.lease(backend, count, "listing of " + suite.name)) return *std::move(ids);
    if (suite.devices_by == DevicesBy::kAuto) return std::vector<std::string>();
    if (const auto left = pool.width(backend); left != there) {  // a device was found to be drained
      there = left;
      if (there == 0) return machine_error(what + why_drained(pool));
      continue;
    }
    std::string who;
    for (const auto& holder : pool.held_elsewhere()) who += (who.empty() ? "" : "; ") + holder;
    if (who.empty()) who = "their holders are unknown";
    if (Clock::now() >= until || !pool.leases())
      return machine_error(what + "waited " + format_duration(options_.lease_wait) + " for them: " + who);
    if (!std::exchange(reported, true) && options_.on_wait) options_.on_wait(who);
    await_change(*pool.leases(), until);
  }
}

// The kind of such a suite is not known yet, so its environment has the caller's filters of every kind.
std::vector<std::string> without_caller_filters(std::vector<std::string> variables, const Suite& suite) {
  for (const std::string& name : all_caller_filters()) {
    if (!suite.env.contains(name)) unset_variable(variables, name);
  }
  return variables;
}

Result<ListOutput> Listing::with_devices(const Suite& suite, const ListCommand& command) {
  const auto devices = machine_.devices({suite.backend});
  if (!devices) return devices.error();
  const auto leases = machine_.leases(*devices);
  if (!leases) return leases.error();
  DevicePool pool(devices->pool, *leases ? std::optional(**leases) : std::nullopt, "listing");
  const auto ids = lease(suite, pool);
  if (!ids) return ids.error();
  if (ids->empty()) {
    auto output = without_devices(command);
    if (output && suite.devices_by != DevicesBy::kAuto) output->no_device = to_string(suite.backend);
    return output;
  }
  saw_devices_ = true;
  // The listing gets separate simulated devices, unless other runs share them too. Thus the ledger of the run has no
  // entry of a listing.
  const auto scratch = machine_.scratch();
  if (!scratch) return scratch.error();
  const auto state = (*scratch)->new_directory();
  if (!state) return state.error();
  const std::string shared = machine_.simulation() ? machine_.simulation()->state : "";
  auto environments = machine_.environments(
      *devices, options_.extent, {.state = shared.empty() ? *state : shared, .log = {}, .faults = {}});
  if (!environments) return environments.error();
  const auto environment = environments->of(suite, *ids);
  if (!environment) return environment.error();
  std::vector<std::string> words;
  if (const auto simulated = devices->simulations.find(suite.backend);
      simulated != devices->simulations.end())
    words = simulated->second.loader_words;
  words.insert(words.end(), command.argv.begin(), command.argv.end());
  auto output = run({.argv = words,
                     .env = without_caller_filters(environment->variables, suite),
                     .directory = command.directory,
                     .file_option = command.file_option,
                     .leases = pool.descriptors(*ids),
                     .host_pids = command.host_pids});
  // Devices return in their earlier state, because they were not examined. After a killed listing they stay dirty.
  if (output && output->exit_code) pool.return_unused(*ids);
  return output;
}

void choose_provider(const std::string& provider, Config& config) {
  if (provider.empty()) return;
  for (SuiteConfig& suite : config.suites) {
    if (suite.built_in && suite.suite.name == kCollectives)
      suite.suite.env[child::kProviderVariable] = provider;
  }
}

// Refuses a provider if no case uses it, because the option would appear to have an effect.
Result<void> check_provider(const std::string& provider, const Plan& plan) {
  const bool used = std::ranges::any_of(plan.cases, [&plan](const Case& test) {
    const auto& env = plan.suites[test.suite].env;
    return plan.suites[test.suite].name == kCollectives && env.contains(child::kProviderVariable);
  });
  if (provider.empty() || used) return {};
  return Error::refused(
      "--suite-arg provider=" + provider + " has no effect: no case of suite `collectives` is selected",
      "Run `proctor run collectives`.");
}

// Refuses a point that a selected case lacks. A case that ran with all of its points would prove more than was
// requested, and a case without points would prove less.
Result<void> check_point(const std::string& point, const Plan& plan) {
  if (point.empty()) return {};
  for (const Case& test : plan.cases) {
    if (const auto axes = axes_at(test.axes, point, test.id); !axes) return axes.error();
  }
  return {};
}

std::string exec_options(const MachineOptions& machine) {
  return machine.sim.empty() ? "" : " --sim " + shell_quote(machine.sim);
}

// Removes suites of backends that are not simulated. Used if no backend is requested.
void leave_out_not_simulated(const Simulation& simulation, std::vector<BuiltinSuite>& suites) {
  const auto simulated = backends_of(simulation.topology);
  std::erase_if(suites, [&](const BuiltinSuite& suite) {
    return suite.backend != Backend::kNone && std::ranges::find(simulated, suite.backend) == simulated.end();
  });
}

}  // namespace

Result<PlanOutcome> discover_plan(const PlanOptions& options, Machine& machine) {
  auto builtins = machine.installation().builtin_suites();
  if (machine.simulation() && !options.selection.backend) {
    leave_out_not_simulated(*machine.simulation(), builtins);
  }
  auto files = options.files ? Result<ConfigFiles>(*options.files) : read_config_files(options.config);
  if (!files) return files.error();
  auto config = config_of(*files, options.limits, builtins);
  if (!config) return config.error();
  machine.lease_in(config->run.machine.state_dir);
  // This runs even if nothing has to be listed: a layer that does not work here is refused before any program is
  // started. It runs after the files of the user are read, so that a failure in these files leaves no cgroup.
  if (auto containment = machine.containment(); !containment) return containment.error();
  choose_provider(options.provider, *config);
  const auto python_path = machine.caller().find("PYTHONPATH");
  const SearchPaths paths{.path = search_path(),
                          .python_path = python_path == machine.caller().end() ? "" : python_path->second,
                          .pytest_plugin = machine.installation().shared_file("pytest"),
                          .caller = machine.caller()};
  Listing listing(machine, options);
  KnownListings known;
  if (!options.listings.empty() && !options.keep_listings) known = KnownListings::read(options.listings);
  auto outcome = make_plan(
      *config, options.selection, paths,
      {.run =
           [&](const ListCommand& command) {
             return known.find_or(command, "", [&] { return listing.without_devices(command); });
           },
       .run_with_devices =
           [&](const Suite& suite, const ListCommand& command) {
             return known.find_or(command, std::string(to_string(suite.backend)),
                                  [&] { return listing.with_devices(suite, command); });
           },
       .exec_options = exec_options(machine.options()),
       .choose_devices =
           [&](Suite& suite, SuiteRole role, const std::string& executable, std::vector<Warning>& warnings) {
             return choose_devices(machine, role, executable, suite, warnings);
           },
       .confirm_devices =
           [&](Suite& suite, std::vector<Warning>& warnings) {
             return confirm_devices(machine, listing.saw_devices(), suite, warnings);
           }});
  if (!outcome) {
    Error error = outcome.error();
    if (builtins.empty())
      error.hint = "Proctor's CUDA suites are not built here. Configure with nvcc on PATH.";
    return error;
  }
  if (auto used = check_provider(options.provider, outcome->plan); !used) return used.error();
  if (auto used = check_suite_options(options.selection, outcome->plan.suites); !used) return used.error();
  if (auto fits = check_point(options.extent.point, outcome->plan); !fits) return fits.error();
  if (!options.keep_listings) return outcome;
  if (auto kept = known.write(options.listings); !kept) return kept.error();
  return outcome;
}

Result<PlanOptions> plan_options(const RunRequest& request) {
  PlanOptions options{.config = request.config, .selection = request.selection, .limits = request.limits};
  if (auto read = read_suite_arguments(request.suite_arguments, suite_argument_names(), options.extent,
                                       options.provider);
      !read)
    return read.error();
  options.lease_wait = request.devices.lease_wait.value_or(options.lease_wait);
  return options;
}

}  // namespace proctor
