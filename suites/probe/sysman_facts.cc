#include "suites/probe/sysman_facts.h"

#include <dlfcn.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <vector>

#include "suites/probe/facts.h"

namespace proctor::probe {
namespace {

class SysmanCard {
 public:
  SysmanCard(const xpu::LevelZero& ze, zes_device_handle_t device, Reading& reading)
      : ze_(ze), device_(device), reading_(reading) {}

  void ask_link() {
    zes_pci_properties_t most{};
    most.stype = ZES_STRUCTURE_TYPE_PCI_PROPERTIES;
    zes_pci_state_t now{};
    now.stype = ZES_STRUCTURE_TYPE_PCI_STATE;
    tell("pcie_width_max", call("zesDevicePciGetProperties", device_, &most), most.maxSpeed.width);
    tell("pcie_generation_max", call("zesDevicePciGetProperties", device_, &most), most.maxSpeed.gen);
    tell("pcie_width", call("zesDevicePciGetState", device_, &now), now.speed.width);
    tell("pcie_generation", call("zesDevicePciGetState", device_, &now), now.speed.gen);
    zes_pci_stats_t counters{};
    const std::string why = most.haveReplayCounters != 0 ? call("zesDevicePciGetStats", device_, &counters)
                                                         : "the card does not count them";
    tell("replays", why, counters.replayCounter);
  }

  void ask_state() {
    zes_device_state_t state{};
    state.stype = ZES_STRUCTURE_TYPE_DEVICE_STATE;
    const std::string why = call("zesDeviceGetState", device_, &state);
    const bool wedged = (state.reset & ZES_RESET_REASON_FLAG_WEDGED) != 0;
    tell("reset_reason", why, std::string(wedged ? "wedged" : state.reset != 0 ? "repair" : ""));
  }

  // The worst of its modules.
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
      why = "the card does not tell the health of its memory";
    tell("memory_health", why, std::string(kHealth[std::min<std::size_t>(worst, 4)]));
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
    tell("errors_corrected", why, corrected);
    tell("errors_uncorrected", why, uncorrected);
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
    tell("clock_max_mhz", why, fastest);
  }

 private:
  // The error, or "".
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
  void tell(const char* key, const std::string& why, const Value& value) {
    if (why.empty()) return reading_.set(key, value);
    reading_.miss(key, why);
  }

  const xpu::LevelZero& ze_;
  zes_device_handle_t device_;
  Reading& reading_;
};

}  // namespace

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

}  // namespace proctor::probe
