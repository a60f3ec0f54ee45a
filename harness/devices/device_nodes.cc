#include "harness/devices/device_nodes.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

namespace proctor {
namespace {

namespace fs = std::filesystem;

constexpr const char* kIntel = "0x8086";

template <typename Wanted>
bool any_node(const char* directory, Wanted wanted) {
  std::error_code unreadable;  // then there is none that could be opened
  const fs::directory_iterator nodes(directory, unreadable);
  return std::any_of(begin(nodes), end(nodes), [&](const fs::directory_entry& node) {
    return wanted(node.path().filename().string());
  });
}

}  // namespace

bool has_nvidia_node() {
  constexpr std::string_view kPrefix = "nvidia";
  return any_node("/dev", [&](const std::string& name) {
    return name.starts_with(kPrefix) && name.size() > kPrefix.size() &&
           std::all_of(name.begin() + kPrefix.size(), name.end(),
                       [](char c) { return c >= '0' && c <= '9'; });
  });
}

// NVIDIA's driver makes render nodes, too.
bool has_intel_node() {
  return any_node("/dev/dri", [](const std::string& name) {
    std::ifstream file("/sys/class/drm/" + name + "/device/vendor");
    std::string vendor;
    return name.starts_with("renderD") && file >> vendor && vendor == kIntel;
  });
}

}  // namespace proctor
