#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "harness/base/read_file.h"
#include "suites/accel/xpu/level_zero.h"
#include "suites/probe/probe_main.h"
#include "suites/probe/stand_in.h"

namespace proctor::probe {
namespace {

using nlohmann::json;
using xpu::LevelZero;

constexpr const char* kDriverLibraries[] = {"libze_intel_gpu.so.1", "libze_intel_vpu.so.1"};

std::string type_name(ze_device_type_t type) {
  switch (type) {
    case ZE_DEVICE_TYPE_GPU:
      return "gpu";
    case ZE_DEVICE_TYPE_CPU:
      return "cpu";
    case ZE_DEVICE_TYPE_FPGA:
      return "fpga";
    case ZE_DEVICE_TYPE_MCA:
      return "mca";
    case ZE_DEVICE_TYPE_VPU:
      return "vpu";
    default:
      return "unknown";
  }
}

ze_device_properties_t properties_of(const LevelZero& ze, ze_device_handle_t device, ze_result_t& result) {
  ze_device_properties_t properties{};
  properties.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES;
  result = ze.device_get_properties(device, &properties);
  return properties;
}

std::uint64_t memory_bytes(const LevelZero& ze, ze_device_handle_t device) {
  std::uint32_t count = 0;
  if (ze.device_get_memory_properties(device, &count, nullptr) != ZE_RESULT_SUCCESS) return 0;
  std::vector<ze_device_memory_properties_t> memories(count);
  for (auto& memory : memories) memory.stype = ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES;
  if (ze.device_get_memory_properties(device, &count, memories.data()) != ZE_RESULT_SUCCESS) return 0;
  std::uint64_t total = 0;
  for (const auto& memory : memories) total += memory.totalSize;
  return total;
}

json describe_device(const LevelZero& ze, ze_device_handle_t device) {
  ze_result_t result = ZE_RESULT_SUCCESS;
  const auto properties = properties_of(ze, device, result);
  if (result != ZE_RESULT_SUCCESS) return {{"problem", "zeDeviceGetProperties:" + xpu::result_name(result)}};
  json sub_devices = json::array();
  for (const auto sub_device : xpu::list_sub_devices(ze, device).handles) {
    const auto sub = properties_of(ze, sub_device, result);
    sub_devices.push_back({{"uuid", xpu::uuid_text(sub.uuid)}, {"subdevice_id", sub.subdeviceId}});
  }
  return {{"name", properties.name},
          {"type", type_name(properties.type)},
          {"vendor_id", properties.vendorId},
          {"device_id", properties.deviceId},
          {"uuid", xpu::uuid_text(properties.uuid)},
          {"pci", xpu::pci_text(ze, device)},
          {"integrated", (properties.flags & ZE_DEVICE_PROPERTY_FLAG_INTEGRATED) != 0},
          {"subdevice", (properties.flags & ZE_DEVICE_PROPERTY_FLAG_SUBDEVICE) != 0},
          {"memory_bytes", memory_bytes(ze, device)},
          {"sub_devices", std::move(sub_devices)}};
}

json describe_driver(const LevelZero& ze, ze_driver_handle_t driver, const std::string& library) {
  ze_driver_properties_t properties{};
  properties.stype = ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES;
  ze_api_version_t api{};
  const bool known = ze.driver_get_properties(driver, &properties) == ZE_RESULT_SUCCESS;
  const bool versioned = ze.driver_get_api_version(driver, &api) == ZE_RESULT_SUCCESS;
  const auto devices = xpu::list_devices(ze, driver);
  json described = json::array();
  for (const auto device : devices.handles) described.push_back(describe_device(ze, device));
  return {{"library", library},
          {"version", known ? xpu::driver_version_text(properties.driverVersion) : ""},
          {"release", known ? release_name(library, properties.driverVersion & 0xffff) : ""},
          {"api", versioned ? fmt::format("{}.{}", ZE_MAJOR_VERSION(api), ZE_MINOR_VERSION(api)) : ""},
          {"result", xpu::result_name(devices.result)},
          {"devices", std::move(described)}};
}

std::string mapped_driver() {
  for (const char* name : kDriverLibraries) {
    if (auto path = xpu::mapped_library(name); !path.empty()) return path;
  }
  return {};
}

// Returns a description of simulated devices, or "" for hardware. In its capture modes, Intel's driver lists
// cards that do not exist.
std::string stand_in(const std::string& driver) {
  if (auto simulator = loaded_simulator(); !simulator.empty()) return simulator;
  return driver.empty() || has_open_device_node() ? "" : driver + " without hardware";
}

// Returns the first driver library in the loader's order that can be loaded, or "".
std::string loadable_driver() {
  std::vector<std::string> names(std::begin(kDriverLibraries), std::end(kDriverLibraries));
  if (const char* instead = std::getenv("ZE_ENABLE_ALT_DRIVERS"); instead != nullptr && *instead != '\0') {
    names.clear();
    std::istringstream list(instead);
    for (std::string name; std::getline(list, name, ',');) names.push_back(name);
  }
  for (const auto& name : names) {
    if (dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL) != nullptr) return name;
  }
  return {};
}

// zeInit returns UNINITIALIZED both if there is no driver and if there is no device. The loader unloads a
// driver without a device. The two cases are distinguished by a test load of the driver.
void name_init_problem(json& document, ze_result_t result) {
  if (result != ZE_RESULT_ERROR_UNINITIALIZED) {
    document["problem"] = "init:" + xpu::result_name(result);
    document["detail"] = "zeInit failed";
    return;
  }
  const std::string driver = loadable_driver();
  document["problem"] = driver.empty() ? "no_driver" : "no_device";
  document["detail"] = driver.empty() ? "the loader found no Level Zero driver (libze_intel_gpu.so.1)"
                                      : "the driver " + driver + " found no device that it can open";
}

}  // namespace

