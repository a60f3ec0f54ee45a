// The management interface of Level Zero: how the devices are, and who has memory on them.
#include <dlfcn.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "suites/accel/xpu/level_zero.h"
#include "suites/accel/xpu/sysman.h"
#include "suites/probe/facts.h"
#include "suites/probe/open_devices.h"
#include "suites/probe/stand_in.h"
#include "suites/probe/sysman_facts.h"
#include "suites/probe/sysman_sampler.h"

namespace proctor::probe {
namespace {

using nlohmann::json;
using xpu::LevelZero;

template <typename Function>
Function symbol(const LevelZero& ze, const char* name) {
  return reinterpret_cast<Function>(dlsym(ze.library, name));
}

// A device by both interfaces: the handle of the core interface, and the device in the management interface, which may be
// without it.
class Management {
 public:
  explicit Management(const LevelZero& ze)
      : get_state_(symbol<decltype(get_state_)>(ze, "zesDeviceGetState")),
        get_status_(symbol<decltype(get_status_)>(ze, "zeDeviceGetStatus")),
        enum_memory_(symbol<decltype(enum_memory_)>(ze, "zesDeviceEnumMemoryModules")),
        get_memory_(symbol<decltype(get_memory_)>(ze, "zesMemoryGetState")),
        describe_memory_(symbol<decltype(describe_memory_)>(ze, "zesMemoryGetProperties")),
        get_processes_(symbol<decltype(get_processes_)>(ze, "zesDeviceProcessesGetState")) {}

  json snapshot(ze_device_handle_t device, const xpu::ManagedDevice& managed) const {
    if (managed.handle == nullptr)
      return {{"state", state(device, nullptr)}, {"memory", nullptr}, {"holders", nullptr}};
    return {{"state", state(device, managed.handle)},
            {"memory", memory(managed)},
            {"holders", holders(managed.handle)}};
  }

 private:
  std::string state(ze_device_handle_t device, zes_device_handle_t managed) const {
    if (get_status_ != nullptr) {
      const auto status = get_status_(device);
      if (status == ZE_RESULT_ERROR_DEVICE_LOST) return "lost";
      if (status != ZE_RESULT_SUCCESS && status != ZE_RESULT_ERROR_UNSUPPORTED_FEATURE)
        return xpu::result_name(status);
    }
    zes_device_state_t state{};
    state.stype = ZES_STRUCTURE_TYPE_DEVICE_STATE;
    if (managed == nullptr || get_state_ == nullptr || get_state_(managed, &state) != ZE_RESULT_SUCCESS)
      return "ok";
    return (state.reset & ZES_RESET_REASON_FLAG_WEDGED) != 0 ? "lost" : "ok";
  }

  // The machine's own memory, which integrated devices use, is in use by everybody.
  bool is_on_device(const xpu::ManagedDevice& device, zes_mem_handle_t module) const {
    zes_mem_properties_t properties{};
    properties.stype = ZES_STRUCTURE_TYPE_MEM_PROPERTIES;
    return describe_memory_(module, &properties) == ZE_RESULT_SUCCESS &&
           properties.location == ZES_MEM_LOC_DEVICE && device.has(properties);
  }

  json memory(const xpu::ManagedDevice& device) const {
    if (enum_memory_ == nullptr || get_memory_ == nullptr || describe_memory_ == nullptr) return nullptr;
    std::uint32_t count = 0;
    if (enum_memory_(device.handle, &count, nullptr) != ZE_RESULT_SUCCESS || count == 0) return nullptr;
    std::vector<zes_mem_handle_t> modules(count);
    if (enum_memory_(device.handle, &count, modules.data()) != ZE_RESULT_SUCCESS) return nullptr;
    std::erase_if(modules, [&](zes_mem_handle_t module) { return !is_on_device(device, module); });
    if (modules.empty()) return nullptr;
    std::uint64_t used = 0;
    std::uint64_t total = 0;
    for (const auto module : modules) {
      zes_mem_state_t state{};
      state.stype = ZES_STRUCTURE_TYPE_MEM_STATE;
      if (get_memory_(module, &state) != ZE_RESULT_SUCCESS) return nullptr;
      used += state.size - state.free;
      total += state.size;
    }
    if (used == 0 && !told_memory_use_)
      return nullptr;  // all is free, as is said to everybody without CAP_PERFMON
    return {{"used", used}, {"total", total}};
  }

  json holders(zes_device_handle_t device) const {
    std::uint32_t count = 0;
    if (get_processes_ == nullptr || get_processes_(device, &count, nullptr) != ZE_RESULT_SUCCESS)
      return nullptr;
    std::vector<zes_process_state_t> processes(count);
    for (auto& process : processes) process.stype = ZES_STRUCTURE_TYPE_PROCESS_STATE;
    if (count != 0 && get_processes_(device, &count, processes.data()) != ZE_RESULT_SUCCESS) return nullptr;
    processes.resize(count);
    json holders = json::array();
    for (const auto& process : processes) {
      if (process.processId == static_cast<std::uint32_t>(getpid())) continue;
      holders.push_back({{"pid", process.processId}, {"bytes", process.memSize}});
    }
    return holders;
  }

  const bool told_memory_use_ = is_told_memory_use();
  decltype(&::zesDeviceGetState) get_state_;
  ze_result_t (*get_status_)(ze_device_handle_t);
  decltype(&::zesDeviceEnumMemoryModules) enum_memory_;
  decltype(&::zesMemoryGetState) get_memory_;
  decltype(&::zesMemoryGetProperties) describe_memory_;
  decltype(&::zesDeviceProcessesGetState) get_processes_;
};

std::vector<XpuDevice> all_devices(const LevelZero& ze) {
  std::vector<XpuDevice> all;
  for (const auto driver : xpu::list_drivers(ze).handles) {
    for (const auto device : xpu::list_devices(ze, driver).handles) all.push_back({driver, device});
  }
  return all;
}

// This is Level Zero with its users.
class XpuDevices final : public WatchedDevices {
 public:
  explicit XpuDevices(LevelZero loaded)
      : ze_(std::move(loaded)),
        devices_(all_devices(ze_)),
        sysman_(ze_),
        management_(ze_),
        sampler_(ze_, sysman_, devices_) {}

  json snapshot() override {
    json document = {{"v", 1}, {"problem", ""}, {"devices", json::array()}};
    for (const auto& [driver, device] : devices_)
      document["devices"].push_back(management_.snapshot(device, sysman_.find(driver, device)));
    return document;
  }
  json sample(std::uint64_t mask) override { return sampler_.sample(mask); }
  json facts(std::size_t device) override {
    if (device >= devices_.size()) return facts_document("sysman", "Level Zero does not list the device", {});
    const auto& [driver, handle] = devices_[device];
    const xpu::ManagedDevice& managed = sysman_.find(driver, handle);
    if (managed.handle == nullptr) return facts_document("sysman", kNotManaged, {});
    return sysman_facts(ze_, managed);
  }

 private:
  LevelZero ze_;
  std::vector<XpuDevice> devices_;
  xpu::Sysman sysman_;
  Management management_;
  SysmanSampler sampler_;
};

}  // namespace

std::unique_ptr<WatchedDevices> open_xpu_devices() {
  std::string why;
  auto ze = xpu::load_level_zero(why);
  if (!ze) return nullptr;
  xpu::prepare_sysman(*ze);
  if (ze->init(ZE_INIT_FLAG_GPU_ONLY) != ZE_RESULT_SUCCESS) return nullptr;
  return std::make_unique<XpuDevices>(*std::move(ze));
}

}  // namespace proctor::probe
