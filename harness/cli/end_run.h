// How `proctor finish` ends a run and everything that it left, within a limit.
#pragma once

#include <string>
#include <vector>

#include "harness/base/clock.h"
#include "harness/base/duration.h"
#include "harness/base/result.h"
#include "harness/runner/record/run_record.h"

namespace proctor::cli {

// Ends this process, with kExitMachine, a little before the limit is over: a driver may hang whoever looks at its
// devices. One at a time.
class Limit {
 public:
  explicit Limit(Milliseconds limit);
  Milliseconds left() const;
  // From now on, `what` (a literal, as in "while WHAT").
  void doing(const char* what) const;

 private:
  Clock::time_point end_;
};

// One line each.
void print_sentences(const std::vector<std::string>& sentences);

// Ends the runner and everything of the run, and says what was done. False: something may be left. An error, and nothing
// was touched: the runner may be alive, which nothing here proves; or it is alive, and /proc does not show it here, or its
// parent is alive too and `stop` is not set. `run_dir`: as the user calls it.
Result<bool> end_run(const std::string& run_dir, const RunRecord& record, bool stop, const Limit& limit);

}  // namespace proctor::cli
