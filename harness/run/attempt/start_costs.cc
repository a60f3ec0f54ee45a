#include "harness/run/attempt/start_costs.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/plan/kinds/kind.h"

namespace proctor {
namespace {

constexpr Milliseconds kWorthSaying{2'000};  // of processes one after the other

double seconds(Milliseconds duration) { return static_cast<double>(duration.count()) / 1000; }

std::string where_to_write(const Suite& suite) {
  if (suite.origin == kCommandLineOrigin) return "give --process file";
  return fmt::format("write process = \"file\" below [suite.{}]", suite.name);
}

}  // namespace

void StartCosts::add(const Suite& suite, const Case& test, Milliseconds whole, Milliseconds own) {
  const std::string_view file = suite.kind->file_of(test);
  if (suite.process_chosen || suite.process != "case" || file.empty()) return;
  Sum& sum = sums_[&suite];
  own = std::clamp(own, Milliseconds(0), whole);
  ++sum.processes;
  sum.own += own;
  sum.around += whole - own;
  sum.files.insert(file);
}

std::vector<Warning> StartCosts::proposals() const {
  std::vector<Warning> warnings;
  for (const auto& [suite, sum] : sums_) {
    const auto fewer = static_cast<std::int64_t>(sum.processes - sum.files.size());
    const Milliseconds saved = sum.around * fewer / static_cast<std::int64_t>(sum.processes);
    if (sum.around <= sum.own || saved < kWorthSaying) continue;
    warnings.push_back(
        {WarningCode::kProcessFile,
         fmt::format("suite `{}` ({}): its {} processes took {:.1f} s to start, collect and exit, its tests "
                     "{:.1f} s; to share a process among the tests of a file, {}",
                     suite->name, suite->origin, sum.processes, seconds(sum.around), seconds(sum.own),
                     where_to_write(*suite))});
  }
  return warnings;
}

}  // namespace proctor
