#include "harness/cli/run_discovery.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "harness/cli/listing.h"
#include "harness/core/child_protocol.h"
#include "harness/plan/load_config.h"

namespace proctor::cli {
namespace fs = std::filesystem;

constexpr const char* kCollectives = "collectives";

std::string own_program() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).string();
}

std::string program_directory() { return fs::path(own_program()).parent_path().string(); }

std::vector<BuiltinSuite> builtin_suites() {
  std::vector<BuiltinSuite> suites;
  for (const Backend backend : {Backend::kXpu, Backend::kCuda}) {
    for (const char* name : {"visibility", "memory", "kernels", kCollectives}) {
      const auto program = fmt::format("{}/{}_{}", program_directory(), name, to_string(backend));
      // What needs the CUDA toolkit may not have been built.
      if (backend == Backend::kCuda && ::access(program.c_str(), X_OK) != 0) continue;
      suites.push_back({.name = name,
                        .backend = backend,
                        .command = {program},
                        .kind = SuiteKind::kProctor,
                        .devices = 1,
                        .labels = {},
                        .env = {}});
    }
  }
  if (const auto host = program_directory() + "/collectives_host"; ::access(host.c_str(), X_OK) == 0) {
    suites.push_back({.name = kCollectives,
                      .backend = Backend::kNone,
                      .command = {host},
                      .kind = SuiteKind::kProctor,
                      .devices = 0,
                      .labels = {},
                      .env = {}});
  }
  return suites;
}

std::string shared_file(const std::string& name) {
  std::error_code error;
  for (const char* place : {"share/proctor", PROCTOR_INSTALLED_SHARE}) {
    const fs::path path = fs::path(program_directory()) / place / name;
    if (fs::exists(path, error)) return path.lexically_normal().string();
  }
  return {};
}

PlanDirectories plan_places(const std::string& start) {
  std::string shared = shared_file("pytest");
  shared.erase(std::min(shared.size(), shared.rfind('/')));
  return {.start = start, .programs = program_directory(), .shared = shared};
}

Environment caller_environment() { return read_environment(::environ); }

std::string search_path() {
  const Environment caller = caller_environment();
  const auto path = caller.find("PATH");
  return path == caller.end() ? "/usr/bin:/bin" : path->second;
}

namespace {

void choose_provider(const std::string& provider, Config& config) {
  if (provider.empty()) return;
  for (SuiteConfig& suite : config.suites) {
    if (suite.built_in && suite.suite.name == kCollectives)
      suite.suite.env[child::kProviderVariable] = provider;
  }
}

// A provider of nothing would be a choice without an effect.
Result<void> check_provider(const std::string& provider, const Plan& plan) {
  const bool used = std::ranges::any_of(plan.cases, [&plan](const Case& test) {
    const auto& env = plan.suites[test.suite].env;
    return plan.suites[test.suite].name == kCollectives && env.contains(child::kProviderVariable);
  });
  if (provider.empty() || used) return {};
  return Error::usage("read --provider " + provider + ": no case of our suite collectives is selected",
                      "Select it: `proctor run collectives`.");
}

}  // namespace

Result<PlanOutcome> discover_plan(const PlanOptions& options, const std::string& state_dir,
                                  const std::optional<Simulation>& simulation, Containment& containment) {
  auto builtins = builtin_suites();
  // Nobody asked for a backend: those that are simulated.
  if (simulation && options.selection.backend.empty()) {
    const auto simulated = backends_of(simulation->topology);
    std::erase_if(builtins, [&](const BuiltinSuite& suite) {
      return suite.backend != Backend::kNone &&
             std::find(simulated.begin(), simulated.end(), suite.backend) == simulated.end();
    });
  }
  auto config = load_config(options.config, options.limits, builtins);
  if (!config) return config.error();
  choose_provider(options.provider, *config);
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
  if (!outcome) {
    Error error = outcome.error();
    if (builtins.empty()) error.hint = "Our suites for CUDA are not built here: configure with nvcc on PATH.";
    return error;
  }
  if (auto used = check_provider(options.provider, outcome->plan); !used) return used.error();
  outcome->warnings.insert(outcome->warnings.end(), listing.warnings().begin(), listing.warnings().end());
  return outcome;
}

}  // namespace proctor::cli
