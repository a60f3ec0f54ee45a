// What the management interface says to a process that only looks: each answer comes in time, and memory follows a
// known load.
#include <unistd.h>

#include <thread>

#include "suites/accel/check_fixture.h"
#include "suites/accel/free_memory.h"
#include "suites/accel/speed.h"
#include "suites/main/check.h"
#include "suites/management/asked.h"
#include "suites/management/load.h"

namespace proctor::accel {
namespace {

using nlohmann::json;
using suite::expect_same;
using suite::expect_true;
using suite::Helper;
using suite::kWarn;
using suite::step;

constexpr const char* kEnds = "ours: a query that never ends stops whoever judges the card's health";
constexpr const char* kErrors =
    by_vendor("Level Zero specification, zes_ras_state_t: ZES_RAS_ERROR_TYPE_UNCORRECTABLE",
              "NVML API Reference Guide, nvmlDeviceGetTotalEccErrors; NVIDIA GPU Memory Error Management");
constexpr const char* kFollows =
    by_vendor("Level Zero specification, zes_mem_state_t and zes_process_state_t",
              "NVML API Reference Guide, nvmlMemory_t and nvmlProcessInfo_t");

// Has kHeld of the device's memory until it may end.
PROCTOR_HELPER(hold_known_memory) {
  const auto context = leased();
  const Buffer held = used_memory(context, kHeld);
  suite::answer({{"pid", getpid()}});
  suite::wait_for_input();
}

std::uint64_t used_as_told(Asker& asker) {
  const json memory = asker.ask(kMemoryQuery);
  const auto used = memory.at("used").get<std::uint64_t>(), total = memory.at("total").get<std::uint64_t>();
  expect_true(used <= total, "used are " + std::to_string(used) + " of " + std::to_string(total) + " bytes");
  return used;
}

}  // namespace

PROCTOR_CHECK(Management, ErrorsUnderLoadAreCorrected, "M45", kErrors, suite::kGate,
              .faults = {"sysman.errors_under_load"},
              .sizes = {.smoke = 1 << 12, .ci = 1 << 13, .full = 1 << 27, .unit = "words"}) {
  const auto context = leased();
  const auto words = static_cast<std::uint32_t>(sized_for_speed(1 << 13));
  Asker asker;
  const auto uncorrected = [&] { return asker.ask(kErrorsQuery).at("uncorrected").dump(); };
  const auto before = uncorrected();
  step("given memory that is written and judged");
  work_on_memory(context, words);
  expect_same("errors that were not corrected", before, uncorrected());
}

PROCTOR_CHECK(Management, EachQueryIsAnswered, "K97", kEnds, kWarn,
              {"sysman.wrong_pci_address",
               by_vendor("sysman.hang:api=zesMemoryGetState", "sysman.hang:api=nvmlDeviceGetMemoryInfo"),
               by_vendor("sysman.hang:api=zesDriverEventListen", "sysman.hang:api=nvmlEventSetWait_v2")}) {
  const Device card = leased_device();
  Asker asker;
  std::size_t answered = 0;
  for (const Query& query : management_queries()) {
    step("given " + query.function + ", asked by a process that does nothing else");
    const json answer = asker.try_ask(query.function);
    if (answer.is_null()) continue;
    ++answered;
    if (query.function == kAddressQuery && !card.properties().pci.empty())
      expect_same("the address, as the driver tells it", card.properties().pci,
                  answer.at("pci").get<std::string>());
  }
  if (answered == 0) suite::skip("unsupported:management");
}

PROCTOR_CHECK(Management, MemoryFollowsAnotherProcess, "K98", kFollows, kWarn,
              {by_vendor("sysman.wrong_device:api=zesMemoryGetState,after=2",
                         "sysman.wrong_device:api=nvmlDeviceGetMemoryInfo,after=2"),
               by_vendor("sysman.wrong_device:api=zesDeviceProcessesGetState",
                         "sysman.wrong_device:api=nvmlDeviceGetComputeRunningProcesses_v3"),
               by_vendor("sysman.wrong_unit:api=zesMemoryGetState",
                         "sysman.wrong_unit:api=nvmlDeviceGetMemoryInfo"),
               by_vendor("sysman.wrong_unit:api=zesDeviceProcessesGetState",
                         "sysman.wrong_unit:api=nvmlDeviceGetComputeRunningProcesses_v3"),
               by_vendor("sysman.frozen:api=zesMemoryGetState", "sysman.frozen:api=nvmlDeviceGetMemoryInfo"),
               by_vendor("sysman.stale:api=zesMemoryGetState", "sysman.stale:api=nvmlDeviceGetMemoryInfo")}) {
  const Device card = leased_device();
  const Context context(card);
  const Buffer counted = need_counted_memory(context);
  Asker asker;
  used_as_told(asker);
  step("given another process with 320 MiB of the card's memory");
  const std::uint64_t before = used_as_told(asker);
  Helper holder("hold_known_memory");
  const int pid = holder.answer().at("pid").get<int>();
  const std::uint64_t during = used_as_told(asker);
  expect_true(
      during + kFreeSlack >= before + kHeld,
      "that much more is used, it says " + std::to_string(before) + " and then " + std::to_string(during));
  const json processes = asker.try_ask(kProcessesQuery);
  const std::string name = std::to_string(pid);
  if (!processes.is_null()) {
    const bool listed = processes.contains(name);
    // In a container with process ids of its own nobody can tell.
    expect_true(listed || !suite::on_simgpu(), "the process is listed");
    if (listed)
      expect_true(processes.at(name).get<std::uint64_t>() >= kHeld,
                  "with what it has, it says " + processes.at(name).dump() + " bytes");
  }
  step("given the end of that process");
  holder.finish();
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  std::uint64_t after = used_as_told(asker);
  while (after > before + kFreeSlack && std::chrono::steady_clock::now() < deadline)
    after = used_as_told(asker);
  expect_true(after <= before + kFreeSlack, "no more is used than before, it says " + std::to_string(before) +
                                                " and then " + std::to_string(after));
}

}  // namespace proctor::accel
