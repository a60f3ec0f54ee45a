// What can be decided about a case without starting anything: whether it can run, and with whom.
#pragma once

#include <deque>
#include <optional>
#include <string>

#include "harness/plan/plan.h"
#include "harness/run/attempt/case_group.h"
#include "harness/run/care/device_pool.h"
#include "harness/run/schedule/runner.h"

namespace proctor {

struct Refusal {
  Verdict verdict;
  std::string note;
};

// None: the case can run as soon as its devices are free.
std::optional<Refusal> refuse(const RunSetup& setup, const DevicePool& pool, const Suite& suite,
                              const Case& test);

// The pending group that a case joins, a new one where no process may be shared. `device`: the only one that
// will do, or "".
CaseGroup& group_for(std::deque<CaseGroup>& pending, const Plan& plan, std::size_t index,
                     const std::string& device = "");

}  // namespace proctor
