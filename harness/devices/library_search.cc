#include "harness/devices/library_search.h"

#include <unistd.h>

#include <algorithm>
#include <sstream>

namespace proctor {
namespace {

#if defined(__aarch64__)
constexpr const char* kMultiarch = "aarch64-linux-gnu";
#else
constexpr const char* kMultiarch = "x86_64-linux-gnu";
#endif

// Adds the directories of a file, one per line. `include` lines are ignored: they usually name ld.so.conf.d,
// which is listed separately.
void add_conf(const RootedFiles& files, const std::string& path, std::vector<std::string>& directories) {
  std::istringstream lines(files.read(path).value_or(""));
  for (std::string line; std::getline(lines, line);) {
    line.erase(0, line.find_first_not_of(" \t"));
    line.erase(std::min(line.find_first_of(" \t#"), line.size()));
    if (!line.empty() && line[0] == '/') directories.push_back(line);
  }
}

}  // namespace

std::vector<std::string> system_library_directories(std::string_view ld_library_path,
                                                    const RootedFiles& files) {
  std::vector<std::string> directories;
  while (!ld_library_path.empty()) {
    const auto colon = std::min(ld_library_path.find(':'), ld_library_path.size());
    if (colon > 0) directories.emplace_back(ld_library_path.substr(0, colon));
    ld_library_path.remove_prefix(std::min(colon + 1, ld_library_path.size()));
  }
  add_conf(files, "/etc/ld.so.conf", directories);
  const std::string more = "/etc/ld.so.conf.d";
  for (const auto& name : files.names(more)) add_conf(files, more + "/" + name, directories);
  for (const char* base : {"/lib", "/usr/lib"}) {
    directories.push_back(std::string(base) + "/" + kMultiarch);
    directories.push_back(std::string(base) + "64");
    directories.emplace_back(base);
  }
  return directories;
}

std::vector<std::string> prefix_library_directories(const std::string& prefix) {
  std::vector<std::string> directories = {prefix};
  for (const char* base : {"/lib", "/usr/lib", "/usr/local/lib"}) {
    directories.push_back(prefix + base + "/" + kMultiarch);
    directories.push_back(prefix + base + "64");
    directories.push_back(prefix + base);
  }
  return directories;
}

std::string find_library(const std::string& name, const std::vector<std::string>& directories) {
  for (const auto& directory : directories) {
    std::string path = directory + "/" + name;
    if (access(path.c_str(), R_OK) == 0) return path;
  }
  return {};
}

}  // namespace proctor
