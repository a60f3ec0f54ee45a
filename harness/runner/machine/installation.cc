#include "harness/runner/machine/installation.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace proctor {
namespace fs = std::filesystem;

namespace {

fs::path prefix_of(const std::string& directory) {
  // Removes the trailing slash of "x/..".
  return (fs::path(directory) / PROCTOR_INSTALLED_PREFIX / "x").lexically_normal().parent_path();
}

// Returns the only line of a file below share/proctor, or "".
std::string shared_line(const Installation& installed, const std::string& name) {
  std::ifstream file(installed.shared_file(name));
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace

Installation::Installation() {
  std::error_code unreadable;
  program_ = fs::read_symlink("/proc/self/exe", unreadable).string();
}

Result<Installation> Installation::at(const std::string& prefix) {
  for (const char* place : {"bin/proctor", "proctor"}) {
    std::error_code missing;
    const fs::path program = fs::canonical(fs::path(prefix) / place, missing);
    if (missing || !fs::is_regular_file(program, missing)) continue;
    Installation installed;
    installed.program_ = program.string();
    return installed;
  }
  return Error::refused("no installation of Proctor is in " + prefix + ": it has no bin/proctor",
                        "Name the prefix of `cmake --install`, a virtual environment, or a build directory.");
}

std::string Installation::directory() const { return fs::path(program_).parent_path().string(); }

std::string Installation::description() const {
  const fs::path programs = directory();
  std::error_code error;
  if (fs::exists(programs / "share/proctor", error))
    return fmt::format("build tree, {}", programs.parent_path().string());
  const std::string kind = shared_line(*this, "installation");
  return fmt::format("{}, {}", kind.empty() ? "cmake --install" : kind, prefix_of(directory()).string());
}

std::string Installation::suites_version() const { return shared_line(*this, "suites_version"); }

std::string Installation::tool_directories() const {
  return fmt::format("{}:{}", directory(), (prefix_of(directory()) / "bin").string());
}

std::vector<BuiltinSuite> Installation::builtin_suites() const {
  std::vector<BuiltinSuite> suites;
  for (const Backend backend : {Backend::kXpu, Backend::kCuda}) {
    for (const char* name : {"visibility", "memory", "kernels", "management", kCollectives}) {
      const auto program = fmt::format("{}/{}_{}", directory(), name, to_string(backend));
      // Programs that need the CUDA toolkit may not have been built.
      if (backend == Backend::kCuda && ::access(program.c_str(), X_OK) != 0) continue;
      suites.push_back(
          {.name = name, .backend = backend, .command = {program}, .devices = 1, .labels = {}, .env = {}});
    }
  }
  if (const auto host = directory() + "/collectives_host"; ::access(host.c_str(), X_OK) == 0) {
    suites.push_back({.name = kCollectives,
                      .backend = Backend::kNone,
                      .command = {host},
                      .devices = 0,
                      .labels = {},
                      .env = {}});
  }
  return suites;
}

std::string Installation::shared_file(const std::string& name) const {
  std::error_code error;
  for (const char* place : {"share/proctor", PROCTOR_INSTALLED_SHARE}) {
    const fs::path path = fs::path(directory()) / place / name;
    if (fs::exists(path, error)) return path.lexically_normal().string();
  }
  return {};
}

PlanDirectories Installation::plan_directories(const std::string& start) const {
  std::string shared = shared_file("pytest");
  shared.erase(std::min(shared.size(), shared.rfind('/')));
  return {.start = start, .programs = directory(), .shared = shared};
}

Environment caller_environment() { return read_environment(::environ); }

std::string search_path() {
  const Environment caller = caller_environment();
  const auto path = caller.find("PATH");
  return path == caller.end() ? "/usr/bin:/bin" : path->second;
}

}  // namespace proctor
