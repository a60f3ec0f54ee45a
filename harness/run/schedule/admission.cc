#include "harness/run/schedule/admission.h"

#include <fmt/format.h>

#include <algorithm>

namespace proctor {
namespace {

std::optional<std::string> unmet_need(const RunSetup& setup, const std::string& backend, const Case& test) {
  const auto lacking = setup.lacking.find(backend);
  if (lacking == setup.lacking.end()) return std::nullopt;
  for (const auto& need : test.needs) {
    if (lacking->second.contains(need)) return need;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Refusal> refuse(const RunSetup& setup, const DevicePool& pool, const Suite& suite,
                              const Case& test) {
  const std::string backend(to_string(suite.backend));
  if (test.disabled) return Refusal{{Outcome::kSkip, "disabled"}, "disabled in its own source"};
  if (const auto why = setup.unusable.find(backend); why != setup.unusable.end())
    return Refusal{{Outcome::kSkip, why->second}, ""};
  const auto ours = setup.unusable_by_ours.find(backend);
  if (suite.kind == SuiteKind::kProctor && ours != setup.unusable_by_ours.end())
    return Refusal{{Outcome::kSkip, ours->second}, ""};
  if (const auto need = unmet_need(setup, backend, test))
    return Refusal{{Outcome::kSkip, "needs:" + *need}, ""};
  if (test.devices == 0 || pool.can_ever_lease(backend, test.devices)) return std::nullopt;
  if (pool.width(backend) == 0) return Refusal{{Outcome::kSkip, "no_device"}, ""};
  const char* what = test.ranks > 0 ? "cards" : "devices";  // no two ranks on one card
  return Refusal{{Outcome::kSkip, fmt::format("needs:{}>={}", what, test.devices)}, ""};
}

CaseGroup& group_for(std::deque<CaseGroup>& pending, const Plan& plan, std::size_t index,
                     const std::string& device) {
  const Case& wanted = plan.cases[index];
  const auto group = std::find_if(pending.begin(), pending.end(), [&](const CaseGroup& candidate) {
    const Case& first = plan.cases[candidate.first()];
    return !wanted.group.empty() && first.suite == wanted.suite && first.group == wanted.group &&
           first.devices == wanted.devices && candidate.pinned_to() == device;
  });
  if (group != pending.end()) return *group;
  pending.emplace_back().pin_to(device);
  return pending.back();
}

}  // namespace proctor
