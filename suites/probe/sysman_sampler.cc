#include "suites/probe/sysman_sampler.h"

#include <dlfcn.h>

#include <algorithm>
#include <numeric>

#include "suites/probe/stand_in.h"

namespace proctor::probe {
namespace {

using nlohmann::json;

// CALL(zesMemoryGetState, module, &state) returns the result, or nothing if this loader lacks the function.
#define CALL(function, ...) \
  call(reinterpret_cast<decltype(&::function)>(dlsym(ze_.library, #function)), #function, __VA_ARGS__)

struct Answer {
  const char* function;
  bool there;
  ze_result_t result;

  explicit operator bool() const { return there && result == ZE_RESULT_SUCCESS; }
  std::string why() const {
    return std::string(function) + ": " + (there ? xpu::result_name(result) : "not in this loader");
  }
};

template <typename Function, typename... Arguments>
Answer call(Function function, const char* name, Arguments... arguments) {
  if (function == nullptr) return {name, false, ZE_RESULT_ERROR_UNSUPPORTED_FEATURE};
  return {name, true, function(arguments...)};
}

template <typename Handle, typename List>
void list_all(Components<Handle>& components, const char* what, List list) {
  std::uint32_t count = 0;
  Answer answer = list(&count, static_cast<Handle*>(nullptr));
  components.handles.assign(answer ? count : 0, nullptr);
  if (count != 0 && answer) answer = list(&count, components.handles.data());
  if (!answer) {
    components.handles.clear();
    components.why = answer.why();
  } else if (count == 0) {
    components.why = std::string("the driver lists no ") + what;
  }
}

// Returns a rank of an engine group. A smaller number means that the group covers more of the device.
int narrowness(const zes_engine_properties_t& engine) {
  switch (engine.type) {
    case ZES_ENGINE_GROUP_ALL:
      return engine.onSubdevice != 0 ? 1 : 0;
    case ZES_ENGINE_GROUP_3D_RENDER_COMPUTE_ALL:
      return engine.onSubdevice != 0 ? 3 : 2;
    case ZES_ENGINE_GROUP_COMPUTE_ALL:
      return engine.onSubdevice != 0 ? 5 : 4;
    case ZES_ENGINE_GROUP_COMPUTE_SINGLE:
      return 6;
    default:
      return 7;
  }
}

json throttle_words(zes_freq_throttle_reason_flags_t flags) {
  struct Word {
    std::uint32_t flag;
    const char* word;
  };
  constexpr Word kWords[] = {
      {ZES_FREQ_THROTTLE_REASON_FLAG_AVE_PWR_CAP, "average_power_cap"},
      {ZES_FREQ_THROTTLE_REASON_FLAG_BURST_PWR_CAP, "burst_power_cap"},
      {ZES_FREQ_THROTTLE_REASON_FLAG_CURRENT_LIMIT, "current_limit"},
      {ZES_FREQ_THROTTLE_REASON_FLAG_THERMAL_LIMIT, "thermal_limit"},
      {ZES_FREQ_THROTTLE_REASON_FLAG_PSU_ALERT, "power_supply"},
      {ZES_FREQ_THROTTLE_REASON_FLAG_SW_RANGE, "software_range"},
      {ZES_FREQ_THROTTLE_REASON_FLAG_HW_RANGE, "hardware_range"},
  };
  json words = json::array();
  for (const auto& [flag, word] : kWords) {
    if ((flags & flag) != 0) words.push_back(word);
    flags &= ~flag;
  }
  if (flags != 0) words.push_back("unknown:" + std::to_string(flags));
  return words;
}

}  // namespace

std::optional<double> rate_between(const std::optional<Counter>& before, const Counter& now,
                                   std::string& why) {
  if (!before) {
    why = "a rate needs two samples";
  } else if (now.at <= before->at) {
    why = "the clock of the counter did not advance";
  } else if (now.value < before->value) {
    why = "the counter decreased";
  } else {
    return static_cast<double>(now.value - before->value) / static_cast<double>(now.at - before->at);
  }
  return std::nullopt;
}

SysmanSampler::SysmanSampler(const xpu::LevelZero& ze, xpu::Sysman& sysman,
                             const std::vector<XpuDevice>& devices)
    : ze_(ze), sysman_(sysman), reported_memory_use_(is_reported_memory_use()) {
  for (const auto& device : devices) devices_.emplace_back().core = device;
}

json SysmanSampler::sample(std::uint64_t which) {
  json entries = json::array();
  for (std::size_t i = 0; i < devices_.size() && i < 64; ++i) {
    if ((which >> i & 1) == 0) continue;
    Device& device = devices_[i];
    if (!device.listed) list(device);
    Reading reading;
    read_memory(device, reading);
    read_utilisation(device, reading);
    read_temperature(device, reading);
    read_power(device, reading);
    read_clocks(device, reading);
    read_errors(device, reading);
    json entry = reading.json();
    entry["device"] = i;
    entries.push_back(std::move(entry));
  }
  const bool there = dlsym(ze_.library, "zesDeviceEnumMemoryModules") != nullptr;
  return {{"v", 1},
          {"source", "sysman"},
          {"problem", there ? "" : "symbol_missing:zesDeviceEnumMemoryModules"},
          {"devices", std::move(entries)}};
}

// ---- Listing of components ----

void SysmanSampler::list(Device& device) const {
  device.listed = true;
  const xpu::ManagedDevice& self = sysman_.find(device.core.driver, device.core.handle);
  if (self.handle == nullptr) {
    for (std::string* why : {&device.memories.why, &device.engines.why, &device.sensors.why,
                             &device.power.why, &device.clocks.why, &device.errors.why})
      *why = kNotManaged;
    return;
  }
#define LIST(components, what, function) \
  list_all(components, what, [&](auto* count, auto* out) { return CALL(function, self.handle, count, out); })
  LIST(device.memories, "memory", zesDeviceEnumMemoryModules);
  LIST(device.engines, "engines", zesDeviceEnumEngineGroups);
  LIST(device.sensors, "temperature sensor", zesDeviceEnumTemperatureSensors);
  LIST(device.power, "power domain", zesDeviceEnumPowerDomains);
  LIST(device.clocks, "clock", zesDeviceEnumFrequencyDomains);
  LIST(device.errors, "error counter", zesDeviceEnumRasErrorSets);
#undef LIST
  keep_its_own(device, self);
  keep_own_memory(device);
  keep_widest_engines(device);
  keep_core_clocks(device);
}

// Removes components of other tiles. The handle belongs to a card, and the device may be one of its tiles.
void SysmanSampler::keep_its_own(Device& device, const xpu::ManagedDevice& self) const {
#define KEEP(components, Properties, type, function)                        \
  std::erase_if(components.handles, [&](auto component) {                   \
    Properties properties{};                                                \
    properties.stype = type;                                                \
    return CALL(function, component, &properties) && !self.has(properties); \
  })
  KEEP(device.memories, zes_mem_properties_t, ZES_STRUCTURE_TYPE_MEM_PROPERTIES, zesMemoryGetProperties);
  KEEP(device.engines, zes_engine_properties_t, ZES_STRUCTURE_TYPE_ENGINE_PROPERTIES, zesEngineGetProperties);
  KEEP(device.sensors, zes_temp_properties_t, ZES_STRUCTURE_TYPE_TEMP_PROPERTIES,
       zesTemperatureGetProperties);
  KEEP(device.clocks, zes_freq_properties_t, ZES_STRUCTURE_TYPE_FREQ_PROPERTIES, zesFrequencyGetProperties);
  KEEP(device.errors, zes_ras_properties_t, ZES_STRUCTURE_TYPE_RAS_PROPERTIES, zesRasGetProperties);
#undef KEEP
}

// Removes system memory, which integrated devices use. All programs use it, too.
void SysmanSampler::keep_own_memory(Device& device) const {
  std::erase_if(device.memories.handles, [this](zes_mem_handle_t module) {
    zes_mem_properties_t properties{};
    properties.stype = ZES_STRUCTURE_TYPE_MEM_PROPERTIES;
    return !CALL(zesMemoryGetProperties, module, &properties) || properties.location != ZES_MEM_LOC_DEVICE;
  });
  if (device.memories.handles.empty() && device.memories.why.empty())
    device.memories.why = "the device has no memory of its own";
}

void SysmanSampler::keep_widest_engines(Device& device) const {
  auto& handles = device.engines.handles;
  std::vector<int> narrow;
  for (const auto engines : handles) {
    zes_engine_properties_t properties{};
    properties.stype = ZES_STRUCTURE_TYPE_ENGINE_PROPERTIES;
    const auto answer = CALL(zesEngineGetProperties, engines, &properties);
    narrow.push_back(answer ? narrowness(properties) : narrowness({}) + 8);
  }
  if (narrow.empty()) return;
  const int least = *std::min_element(narrow.begin(), narrow.end());
  std::size_t i = 0;
  std::erase_if(handles, [&](auto) { return narrow[i++] != least; });
  device.activity.resize(handles.size());
}

void SysmanSampler::keep_core_clocks(Device& device) const {
  std::erase_if(device.clocks.handles, [this](zes_freq_handle_t clock) {
    zes_freq_properties_t properties{};
    properties.stype = ZES_STRUCTURE_TYPE_FREQ_PROPERTIES;
    return !CALL(zesFrequencyGetProperties, clock, &properties) || properties.type != ZES_FREQ_DOMAIN_GPU;
  });
  if (device.clocks.handles.empty() && device.clocks.why.empty())
    device.clocks.why = "the driver lists no clock of its cores";
}

// ---- Readings ----

void SysmanSampler::read_memory(const Device& device, Reading& reading) const {
  if (!device.memories.why.empty()) return reading.miss("memory_used", device.memories.why);
  std::uint64_t used = 0;
  for (const auto module : device.memories.handles) {
    zes_mem_state_t state{};
    state.stype = ZES_STRUCTURE_TYPE_MEM_STATE;
    const auto answer = CALL(zesMemoryGetState, module, &state);
    if (!answer) return reading.miss("memory_used", answer.why());
    used += state.size - state.free;
  }
  if (used == 0 && !reported_memory_use_)
    return reading.miss("memory_used", "without CAP_PERFMON the kernel reports all memory as free");
  reading.set("memory_used", used);
}

// Reports the busiest of several engine groups.
void SysmanSampler::read_utilisation(Device& device, Reading& reading) const {
  std::string why = device.engines.why;
  std::optional<double> busiest;
  for (std::size_t i = 0; i < device.engines.handles.size(); ++i) {
    zes_engine_stats_t stats{};
    const auto answer = CALL(zesEngineGetActivity, device.engines.handles[i], &stats);
    if (!answer) {
      why = answer.why();
      continue;
    }
    const Counter now{stats.activeTime, stats.timestamp};
    if (const auto rate = rate_between(device.activity[i], now, why))
      busiest = std::max(busiest.value_or(0), std::min(1.0, *rate));
    device.activity[i] = now;
  }
  if (!busiest) return reading.miss("utilisation", why);
  reading.set("utilisation", *busiest * 100);
}

// Reports the hottest sensor.
void SysmanSampler::read_temperature(const Device& device, Reading& reading) const {
  std::string why = device.sensors.why;
  std::optional<double> hottest;
  for (const auto sensor : device.sensors.handles) {
    double celsius = 0;
    const auto answer = CALL(zesTemperatureGetState, sensor, &celsius);
    if (!answer) {
      why = answer.why();
    } else if (!hottest || celsius > *hottest) {
      hottest = celsius;
    }
  }
  if (!hottest) return reading.miss("temperature", why);
  reading.set("temperature", *hottest);
}

// Uses the first domain. Drivers list the card's domain first. The domains of parts follow and are contained
// in it.
void SysmanSampler::read_power(Device& device, Reading& reading) const {
  if (!device.power.why.empty()) return reading.miss("power", device.power.why);
  zes_power_energy_counter_t counter{};
  const auto answer = CALL(zesPowerGetEnergyCounter, device.power.handles.front(), &counter);
  if (!answer) return reading.miss("power", answer.why());
  std::string why;
  const Counter now{counter.energy, counter.timestamp};
  const auto watts = rate_between(device.energy, now, why);
  device.energy = now;
  if (!watts) return reading.miss("power", why);
  reading.set("power", *watts);
}

// Reports the slowest clock, and the throttle reasons of all clocks.
void SysmanSampler::read_clocks(const Device& device, Reading& reading) const {
  std::string why = device.clocks.why;
  std::string unknown = why;
  std::optional<double> slowest;
  std::optional<zes_freq_throttle_reason_flags_t> reasons;
  for (const auto clock : device.clocks.handles) {
    zes_freq_state_t state{};
    state.stype = ZES_STRUCTURE_TYPE_FREQ_STATE;
    const auto answer = CALL(zesFrequencyGetState, clock, &state);
    if (!answer) {
      why = unknown = answer.why();
      continue;
    }
    reasons = reasons.value_or(0) | state.throttleReasons;
    if (state.actual < 0) {
      unknown = "the driver reports no clock for it";
    } else {
      slowest = std::min(slowest.value_or(state.actual), state.actual);
    }
  }
  if (slowest) {
    reading.set("clock", *slowest);
  } else {
    reading.miss("clock", unknown);
  }
  if (reasons) {
    reading.set("throttle", throttle_words(*reasons));
  } else {
    reading.miss("throttle", why);
  }
}

// Counts the uncorrectable errors.
void SysmanSampler::read_errors(const Device& device, Reading& reading) const {
  std::string why = device.errors.why;
  std::optional<std::uint64_t> errors;
  for (const auto set : device.errors.handles) {
    zes_ras_properties_t properties{};
    properties.stype = ZES_STRUCTURE_TYPE_RAS_PROPERTIES;
    auto answer = CALL(zesRasGetProperties, set, &properties);
    if (answer && properties.type != ZES_RAS_ERROR_TYPE_UNCORRECTABLE) continue;
    zes_ras_state_t state{};
    state.stype = ZES_STRUCTURE_TYPE_RAS_STATE;
    if (answer) answer = CALL(zesRasGetState, set, ze_bool_t{0}, &state);
    if (!answer) {
      why = answer.why();
      continue;
    }
    errors = std::accumulate(std::begin(state.category), std::end(state.category), errors.value_or(0));
  }
  if (!errors) return reading.miss("ecc_errors", why.empty() ? "the driver counts only corrected ones" : why);
  reading.set("ecc_errors", *errors);
}

}  // namespace proctor::probe
