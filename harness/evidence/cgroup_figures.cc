#include "harness/evidence/cgroup_figures.h"

#include <array>
#include <sstream>

#include "harness/core/read_file.h"

namespace proctor {
namespace {

std::string cgroup2_mount() {
  const auto mounts = read_file("/proc/self/mounts");
  if (!mounts) return "";
  std::istringstream lines(*mounts);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string device, directory, type;
    if (words >> device >> directory >> type && type == "cgroup2") return directory;
  }
  return "";
}

// "memory.events: low 0, high 0, oom 1"
std::string on_one_line(const std::string& name, std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  for (std::size_t at = 0; (at = text.find('\n', at)) != text.npos;) text.replace(at, 1, ", ");
  return name + ": " + text + '\n';
}

}  // namespace

std::string cgroup_figures(const std::string& path) {
  constexpr std::array<const char*, 8> kFiles = {"memory.current", "memory.peak",  "memory.max",
                                                 "memory.events",  "pids.current", "memory.swap.current",
                                                 "cpu.max",        "cgroup.events"};
  const std::string mount = cgroup2_mount();
  if (mount.empty() || path.empty()) return "";
  std::string figures;
  for (const char* name : kFiles) {
    if (const auto text = read_file(mount + path + "/" + name)) figures += on_one_line(name, *text);
  }
  return figures;
}

}  // namespace proctor
