// Reads the state of Level Zero devices through Sysman, and the processes that hold memory on them.
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <numeric>
#include <utility>
#include <vector>

#include "suites/accel/xpu/level_zero.h"
#include "suites/accel/xpu/sysman.h"
#include "suites/probe/probe_main.h"
#include "suites/probe/stand_in.h"
#include "suites/probe/sysman_sampler.h"

namespace proctor::probe {
namespace {

// Queries the facts of one Level Zero device (probe_main.h) through Sysman.
class SysmanCard {
 public:
  SysmanCard(const xpu::LevelZero& ze, zes_device_handle_t device, Reading& reading)
      : ze_(ze), device_(device), reading_(reading) {}

  void ask_link() {
    zes_pci_properties_t most{};
    most.stype = ZES_STRUCTURE_TYPE_PCI_PROPERTIES;
    zes_pci_state_t now{};
    now.stype = ZES_STRUCTURE_TYPE_PCI_STATE;
    report_value("pcie_width_max", call("zesDevicePciGetProperties", device_, &most), most.maxSpeed.width);
    report_value("pcie_generation_max", call("zesDevicePciGetProperties", device_, &most), most.maxSpeed.gen);
    report_value("pcie_width", call("zesDevicePciGetState", device_, &now), now.speed.width);
    report_value("pcie_generation", call("zesDevicePciGetState", device_, &now), now.speed.gen);
    zes_pci_stats_t counters{};
    const std::string why = most.haveReplayCounters != 0 ? call("zesDevicePciGetStats", device_, &counters)
                                                         : "the card does not count these errors";
    report_value("replays", why, counters.replayCounter);
  }

  void ask_state() {
    zes_device_state_t state{};
    state.stype = ZES_STRUCTURE_TYPE_DEVICE_STATE;
    const std::string why = call("zesDeviceGetState", device_, &state);
    const bool wedged = (state.reset & ZES_RESET_REASON_FLAG_WEDGED) != 0;
    report_value("reset_reason", why, std::string(wedged ? "wedged" : state.reset != 0 ? "repair" : ""));
  }

  // Reports the worst health of all memory modules.
  void ask_memory() {
    zes_mem_health_t worst = ZES_MEM_HEALTH_UNKNOWN;
    std::string why;
    for (const auto module : all<zes_mem_handle_t>("zesDeviceEnumMemoryModules", why)) {
      zes_mem_state_t state{};
      state.stype = ZES_STRUCTURE_TYPE_MEM_STATE;
      why = call("zesMemoryGetState", module, &state);
      if (!why.empty()) break;
      worst = std::max(worst, state.health);
    }
    static constexpr const char* kHealth[] = {"unknown", "ok", "degraded", "critical", "replace"};
    if (why.empty() && worst == ZES_MEM_HEALTH_UNKNOWN)
      why = "the card does not report the health of its memory";
    report_value("memory_health", why, std::string(kHealth[std::min<std::size_t>(worst, 4)]));
  }

  void ask_errors() {
    std::uint64_t corrected = 0, uncorrected = 0;
    std::string why;
    const auto sets = all<zes_ras_handle_t>("zesDeviceEnumRasErrorSets", why);
    for (const auto set : sets) {
      zes_ras_properties_t properties{};
      properties.stype = ZES_STRUCTURE_TYPE_RAS_PROPERTIES;
      zes_ras_state_t state{};
      state.stype = ZES_STRUCTURE_TYPE_RAS_STATE;
      why = call("zesRasGetProperties", set, &properties);
      if (why.empty()) why = call("zesRasGetState", set, ze_bool_t{0}, &state);
      if (!why.empty()) break;
      auto& errors = properties.type == ZES_RAS_ERROR_TYPE_UNCORRECTABLE ? uncorrected : corrected;
      errors = std::accumulate(std::begin(state.category), std::end(state.category), errors);
    }
    if (why.empty() && sets.empty()) why = "the driver lists no error counter";
    report_value("errors_corrected", why, corrected);
    report_value("errors_uncorrected", why, uncorrected);
  }

  void ask_clock() {
    double fastest = 0;
    std::string why;
    for (const auto clock : all<zes_freq_handle_t>("zesDeviceEnumFrequencyDomains", why)) {
      zes_freq_properties_t properties{};
      properties.stype = ZES_STRUCTURE_TYPE_FREQ_PROPERTIES;
      why = call("zesFrequencyGetProperties", clock, &properties);
      if (!why.empty()) break;
      if (properties.type == ZES_FREQ_DOMAIN_GPU) fastest = std::max(fastest, properties.max);
    }
    if (why.empty() && fastest == 0) why = "the driver lists no clock of its cores";
    report_value("clock_max_mhz", why, fastest);
  }

 private:
  // Returns the error, or "".
  template <typename... Arguments>
  std::string call(const char* function, Arguments... arguments) const {
    using Function = ze_result_t (*)(Arguments...);
    const auto found = reinterpret_cast<Function>(dlsym(ze_.library, function));
    if (found == nullptr) return std::string(function) + ": not in this loader";
    const ze_result_t result = found(arguments...);
    return result == ZE_RESULT_SUCCESS ? "" : std::string(function) + ": " + xpu::result_name(result);
  }

  template <typename Handle>
  std::vector<Handle> all(const char* function, std::string& why) const {
    std::uint32_t count = 0;
    why = call(function, device_, &count, static_cast<Handle*>(nullptr));
    std::vector<Handle> handles(why.empty() ? count : 0);
    if (!handles.empty()) why = call(function, device_, &count, handles.data());
    return why.empty() ? handles : std::vector<Handle>();
  }

  template <typename Value>
  void report_value(const char* key, const std::string& why, const Value& value) {
    if (why.empty()) return reading_.set(key, value);
    reading_.miss(key, why);
  }

  const xpu::LevelZero& ze_;
  zes_device_handle_t device_;
  Reading& reading_;
};

nlohmann::json sysman_facts(const xpu::LevelZero& ze, const xpu::ManagedDevice& device) {
  Reading reading;
  SysmanCard card(ze, device.handle, reading);
  card.ask_link();
  card.ask_state();
  card.ask_memory();
  card.ask_errors();
  card.ask_clock();
  return facts_document("sysman", "", reading);
}

using nlohmann::json;
using xpu::LevelZero;

template <typename Function>
Function symbol(const LevelZero& ze, const char* name) {
  return reinterpret_cast<Function>(dlsym(ze.library, name));
}

// Reads devices through both interfaces: the core handle, and the device in Sysman, which may lack it.
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

  // Returns whether a memory module belongs to the device. Integrated devices use system memory, which all
  // programs use.
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
    if (used == 0 && !reported_memory_use_)
      return nullptr;  // the kernel reports all memory as free without CAP_PERFMON
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

  const bool reported_memory_use_ = is_reported_memory_use();
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

// The devices of Level Zero for the monitor.
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
