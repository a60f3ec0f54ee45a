#include "harness/runner/machine/cuda_programs.h"

#include <array>
#include <charconv>
#include <map>
#include <vector>

#include "harness/devices/library_search.h"
#include "harness/runner/machine/needed_backend.h"

namespace proctor {
namespace {

constexpr std::string_view kRuntime = "libcudart.so.";
constexpr std::string_view kEnd = "_cuda";
constexpr std::string_view kOlder = "12";

bool is_cuda_program(std::string_view program) { return program.ends_with(kEnd); }

std::array<std::string, 2> versions_of(const std::string& program) {
  return {program, program + std::string(kOlder)};
}

std::string needed_runtime(const NeededLibraries& needed) {
  for (const std::string& name : needed.names) {
    if (name.starts_with(kRuntime)) return name;
  }
  return {};
}

bool finds_its_runtime(const std::string& program, const std::vector<std::string>& system) {
  const auto needed = read_needed_libraries(program);
  if (!needed) return false;
  const std::string runtime = needed_runtime(*needed);
  return !runtime.empty() &&
         (!find_library(runtime, needed->directories).empty() || !find_library(runtime, system).empty());
}

}  // namespace

int needed_cuda_runtime(const std::string& program) {
  const auto needed = read_needed_libraries(program);
  const std::string runtime = needed ? needed_runtime(*needed) : std::string();
  int number = 0;
  if (!runtime.empty())
    std::from_chars(runtime.data() + kRuntime.size(), runtime.data() + runtime.size(), number);
  return number;
}

std::string program_for_runtime(const std::string& program, int runtime) {
  for (const std::string& version : versions_of(program)) {
    if (runtime != 0 && needed_cuda_runtime(version) == runtime) return version;
  }
  return {};
}

void use_cuda_runtime(int runtime, const std::string& directory, Plan& plan) {
  std::map<std::string, std::string> programs;
  for (Case& test : plan.cases) {
    if (test.argv.empty() || !is_cuda_program(test.argv.front()) ||
        !test.argv.front().starts_with(directory + "/"))
      continue;
    const auto [found, is_new] = programs.try_emplace(test.argv.front());
    if (is_new) found->second = program_for_runtime(test.argv.front(), runtime);
    if (!found->second.empty()) test.argv.front() = found->second;
  }
}

std::string startable_cuda_program(const std::string& program, std::string_view ld_library_path) {
  if (!is_cuda_program(program)) return program;
  const auto system = system_library_directories(ld_library_path);
  for (const std::string& version : versions_of(program)) {
    if (finds_its_runtime(version, system)) return version;
  }
  return program;
}

}  // namespace proctor
