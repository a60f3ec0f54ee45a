// Formats the end of a run for the console: one line per failed case with new failures first, findings about the
// devices, and the commands that run the cases again. It also formats a single failed case, which the console prints
// when the case fails.
#pragma once

#include <string>
#include <vector>

#include "reports/resolve/causes.h"
#include "reports/resolve/log_text.h"
#include "reports/resolve/resolved_run.h"

namespace proctor::cli {

// Limit for listed cases. With the following lines they fit in the last 60 lines of a terminal.
inline constexpr std::size_t kMaxListed = 48;

// Example: "FAIL" "NEW" "src/kernels_test.cc:26 gtest/Kernels.Add on xpu-sim:0: the first words of its message"
struct FailedLine {
  Verdict verdict{};   // verdict of the failed attempt
  std::string word{};  // upper case; "FLAKY" for a case that failed and then passed
  bool is_new = false;
  std::string head{};  // place, id, device, and the first run of this failure
  std::string message{};
};

// Returns the causes that made the run fail. Flaky cases are left out if the run's policy permits them.
std::vector<CauseGroup> failing_groups(const ResolvedRun& run);

// Returns lines for the first kMaxListed cases of these groups.
std::vector<FailedLine> failed_lines(const std::vector<CauseGroup>& groups);

// Returns the history of a case: "NEW: passed in 0123abc", "first failed in 0123abc (3 runs)", and how often it was
// flaky; "" without a history.
std::string past_text(const ResolvedCase& test);

// Returns the first lines of the end: what is wrong with a device and what to do (reports/resolve/device_verdict.h). If
// the devices may be the cause, it returns that, with the command that checks them. Empty if nothing indicates a
// device.
std::vector<std::string> device_lines(const ResolvedRun& run, const std::string& run_dir);

// Returns the whole message of the case with its line breaks, then expected and actual value, cleaned and bounded.
std::vector<std::string> message_lines(const ResolvedCase& test);

// Returns at most `most` of the log's last lines that the program itself wrote. The banner of GoogleTest, the output of
// other cases and the messages of the failures are left out.
LastLines own_lines(LastLines last, const ResolvedCase& test, const Attempt& attempt, std::size_t most);

}  // namespace proctor::cli
