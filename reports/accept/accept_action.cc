#include <array>
#include <optional>

#include "harness/core/text.h"
#include "reports/accept/accept_parts.h"

namespace proctor {
namespace {

struct Rule {
  std::string_view glob;
  std::optional<Outcome> outcome;  // none: any
  AcceptAction action;
};

// What says the most about the device comes first: an error that a management library counted explains the wrong bytes of a
// copy, and a link that is down the pairs that are slow. Sources of the actions: NVIDIA GPU Memory Error Management (a
// pending remap needs a reset, a failed one a replacement); Level Zero specification, zes_mem_health_t.
constexpr auto kRules = std::to_array<Rule>({
    {"*", Outcome::kDeviceLost, AcceptAction::kReset},
    {"management/Inventory.NoRemapFailed", {}, AcceptAction::kReplace},
    {"management/Inventory.MemoryIsNotWorn", {}, AcceptAction::kReplace},
    {"management/Inventory.NoRowIsWaitingToBeRemapped", {}, AcceptAction::kReset},
    {"management/Inventory.NeedsNoReset", {}, AcceptAction::kReset},
    {"management/Management.ErrorsUnderLoadAreCorrected", {}, AcceptAction::kReset},
    {"management/Inventory.CorrectedErrorsStayRare", {}, AcceptAction::kReplace},
    {"management/Inventory.Link*", {}, AcceptAction::kReseat},
    {"management/Inventory.NoReplayUnderLoad", {}, AcceptAction::kReseat},
    {"management/Inventory.DoesNotThrottleUnderLoad", {}, AcceptAction::kReseat},
    {"management/Sensors.TemperatureStaysBelowItsLimit", {}, AcceptAction::kReseat},
    {"management/Inventory.*", {}, AcceptAction::kFixSoftware},
    {"kernels/Cores.*", Outcome::kFail, AcceptAction::kReplace},
    {"memory/Contents.MostOfTheMemoryKeepsAPattern*", Outcome::kFail, AcceptAction::kReplace},
    {"kernels/Training.*", Outcome::kFail, AcceptAction::kReplace},
    {"*", Outcome::kTimeout, AcceptAction::kReset},
    {"*", Outcome::kStall, AcceptAction::kReset},
    {"memory/Links.*", {}, AcceptAction::kReseat},
    {"management/*", {}, AcceptAction::kReset},
    {"visibility/*", {}, AcceptAction::kFixSoftware},
    {"*/*Refusal*", {}, AcceptAction::kFixSoftware},
    {"*", Outcome::kCrash, AcceptAction::kFixSoftware},
    {"memory/*", Outcome::kFail, AcceptAction::kReplace},
    {"kernels/*", Outcome::kFail, AcceptAction::kReplace},
});

}  // namespace

ActionRule action_for(std::string_view name, Outcome outcome) {
  for (std::size_t rank = 0; rank < kRules.size(); ++rank) {
    const Rule& rule = kRules[rank];
    const bool same = !rule.outcome || *rule.outcome == outcome;
    if (same && glob_match(rule.glob, name)) return {.rank = rank, .action = rule.action};
  }
  return {.rank = kRules.size(), .action = AcceptAction::kRetest};
}

}  // namespace proctor
