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

const VerdictRow& row_of(AcceptVerdict verdict) { return kVerdicts[static_cast<std::size_t>(verdict)]; }

}  // namespace

std::string_view to_string(AcceptVerdict verdict) { return row_of(verdict).spelling; }
int exit_code(AcceptVerdict verdict) { return row_of(verdict).code; }

std::string AcceptedDevice::reason() const {
  if (!findings.empty()) return findings.front().words;
  return gaps.empty() ? "" : gaps.front();
}

}  // namespace proctor
