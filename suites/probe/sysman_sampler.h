// Telemetry of Level Zero devices through Sysman. A device is searched there and its components are listed once, at its
// first sample, so that a sample costs only the reads.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "suites/accel/xpu/level_zero.h"
#include "suites/accel/xpu/sysman.h"
#include "suites/probe/probe_main.h"

namespace proctor::probe {

// A device of the core interface.
struct XpuDevice {
  ze_driver_handle_t driver = nullptr;
  ze_device_handle_t handle = nullptr;
};
// Why there is nothing to read of a device.
inline constexpr const char* kNotManaged = "the management interface does not have the device";

// Components of one kind. `why` says why there are none.
template <typename Handle>
struct Components {
  std::vector<Handle> handles;
  std::string why;
};

// A rate is the difference of two samples of a counter and its own clock, both in
// microseconds or microjoules.
struct Counter {
  std::uint64_t value = 0;
  std::uint64_t at = 0;
};
// Units per microsecond, or none with a reason: it is the first sample, or the counter or its clock did not
// go forward.
std::optional<double> rate_between(const std::optional<Counter>& before, const Counter& now,
                                   std::string& why);

class SysmanSampler {
 public:
  SysmanSampler(const xpu::LevelZero& ze, xpu::Sysman& sysman, const std::vector<XpuDevice>& devices);

  // The devices whose bit is set:
  // {"v":1,"source":"sysman","problem":"","devices":[{"device":INDEX,"values":{..},"missing":{..}}]}
  nlohmann::json sample(std::uint64_t which);

 private:
  struct Device {
    XpuDevice core;
    bool listed = false;
    Components<zes_mem_handle_t> memories;
    Components<zes_engine_handle_t> engines;
    Components<zes_temp_handle_t> sensors;
    Components<zes_pwr_handle_t> power;
    Components<zes_freq_handle_t> clocks;
    Components<zes_ras_handle_t> errors;
    std::optional<Counter> energy;
    std::vector<std::optional<Counter>> activity;  // by engine group
  };

  void list(Device& device) const;
  void keep_its_own(Device& device, const xpu::ManagedDevice& self) const;
  void keep_own_memory(Device& device) const;
  void keep_widest_engines(Device& device) const;
  void keep_core_clocks(Device& device) const;

  void read_memory(const Device& device, Reading& reading) const;
  void read_utilisation(Device& device, Reading& reading) const;
  void read_temperature(const Device& device, Reading& reading) const;
  void read_power(Device& device, Reading& reading) const;
  void read_clocks(const Device& device, Reading& reading) const;
  void read_errors(const Device& device, Reading& reading) const;

  const xpu::LevelZero& ze_;
  xpu::Sysman& sysman_;
  const bool reported_memory_use_;
  std::vector<Device> devices_;
};

}  // namespace proctor::probe
