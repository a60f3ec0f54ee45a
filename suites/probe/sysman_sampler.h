// Reads telemetry of Level Zero devices through Sysman. At its first sample, a device is searched in Sysman
// and its components are listed. Later samples only read values.
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
// The reason why a device has no values.
inline constexpr const char* kNotManaged = "the management interface does not have the device";

// Components of one kind. `why` is the reason if there are none.
template <typename Handle>
struct Components {
  std::vector<Handle> handles;
  std::string why;
};

// A counter with its own clock, in microseconds or microjoules. A rate is computed from the difference of two
// samples.
struct Counter {
  std::uint64_t value = 0;
  std::uint64_t at = 0;
};
// Returns units per microsecond. Returns nothing and a reason for the first sample, and if the counter or its
// clock did not increase.
std::optional<double> rate_between(const std::optional<Counter>& before, const Counter& now,
                                   std::string& why);

// Samples devices. It keeps the counters of the previous sample for rates.
class SysmanSampler {
 public:
  SysmanSampler(const xpu::LevelZero& ze, xpu::Sysman& sysman, const std::vector<XpuDevice>& devices);

  // Samples the devices whose bits are set:
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
    std::vector<std::optional<Counter>> activity;  // index: engine group
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
