#include "suites/probe/stand_in.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <filesystem>
#include <string_view>
#include <vector>

#include "harness/base/backend.h"

namespace proctor::probe {
namespace {

// A symbol that every simulator exports, whatever its file name is.
constexpr const char* kMark = "proctor_simgpu_version";

// The major numbers of /dev/dri/* and of accel nodes; see Documentation/admin-guide/devices.txt of Linux.
constexpr unsigned kDrmMajor = 226;
constexpr unsigned kAccelMajor = 261;
constexpr std::string_view kWslNode = "/dev/dxg";

std::vector<std::string> loaded_libraries() {
  std::vector<std::string> paths;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        if (info->dlpi_name != nullptr && *info->dlpi_name != '\0')
          static_cast<std::vector<std::string>*>(data)->emplace_back(info->dlpi_name);
        return 0;
      },
      &paths);
  return paths;
}

}  // namespace

std::string loaded_simulator() {
  for (const auto& path : loaded_libraries()) {
    void* library = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) continue;
    const void* mark = dlsym(library, kMark);
    Dl_info where{};
    const bool own = mark != nullptr && dladdr(mark, &where) != 0 && where.dli_fname != nullptr;
    dlclose(library);
    if (own) return where.dli_fname;
  }
  return {};
}

bool is_reported_memory_use() {
  const std::string simulator = loaded_simulator();
  if (simulator.empty()) return this_process_may_see_memory_use();
  void* library = dlopen(simulator.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return true;
  const auto perfmon = reinterpret_cast<int (*)()>(dlsym(library, "proctor_simgpu_perfmon"));
  const bool reported = perfmon == nullptr || perfmon() != 0;
  dlclose(library);
  return reported;
}

std::string loaded_library(std::initializer_list<std::string_view> names) {
  const auto paths = loaded_libraries();
  for (const std::string_view name : names) {
    for (const auto& path : paths) {
      if (path.find(name) != path.npos) return path;
    }
  }
  return {};
}

bool has_open_device_node() {
  std::error_code unreadable;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", unreadable)) {
    struct stat node {};
    if (::stat(entry.path().c_str(), &node) != 0 || !S_ISCHR(node.st_mode)) continue;
    const unsigned major = gnu_dev_major(node.st_rdev);
    if (major == kDrmMajor || major == kAccelMajor) return true;
    if (std::filesystem::read_symlink(entry.path(), unreadable) == kWslNode) return true;
  }
  return false;
}

}  // namespace proctor::probe
