#include "harness/cli/console/ending.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "harness/base/text.h"
#include "harness/base/words.h"
#include "harness/journal/exit_code.h"
#include "reports/resolve/case_past.h"
#include "reports/resolve/device_verdict.h"
#include "reports/resolve/devices.h"
#include "reports/resolve/run_text.h"
#include "reports/resolve/truncate.h"

namespace proctor::cli {
namespace {

constexpr std::size_t kListedMessage = 160;  // bytes
constexpr std::size_t kListedHead = 400;     // an id may have any length
constexpr std::string_view kNew = "NEW";     // with which the line itself begins

// Of the attempt that failed, where the run has several devices.
std::string listed_devices(const ResolvedCase& test) {
  const Attempt* attempt = test.telling;
  if (attempt == nullptr || attempt->start.devices.empty() || attempt->common->devices.size() < 2) return "";
  if (const Move move = move_of(test); !move.from.empty())
    return fmt::format(" from {} to {}", move.from, move.to);
  return fmt::format(" on {}{}", fmt::join(attempt->start.devices, "+"), test.moved ? " only" : "");
}

std::string word_of(const ResolvedCase& test, const Verdict& verdict) {
  if (test.flaky) return "FLAKY";
  if (!move_of(test).from.empty()) return "MOVED";
  const bool cut = verdict.outcome == Outcome::kNotrun && verdict.reason == Reason::kInterrupted;
  return cut ? "INTERRUPTED" : upper_case(to_string(verdict.outcome));
}

// The first line, unless it only introduces the next ones: "Expected equality of these values:".
std::string first_words(const std::string& message) {
  const std::string line = message.substr(0, message.find('\n'));
  return line.empty() || line.ends_with(':') ? message : line;
}

FailedLine failed_line(const ResolvedCase& test) {
  const Attempt* attempt = test.telling;
  const bool told = attempt != nullptr && is_bad(verdict_of(*attempt).outcome);
  FailedLine line{.verdict = told ? verdict_of(*attempt) : test.verdict};
  line.word = word_of(test, line.verdict);
  line.is_new = test.is_new;
  const std::string place = to_string(place_of(test));
  std::string past = past_text(test);
  if (line.is_new && past.starts_with(kNew)) past = past.substr(std::min(past.size(), kNew.size() + 2));
  line.head = one_line(clean_text(fmt::format("{}{}{}{}{}", place, place.empty() ? "" : " ", test.planned.id,
                                              listed_devices(test), past.empty() ? "" : ", " + past)),
                       kListedHead);
  line.message = one_line(first_words(whole_message(test)), kListedMessage);
  return line;
}

std::string incomplete_words(const ResolvedRun& run) {
  if (!run.open_skips.empty()) return "INCOMPLETE: tests were skipped, see above";
  const bool is_short = run.summary.executed() < run.plan.rules.min_executed;
  return "INCOMPLETE: something planned was not run, or nothing was" +
         (is_short ? "; " + shortage_text(run) : "");
}

std::string red_words(const ResolvedRun& run) {
  if (run.failures.failed > 0 || !run.flaky_cases.allowed) return failures_text(run);
  return run.exit_code == kExitIncomplete ? incomplete_words(run) : "FAILED";
}

// The kernel logged an error of a device.
bool has_logged_errors(const ResolvedRun& run) {
  return std::ranges::any_of(
      run.health, [](const DeviceHealth& health) { return health.what == HealthFact::kKernelLog; });
}

}  // namespace

std::vector<CauseGroup> failing_groups(const ResolvedRun& run) {
  std::vector<CauseGroup> groups = run.causes;
  if (run.flaky_cases.allowed) std::erase_if(groups, [](const CauseGroup& group) { return group.is_flaky; });
  return groups;
}

std::vector<FailedLine> failed_lines(const std::vector<CauseGroup>& groups) {
  std::vector<const ResolvedCase*> cases;
  for (const bool wants_new : {true, false}) {
    for (const CauseGroup& group : groups) {
      std::ranges::copy_if(group.cases, std::back_inserter(cases),
                           [&](const ResolvedCase* test) { return test->is_new == wants_new; });
    }
  }
  cases.resize(std::min(cases.size(), kMaxListed));
  std::vector<FailedLine> lines;
  for (const ResolvedCase* test : cases) lines.push_back(failed_line(*test));
  return lines;
}

std::string past_text(const ResolvedCase& test) {
  const CasePast* past = test.past;
  if (past == nullptr) return "";
  const std::string flaky = flaky_text(*past);
  if (test.flaky) return flaky.empty() ? "not flaky before" : flaky;
  return age_text(*past) + (flaky.empty() || past->failing_runs == 0 ? "" : ", " + flaky);
}

std::vector<std::string> device_lines(const ResolvedRun& run, const std::string& run_dir) {
  std::vector<std::string> lines;
  if (const auto& verdict = run.device_verdict) {
    lines.push_back(verdict->sentence);
    for (const std::string& sentence : verdict->more) lines.push_back("  " + sentence);
    if (!verdict->exit.empty()) lines.push_back("  " + verdict->exit);
    if (!verdict->advice.empty())
      lines.push_back(fmt::format("  {} {}", verdict->advice, verdict->command_in(run_dir)));
    return lines;
  }
  for (const DeviceDoubtText& doubt : run.device_doubts) lines.push_back(doubt.sentence);
  const std::string command = code_or_device_command(run.plan, run_dir);
  if (!lines.empty() && !command.empty()) lines.push_back("Code or device? " + command);
  return lines;
}

std::string verdict_words(const ResolvedRun& run, int shell_code) {
  switch (shell_code) {
    case kExitGreen:
      return has_logged_errors(run) ? "every case passed, but a device is suspect" : "all good";
    case kExitRed:
      return red_words(run);
    case kExitUsage:
      return "refused";
    case kExitIncomplete:
      return incomplete_words(run);
    case kExitMachine:
      return "the machine failed: retry on another machine";
    default:
      return shell_code > 128 ? "stopped by signal " + std::to_string(shell_code - 128) : "unknown";
  }
}

}  // namespace proctor::cli
