// Ends a run with all its processes for `proctor finish`, within a time limit.
#pragma once

#include <string>
#include <vector>

#include "harness/base/clock.h"
#include "harness/base/duration.h"
#include "harness/base/result.h"
#include "harness/runner/record/run_record.h"

namespace proctor::cli {

// Ends this process with kExitMachine shortly before the limit, because a driver can hang the process that queries its
// devices. Only one object may exist at a time.
class Limit {
 public:
  explicit Limit(Milliseconds limit);
  Milliseconds left() const;
  // Sets the current step for the message "while WHAT". `what` must be a literal.
  void doing(const char* what) const;

 private:
  Clock::time_point end_;
};

// Prints one line per sentence.
void print_sentences(const std::vector<std::string>& sentences);

// Ends the runner and all processes of the run, and prints what was done. Returns false if a process may be left. On an
// error, nothing was changed. It is an error if the runner may be alive, which cannot be checked here. It is also an
// error if the runner is alive, and either /proc does not show it, or its parent is alive and `stop` is false.
// `run_dir` is the path as typed.
Result<bool> end_run(const std::string& run_dir, const RunRecord& record, bool stop, const Limit& limit);

}  // namespace proctor::cli
