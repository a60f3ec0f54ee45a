#include "harness/runner/attempt/start_costs.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/frameworks/kind.h"

namespace proctor {
namespace {

constexpr Milliseconds kWorthSaying{2'000};

double seconds(Milliseconds duration) { return static_cast<double>(duration.count()) / 1000; }

bool may_share(const Suite& suite) {
  const Kind::Traits& kind = suite.kind->traits();
  const bool several = std::ranges::find(kind.processes, "suite") != kind.processes.end() && !kind.one_case;
  return several && !kind.ours && !suite.process_chosen && suite.process == "case";
}

std::string what_to_write(const Suite& suite) {
  if (suite.origin == kCommandLineOrigin) return "give --process batch:auto";
  return fmt::format("write process = \"batch:auto\" below [suite.{}]", suite.name);
}

}  // namespace

void StartCosts::add(const Suite& suite, Milliseconds whole, Milliseconds own) {
  if (!may_share(suite)) return;
  Sum& sum = sums_[&suite];
  own = std::clamp(own, Milliseconds(0), whole);
  ++sum.processes;
  sum.own += own;
  sum.around += whole - own;
}

// Returns the warnings. If processes run in parallel, the sum of their times is longer than the run.
std::vector<Warning> StartCosts::proposals(Milliseconds run) const {
  std::vector<Warning> warnings;
  for (const auto& [suite, sum] : sums_) {
    const auto processes = static_cast<std::int64_t>(sum.processes);
    const Milliseconds all = sum.around + sum.own;
    auto saved = sum.around * (processes - 1) / processes;
    if (all > run) saved = saved * run.count() / all.count();
    if (sum.around <= sum.own || saved < kWorthSaying) continue;
    warnings.push_back(
        {WarningCode::kStartupOverhead,
         fmt::format("suite `{}` ({}): its {} processes took {:.1f} s to start and exit, its tests {:.1f} s; "
                     "to share processes, {}, which saves up to {:.1f} of the {:.1f} s of this run",
                     suite->name, suite->origin, sum.processes, seconds(sum.around), seconds(sum.own),
                     what_to_write(*suite), seconds(saved), seconds(run))});
  }
  return warnings;
}

}  // namespace proctor
