#include "harness/devices/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

namespace proctor {

PlannedDevice to_planned(const Device& device) {
  PlannedDevice planned{.id = device.id,
                        .backend = device.backend,
                        .name = device.name,
                        .simulated = device.simulated,
                        .uuid = device.uuid,
                        .pci = device.pci,
                        .capability = device.capability};
  if (device.vendor_id != 0)
    planned.pci_id = fmt::format("{:04x}:{:04x}", device.vendor_id, device.device_id);
  return planned;
}

namespace {

namespace fs = std::filesystem;

constexpr const char* kIntel = "0x8086";
constexpr const char* kProcessorGraphics = "0000:00:02.0";

template <typename Wanted>
bool any_node(const char* directory, Wanted wanted) {
  std::error_code unreadable;  // an unreadable directory counts as empty
  const fs::directory_iterator nodes(directory, unreadable);
  return std::any_of(begin(nodes), end(nodes), [&](const fs::directory_entry& node) {
    return wanted(node.path().filename().string());
  });
}

// The check is necessary because NVIDIA's driver creates render nodes, too.
bool is_intel(const std::string& node) {
  std::ifstream file("/sys/class/drm/" + node + "/device/vendor");
  std::string vendor;
  return node.starts_with("renderD") && file >> vendor && vendor == kIntel;
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

bool has_intel_node() { return any_node("/dev/dri", is_intel); }

bool has_discrete_intel_node() {
  return any_node("/dev/dri", [](const std::string& name) {
    std::error_code unknown;  // an unreadable link counts as discrete
    const auto device = fs::read_symlink("/sys/class/drm/" + name + "/device", unknown);
    return is_intel(name) && device.filename() != kProcessorGraphics;
  });
}

}  // namespace proctor
