// Parses the value of `--repeat`: how often a run executes its cases. The value has one or more parts, separated by
// commas.
//
//   25              every case 25 times
//   2h              all cases in turns, again and again for this time
//   99%:1%          every case until a failure rate of 1 % is excluded with 99 % confidence, or until it fails
//   until-fail      a case that failed is not repeated: combined with any other part, or with --deadline
//   new:50[=PATH]   at least 50 times each case that a run or history lacks: combined with a number or until-fail
//
// PATH extends to the end of the value, so it can contain commas.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "harness/base/duration.h"
#include "harness/base/failure_rate.h"
#include "harness/base/result.h"

namespace proctor {

struct Repeats {
  std::optional<int> times{};
  Milliseconds turns{0};  // 0: no turns
  std::optional<Exclusion> exclusion{};
  bool until_fail = false;
  int times_if_new = 0;      // 0: a new case is run as often as the others
  std::string known_from{};  // the directory of a run, or the file of a history; "": the newest run

  friend bool operator==(const Repeats&, const Repeats&) = default;
};

// The error names the invalid part.
Result<Repeats> parse_repeats(std::string_view text);
Result<void> check_repeats(std::string_view text);

}  // namespace proctor
