#include "harness/machine/installation.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace proctor {
namespace fs = std::filesystem;

std::string own_program() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).string();
}

std::string program_directory() { return fs::path(own_program()).parent_path().string(); }

namespace {

// The one line of a file below share/proctor; "" if there is none.
std::string shared_line(const std::string& name) {
  std::ifstream file(shared_file(name));
  std::string line;
  std::getline(file, line);
  return line;
}

// Without the trailing slash that "x/.." leaves.
fs::path installed_prefix() {
  return (fs::path(program_directory()) / PROCTOR_INSTALLED_PREFIX / "x").lexically_normal().parent_path();
}

}  // namespace

std::string installation() {
  const fs::path programs = program_directory();
  std::error_code error;
  if (fs::exists(programs / "share/proctor", error))
    return fmt::format("build tree, {}", programs.parent_path().string());
  const std::string kind = shared_line("installation");
  return fmt::format("{}, {}", kind.empty() ? "cmake --install" : kind, installed_prefix().string());
}

std::string suites_version() { return shared_line("suites_version"); }

std::string tool_directories() {
  return fmt::format("{}:{}", program_directory(), (installed_prefix() / "bin").string());
}

std::vector<BuiltinSuite> builtin_suites() {
  std::vector<BuiltinSuite> suites;
  for (const Backend backend : {Backend::kXpu, Backend::kCuda}) {
    for (const char* name : {"visibility", "memory", "kernels", "management", kCollectives}) {
      const auto program = fmt::format("{}/{}_{}", program_directory(), name, to_string(backend));
      // What needs the CUDA toolkit may not have been built.
      if (backend == Backend::kCuda && ::access(program.c_str(), X_OK) != 0) continue;
      suites.push_back(
          {.name = name, .backend = backend, .command = {program}, .devices = 1, .labels = {}, .env = {}});
    }
  }
  if (const auto host = program_directory() + "/collectives_host"; ::access(host.c_str(), X_OK) == 0) {
    suites.push_back({.name = kCollectives,
                      .backend = Backend::kNone,
                      .command = {host},
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

PlanDirectories plan_directories(const std::string& start) {
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

}  // namespace proctor
