// The queries of NVML, each with its result as JSON, and checks of facts about a good card that only NVML reports.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>

#include "suites/accel/check_fixture.h"
#include "suites/accel/cuda/management.h"
#include "suites/main/check.h"
#include "suites/main/helper.h"
#include "suites/main/skipped.h"
#include "suites/management/asked.h"

namespace proctor::accel {

// Queries of NVML, each with its result as JSON.

namespace {

using nlohmann::json;

template <typename... Arguments>
void ask_or_skip(const char* function, Arguments... arguments) {
  const int result = nvml_call(function, arguments...);
  if (result == nvml::kNoPermission) throw suite::Skipped(std::string("needs:permission:") + function);
  if (result == nvml::kNotSupported) throw suite::Skipped(std::string("unsupported:") + function);
  if (result != 0) throw std::runtime_error(fmt::format("{} failed with {}", function, result));
}

json address_of(const Device& card) {
  nvml::PciInfo pci{};
  ask_or_skip(kAddressQuery, managed_handle(card), &pci);
  return {{"pci", fmt::format("{:04x}:{:02x}:{:02x}.0", pci.domain, pci.bus, pci.device)}};
}

json memory_of(const Device& card) {
  nvml::Memory memory{};
  ask_or_skip(kMemoryQuery, managed_handle(card), &memory);
  return {{"used", memory.used}, {"total", memory.total}};
}

json processes_of(const Device& card) {
  std::vector<nvml::ProcessInfo> running(256);
  auto count = static_cast<unsigned>(running.size());
  ask_or_skip(kProcessesQuery, managed_handle(card), &count, running.data());
  running.resize(count);
  json processes = json::object();
  for (const auto& each : running) processes[std::to_string(each.pid)] = each.used_memory;
  return processes;
}

json load_of(const Device& card) {
  nvml::Utilization rates{};
  ask_or_skip("nvmlDeviceGetUtilizationRates", managed_handle(card), &rates);
  return {{"gpu", rates.gpu}, {"memory", rates.memory}};
}

// The result of a getter of one number. `kSelectors` are the arguments that select the number.
template <typename Number, int... kSelectors>
json number_of(const Device& card, const char* function) {
  Number number = 0;
  ask_or_skip(function, managed_handle(card), kSelectors..., &number);
  return {{"number", number}};
}
#define NUMBER(Number, function, ...)                                                                   \
  {                                                                                                     \
    function,                                                                                           \
        [](const Device& card) { return number_of<Number __VA_OPT__(, ) __VA_ARGS__>(card, function); } \
  }

json errors_of(const Device& card) {
  constexpr int kCorrected = 0, kUncorrected = 1, kSinceStart = 0;
  unsigned long long corrected = 0, uncorrected = 0;
  ask_or_skip(kErrorsQuery, managed_handle(card), kCorrected, kSinceStart, &corrected);
  ask_or_skip(kErrorsQuery, managed_handle(card), kUncorrected, kSinceStart, &uncorrected);
  return {{"corrected", corrected}, {"uncorrected", uncorrected}};
}

json link_of(const Device& card) {
  unsigned width = 0, generation = 0, max_width = 0, max_generation = 0;
  ask_or_skip(kLinkQuery, managed_handle(card), &width);
  ask_or_skip("nvmlDeviceGetCurrPcieLinkGeneration", managed_handle(card), &generation);
  ask_or_skip("nvmlDeviceGetMaxPcieLinkWidth", managed_handle(card), &max_width);
  ask_or_skip("nvmlDeviceGetMaxPcieLinkGeneration", managed_handle(card), &max_generation);
  return {{"width", width},
          {"generation", generation},
          {"max_width", max_width},
          {"max_generation", max_generation}};
}

json replays_of(const Device& card) {
  unsigned replays = 0;
  ask_or_skip(kReplaysQuery, managed_handle(card), &replays);
  return {{"replays", replays}};
}

json reset_of(const Device& card) {
  constexpr unsigned kRecoveryAction = 230;  // NVML_FI_DEV_GET_GPU_RECOVERY_ACTION
  constexpr const char* kActions[] = {"", "reset the GPU", "reboot the node", "drain peers",
                                      "drain and reset"};
  nvml::FieldValue field{};
  field.field = kRecoveryAction;
  ask_or_skip(kResetQuery, managed_handle(card), 1, &field);
  if (field.result != 0) throw suite::Skipped("unsupported:recovery_action");
  const unsigned action = field.value.small;
  return {{"reason", action < std::size(kActions) ? kActions[action] : fmt::format("action {}", action)}};
}

json throttle_of(const Device& card) {
  struct Reason {
    unsigned long long flag;
    const char* word;
  };
  // A power cap is not in this table, because it is not a fault of the card.
  constexpr Reason kReasons[] = {{0x8, "hardware slowdown"},
                                 {0x20, "software thermal slowdown"},
                                 {0x40, "hardware thermal slowdown"},
                                 {0x80, "power brake"}};
  unsigned long long flags = 0;
  ask_or_skip(kThrottleQuery, managed_handle(card), &flags);
  json throttled = json::array();
  for (const auto& [flag, word] : kReasons) {
    if ((flags & flag) != 0) throttled.push_back(word);
  }
  return {{"throttled", throttled}};
}

// Waits for an event of an empty set. The call must return immediately, because the set contains no events.
json events_of(const Device& card) {
  managed_handle(card);
  void* set = nullptr;
  ask_or_skip("nvmlEventSetCreate", &set);
  struct {  // nvmlEventData_t
    void* device;
    unsigned long long type, data;
    unsigned instance, compute_instance;
  } event{};
  const int result = nvml_call("nvmlEventSetWait_v2", set, &event, 0U);
  ask_or_skip("nvmlEventSetFree", set);
  return {{"result", result}};
}

}  // namespace

const std::vector<Query>& management_queries() {
  static const std::vector<Query> queries = {
      {kAddressQuery, address_of},
      {kMemoryQuery, memory_of},
      {kProcessesQuery, processes_of},
      {"nvmlDeviceGetUtilizationRates", load_of},
      {kLinkQuery, link_of},
      {kReplaysQuery, replays_of},
      {kResetQuery, reset_of},
      NUMBER(unsigned, "nvmlDeviceGetTemperature", 0),
      NUMBER(unsigned, "nvmlDeviceGetClockInfo", 1),
      NUMBER(unsigned, "nvmlDeviceGetPowerUsage"),
      NUMBER(unsigned long long, "nvmlDeviceGetTotalEnergyConsumption"),
      {kThrottleQuery, throttle_of},
      {kErrorsQuery, errors_of},
      {"nvmlEventSetWait_v2", events_of},
  };
  return queries;
}

// Checks of facts about a good card that only NVML reports: remapped rows, links to other cards, and values that
// are equal on all cards of a model.

namespace {

using nlohmann::json;
using suite::expect_same;
using suite::Helper;
using suite::kGate;
using suite::kWarn;
using suite::step;
using Card = nvml::Device;

constexpr const char* kRemapSource = "NVIDIA GPU Memory Error Management: row remapping";

// ---- in a second process ----

template <typename... Arguments>
void must(const char* function, Arguments... arguments) {
  constexpr int kUnsupported = 3;
  const int result = nvml_call(function, arguments...);
  if (result == kUnsupported) throw suite::Skipped(std::string("unsupported:") + function);
  if (result != 0) throw std::runtime_error(fmt::format("{} failed with {}", function, result));
}

std::string text_of(const char* function, Card card) {
  char text[96] = {};
  must(function, card, &text[0], 96U);
  return text;
}

json ecc_of(Card card) {
  int now = 0, later = 0;
  must("nvmlDeviceGetEccMode", card, &now, &later);
  return now == 1 ? "on" : "off";
}

// Counts the links until NVML refuses an index, which is past the last link.
json links_of(Card card) {
  int all = 0, up = 0;
  for (int active = 0; nvml_call("nvmlDeviceGetNvLinkState", card, static_cast<unsigned>(all), &active) == 0;
       active = 0) {
    ++all;
    up += active == 1 ? 1 : 0;
  }
  return {{"all", all}, {"up", up}};
}

json remaps_of(Card card) {
  unsigned corrected = 0, uncorrected = 0, pending = 0, failed = 0;
  must("nvmlDeviceGetRemappedRows", card, &corrected, &uncorrected, &pending, &failed);
  return {{"pending", pending}, {"failed", failed}};
}

PROCTOR_HELPER(ask_card) {
  Card card = nullptr;
  must("nvmlDeviceGetHandleByIndex_v2", static_cast<unsigned>(std::stoul(words.at(0))), &card);
  const std::string& what = words.at(1);
  suite::answer({{"told", what == "firmware" ? json(text_of("nvmlDeviceGetVbiosVersion", card))
                          : what == "ecc"    ? ecc_of(card)
                          : what == "links"  ? links_of(card)
                                             : remaps_of(card)}});
}

// ---- in the check ----

unsigned index_of(Card card) {
  unsigned index = 0;
  expect_same("nvmlDeviceGetIndex", "0", std::to_string(nvml_call("nvmlDeviceGetIndex", card, &index)));
  return index;
}

json reported(const Device& own, const std::string& what) {
  Helper helper("ask_card", {std::to_string(index_of(managed_handle(own))), what});
  return helper.answer(kQueryLimit, what).at("told");
}

// Results of all other cards with the same name. A card without an result is left out: its own case reports that.
std::vector<json> reported_by_siblings(const Device& own, const std::string& what) {
  const std::string name = text_of("nvmlDeviceGetName", managed_handle(own));
  unsigned count = 0;
  must("nvmlDeviceGetCount_v2", &count);
  std::vector<json> answers;
  for (unsigned index = 0; index < count; ++index) {
    Card card = nullptr;
    if (index == index_of(managed_handle(own))) continue;
    if (nvml_call("nvmlDeviceGetHandleByIndex_v2", index, &card) != 0) continue;
    if (text_of("nvmlDeviceGetName", card) != name) continue;
    Helper helper("ask_card", {std::to_string(index), what});
    const auto answer = helper.try_answer(kQueryLimit);
    helper.kill();
    if (answer && answer->contains("told")) answers.push_back(answer->at("told"));
  }
  return answers;
}

// Requires the value that most cards of the model have. Skips the check if there are too few cards. The record
// lets `proctor accept` compare two cards.
void expect_as_siblings(const std::string& what) {
  const Device card = leased_device();
  step(fmt::format("given the {} of all cards of the model", what));
  const json own = reported(card, what);
  suite::record("same.inventory." + what, own.dump());
  auto all = reported_by_siblings(card, what);
  all.push_back(own);
  std::map<std::string, std::size_t> counts;
  for (const json& answer : all) ++counts[answer.dump()];
  const auto most = std::ranges::max_element(counts, {}, [](const auto& entry) { return entry.second; });
  need(all.size() > 1 && most->second * 2 > all.size(), "needs:siblings");
  expect_same("its " + what, most->first, own.dump());
}

}  // namespace

PROCTOR_CHECK(RowRemap, NoRemapIsPending, "K106", kRemapSource, kGate, {"sysman.remap_pending"}) {
  const Device card = leased_device();
  step("given the remapped rows of the card");
  expect_same("rows that wait for a reset", "0", reported(card, "remaps").at("pending").dump());
}

PROCTOR_CHECK(RowRemap, NoRemapHasFailed, "K107", kRemapSource, kGate, {"sysman.remap_failed"}) {
  const Device card = leased_device();
  step("given the remapped rows of the card");
  expect_same("rows that could not be remapped", "0", reported(card, "remaps").at("failed").dump());
}

// A board without a bridge has unused links. The other cards of the model show how many links must be up.
PROCTOR_CHECK(NvLink, EveryExpectedLinkIsUp, "K108", "NVML API Reference Guide, nvmlDeviceGetNvLinkState",
              kWarn, {"sysman.links_down:dev=0"}) {
  const Device card = leased_device();
  step("given the links of all cards of the model");
  const json own = reported(card, "links");
  int most = suite::on_simgpu() ? own.at("all").get<int>() : own.at("up").get<int>();
  for (const json& links : reported_by_siblings(card, "links"))
    most = std::max(most, links.at("up").get<int>());
  need(most > 0, "needs:links_to_other_cards");
  expect_same("links that are up", std::to_string(most), own.at("up").dump());
}

PROCTOR_CHECK(Inventory, FirmwareMatchesSameModelCards, "K109",
              "project rule: Cards of one model in a machine have one firmware version.", kWarn,
              {"sysman.firmware_differs:dev=0"}) {
  expect_as_siblings("firmware");
}

PROCTOR_CHECK(Inventory, EccModeMatchesSameModelCards, "K111",
              "project rule: Cards of one model in a machine have one ECC mode.", kWarn,
              {"sysman.ecc_off:dev=0"}) {
  expect_as_siblings("ecc");
}

}  // namespace proctor::accel
