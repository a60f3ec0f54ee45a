// Checks of the management interface from a process that only queries. Each result must come in time, and the
// reported memory must follow a known load.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>

#include "suites/accel/check_fixture.h"
#include "suites/accel/free_memory.h"
#include "suites/accel/memory_cap.h"
#include "suites/accel/speed.h"
#include "suites/main/check.h"
#include "suites/management/asked.h"

namespace proctor::accel {
namespace {

// Work that makes the card busy while another process queries it.

// Writes `n` words of 8 bytes with one kernel and verifies them with another.
void work_on_memory(const Context& context, std::uint32_t n) {
  constexpr std::uint32_t kNoise = 2;
  Queue queue(context);
  const Module module = Module::load(context, "patterns");
  const Kernel write_pattern(module, "write_pattern"), judge_pattern(module, "judge_pattern");
  need_memory(context.device(), std::uint64_t{8} * n);
  const Buffer words = device_memory(context, std::size_t{8} * n);
  const auto wrong = device_copy(queue, context, std::vector<std::uint32_t>(1));
  const auto places = device_copy(queue, context, std::vector<std::uint64_t>(48));
  queue.launch(write_pattern, cover(n, 256), arguments(words, kNoise, std::uint64_t{0}, n));
  queue.launch(judge_pattern, cover(n, 256), arguments(words, kNoise, std::uint64_t{0}, wrong, places, n));
  queue.synchronize();
}

// Copies `bytes` bytes to the device and back.
void work_on_link(const Context& context, std::size_t bytes) {
  Queue queue(context);
  const Buffer device = device_memory(context, bytes), host = host_memory(context, bytes);
  queue.copy(device.data(), host.data(), bytes);
  queue.copy(host.data(), device.data(), bytes);
  queue.synchronize();
}

using nlohmann::json;
using suite::expect_same;
using suite::expect_true;
using suite::Helper;
using suite::kWarn;
using suite::step;

constexpr const char* kEnds =
    "project rule: A query must end, because a probe of the card's health waits for it.";
constexpr const char* kErrors =
    by_vendor("Level Zero specification, zes_ras_state_t: ZES_RAS_ERROR_TYPE_UNCORRECTABLE",
              "NVML API Reference Guide, nvmlDeviceGetTotalEccErrors; NVIDIA GPU Memory Error Management");
constexpr const char* kFollows =
    by_vendor("Level Zero specification, zes_mem_state_t and zes_process_state_t",
              "NVML API Reference Guide, nvmlMemory_t and nvmlProcessInfo_t");

// Holds kHeld bytes of the device's memory until the check ends the helper.
PROCTOR_HELPER(hold_known_memory) {
  const auto context = leased();
  const Buffer held = used_memory(context, kHeld);
  suite::answer({{"pid", getpid()}});
  suite::wait_for_input();
}

std::uint64_t used_as_reported(Asker& asker) {
  const json memory = asker.ask(kMemoryQuery);
  const auto used = memory.at("used").get<std::uint64_t>(), total = memory.at("total").get<std::uint64_t>();
  expect_true(used <= total, "used are " + std::to_string(used) + " of " + std::to_string(total) + " bytes");
  return used;
}

}  // namespace

PROCTOR_CHECK(ErrorCounter, LoadCausesNoUncorrectedError, "M45", kErrors, suite::kGate,
              .faults = {"sysman.uncorrected_errors_under_load"},
              .sizes = {.smoke = 1 << 12, .ci = 1 << 13, .full = 1 << 27, .unit = "words"}) {
  const auto context = leased();
  const auto words = static_cast<std::uint32_t>(sized_for_speed(1 << 13));
  Asker asker;
  const auto uncorrected = [&] { return asker.ask(kErrorsQuery).at("uncorrected").dump(); };
  const auto before = uncorrected();
  step("given memory that is written and checked");
  work_on_memory(context, words);
  expect_same("errors that were not corrected", before, uncorrected());
}

PROCTOR_CHECK(Management, EveryQueryAnswersInTime, "K97", kEnds, kWarn,
              {"sysman.wrong_pci_address",
               by_vendor("sysman.hang:api=zesMemoryGetState", "sysman.hang:api=nvmlDeviceGetMemoryInfo"),
               by_vendor("sysman.hang:api=zesDriverEventListen", "sysman.hang:api=nvmlEventSetWait_v2")}) {
  const Device card = leased_device();
  Asker asker;
  std::size_t answered = 0;
  for (const Query& query : management_queries()) {
    step("given " + query.function + ", called by a process that makes no other call");
    const json answer = asker.try_ask(query.function);
    if (answer.is_null()) continue;
    ++answered;
    if (query.function == kAddressQuery && !card.properties().pci.empty())
      expect_same("the address, compared with the driver", card.properties().pci,
                  answer.at("pci").get<std::string>());
  }
  if (answered == 0) suite::skip("unsupported:management");
}

PROCTOR_CHECK(Management, UsedMemoryFollowsOtherProcess, "K98", kFollows, kWarn,
              {by_vendor("sysman.wrong_device:api=zesMemoryGetState,after=2",
                         "sysman.wrong_device:api=nvmlDeviceGetMemoryInfo,after=2"),
               by_vendor("sysman.wrong_device:api=zesDeviceProcessesGetState",
                         "sysman.wrong_device:api=nvmlDeviceGetComputeRunningProcesses_v3"),
               by_vendor("sysman.wrong_unit:api=zesMemoryGetState",
                         "sysman.wrong_unit:api=nvmlDeviceGetMemoryInfo"),
               by_vendor("sysman.wrong_unit:api=zesDeviceProcessesGetState",
                         "sysman.wrong_unit:api=nvmlDeviceGetComputeRunningProcesses_v3"),
               by_vendor("sysman.repeat_first_answer:api=zesMemoryGetState",
                         "sysman.repeat_first_answer:api=nvmlDeviceGetMemoryInfo"),
               by_vendor("sysman.return_previous_answer:api=zesMemoryGetState",
                         "sysman.return_previous_answer:api=nvmlDeviceGetMemoryInfo")}) {
  const Device card = leased_device();
  const Context context(card);
  const Buffer counted = need_counted_memory(context);
  Asker asker;
  used_as_reported(asker);
  step("given another process with 320 MiB of the card's memory");
  const std::uint64_t before = used_as_reported(asker);
  Helper holder("hold_known_memory");
  const int pid = holder.answer().at("pid").get<int>();
  const std::uint64_t during = used_as_reported(asker);
  expect_true(
      during + kFreeSlack >= before + kHeld,
      "used memory rose by that size, got " + std::to_string(before) + " and then " + std::to_string(during));
  const json processes = asker.try_ask(kProcessesQuery);
  const std::string name = std::to_string(pid);
  if (!processes.is_null()) {
    const bool listed = processes.contains(name);
    // In a container with its own process ids, the process cannot be found by its pid.
    expect_true(listed || !suite::on_simgpu(), "the process is listed");
    if (listed)
      expect_true(processes.at(name).get<std::uint64_t>() >= kHeld,
                  "the process has at least its own memory, got " + processes.at(name).dump() + " bytes");
  }
  step("given the end of that process");
  holder.finish();
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  std::uint64_t after = used_as_reported(asker);
  while (after > before + kFreeSlack && std::chrono::steady_clock::now() < deadline)
    after = used_as_reported(asker);
  expect_true(after <= before + kFreeSlack, "used memory is at most as before, got " +
                                                std::to_string(before) + " and then " +
                                                std::to_string(after));
}

// Checks of what the management interface reports about a good card: its link to the host, and its state under
// load.

namespace {

using nlohmann::json;
using suite::expect_same;
using suite::expect_true;
using suite::kGate;
using suite::kWarn;
using suite::step;

constexpr const char* kLinkSource =
    by_vendor("Level Zero specification, zes_pci_properties_t maxSpeed",
              "NVML API Reference Guide, nvmlDeviceGetMaxPcieLinkWidth, nvmlDeviceGetMaxPcieLinkGeneration");
constexpr const char* kReplaySource = by_vendor("Level Zero specification, zes_pci_stats_t replayCounter",
                                                "NVML API Reference Guide, nvmlDeviceGetPcieReplayCounter");
constexpr const char* kResetSource =
    by_vendor("Level Zero specification, zes_reset_reason_flags_t",
              "NVML API Reference Guide, NVML_FI_DEV_GET_GPU_RECOVERY_ACTION");
constexpr const char* kThrottleSource =
    by_vendor("Level Zero specification, zes_freq_throttle_reason_flags_t",
              "NVML API Reference Guide, nvmlClocksEventReasons");
constexpr const char* kCorrectedSource = by_vendor("Level Zero specification, ZES_RAS_ERROR_TYPE_CORRECTABLE",
                                                   "NVIDIA GPU Memory Error Management: corrected errors");

// Limits of a good card. A link sometimes repeats a packet, and a memory sometimes corrects an error, a few times
// a day.
constexpr std::uint64_t kFewReplays = 16, kFewCorrected = 100;
constexpr std::size_t kLinkBytes = 1 << 20;
// The time that an idle link may take to reach its full speed.
constexpr std::chrono::seconds kWakesWithin{2};

std::uint64_t count_of(Asker& asker, const char* query, const char* key) {
  return asker.ask(query).at(key).get<std::uint64_t>();
}

}  // namespace

PROCTOR_CHECK(PcieLink, WidthIsMaximal, "K100", kLinkSource, kWarn, {"sysman.link_narrow"}) {
  const auto context = leased();
  Asker asker;
  step("given the link to the host");
  const json link = asker.ask(kLinkQuery);
  expect_same("the lanes of the link", link.at("max_width").dump(), link.at("width").dump());
}

// An idle link reduces its speed. The check therefore copies first.
PROCTOR_CHECK(PcieLink, GenerationIsMaximalUnderLoad, "K101", kLinkSource, kWarn, {"sysman.link_slow"}) {
  const auto context = leased();
  Asker asker;
  step("given the link to the host after copies");
  json link;
  const auto deadline = std::chrono::steady_clock::now() + kWakesWithin;
  do {
    work_on_link(context, kLinkBytes);
    link = asker.ask(kLinkQuery);
  } while (link.at("generation") != link.at("max_generation") && std::chrono::steady_clock::now() < deadline);
  expect_same("the generation of the link", link.at("max_generation").dump(), link.at("generation").dump());
}

PROCTOR_CHECK(PcieLink, LoadCausesFewReplays, "K102", kReplaySource, kWarn, {"sysman.replay_pcie_packets"}) {
  const auto context = leased();
  Asker asker;
  const auto before = count_of(asker, kReplaysQuery, "replays");
  step("given copies to the device and back");
  for (int i = 0; i < 8; ++i) work_on_link(context, kLinkBytes);
  const auto after = count_of(asker, kReplaysQuery, "replays");
  expect_true(after - before <= kFewReplays,
              fmt::format("packets that the link repeats are few: {} before, {} after", before, after));
}

PROCTOR_CHECK(DeviceState, WorkingCardNeedsNoReset, "K103", kResetSource, kGate,
              {by_vendor("sysman.report_false_reset_reason", "sysman.reset_needed")}) {
  Asker asker;
  step("given a card that works");
  expect_same("the reason for a reset", "", asker.ask(kResetQuery).at("reason").get<std::string>());
}

PROCTOR_CHECK(Clock, LoadCausesNoThrottling, "K104", kThrottleSource, kWarn, .faults = {"sysman.throttled"},
              .sizes = {.smoke = 1, .ci = 20, .full = 20'000, .unit = "ms"}) {
  const auto context = leased();
  Asker asker;
  step("given a load for some time");
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(sized_for_speed(20));
  do {
    work_on_memory(context, static_cast<std::uint32_t>(suite::on_simgpu() ? 1 << 12 : 1 << 24));
    const json throttled = asker.ask(kThrottleQuery).at("throttled");
    if (!throttled.empty()) return expect_same("reasons for a slow clock", "[]", throttled.dump());
  } while (std::chrono::steady_clock::now() < end);
}

PROCTOR_CHECK(ErrorCounter, LoadCausesFewCorrectedErrors, "K105", kCorrectedSource, kWarn,
              .faults = {"sysman.corrected_errors_under_load"},
              .sizes = {.smoke = 1 << 12, .ci = 1 << 13, .full = 1 << 27, .unit = "words"}) {
  const auto context = leased();
  Asker asker;
  const auto before = count_of(asker, kErrorsQuery, "corrected");
  step("given memory that is written and checked");
  work_on_memory(context, static_cast<std::uint32_t>(sized_for_speed(1 << 13)));
  const auto after = count_of(asker, kErrorsQuery, "corrected");
  expect_true(after - before <= kFewCorrected,
              fmt::format("errors that are corrected are few: {} before, {} after", before, after));
}

// Checks of the sensors of a device that works.

namespace {

using suite::expect_true;
using suite::kWarn;
using suite::step;

constexpr const char* kTemperature =
    by_vendor("Level Zero specification, zes_temp_properties_t maxTemperature",
              "NVML API Reference Guide, nvmlDeviceGetTemperatureThreshold: slowdown");
constexpr const char* kEnergy =
    by_vendor("Level Zero specification, zes_power_energy_counter_t: the monotonic energy counter",
              "NVML API Reference Guide, nvmlDeviceGetTotalEnergyConsumption: since the driver was loaded");

void work(const Context& context) {
  Queue queue(context);
  const Module module = Module::load(context, "basic");
  const Buffer words = device_memory(context, 40'000);
  queue.launch(Kernel(module, "fill"), cover(10'000, 50), arguments(words, 7u, 10'000u));
  queue.synchronize();
}

}  // namespace

PROCTOR_CHECK(Sensor, TemperatureStaysBelowLimit, "K53", kTemperature, kWarn,
              {"sysman.exceed_temperature_limit"}) {
  const auto context = leased();
  step("given a device that has worked");
  work(context);
  const Heat heat = context.device().heat();
  suite::measure("temperature", heat.now, "C");
  expect_true(heat.now < heat.limit, "the sensor nearest to its limit is below it, got " +
                                         std::to_string(heat.now) + " of " + std::to_string(heat.limit));
}

PROCTOR_CHECK(EnergyCounter, EnergyNeverDecreases, "K54", kEnergy, kWarn, {"sysman.energy_backwards"}) {
  const auto context = leased();
  step("given the energy counter before and after work");
  const Energy before = context.device().energy();
  work(context);
  const Energy after = context.device().energy();
  expect_true(after.at_us >= before.at_us, "the clock of the counter advances");
  expect_true(after.microjoules >= before.microjoules,
              "the counter does not decrease, got " + std::to_string(before.microjoules) + " and then " +
                  std::to_string(after.microjoules) + " microjoules");
}

// A card under load draws more than a watt, and less than twice its limit. A counter in another unit is wrong by a
// factor of 1,000. Some counters change only at intervals, so the check reads the counter directly after a change.
PROCTOR_CHECK(EnergyCounter, UnitIsMicrojoule, "K60", kEnergy, kWarn, {"sysman.energy_scale"}) {
  const auto context = leased();
  const auto changed_since = [&](const Energy& before) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    Energy now = context.device().energy();
    while (now.microjoules == before.microjoules && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      now = context.device().energy();
    }
    return now;
  };
  step("given the energy counter twice, a tenth of a second apart");
  const Energy first = changed_since(context.device().energy());
  work(context);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const Energy last = changed_since(context.device().energy());
  const auto microseconds = static_cast<double>(last.at_us - first.at_us);
  const double watts =
      static_cast<double>(last.microjoules - first.microjoules) / std::max(microseconds, 1.0);
  suite::measure("power", watts, "W");
  constexpr double kAnyCard = 5000;  // The limit in watts of a card that reports none.
  const double limit =
      first.limit_milliwatts == 0 ? kAnyCard : static_cast<double>(first.limit_milliwatts) / 1000;
  expect_true(watts >= 1 && watts <= 2 * limit, "the card draws at least a watt and at most twice " +
                                                    std::to_string(limit) + ", by its counter it draws " +
                                                    std::to_string(watts));
}

}  // namespace proctor::accel
