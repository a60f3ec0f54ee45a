#include "harness/cli/run_discovery.h"

#include <unistd.h>

#include <filesystem>

#include "harness/cli/listing.h"
#include "harness/plan/config.h"

namespace proctor::cli {
namespace fs = std::filesystem;

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

Result<PlanOutcome> discover_plan(const PlanOptions& options, const std::string& state_dir,
                                  const std::optional<Simulation>& simulation, Containment& containment) {
  const auto config = load_config(options.config, options.limits, builtin_suites());
  if (!config) return config.error();
  const Environment caller = caller_environment();
  const auto python_path = caller.find("PYTHONPATH");
  const SearchPaths paths{.path = search_path(),
                          .python_path = python_path == caller.end() ? "" : python_path->second,
                          .pytest_plugin = shared_file("pytest")};
  Listing listing(containment, options, state_dir, simulation);
  auto outcome = make_plan(
      *config, options.selection, paths,
      [&](const auto& argv, const auto& env, const auto& directory) {
        return listing.without_devices(argv, env, directory);
      },
      [&](const Suite& suite, const auto& argv) { return listing.with_devices(suite, argv); });
  if (outcome)
    outcome->warnings.insert(outcome->warnings.end(), listing.warnings().begin(), listing.warnings().end());
  return outcome;
}

}  // namespace proctor::cli
