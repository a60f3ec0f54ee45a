// The management interface of Level Zero: how the devices are, and who has memory on them.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

#include "suites/accel/xpu/level_zero.h"
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

// A device handle stands for its management handle (ZES_ENABLE_SYSMAN before zeInit): the one
// way that every loader knows.
class Management {
 public:
  explicit Management(const LevelZero& ze)
      : get_state_(symbol<decltype(get_state_)>(ze, "zesDeviceGetState")),
        get_status_(symbol<decltype(get_status_)>(ze, "zeDeviceGetStatus")),
        enum_memory_(symbol<decltype(enum_memory_)>(ze, "zesDeviceEnumMemoryModules")),
        get_memory_(symbol<decltype(get_memory_)>(ze, "zesMemoryGetState")),
        describe_memory_(symbol<decltype(describe_memory_)>(ze, "zesMemoryGetProperties")),
        get_processes_(symbol<decltype(get_processes_)>(ze, "zesDeviceProcessesGetState")) {}

  json snapshot(ze_device_handle_t device) const {
    return {{"state", state(device)}, {"memory", memory(device)}, {"holders", holders(device)}};
  }

 private:
  std::string state(ze_device_handle_t device) const {
    if (get_status_ != nullptr) {
      const auto status = get_status_(device);
      if (status == ZE_RESULT_ERROR_DEVICE_LOST) return "lost";
      if (status != ZE_RESULT_SUCCESS && status != ZE_RESULT_ERROR_UNSUPPORTED_FEATURE)
        return xpu::result_name(status);
    }
    zes_device_state_t state{};
    state.stype = ZES_STRUCTURE_TYPE_DEVICE_STATE;
    if (get_state_ == nullptr || get_state_(device, &state) != ZE_RESULT_SUCCESS) return "ok";
    return (state.reset & ZES_RESET_REASON_FLAG_WEDGED) != 0 ? "lost" : "ok";
  }

  // The machine's own memory, which integrated devices use, is in use by everybody.
  bool is_on_device(zes_mem_handle_t module) const {
    zes_mem_properties_t properties{};
    properties.stype = ZES_STRUCTURE_TYPE_MEM_PROPERTIES;
    return describe_memory_(module, &properties) == ZE_RESULT_SUCCESS &&
           properties.location == ZES_MEM_LOC_DEVICE;
  }

  json memory(ze_device_handle_t device) const {
    if (enum_memory_ == nullptr || get_memory_ == nullptr || describe_memory_ == nullptr) return nullptr;
    std::uint32_t count = 0;
    if (enum_memory_(device, &count, nullptr) != ZE_RESULT_SUCCESS || count == 0) return nullptr;
    std::vector<zes_mem_handle_t> modules(count);
    if (enum_memory_(device, &count, modules.data()) != ZE_RESULT_SUCCESS) return nullptr;
    std::erase_if(modules, [this](zes_mem_handle_t module) { return !is_on_device(module); });
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

  json holders(ze_device_handle_t device) const {
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

std::vector<ze_device_handle_t> all_devices(const LevelZero& ze) {
  std::vector<ze_device_handle_t> all;
  for (const auto driver : xpu::list_drivers(ze).handles) {
    const auto devices = xpu::list_devices(ze, driver).handles;
    all.insert(all.end(), devices.begin(), devices.end());
  }
  return all;
}

// Level Zero and who asks it.
class XpuDevices final : public WatchedDevices {
 public:
  explicit XpuDevices(LevelZero loaded)
      : ze_(std::move(loaded)), devices_(all_devices(ze_)), management_(ze_), sampler_(ze_, devices_) {}

  json snapshot() override {
    json document = {{"v", 1}, {"problem", ""}, {"devices", json::array()}};
    for (const auto device : devices_) document["devices"].push_back(management_.snapshot(device));
    return document;
  }
  json sample(std::uint64_t mask) override { return sampler_.sample(mask); }
  json facts(std::size_t device) override {
    if (device < devices_.size()) return sysman_facts(ze_, devices_[device]);
    return facts_document("sysman", "Level Zero does not list the device", {});
  }

 private:
  LevelZero ze_;
  std::vector<ze_device_handle_t> devices_;
  Management management_;
  SysmanSampler sampler_;
};

}  // namespace

std::unique_ptr<WatchedDevices> open_xpu_devices() {
  setenv("ZES_ENABLE_SYSMAN", "1", 1);
  std::string why;
  auto ze = xpu::load_level_zero(why);
  if (!ze || ze->init(ZE_INIT_FLAG_GPU_ONLY) != ZE_RESULT_SUCCESS) return nullptr;
  return std::make_unique<XpuDevices>(*std::move(ze));
}

}  // namespace proctor::probe
