// Which cases were executed, and with which programs: so that a run can tell those that are new to it (--repeat new:N).
#pragma once

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

}  // namespace proctor
