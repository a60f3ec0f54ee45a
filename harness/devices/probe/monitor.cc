#include "harness/devices/probe/monitor.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "harness/devices/probe/nvml_sampler.h"
#include "harness/devices/probe/sysman_sampler.h"
#include "harness/devices/probe/write_line.h"
#include "suites/accel/xpu/level_zero.h"

namespace proctor::probe {
namespace {

using nlohmann::json;
using xpu::LevelZero;

template <typename Function>
Function symbol(const LevelZero& ze, const char* name) {
  return reinterpret_cast<Function>(dlsym(ze.library, name));
}

// A device handle stands for its management handle (ZES_ENABLE_SYSMAN before zeInit): the one way that every
// loader knows.
class Management {
 public:
  explicit Management(const LevelZero& ze)
      : get_state_(symbol<decltype(get_state_)>(ze, "zesDeviceGetState")),
        get_status_(symbol<decltype(get_status_)>(ze, "zeDeviceGetStatus")),
        enum_memory_(symbol<decltype(enum_memory_)>(ze, "zesDeviceEnumMemoryModules")),
        get_memory_(symbol<decltype(get_memory_)>(ze, "zesMemoryGetState")),
        describe_memory_(symbol<decltype(describe_memory_)>(ze, "zesMemoryGetProperties")),
        get_processes_(symbol<decltype(get_processes_)>(ze, "zesDeviceProcessesGetState")) {}

  json look(ze_device_handle_t device) const {
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

// Reads `size` bytes; false at the end of the FIFO.
bool read_all(int fd, char* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t got = read(fd, bytes, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    bytes += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

// Level Zero and who asks it, from the first question about it on.
struct XpuDevices {
  LevelZero ze;
  std::vector<ze_device_handle_t> devices;
  Management management;
  SysmanSampler sampler;

  static std::unique_ptr<XpuDevices> open() {
    setenv("ZES_ENABLE_SYSMAN", "1", 1);
    std::string why;
    auto ze = xpu::load_level_zero(why);
    if (!ze || ze->init(0) != ZE_RESULT_SUCCESS) return nullptr;
    return std::make_unique<XpuDevices>(*std::move(ze));
  }
  explicit XpuDevices(LevelZero loaded)
      : ze(std::move(loaded)), devices(all_devices(ze)), management(ze), sampler(ze, devices) {}

  json look() const {
    json document = {{"v", 1}, {"devices", json::array()}};
    for (const auto device : devices) document["devices"].push_back(management.look(device));
    return document;
  }
};

}  // namespace

int monitor(const char* fifo, int out_fd) {
  const int requests = open(fifo, O_RDONLY | O_CLOEXEC);
  if (requests < 0) return 1;
  std::unique_ptr<XpuDevices> xpu;
  std::optional<NvmlSampler> nvml;
  for (char request = 0; read_all(requests, &request, 1);) {
    if (request != kAskNvml && !xpu && !(xpu = XpuDevices::open())) return 1;
    json answer;
    if (request == kAskNvml) {
      if (!nvml) nvml.emplace();
      answer = nvml->sample();
    } else if (request == kAskSysman) {
      char mask[kMaskDigits + 1] = {};
      if (!read_all(requests, mask, kMaskDigits)) return 0;
      answer = xpu->sampler.sample(std::strtoull(mask, nullptr, 16));
    } else {
      answer = xpu->look();
    }
    if (!write_line(out_fd, answer)) return 1;
  }
  return 0;
}

}  // namespace proctor::probe