json describe_level_zero() {
  json document = {{"v", 1}, {"problem", ""}, {"detail", ""}, {"drivers", json::array()}};
  std::string why;
  const auto ze = xpu::load_level_zero(why);
  if (!ze) {
    document["problem"] = std::string("library_missing:") + xpu::kLoaderName;
    document["detail"] = why;
    return document;
  }
  document["missing_symbols"] = ze->missing_symbols;
  const ze_result_t init = ze->init(ZE_INIT_FLAG_GPU_ONLY);
  document["init"] = xpu::result_name(init);
  document["loader"] = {{"path", ze->path}, {"version", xpu::loader_version(*ze)}};
  if (init != ZE_RESULT_SUCCESS) {
    name_init_problem(document, init);
    return document;
  }
  const auto drivers = xpu::list_drivers(*ze);
  const std::string library = mapped_driver();
  bool any_device = false;
  for (const auto driver : drivers.handles) {
    document["drivers"].push_back(describe_driver(*ze, driver, library));
    any_device = any_device || !document["drivers"].back()["devices"].empty();
  }
  if (any_device) document["simulated_driver"] = stand_in(library);
  if (drivers.result != ZE_RESULT_SUCCESS) {
    document["problem"] = "enumerate:" + xpu::result_name(drivers.result);
    document["detail"] = "zeDriverGet failed";
  } else if (drivers.handles.empty()) {
    document["problem"] = "no_driver";
    document["detail"] = "zeInit succeeded, but zeDriverGet lists no driver";
  } else if (!any_device) {
    document["problem"] = "no_device";
    document["detail"] = "the driver lists no device";
  }
  return document;
}

namespace {

// Returns the YY.WW before `needle` in a complete C string YY.WW.BUILD, which may have a fourth number.
std::string year_and_week(const std::string& bytes, const std::string& needle) {
  const std::regex release(R"(\d\d\.\d\d)");
  for (auto at = bytes.find(needle); at != std::string::npos; at = bytes.find(needle, at + 1)) {
    if (at < 6 || bytes[at - 6] != '\0') continue;
    const char after = at + needle.size() < bytes.size() ? bytes[at + needle.size()] : '\0';
    if (after != '\0' && after != '.') continue;
    auto text = bytes.substr(at - 5, 5);
    if (std::regex_match(text, release)) return text;
  }
  return {};
}

}  // namespace

std::string release_name(const std::string& library_path, unsigned build) {
  const std::string bytes = read_file_or_empty(library_path);
  // Debian's 26.27 writes the build number with six digits.
  for (const auto& needle : {fmt::format(".{}", build), fmt::format(".{:06}", build)}) {
    const auto release = year_and_week(bytes, needle);
    if (!release.empty()) return fmt::format("{}.{}", release, build);
  }
  return {};
}

}  // namespace proctor::probe
