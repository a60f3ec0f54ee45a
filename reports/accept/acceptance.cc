#include "reports/accept/acceptance.h"

#include <array>

#include "harness/core/exit_code.h"
#include "harness/core/whole_table.h"

namespace proctor {
namespace {

struct VerdictRow {
  AcceptVerdict known;
  std::string_view spelling;
  int code;
};
constexpr auto kVerdicts = std::to_array<VerdictRow>({
    {AcceptVerdict::kAccepted, "accepted", kExitGreen},
    {AcceptVerdict::kIncomplete, "incomplete", kExitIncomplete},
    {AcceptVerdict::kRejected, "rejected", kExitRed},
});
static_assert(is_whole(kVerdicts, 3));

struct StepStateRow {
  StepState known;
  std::string_view spelling;
};
constexpr auto kStepWords = std::to_array<StepStateRow>({
    {StepState::kProven, "proven"},
    {StepState::kFailed, "failed"},
    {StepState::kPartly, "partly"},
    {StepState::kNotTried, "not tried"},
});
static_assert(is_whole(kStepWords, kStepStates));

const VerdictRow& row_of(AcceptVerdict verdict) { return kVerdicts[static_cast<std::size_t>(verdict)]; }

}  // namespace

std::string_view to_string(AcceptVerdict verdict) { return row_of(verdict).spelling; }
int exit_code(AcceptVerdict verdict) { return row_of(verdict).code; }

int exit_code(const Acceptance& acceptance) {
  return acceptance.stop_signal != 0 ? 128 + acceptance.stop_signal : exit_code(acceptance.verdict);
}

std::string_view to_string(StepState state) { return kStepWords[static_cast<std::size_t>(state)].spelling; }

std::string AcceptedDevice::reason() const {
  if (!findings.empty()) return findings.front().words;
  return gaps.empty() ? "" : gaps.front();
}

}  // namespace proctor
