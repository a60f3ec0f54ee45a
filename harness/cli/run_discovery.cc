#include "harness/cli/run_discovery.h"

#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "harness/plan/config.h"
#include "harness/process/contained_process.h"

namespace proctor::cli {
namespace {

namespace fs = std::filesystem;

constexpr Milliseconds kDiscoveryTimeout{60'000};
constexpr Milliseconds kDiscoveryGrace{2'000};
constexpr std::size_t kMaxEventBytes = 64 * 1024 * 1024;

Error machine_error(std::string what) { return {ErrorKind::kSystem, std::move(what), {}, 0}; }

Result<Environment> listing_environment(const std::map<std::string, std::string>& extra) {
  Environment environment = caller_environment();
  const auto hidden = plan_visibility(VisibilityRequest{});
  if (!hidden) return hidden.error();
  apply(*hidden, environment);
  for (const auto& [name, value] : extra) environment[name] = value;
  return environment;
}

ListOutput to_list_output(ProcessEnd end, std::vector<std::string> lines) {
  ListOutput output;
  output.exit_code = end.exit_code;
  output.exit_signal = end.exit_signal;
  output.timed_out = end.cause == EndCause::kTimeout;
  if (end.spawn_error)
    output.spawn_error = end.spawn_error->step + ": " + std::strerror(end.spawn_error->err);
  output.stdout_text = std::move(end.kept_stdout);
  output.stdout_cut = end.kept_stdout_cut;
  output.stderr_tail = std::move(end.output.stderr_tail);
  output.event_lines = std::move(lines);
  output.events_too_long = end.events_too_long;
  return output;
}

Result<ListOutput> run_listing(Containment& containment, const std::vector<std::string>& argv,
                               const std::map<std::string, std::string>& extra_env,
                               const std::string& directory) {
  const auto environment = listing_environment(extra_env);
  if (!environment) return environment.error();
  std::vector<std::string> lines;
  std::size_t bytes = 0;
  std::uint64_t dropped = 0;
  ProcessSpec spec;
  spec.argv = argv;
  spec.env = to_list(*environment);
  spec.directory = directory;
  spec.events = true;
  spec.keep_stdout = true;
  spec.timeout = kDiscoveryTimeout;
  spec.grace = kDiscoveryGrace;
  spec.on_event_line = [&](std::string_view line) {
    bytes += line.size();
    if (bytes <= kMaxEventBytes) {
      lines.emplace_back(line);
    } else {
      ++dropped;
    }
  };
  ProcessEnd end = run_contained(containment, std::move(spec));
  if (end.cause == EndCause::kGuardLost)
    return machine_error("list the cases: the guard of the process was lost");
  if (dropped > 0) {
    return machine_error("list the cases: more than " + std::to_string(kMaxEventBytes >> 20) +
                         " MiB of events");
  }
  return to_list_output(std::move(end), std::move(lines));
}

}  // namespace

std::string program_directory() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path().string();
}

std::vector<BuiltinSuite> builtin_suites() {
  std::vector<BuiltinSuite> suites;
  for (const char* name : {"visibility", "memory", "kernels"}) {
    suites.push_back({.name = name,
                      .backend = Backend::kXpu,
                      .command = {program_directory() + "/" + name + "_xpu"},
                      .kind = SuiteKind::kProctor,
                      .devices = 1,
                      .labels = {},
                      .env = {}});
  }
  return suites;
}

std::string shared_file(const std::string& name) {
  std::error_code error;
  for (const char* place : {"share/proctor", "../share/proctor"}) {
    const fs::path path = fs::path(program_directory()) / place / name;
    if (fs::exists(path, error)) return path.lexically_normal().string();
  }
  return {};
}

Environment caller_environment() { return read_environment(::environ); }

std::string search_path() {
  const Environment caller = caller_environment();
  const auto path = caller.find("PATH");
  return path == caller.end() ? "/usr/bin:/bin" : path->second;
}

Result<PlanOutcome> discover_plan(const PlanOptions& options, Containment& containment) {
  const auto config = load_config(options.config, options.limits, builtin_suites());
  if (!config) return config.error();
  const Environment caller = caller_environment();
  const auto python_path = caller.find("PYTHONPATH");
  const SearchPaths paths{.path = search_path(),
                          .python_path = python_path == caller.end() ? "" : python_path->second,
                          .pytest_plugin = shared_file("pytest")};
  return make_plan(*config, options.selection, paths,
                   [&](const auto& argv, const auto& extra_env, const auto& directory) {
                     return run_listing(containment, argv, extra_env, directory);
                   });
}

}  // namespace proctor::cli
