// What the management interface says of a card that is good: its link to the host, and how it is under load.
#include <fmt/format.h>

#include "suites/accel/check_fixture.h"
#include "suites/accel/speed.h"
#include "suites/main/check.h"
#include "suites/management/asked.h"
#include "suites/management/load.h"

namespace proctor::accel {
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

// A link repeats a packet now and then, and a memory corrects an error: a good card does so a few times in a day.
constexpr std::uint64_t kFewReplays = 16, kFewCorrected = 100;
constexpr std::size_t kLinkBytes = 1 << 20;
constexpr std::chrono::seconds kWakesWithin{2};  // a link that was idle

std::uint64_t count_of(Asker& asker, const char* query, const char* key) {
  return asker.ask(query).at(key).get<std::uint64_t>();
}

}  // namespace

PROCTOR_CHECK(Inventory, LinkHasItsWidth, "K100", kLinkSource, kWarn, {"sysman.link_narrow"}) {
  const auto context = leased();
  Asker asker;
  step("given the link to the host");
  const json link = asker.ask(kLinkQuery);
  expect_same("the lanes of the link", link.at("max_width").dump(), link.at("width").dump());
}

// A link that nobody uses slows down.
PROCTOR_CHECK(Inventory, LinkHasItsGenerationUnderLoad, "K101", kLinkSource, kWarn, {"sysman.link_slow"}) {
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

PROCTOR_CHECK(Inventory, NoReplayUnderLoad, "K102", kReplaySource, kWarn, {"sysman.replays"}) {
  const auto context = leased();
  Asker asker;
  const auto before = count_of(asker, kReplaysQuery, "replays");
  step("given copies to the device and back");
  for (int i = 0; i < 8; ++i) work_on_link(context, kLinkBytes);
  const auto after = count_of(asker, kReplaysQuery, "replays");
  expect_true(after - before <= kFewReplays,
              fmt::format("packets that the link repeats are few: {} before, {} after", before, after));
}

PROCTOR_CHECK(Inventory, NeedsNoReset, "K103", kResetSource, kGate,
              {by_vendor("sysman.false_reset", "sysman.reset_needed")}) {
  Asker asker;
  step("given a card that works");
  expect_same("the reason to reset it", "", asker.ask(kResetQuery).at("reason").get<std::string>());
}

PROCTOR_CHECK(Inventory, DoesNotThrottleUnderLoad, "K104", kThrottleSource, kWarn,
              .faults = {"sysman.throttled"}, .sizes = {.smoke = 1, .ci = 20, .full = 20'000, .unit = "ms"}) {
  const auto context = leased();
  Asker asker;
  step("given a load for some time");
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(sized_for_speed(20));
  do {
    work_on_memory(context, static_cast<std::uint32_t>(suite::on_simgpu() ? 1 << 12 : 1 << 24));
    const json throttled = asker.ask(kThrottleQuery).at("throttled");
    if (!throttled.empty()) return expect_same("what holds the clock down", "[]", throttled.dump());
  } while (std::chrono::steady_clock::now() < end);
}

PROCTOR_CHECK(Inventory, CorrectedErrorsStayRare, "K105", kCorrectedSource, kWarn,
              .faults = {"sysman.corrected_under_load"},
              .sizes = {.smoke = 1 << 12, .ci = 1 << 13, .full = 1 << 27, .unit = "words"}) {
  const auto context = leased();
  Asker asker;
  const auto before = count_of(asker, kErrorsQuery, "corrected");
  step("given memory that is written and judged");
  work_on_memory(context, static_cast<std::uint32_t>(sized_for_speed(1 << 13)));
  const auto after = count_of(asker, kErrorsQuery, "corrected");
  expect_true(after - before <= kFewCorrected,
              fmt::format("errors that are corrected are few: {} before, {} after", before, after));
}

}  // namespace proctor::accel
