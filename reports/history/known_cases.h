// What earlier runs show about the cases of the next one. The programs with which each case was executed show which cases
// are new (--repeat new:N). Its duration determines what runs first and where:
//
//   const auto medians = median_durations(history);
//   if (medians) std::printf("%g ms\n", medians->at("memory.xpu/Copy.UnalignedCopyIsByteExact"));
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "harness/base/result.h"
#include "reports/history/history.h"
#include "reports/resolve/run_results.h"

namespace proctor {

enum class Sight {
  kSeen,     // it was executed with this very program
  kNew,      // it was never executed
  kChanged,  // it was, with other programs
  kUnknown,  // it was, and nobody can say with which program, or what the program is now
};

class SeenPrograms {
 public:
  // `sha256`: of the program that a case was executed with; "" unknown.
  void add(const std::string& case_id, std::string_view sha256);
  Sight of(const std::string& case_id, std::string_view sha256) const;

 private:
  std::map<std::string, std::set<std::string, std::less<>>, std::less<>> programs_;  // by case
};

SeenPrograms seen_programs(const RunResults& run);
// Of all its runs. A case of a run that was skipped, or not run, was not executed.
Result<SeenPrograms> seen_programs(History& history);

// The median duration of each case in ms, by its id as it is called today, over its newest `newest` results (at least
// one) of all branches and variants. A case counts with all its attempts. Results of cases that were skipped or not run
// do not count; a case without any other has no entry. Failures: those of History.
//
// Reads runs from the newest on, and stops as soon as it has enough of each case, or has read twice as many results as
// that would be: a case that no recent run had may have no entry.
Result<std::map<std::string, double>> median_durations(History& history, std::size_t newest = 10);

}  // namespace proctor
