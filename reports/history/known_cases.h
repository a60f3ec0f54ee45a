// Derives facts about the cases of the next run from the earlier runs of a history: which cases are new (--repeat
// new:N), and the duration of each case, by which the scheduler orders them. For example:
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

// How the earlier runs of a case relate to the program of the next run.
enum class Sight {
  kSeen,     // the case was executed with this program
  kNew,      // the case was never executed
  kChanged,  // the case was executed, only with other programs
  kUnknown,  // the case was executed, but the earlier or the present program is unknown
};

// The digests of the programs with which each case was executed.
class SeenPrograms {
 public:
  // `sha256` is the digest of the program that executed the case; "" is unknown.
  void add(const std::string& case_id, std::string_view sha256);
  Sight of(const std::string& case_id, std::string_view sha256) const;

 private:
  std::map<std::string, std::set<std::string, std::less<>>, std::less<>> programs_;  // by case id
};

SeenPrograms seen_programs(const RunResults& run);
// Reads all runs of the history. Cases that were skipped or not run were not executed.
Result<SeenPrograms> seen_programs(History& history);

// Returns the median duration of each case in ms, by its id, over its newest `newest` results (at least one) of all
// branches and variants. A duration includes all attempts of the case. Results of skipped cases and of cases that did
// not run do not count. A case without other results has no entry. Errors are those of History.
//
// The function reads runs from the newest on. It stops when each case has enough results, or when it has read twice as
// many results as that requires. A case that no recent run contains may therefore have no entry.
Result<std::map<std::string, double>> median_durations(History& history, std::size_t newest = 10);

}  // namespace proctor
