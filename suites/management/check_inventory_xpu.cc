// The queries of Sysman, each with its result as JSON, and checks of facts about a good card that only Sysman
// reports.
#include <fmt/format.h>

#include <algorithm>

#include "suites/accel/check_fixture.h"
#include "suites/main/check.h"
#include "suites/management/asked.h"
#include "suites/management/sysman_calls.h"

namespace proctor::accel {

// Queries of Sysman, each with its result as JSON.

namespace {

using nlohmann::json;

template <typename Handle, typename List>
std::vector<Handle> all_of(const List& list) {
  std::uint32_t count = 0;
  or_skip(list(&count, nullptr));
  std::vector<Handle> all(count);
  if (count != 0) or_skip(list(&count, all.data()));
  return all;
}
#define ALL_OF(call, Handle, card) \
  all_of<Handle>([&](std::uint32_t* count, Handle* out) { return ZES_CALL(call, managed(card), count, out); })

json state_of(const Device& card) {
  const auto state =
      TOLD(zes_device_state_t, ZES_STRUCTURE_TYPE_DEVICE_STATE, zesDeviceGetState, managed(card));
  const bool wedged = (state.reset & ZES_RESET_REASON_FLAG_WEDGED) != 0;
  return {{"reason", wedged             ? "wedged"
                     : state.reset != 0 ? "repair"
                                        : ""},
          {"repaired", static_cast<int>(state.repaired)}};
}

json address_of(const Device& card) {
  auto seen = untold<zes_pci_properties_t>(ZES_STRUCTURE_TYPE_PCI_PROPERTIES);
  or_skip(ZES_CALL(zesDevicePciGetProperties, managed(card), &seen));
  const auto& at = seen.address;
  return {{"pci", fmt::format("{:04x}:{:02x}:{:02x}.{:x}", at.domain, at.bus, at.device, at.function)}};
}

json link_of(const Device& card) {
  const auto state = TOLD(zes_pci_state_t, ZES_STRUCTURE_TYPE_PCI_STATE, zesDevicePciGetState, managed(card));
  auto most = untold<zes_pci_properties_t>(ZES_STRUCTURE_TYPE_PCI_PROPERTIES);
  or_skip(ZES_CALL(zesDevicePciGetProperties, managed(card), &most));
  if (state.speed.width <= 0 || most.maxSpeed.width <= 0) throw suite::Skipped("unsupported:link_speed");
  return {{"generation", state.speed.gen},
          {"width", state.speed.width},
          {"max_generation", most.maxSpeed.gen},
          {"max_width", most.maxSpeed.width}};
}

json bars_of(const Device& card) {
  std::uint32_t count = 0;
  or_skip(ZES_CALL(zesDevicePciGetBars, managed(card), &count, nullptr));
  return {{"bars", count}};
}

json link_counters_of(const Device& card) {
  auto seen = untold<zes_pci_properties_t>(ZES_STRUCTURE_TYPE_PCI_PROPERTIES);
  or_skip(ZES_CALL(zesDevicePciGetProperties, managed(card), &seen));
  if (seen.haveReplayCounters == 0) throw suite::Skipped("unsupported:replay_counter");
  zes_pci_stats_t stats{};
  or_skip(ZES_CALL(zesDevicePciGetStats, managed(card), &stats));
  return {{"replays", stats.replayCounter}};
}

json memory_of(const Device& card) {
  if (card.record()->integrated) throw suite::Skipped("needs:own_memory");
  std::uint64_t used = 0, total = 0;
  int health = 0;
  for (const auto module : ALL_OF(zesDeviceEnumMemoryModules, zes_mem_handle_t, card)) {
    const auto properties =
        TOLD(zes_mem_properties_t, ZES_STRUCTURE_TYPE_MEM_PROPERTIES, zesMemoryGetProperties, module);
    if (properties.location != ZES_MEM_LOC_DEVICE || !in_sysman(card).has(properties)) continue;
    const auto state = TOLD(zes_mem_state_t, ZES_STRUCTURE_TYPE_MEM_STATE, zesMemoryGetState, module);
    used += state.size - state.free;
    total += state.size;
    health = std::max(health, static_cast<int>(state.health));
  }
  return {{"used", used}, {"total", total}, {"health", health}};
}

json processes_of(const Device& card) {
  json processes = json::object();
  for (const auto& each : ALL_OF(zesDeviceProcessesGetState, zes_process_state_t, card))
    processes[std::to_string(each.processId)] = each.memSize;
  return processes;
}

json load_of(const Device& card) {
  json load = json::array();
  for (const auto engines : ALL_OF(zesDeviceEnumEngineGroups, zes_engine_handle_t, card)) {
    zes_engine_stats_t stats{};
    or_skip(ZES_CALL(zesEngineGetActivity, engines, &stats));
    load.push_back({{"active_us", stats.activeTime}, {"at_us", stats.timestamp}});
  }
  return {{"engines", load}};
}

json clocks_of(const Device& card) {
  struct Reason {
    zes_freq_throttle_reason_flag_t flag;
    const char* word;
  };
  // A power cap is not in this table, because it is not a fault of the card.
  constexpr Reason kReasons[] = {{ZES_FREQ_THROTTLE_REASON_FLAG_THERMAL_LIMIT, "thermal limit"},
                                 {ZES_FREQ_THROTTLE_REASON_FLAG_PSU_ALERT, "power supply"}};
  json clocks = json::array(), throttled = json::array();
  for (const auto clock : ALL_OF(zesDeviceEnumFrequencyDomains, zes_freq_handle_t, card)) {
    const auto state = TOLD(zes_freq_state_t, ZES_STRUCTURE_TYPE_FREQ_STATE, zesFrequencyGetState, clock);
    clocks.push_back(state.actual);
    for (const auto& [flag, word] : kReasons) {
      if ((state.throttleReasons & flag) != 0) throttled.push_back(word);
    }
  }
  return {{"mhz", clocks}, {"throttled", throttled}};
}

json temperatures_of(const Device& card) {
  json celsius = json::array();
  for (const auto sensor : ALL_OF(zesDeviceEnumTemperatureSensors, zes_temp_handle_t, card)) {
    double now = 0;
    or_skip(ZES_CALL(zesTemperatureGetState, sensor, &now));
    celsius.push_back(now);
  }
  return {{"celsius", celsius}};
}

json energy_of(const Device& card) {
  json counters = json::array();
  for (const auto domain : ALL_OF(zesDeviceEnumPowerDomains, zes_pwr_handle_t, card)) {
    zes_power_energy_counter_t counter{};
    or_skip(ZES_CALL(zesPowerGetEnergyCounter, domain, &counter));
    counters.push_back({{"microjoules", counter.energy}, {"at_us", counter.timestamp}});
  }
  return {{"counters", counters}};
}

json errors_of(const Device& card) {
  const auto sets = ALL_OF(zesDeviceEnumRasErrorSets, zes_ras_handle_t, card);
  need(!sets.empty(), "unsupported:error_counters");
  std::uint64_t corrected = 0, uncorrected = 0;
  for (const auto set : sets) {
    zes_ras_properties_t properties{};
    properties.stype = ZES_STRUCTURE_TYPE_RAS_PROPERTIES;
    or_skip(ZES_CALL(zesRasGetProperties, set, &properties));
    zes_ras_state_t state{};
    state.stype = ZES_STRUCTURE_TYPE_RAS_STATE;
    or_skip(ZES_CALL(zesRasGetState, set, static_cast<ze_bool_t>(0), &state));
    auto& errors = properties.type == ZES_RAS_ERROR_TYPE_UNCORRECTABLE ? uncorrected : corrected;
    for (const std::uint64_t count : state.category) errors += count;
  }
  return {{"corrected", corrected}, {"uncorrected", uncorrected}};
}

// Listens to a card for which no event is registered. The call must return immediately.
json events_of(const Device& card) {
  auto self = managed(card);
  std::uint32_t with_events = 0;
  zes_event_type_flags_t events = 0;
  const Status received =
      ZES_CALL(zesDriverEventListen, in_sysman(card).driver, 0U, 1U, &self, &with_events, &events);
  if (received.name() != kNotReady) or_skip(received);
  return {{"events", events}};
}

}  // namespace

const std::vector<Query>& management_queries() {
  static const std::vector<Query> queries = {
      {"zesDeviceGetState", state_of},
      {kAddressQuery, address_of},
      {"zesDevicePciGetState", link_of},
      {"zesDevicePciGetBars", bars_of},
      {"zesDevicePciGetStats", link_counters_of},
      {kMemoryQuery, memory_of},
      {kProcessesQuery, processes_of},
      {"zesEngineGetActivity", load_of},
      {"zesFrequencyGetState", clocks_of},
      {"zesTemperatureGetState", temperatures_of},
      {"zesPowerGetEnergyCounter", energy_of},
      {kErrorsQuery, errors_of},
      {"zesDriverEventListen", events_of},
  };
  return queries;
}

// Checks of facts about a good card that only Sysman reports.

PROCTOR_CHECK(MemoryHealth, EveryModuleIsHealthy, "K110", "Level Zero specification, zes_mem_health_t",
              suite::kGate, {"sysman.request_memory_replacement"}) {
  Asker asker;
  suite::step("given the health of each memory module");
  const int health = asker.ask(kMemoryQuery).at("health").get<int>();
  need(health != ZES_MEM_HEALTH_UNKNOWN, "unsupported:memory_health");
  suite::expect_same("the worst of them", std::to_string(ZES_MEM_HEALTH_OK), std::to_string(health));
}

}  // namespace proctor::accel
