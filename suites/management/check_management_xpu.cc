// Checks of what Sysman reports about the card of Level Zero: identity, components, state and processes. Each
// result is written over bytes that are not a valid result of any query. Members that the driver did not write are
// therefore visible.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <thread>

#include "suites/accel/check_fixture.h"
#include "suites/accel/free_memory.h"
#include "suites/accel/xpu/native.h"
#include "suites/main/check.h"
#include "suites/main/helper.h"
#include "suites/management/sysman_calls.h"

namespace proctor::accel {
namespace {

using suite::expect_same;
using suite::expect_true;
using suite::Helper;
using suite::kWarn;
using suite::step;
using Clock = std::chrono::steady_clock;

// The leased device, if it is a whole card. In other hierarchies the device can be a tile, but Sysman manages the
// card. A device mask can leave only one tile of a card. In both cases the check is skipped.
Device leased_card() {
  const char* const hierarchy = std::getenv("ZE_FLAT_DEVICE_HIERARCHY");
  if (hierarchy != nullptr && std::string_view(hierarchy) != "COMPOSITE")
    suite::skip("needs:hierarchy=COMPOSITE");
  const Device card = leased_device();
  if (in_sysman(card).tiles.size() > card.tiles().size()) suite::skip("needs:whole_card");
  return card;
}

// All handles of a list. Requests the count, then the exact number, then with more room, then the first handle
// only. Verifies each result.
template <typename Handle, typename List>
std::vector<Handle> listed(const std::string& what, const List& list) {
  const auto kNone = reinterpret_cast<Handle>(static_cast<std::uintptr_t>(kUntold));
  std::uint32_t there = 0;
  or_skip(list(&there, nullptr));
  // A product can have no component of this kind.
  expect_true(there > 0 || !suite::on_simgpu(), what + " lists at least one");  // a product may lack a kind
  std::vector<Handle> all;
  for (const std::uint32_t room : {there, there + 2, 1U}) {
    if (there == 0) break;
    std::vector<Handle> handles(there + 3, kNone);
    std::uint32_t count = room;
    list(&count, handles.data()).or_throw();
    const std::string with = fmt::format("{} of {} with room for {}", what, there, room);
    const std::size_t given = std::min(room, there);
    expect_same(with + ", their number", std::to_string(given), std::to_string(count));
    for (std::size_t i = 0; i < handles.size(); ++i)
      expect_true((handles[i] == kNone) == (i >= given), with + ": exactly that number is written");
    if (all.empty()) {
      all.assign(handles.begin(), handles.begin() + there);
      continue;
    }
    expect_true(std::equal(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(given), handles.begin()),
                with + ": the same handles come in the same order");
  }
  return all;
}
#define LISTED(call, Handle, device) \
  listed<Handle>(#call, [&](std::uint32_t* count, Handle* out) { return ZES_CALL(call, device, count, out); })

// The tiles on which the components of one kind are. Each tile must exist, and all tiles must have equally many.
class Places {
 public:
  Places(std::string what, const Device& card) : what_(std::move(what)), tiles_(card.tiles().size()) {}

  template <typename Properties>
  void add(const Properties& component) {
    expect_true(component.onSubdevice <= 1, what_ + ": the flag of a tile is true or false");
    if (component.onSubdevice == 0) return;
    expect_true(component.subdeviceId < tiles_,
                fmt::format("{}: the tile exists, got {}", what_, component.subdeviceId));
    ++on_tile_[component.subdeviceId];
  }
  void expect_even() const {
    for (std::uint32_t tile = 0; tile < tiles_ && !on_tile_.empty(); ++tile) {
      const auto found = on_tile_.find(tile);
      expect_same(fmt::format("{} on tile {}", what_, tile), std::to_string(on_tile_.begin()->second),
                  std::to_string(found == on_tile_.end() ? 0 : found->second));
    }
  }
  std::size_t on_tiles() const { return on_tile_.size(); }

 private:
  std::string what_;
  std::size_t tiles_;
  std::map<std::uint32_t, int> on_tile_;
};

// If a property states that a function exists, the call of that function must not be unsupported.
void expect_kept(const std::string& promise, std::uint32_t promised, const Status& status) {
  expect_true(promised <= 1, promise + " is true or false");
  if (promised != 0) expect_true(!status.unsupported(), promise + ": " + status.call() + " is there");
}

// Requires a number within a range. A negative number means that the driver does not have the value.
void expect_between(const std::string& what, double least, double got, double most) {
  if (got < 0) return;
  expect_true(got >= least && got <= most,
              fmt::format("{} is {}, allowed from {} to {}", what, got, least, most));
}

template <std::size_t kSize>
std::string text_of(const std::string& what, const char (&text)[kSize]) {
  const auto* const end = std::find(std::begin(text), std::end(text), '\0');
  expect_true(end != std::end(text), what + " has a terminating zero");
  expect_true(end != std::begin(text), what + " is not empty; an unknown text is \"unknown\"");
  return {std::begin(text), end};
}

// The difference between two readings of a counter, and between their timestamps.
struct Elapsed {
  std::uint64_t counted, by_clock;
};

// Reads the counter, runs `pass_time`, and reads the counter again.
template <typename Counter, typename Read, typename Pass>
Elapsed between(std::uint64_t Counter::*counter, const Read& read, const Pass& pass_time) {
  const Counter first = read();
  pass_time();
  const Counter last = read();
  return {last.*counter - first.*counter, last.timestamp - first.timestamp};
}

// Like between(), and verifies that the timestamps are microseconds.
template <typename Counter, typename Read, typename Pass>
Elapsed between_by_microseconds(std::uint64_t Counter::*counter, const Read& read, const Pass& pass_time) {
  const auto microseconds = [](Clock::duration time) {
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(time).count());
  };
  const auto before = Clock::now();
  Clock::time_point began, ended;
  const Elapsed elapsed = between(counter, read, [&] {
    began = Clock::now();
    pass_time();
    ended = Clock::now();
  });
  const std::uint64_t least = microseconds(ended - began), most = microseconds(Clock::now() - before);
  expect_true(
      elapsed.by_clock + least / 4 + 1000 >= least && elapsed.by_clock <= most + most / 4 + 1000,
      fmt::format("the clock counts microseconds, got {} of {} to {}", elapsed.by_clock, least, most));
  return elapsed;
}

double share_of(const Elapsed& elapsed) {
  return static_cast<double>(elapsed.counted) /
         static_cast<double>(std::max<std::uint64_t>(elapsed.by_clock, 1));
}

// Uses the card until the check ends the helper.
PROCTOR_HELPER(hold_card) {
  const auto context = leased();
  const Buffer held = used_memory(context, std::stoul(words.at(0)));
  suite::answer({{"pid", getpid()}});
  suite::wait_for_input();
}

// The processes on a card. `room` is the number of entries in the buffer, `there` the expected number of
// processes.
std::vector<zes_process_state_t> processes_in(zes_device_handle_t card, std::uint32_t room,
                                              std::uint32_t there) {
  std::vector<zes_process_state_t> processes(room + 2,
                                             untold<zes_process_state_t>(ZES_STRUCTURE_TYPE_PROCESS_STATE));
  std::uint32_t count = room;
  or_skip(ZES_CALL(zesDeviceProcessesGetState, card, &count, room == 0 ? nullptr : processes.data()));
  const std::uint32_t given = room == 0 ? there : std::min(room, there);
  const std::string with = fmt::format("{} processes with room for {}", there, room);
  expect_same(with + ", their number", std::to_string(given), std::to_string(count));
  const auto none = untold<zes_process_state_t>(ZES_STRUCTURE_TYPE_PROCESS_STATE);
  for (std::size_t i = room == 0 ? 0 : given; i < processes.size(); ++i)
    expect_true(processes[i].processId == none.processId, with + ": no byte after them is written");
  processes.resize(room == 0 ? 0 : given);
  return processes;
}

void expect_link(const std::string& what, const zes_pci_speed_t& link) {
  expect_true(link.gen == -1 || (link.gen >= 1 && link.gen <= 7),
              fmt::format("{}: the generation of PCIe is from 1 to 7, got {}", what, link.gen));
  expect_true(
      link.width == -1 || (link.width >= 1 && link.width <= 32 && (link.width & (link.width - 1)) == 0),
      fmt::format("{}: the number of lanes is a power of two up to 32, got {}", what, link.width));
  if (link.gen < 1 || link.gen > 6 || link.width < 1 || link.maxBandwidth == -1) return;
  // Bits per second and lane, by PCIe generation.
  constexpr double kTransfers[] = {2.5e9, 5e9, 8e9, 16e9, 32e9, 64e9};
  const double raw = kTransfers[link.gen - 1] * link.width / 8;
  const auto reported = static_cast<double>(link.maxBandwidth);
  expect_true(reported >= raw * 0.75 && reported <= raw,  // up to a fifth is lost to the code on the line
              fmt::format("{}: {} lanes of generation {} transfer {} bytes a second, got {}", what,
                          link.width, link.gen, raw, reported));
}

// Verifies that the counters of the link and their timestamps increase, and that unsupported counters are 0.
void expect_link_counted(zes_device_handle_t card, const zes_pci_properties_t& properties) {
  const auto read = [card] {
    zes_pci_stats_t stats;
    std::memset(&stats, kUntold, sizeof stats);
    or_skip(ZES_CALL(zesDevicePciGetStats, card, &stats));
    return stats;
  };
  const auto first = read();
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const auto last = read();
  expect_true(last.timestamp > first.timestamp, "the clock of the link's counters advances");
  const auto expect_counter = [&](const char* what, bool there, std::uint64_t before, std::uint64_t after) {
    expect_true(
        there ? after >= before : after == 0,
        fmt::format("{} rise, or are 0 if they are not counted: {} and then {}", what, before, after));
  };
  expect_counter("replays", properties.haveReplayCounters != 0, first.replayCounter, last.replayCounter);
  expect_counter("packets", properties.havePacketCounters != 0, first.packetCounter, last.packetCounter);
  const bool counts_bytes = properties.haveBandwidthCounters != 0;
  expect_counter("bytes received", counts_bytes, first.rxCounter, last.rxCounter);
  expect_counter("bytes sent", counts_bytes, first.txCounter, last.txCounter);
}

// Verifies the PCI BARs of the card. PCI requires that the size is a power of two, and the base a multiple of it.
void expect_windows(zes_device_handle_t card) {
  std::uint32_t count = 0;
  if (!ZES_CALL(zesDevicePciGetBars, card, &count, nullptr).ok() || count == 0) return;
  std::vector<zes_pci_bar_properties_t> bars(
      count, untold<zes_pci_bar_properties_t>(ZES_STRUCTURE_TYPE_PCI_BAR_PROPERTIES));
  std::vector<zes_pci_bar_properties_1_2_t> more(
      count, untold<zes_pci_bar_properties_1_2_t>(ZES_STRUCTURE_TYPE_PCI_BAR_PROPERTIES_1_2));
  for (std::size_t i = 0; i < bars.size(); ++i) bars[i].pNext = &more[i];
  or_skip(ZES_CALL(zesDevicePciGetBars, card, &count, bars.data()));
  expect_same("number of windows", std::to_string(bars.size()), std::to_string(count));
  for (const auto& bar : bars) {
    const std::string which = fmt::format("window {}", bar.index);
    expect_true(bar.type <= ZES_PCI_BAR_TYPE_MEM, which + " has a valid type");
    expect_true(bar.index <= 6, which + " has an index from 0 to 6");
    expect_true(std::has_single_bit(bar.size) && bar.size >= 4096 && bar.base % bar.size == 0,
                fmt::format("{} has a power of two of bytes, at a multiple of that, got {:#x} at {:#x}",
                            which, bar.size, bar.base));
    const auto& resizable = *static_cast<const zes_pci_bar_properties_1_2_t*>(bar.pNext);
    expect_true(resizable.resizableBarSupported <= 1 &&
                    resizable.resizableBarEnabled <= resizable.resizableBarSupported,
                which + " has valid flags of a resizable window");
  }
}

}  // namespace

PROCTOR_CHECK(Sysman, PropertiesMatchCoreDevice, "K91", "Level Zero specification, zes_device_properties_t",
              kWarn, {"sysman.wrong_uuid"}) {
  const Device card = leased_card();
  step("given the properties of the card by both interfaces");
  const auto seen = TOLD(zes_device_properties_t, ZES_STRUCTURE_TYPE_DEVICE_PROPERTIES,
                         zesDeviceGetProperties, managed(card));
  ze_device_properties_t core{};
  core.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES;
  ZES_CALL(zeDeviceGetProperties, native(card), &core).or_throw();
  const auto same = [](const char* what, auto expected, auto got) {
    expect_same(what, std::to_string(expected), std::to_string(got));
  };
  same("the type", core.type, seen.core.type);
  same("the vendor", core.vendorId, seen.core.vendorId);
  same("the model's number", core.deviceId, seen.core.deviceId);
  same("the flags", core.flags, seen.core.flags);
  same("the number as a tile", core.subdeviceId, seen.core.subdeviceId);
  same("the clock", core.coreClockRate, seen.core.coreClockRate);
  expect_same("the UUID", xpu::uuid_text(core.uuid), xpu::uuid_text(seen.core.uuid));
  expect_same("the name", core.name, text_of("the name", seen.core.name));
  same("how many tiles", card.tiles().size(), std::size_t{seen.numSubdevices});
  text_of("the serial number", seen.serialNumber);
  text_of("the board's number", seen.boardNumber);
  text_of("the brand", seen.brandName);
  text_of("the model", seen.modelName);
  text_of("the vendor's name", seen.vendorName);
  text_of("the driver's version", seen.driverVersion);
}

PROCTOR_CHECK(Sysman, PciPropertiesAreConsistent, "K92",
              "Level Zero specification, zes_pci_properties_t and zes_pci_state_t", kWarn,
              {"sysman.wrong_pci_address", "sysman.wrong_unit:api=zesDevicePciGetState",
               "sysman.wrong_unit:api=zesDevicePciGetBars",
               "sysman.repeat_first_answer:api=zesDevicePciGetStats"}) {
  const Device card = leased_card();
  const auto managed_card = managed(card);
  step("given the card's place on the bus, and its link");
  auto seen = untold<zes_pci_properties_t>(ZES_STRUCTURE_TYPE_PCI_PROPERTIES);
  or_skip(ZES_CALL(zesDevicePciGetProperties, managed_card, &seen));
  const auto& at = seen.address;
  if (!card.properties().pci.empty())
    expect_same("the address", card.properties().pci,
                fmt::format("{:04x}:{:02x}:{:02x}.{:x}", at.domain, at.bus, at.device, at.function));
  expect_link("the fastest link", seen.maxSpeed);
  zes_pci_stats_t stats{};
  const Status counters = ZES_CALL(zesDevicePciGetStats, managed_card, &stats);
  if (counters.ok()) expect_link_counted(managed_card, seen);
  expect_windows(managed_card);
  expect_kept("counters of bandwidth", seen.haveBandwidthCounters, counters);
  expect_kept("counters of packets", seen.havePacketCounters, counters);
  expect_kept("counters of replays", seen.haveReplayCounters, counters);
  const auto state = TOLD(zes_pci_state_t, ZES_STRUCTURE_TYPE_PCI_STATE, zesDevicePciGetState, managed_card);
  expect_link("the link", state.speed);
  expect_true(state.speed.gen <= seen.maxSpeed.gen && state.speed.width <= seen.maxSpeed.width &&
                  state.speed.maxBandwidth <= seen.maxSpeed.maxBandwidth,
              "the speed of the link is within its maximum");
  expect_true(state.status <= ZES_PCI_LINK_STATUS_STABILITY_ISSUES, "the status of the link is valid");
  if (state.status != ZES_PCI_LINK_STATUS_QUALITY_ISSUES)
    expect_same("issues of quality without such a status", "0", std::to_string(state.qualityIssues));
  if (state.status != ZES_PCI_LINK_STATUS_STABILITY_ISSUES)
    expect_same("issues of stability without such a status", "0", std::to_string(state.stabilityIssues));
}

PROCTOR_CHECK(Sysman, MemoryModulesCoverDeviceMemory, "K93",
              "Level Zero specification, zes_mem_properties_t and zes_mem_state_t", kWarn,
              {"sysman.understate_memory_size"}) {
  const Device card = leased_card();
  step("given the memory modules of the card");
  std::uint64_t total = 0;
  Places places("memory modules", card);
  for (const zes_mem_handle_t module : LISTED(zesDeviceEnumMemoryModules, zes_mem_handle_t, managed(card))) {
    const auto properties =
        TOLD(zes_mem_properties_t, ZES_STRUCTURE_TYPE_MEM_PROPERTIES, zesMemoryGetProperties, module);
    const auto state = TOLD(zes_mem_state_t, ZES_STRUCTURE_TYPE_MEM_STATE, zesMemoryGetState, module);
    places.add(properties);
    if (properties.location == ZES_MEM_LOC_DEVICE) total += state.size;
    expect_true(properties.type < 100, "the type is valid");
    expect_true(properties.location <= ZES_MEM_LOC_DEVICE, "the location is the system or the device");
    expect_true(properties.physicalSize == 0 ||
                    (properties.physicalSize >= state.size && properties.physicalSize / 2 <= state.size),
                fmt::format("of {} physical bytes {} can be allocated", properties.physicalSize, state.size));
    expect_true(state.free > 0 && state.free <= state.size,
                fmt::format("{} of {} bytes are free", state.free, state.size));
    expect_between("the width of its bus", 1, properties.busWidth, 1 << 16);
    expect_between("the number of its channels", 1, properties.numChannels, 1 << 10);
    expect_true(properties.busWidth >= -1 && properties.numChannels >= -1, "an unknown number is -1");
    expect_true(state.health == ZES_MEM_HEALTH_OK || state.health == ZES_MEM_HEALTH_UNKNOWN,
                "the health of the module is good or unknown");
  }
  places.expect_even();
  expect_true(card.record()->integrated || total >= card.properties().memory,
              fmt::format("programs can use at most that memory: {} of {}", card.properties().memory, total));
  expect_true(card.tiles().empty() || places.on_tiles() == 0 || places.on_tiles() == card.tiles().size(),
              "each tile has memory");
}

// Only the simulator must count microseconds. The specification: "The activeTime time units are
// implementation-specific". With the kernel driver xe, Intel's driver counts ticks of the device.
PROCTOR_CHECK(Utilization, EngineActivityFollowsWork, "K87", "Level Zero specification, zes_engine_stats_t",
              kWarn,
              {"sysman.report_idle", "sysman.wrong_device:api=zesEngineGetActivity",
               "sysman.wrong_unit:api=zesEngineGetActivity",
               "sysman.repeat_first_answer:api=zesEngineGetActivity",
               "sysman.return_previous_answer:api=zesEngineGetActivity"}) {
  const Device card = leased_card();
  const auto tiles = card.tiles();
  const auto places = tiles.empty() ? std::vector{card} : tiles;
  struct Group {
    zes_engine_handle_t handle;
    std::size_t place;
  };
  std::vector<Group> groups;
  Places at("groups of engines", card);
  for (const zes_engine_handle_t engines :
       LISTED(zesDeviceEnumEngineGroups, zes_engine_handle_t, managed(card))) {
    const auto properties =
        TOLD(zes_engine_properties_t, ZES_STRUCTURE_TYPE_ENGINE_PROPERTIES, zesEngineGetProperties, engines);
    expect_true(properties.type < 100, "the type is valid");
    at.add(properties);
    groups.push_back({engines, properties.onSubdevice == 1 ? properties.subdeviceId : 0});
  }
  at.expect_even();
  expect_true(tiles.empty() || at.on_tiles() == 0 || at.on_tiles() == tiles.size(), "each tile has engines");
  // The share of time of the busiest engine group at each place, while the card works at the place of `worker`.
  const auto shares = [&](const Device& worker, int tries_before) {
    const Context context(worker);
    Queue queue(context);
    std::vector<double> busiest(places.size());
    for (const Group& group : groups) {
      const auto read = [&] {
        zes_engine_stats_t stats{~0ULL, ~0ULL};
        or_skip(ZES_CALL(zesEngineGetActivity, group.handle, &stats));
        expect_true(stats.activeTime != ~0ULL && stats.timestamp != ~0ULL, "both counters are reported");
        return stats;
      };
      Latch held(context);  // Created before the counters are read, because the card would be idle meanwhile.
      const auto work = [&] {
        held.hold(queue);
        std::this_thread::sleep_for(std::chrono::milliseconds((suite::on_simgpu() ? 5 : 50) << tries_before));
        held.open();
        queue.synchronize();
      };
      const double share =
          share_of(suite::on_simgpu() ? between_by_microseconds(&zes_engine_stats_t::activeTime, read, work)
                                      : between(&zes_engine_stats_t::activeTime, read, work));
      expect_true(share <= 1.05, fmt::format("the share of the working time is at most 1, got {}", share));
      if (group.place < busiest.size()) busiest[group.place] = std::max(busiest[group.place], share);
    }
    return busiest;
  };
  for (std::size_t place = 0; place < places.size() && !groups.empty(); ++place) {
    step(fmt::format("given work at place {} of {}", place, places.size()));
    std::vector<double> busiest = shares(places[place], 0);
    for (int i = 1; i < (suite::on_simgpu() ? 8 : 5) && busiest[place] <= 0.5; ++i)
      // Other load on this machine can disturb a try: later tries take longer.
      busiest = shares(places[place], i);
    for (std::size_t i = 0; i < places.size(); ++i)
      expect_true((busiest[i] > 0.5) == (i == place),
                  fmt::format("the engines at place {} work exactly if they have work, got {} of the time", i,
                              busiest[i]));
  }
}

PROCTOR_CHECK(Sensor, ClockStaysWithinRange, "K88",
              "Level Zero specification, zes_freq_properties_t and zes_freq_state_t", kWarn,
              {"sysman.exceed_temperature_limit"}) {
  const Device card = leased_card();
  ze_device_properties_t core{};
  core.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES;
  ZES_CALL(zeDeviceGetProperties, native(card), &core).or_throw();
  step("given the clocks of the card");
  Places places("clocks", card);
  const auto clocks = LISTED(zesDeviceEnumFrequencyDomains, zes_freq_handle_t, managed(card));
  for (const zes_freq_handle_t clock : clocks) {
    const auto properties =
        TOLD(zes_freq_properties_t, ZES_STRUCTURE_TYPE_FREQ_PROPERTIES, zesFrequencyGetProperties, clock);
    places.add(properties);
    expect_true(properties.type < 100, "the type is valid");
    expect_true(
        properties.min > 0 && properties.min <= properties.max && properties.max < 20'000,
        fmt::format("the range of the clock is valid, got {} to {} MHz", properties.min, properties.max));
    if (properties.type == ZES_FREQ_DOMAIN_GPU)
      expect_same("the fastest clock, compared with the device", std::to_string(core.coreClockRate),
                  fmt::format("{}", properties.max));
    zes_freq_range_t range{};
    expect_kept("control of a clock", properties.canControl, ZES_CALL(zesFrequencyGetRange, clock, &range));
    if (properties.isThrottleEventSupported != 0) {
      expect_kept("the event of a slow clock", properties.isThrottleEventSupported,
                  ZES_CALL(zesDeviceEventRegister, managed(card), ZES_EVENT_TYPE_FLAG_FREQ_THROTTLED));
      static_cast<void>(ZES_CALL(zesDeviceEventRegister, managed(card), 0));
    }
    const auto state = TOLD(zes_freq_state_t, ZES_STRUCTURE_TYPE_FREQ_STATE, zesFrequencyGetState, clock);
    const double idle = suite::on_simgpu() ? properties.min : 0;  // An idle product can stop its clock.
    expect_between("the clock", idle, state.actual, properties.max);
    expect_between("the requested clock", 0, state.request, properties.max);
    expect_between("the clock that the power allows", 0, state.tdp, properties.max);
    expect_between("the most efficient clock", properties.min, state.efficient, properties.max);
    expect_between("its voltage", 0.01, state.currentVoltage, 10);
    expect_true((state.throttleReasons & ZES_FREQ_THROTTLE_REASON_FLAG_THERMAL_LIMIT) == 0 &&
                    state.throttleReasons < 1U << 16,
                fmt::format("the clock is not slowed by heat, got {:#x}", state.throttleReasons));
  }
  places.expect_even();
  expect_true(!clocks.empty(), "the card has a clock");
}

PROCTOR_CHECK(Sysman, HealthyCardReportsNoFault, "K94",
              "Level Zero specification, zes_device_state_t, zes_temp_properties_t, zes_ras_state_t", kWarn,
              {"sysman.exceed_temperature_limit", "sysman.report_false_reset_reason"}) {
  const Device card = leased_card();
  step("given the state of a healthy card");
  const auto state =
      TOLD(zes_device_state_t, ZES_STRUCTURE_TYPE_DEVICE_STATE, zesDeviceGetState, managed(card));
  expect_true(card.try_status().ok(), "the compute interface reports a working card");
  expect_same("reasons to reset it", "0", std::to_string(state.reset));
  expect_true(state.repaired <= ZES_REPAIR_STATUS_PERFORMED, "the state of a repair is valid");

  Places sensors("sensors", card);
  for (const zes_temp_handle_t sensor :
       LISTED(zesDeviceEnumTemperatureSensors, zes_temp_handle_t, managed(card))) {
    const auto properties =
        TOLD(zes_temp_properties_t, ZES_STRUCTURE_TYPE_TEMP_PROPERTIES, zesTemperatureGetProperties, sensor);
    sensors.add(properties);
    expect_true(properties.type < 100, "the type is valid");
    double now = 1e6;
    or_skip(ZES_CALL(zesTemperatureGetState, sensor, &now));
    expect_between("the limit of its temperature", 20, properties.maxTemperature, 200);
    expect_true(now > 0 && now < 200 && (properties.maxTemperature <= 0 || now < properties.maxTemperature),
                fmt::format("the temperature is within its limit, got {} of {} degrees", now,
                            properties.maxTemperature));
    zes_temp_config_t config{};
    config.stype = ZES_STRUCTURE_TYPE_TEMP_CONFIG;
    const Status events = ZES_CALL(zesTemperatureGetConfig, sensor, &config);
    expect_kept("the event of a critical temperature", properties.isCriticalTempSupported, events);
    expect_kept("the event of the first threshold", properties.isThreshold1Supported, events);
    expect_kept("the event of the second threshold", properties.isThreshold2Supported, events);
  }
  sensors.expect_even();

  std::map<zes_ras_error_type_t, int> sets;
  Places errors("sets of errors", card);
  for (const zes_ras_handle_t set : LISTED(zesDeviceEnumRasErrorSets, zes_ras_handle_t, managed(card))) {
    const auto properties =
        TOLD(zes_ras_properties_t, ZES_STRUCTURE_TYPE_RAS_PROPERTIES, zesRasGetProperties, set);
    errors.add(properties);
    ++sets[properties.type];
    auto counters = untold<zes_ras_state_t>(ZES_STRUCTURE_TYPE_RAS_STATE);
    or_skip(ZES_CALL(zesRasGetState, set, static_cast<ze_bool_t>(0), &counters));
    for (const std::uint64_t count : counters.category) {
      expect_true(count < 1ULL << 48, "each kind of error is counted");
      if (properties.type == ZES_RAS_ERROR_TYPE_UNCORRECTABLE)
        expect_same("errors that were not corrected", "0", std::to_string(count));
    }
  }
  errors.expect_even();
  expect_true(sets.empty() || (sets.size() <= 2 && sets.rbegin()->first <= ZES_RAS_ERROR_TYPE_UNCORRECTABLE),
              "errors are corrected or not");
  if (sets.size() == 2)
    expect_same("sets of errors that were not corrected", std::to_string(sets.begin()->second),
                std::to_string(sets.rbegin()->second));
}

// The check does nothing to the card. A listener must get no event, and must not wait longer than its timeout.
PROCTOR_CHECK(
    Sysman, IdleCardRaisesNoEvents, "K99",
    "Level Zero specification, zesDeviceEventRegister, zesDriverEventListen, zesDriverEventListenEx", kWarn,
    {"sysman.report_false_event", "error.swallowed:api=zesDeviceEventRegister"}) {
  const Device card = leased_card();
  constexpr zes_event_type_flags_t kOfTheCard = ZES_EVENT_TYPE_FLAG_DEVICE_DETACH |
                                                ZES_EVENT_TYPE_FLAG_DEVICE_ATTACH |
                                                ZES_EVENT_TYPE_FLAG_DEVICE_RESET_REQUIRED;
  auto self = managed(card);
  const ze_driver_handle_t driver = in_sysman(card).driver;
  or_skip(ZES_CALL(zesDeviceEventRegister, self, kOfTheCard));
  const auto expect_none = [&](const std::string& what, const auto& listen) {
    std::uint32_t with_events = ~0U;
    zes_event_type_flags_t events = ~0U;
    const Status received = listen(&with_events, &events);
    if (received.name() != kNotReady) or_skip(received);
    expect_same(what + ", devices with events", "0", std::to_string(with_events));
    expect_same(what + ", the events", "0x0", fmt::format("{:#x}", events));
  };
  for (const std::uint32_t milliseconds : {0U, 10U}) {
    step(fmt::format("given an idle card, and {} ms to listen", milliseconds));
    expect_none("to listen", [&](std::uint32_t* count, zes_event_type_flags_t* events) {
      return ZES_CALL(zesDriverEventListen, driver, milliseconds, 1U, &self, count, events);
    });
    expect_none("to listen in the newer way", [&](std::uint32_t* count, zes_event_type_flags_t* events) {
      return ZES_CALL(zesDriverEventListenEx, driver, std::uint64_t{milliseconds}, 1U, &self, count, events);
    });
  }
  step("given a kind of event that does not exist");
  expect_status("ZE_RESULT_ERROR_INVALID_ENUMERATION",
                ZES_CALL(zesDeviceEventRegister, self, zes_event_type_flags_t{0x80000000}));
  static_cast<void>(ZES_CALL(zesDeviceEventRegister, self, zes_event_type_flags_t{0}));
}

PROCTOR_CHECK(ProcessList, ProcessesAreListedWithMemory, "K86",
              "Level Zero specification, zesDeviceProcessesGetState", kWarn,
              {"sysman.freeze_free_memory", "sysman.small_process_hidden"}) {
  const auto context = leased();
  const auto card = managed(context.device());
  const auto own = static_cast<std::uint32_t>(getpid());
  const Buffer held = used_memory(context, 16 << 20);
  step("given a card that this process uses, alone and with another process with much or little memory");
  for (const std::uint32_t other_has : {0U, 4U << 20, 1U}) {
    const std::uint32_t others = other_has == 0 ? 0 : 1;
    std::optional<Helper> other;
    if (others == 1) other.emplace("hold_card", std::vector{std::to_string(other_has)});
    const auto pid = other ? other->answer().at("pid").get<std::uint32_t>() : own;
    std::uint32_t there = 0;
    or_skip(ZES_CALL(zesDeviceProcessesGetState, card, &there, nullptr));
    if (suite::on_simgpu())
      expect_same("number of processes", std::to_string(others + 1), std::to_string(there));
    std::vector<zes_process_state_t> running;
    for (const std::uint32_t room : {0U, 1U, there + 2, there}) running = processes_in(card, room, there);
    for (const std::uint32_t wanted : {own, pid}) {
      const auto found = std::ranges::find(running, wanted, &zes_process_state_t::processId);
      if (found == running.end() && !suite::on_simgpu())
        suite::skip("unsupported:process_ids");  // In a container with its own process ids.
      expect_true(found != running.end(),
                  wanted == own ? "this process is listed" : "the other process is listed");
      if (found == running.end()) continue;
      expect_true(found->memSize >= (wanted == own ? 16U << 20 : other_has) && found->memSize < 1ULL << 50,
                  fmt::format("the process has at least its own memory, got {} bytes", found->memSize));
      expect_true(
          found->memSize % 4096 == 0 && found->sharedSize % 4096 == 0 && found->sharedSize <= found->memSize,
          fmt::format("the memory is in whole pages, and the shared part is not larger, got {}",
                      found->sharedSize));
      expect_true(found->engines < ZES_ENGINE_TYPE_FLAG_RENDER << 1, "the engines of the process are valid");
    }
  }
}

PROCTOR_CHECK(Sensor, PowerStaysBelowTwiceLimit, "K95",
              "Level Zero specification, zes_power_properties_t, zes_power_energy_counter_t, "
              "zesDeviceGetCardPowerDomain",
              kWarn,
              {"sysman.energy_scale", "sysman.repeat_first_answer:api=zesPowerGetEnergyCounter",
               "sysman.return_previous_answer:api=zesPowerGetEnergyCounter"}) {
  const Device card = leased_card();
  step("given the energy counters of the card");
  Places places("power domains", card);
  auto domains = LISTED(zesDeviceEnumPowerDomains, zes_pwr_handle_t, managed(card));
  const std::size_t listed_ones = domains.size();
  auto whole = reinterpret_cast<zes_pwr_handle_t>(static_cast<std::uintptr_t>(kUntold));
  if (ZES_CALL(zesDeviceGetCardPowerDomain, managed(card), &whole).ok()) domains.push_back(whole);
  for (std::size_t i = 0; i < domains.size(); ++i) {
    const auto properties =
        TOLD(zes_power_properties_t, ZES_STRUCTURE_TYPE_POWER_PROPERTIES, zesPowerGetProperties, domains[i]);
    if (i < listed_ones) places.add(properties);
    expect_true(i < listed_ones || properties.onSubdevice == 0,
                "the power domain of the whole card is not on a tile");
    constexpr double kAnyCard = 5'000'000;
    expect_between("the largest limit of the power", 1000, properties.maxLimit, kAnyCard);
    expect_between("the default limit of the power", 1000, properties.defaultLimit, kAnyCard);
    if (properties.maxLimit >= 0) {
      expect_between("the default limit of the power", 0, properties.defaultLimit, properties.maxLimit);
      expect_between("the smallest limit of the power", 0, properties.minLimit, properties.maxLimit);
    }
    zes_power_sustained_limit_t sustained{};
    expect_kept("control of power", properties.canControl,
                ZES_CALL(zesPowerGetLimits, domains[i], &sustained, nullptr, nullptr));
    zes_energy_threshold_t threshold{};
    expect_kept("a threshold of energy", properties.isEnergyThresholdSupported,
                ZES_CALL(zesPowerGetEnergyThreshold, domains[i], &threshold));
    const auto read = [&] {
      zes_power_energy_counter_t counter{~0ULL, ~0ULL};
      or_skip(ZES_CALL(zesPowerGetEnergyCounter, domains[i], &counter));
      expect_true(counter.energy != ~0ULL && counter.timestamp != ~0ULL, "both counters are reported");
      return counter;
    };
    const auto pass_time = [] { std::this_thread::sleep_for(std::chrono::milliseconds(10)); };
    const double watts =
        share_of(between_by_microseconds(&zes_power_energy_counter_t::energy, read, pass_time));
    const double most = properties.maxLimit > 0 ? properties.maxLimit : kAnyCard;
    const double least = suite::on_simgpu() ? 1 : 0;  // a real one counts only now and then
    expect_true(watts >= least && watts * 1000 <= 2 * most,
                fmt::format("the power is within its limits, got {} W", watts));
  }
  places.expect_even();
}

}  // namespace proctor::accel
