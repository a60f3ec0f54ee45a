#include "harness/run/attempt/start_costs.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/plan/kinds/kind.h"

namespace proctor {
namespace {

constexpr Milliseconds kWorthSaying{2'000};  // of processes one after the other

double seconds(Milliseconds duration) { return static_cast<double>(duration.count()) / 1000; }

bool may_share(const Suite& suite) {
  const Kind::Traits& kind = suite.kind->traits();
  const bool several = std::ranges::find(kind.processes, "suite") != kind.processes.end() && !kind.one_case;
  return several && !kind.ours && !suite.process_chosen && suite.process == "case";
}

std::string what_to_write(const Suite& suite, bool files) {
  const bool option = suite.origin == kCommandLineOrigin;
  if (files && option) return "to share a process among the tests of a file, give --process file";
  if (option) return "to share processes, give --batch auto";
  return fmt::format("{} below [suite.{}]",
                     files ? "to share a process among the tests of a file, write process = \"file\""
                           : "to share processes, write batch = \"auto\"",
                     suite.name);
}

}  // namespace

void StartCosts::add(const Suite& suite, const Case& test, Milliseconds whole, Milliseconds own) {
  if (!may_share(suite)) return;
  Sum& sum = sums_[&suite];
  own = std::clamp(own, Milliseconds(0), whole);
  ++sum.processes;
  sum.own += own;
  sum.around += whole - own;
  sum.files.insert(suite.kind->file_of(test));
}

std::vector<Warning> StartCosts::proposals() const {
  std::vector<Warning> warnings;
  for (const auto& [suite, sum] : sums_) {
    const auto fewer = static_cast<std::int64_t>(sum.processes - sum.files.size());
    const Milliseconds saved = sum.around * fewer / static_cast<std::int64_t>(sum.processes);
    if (sum.around <= sum.own || saved < kWorthSaying) continue;
    const bool has_files = !sum.files.begin()->empty();
    warnings.push_back(
        {WarningCode::kStartCosts,
         fmt::format(
             "suite `{}` ({}): its {} processes took {:.1f} s to start and exit, its tests {:.1f} s; {}, "
             "which saves up to {:.1f} s",
             suite->name, suite->origin, sum.processes, seconds(sum.around), seconds(sum.own),
             what_to_write(*suite, has_files), seconds(saved))});
  }
  return warnings;
}

}  // namespace proctor
