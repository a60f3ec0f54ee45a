// The end of a run on the console: one line per case that failed, new ones first, what the devices say of them, how to
// run them again. Also the words of one failed case, which the console prints when it fails.
#pragma once

#include <string>
#include <vector>

#include "reports/resolve/causes.h"
#include "reports/resolve/log_text.h"
#include "reports/resolve/resolved_run.h"

namespace proctor::cli {

// So many cases are named one by one: with what follows them they fit in the last 60 lines.
inline constexpr std::size_t kMaxListed = 48;

// "FAIL" "NEW" "src/kernels_test.cc:26 gtest/Kernels.Add on xpu-sim:0: the first words of its message"
struct FailedLine {
  Verdict verdict{};   // of the attempt that failed
  std::string word{};  // upper case; "FLAKY" of a case that failed and then passed
  bool is_new = false;
  std::string head{};  // place, id, device, and since when it fails
  std::string message{};
};

// The causes that made the run fail: without flaky cases if its policy allows them.
std::vector<CauseGroup> failing_groups(const ResolvedRun& run);

// Of all cases of these groups, the first kMaxListed.
std::vector<FailedLine> failed_lines(const std::vector<CauseGroup>& groups);

// "NEW: passed in 0123abc", "first failed in 0123abc (3 runs)", and how often it was flaky; "" without a history.
std::string past_text(const ResolvedCase& test);

// What is wrong with a device and what to do (reports/resolve/device_verdict.h), or whether the devices may be the cause, and
// the command that shows it; empty if nothing points to one. The first lines of the end.
std::vector<std::string> device_lines(const ResolvedRun& run, const std::string& run_dir);

// The message of the case, whole, with its line breaks, then what was expected and what came; clean and bounded.
std::vector<std::string> message_lines(const ResolvedCase& test);

// Of the last lines of the log of an attempt, at most `most` that its program wrote itself: without the banner of
// GoogleTest, the output of other cases, and the messages of its failures.
LastLines own_lines(LastLines last, const ResolvedCase& test, const Attempt& attempt, std::size_t most);

}  // namespace proctor::cli
