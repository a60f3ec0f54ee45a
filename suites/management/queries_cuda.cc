// The queries of NVML, each as JSON.
#include <fmt/format.h>

#include <stdexcept>

#include "suites/accel/cuda/management.h"
#include "suites/main/skipped.h"
#include "suites/management/asked.h"

namespace proctor::accel {
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

// A getter of one number, after one argument or more that select it.
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
  // That a card draws no more than it may is no fault of it.
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

// A set without events: the answer, that there is none, is there at once.
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

}  // namespace proctor::accel
