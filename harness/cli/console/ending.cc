#include "harness/cli/console/ending.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "harness/core/count_text.h"
#include "harness/core/exit_code.h"
#include "harness/core/text.h"
#include "harness/core/words.h"
#include "reports/model/case_past.h"
#include "reports/model/device_shares.h"
#include "reports/model/device_verdict.h"
#include "reports/model/exit_code.h"
#include "reports/model/failure_summary.h"
#include "reports/model/truncate.h"

namespace proctor::cli {
namespace {

constexpr std::size_t kListedMessage = 160;  // bytes
constexpr std::size_t kListedHead = 400;     // an id may have any length
constexpr std::string_view kNew = "NEW";     // with which the line itself begins

// Of the attempt that failed, where the run has several devices.
std::string listed_devices(const RunModel& model, const CaseRecord& record) {
  const Attempt* attempt = telling_attempt(model, record);
  if (attempt == nullptr || attempt->start.devices.empty() || model.plan().devices.size() < 2) return "";
  if (const Move move = move_of(model, record); !move.from.empty())
    return fmt::format(" from {} to {}", move.from, move.to);
  return fmt::format(" on {}{}", fmt::join(attempt->start.devices, "+"),
                     is_good_elsewhere(model, record) ? " only" : "");
}

std::string word_of(const RunModel& model, const CaseRecord& record, const Verdict& verdict) {
  if (is_flaky(model, record)) return "FLAKY";
  if (!move_of(model, record).from.empty()) return "MOVED";
  const bool cut = verdict.outcome == Outcome::kNotrun && verdict.reason == Reason::kInterrupted;
  return cut ? "INTERRUPTED" : upper_case(to_string(verdict.outcome));
}

// The first line, unless it only introduces the next ones: "Expected equality of these values:".
std::string first_words(const std::string& message) {
  const std::string line = message.substr(0, message.find('\n'));
  return line.empty() || line.ends_with(':') ? message : line;
}

FailedLine failed_line(const RunModel& model, const CaseRecord& record) {
  const Attempt* attempt = telling_attempt(model, record);
  const bool told = attempt != nullptr && is_bad(verdict_of(*attempt).outcome);
  FailedLine line{.verdict = told ? verdict_of(*attempt) : model.verdict(record)};
  line.word = word_of(model, record, line.verdict);
  line.is_new = is_new_failure(model, record);
  const std::string place = to_string(place_of(model, record));
  std::string past = past_text(model, record);
  if (line.is_new && past.starts_with(kNew)) past = past.substr(std::min(past.size(), kNew.size() + 2));
  line.head =
      one_line(clean_text(fmt::format("{}{}{}{}{}", place, place.empty() ? "" : " ", record.planned.id,
                                      listed_devices(model, record), past.empty() ? "" : ", " + past)),
               kListedHead);
  line.message = one_line(first_words(whole_message(model, record)), kListedMessage);
  return line;
}

std::string incomplete_words(const RunModel& model) {
  if (!open_skips(model).empty()) return "INCOMPLETE: tests were skipped, see above";
  std::string words = "INCOMPLETE: something planned was not run, or nothing was";
  const int wanted = model.plan().min_executed;
  const int executed = model.summary().executed();
  if (executed < wanted) words += fmt::format("; {} executed, --min-executed {}", executed, wanted);
  return words;
}

std::string red_words(const RunModel& model) {
  const FailureCount count = count_failures(model, failing_groups(model));
  const std::string of_all = fmt::format(" of {}", count_text(model.cases().size(), "case"));
  if (count.failed == 0 && count.flaky > 0)
    return fmt::format("FLAKY: {}{} failed and then passed", count.flaky, of_all);
  if (count.failed == 0)
    return exit_code(model) == kExitIncomplete ? incomplete_words(model) : std::string("FAILED");
  return fmt::format("FAILED: {}{}, {}{}", count.failed, of_all, count_text(count.causes, "cause"),
                     count.flaky > 0 ? fmt::format(", and {} flaky", count.flaky) : "");
}

// The kernel logged an error of a device.
bool has_logged_errors(const RunModel& model) {
  return std::ranges::any_of(
      model.health(), [](const DeviceHealth& health) { return health.what == HealthFact::kKernelLog; });
}

}  // namespace

std::vector<CauseGroup> failing_groups(const RunModel& model) {
  std::vector<CauseGroup> groups = cause_groups(model);
  if (flaky_cases(model).allowed)
    std::erase_if(groups, [](const CauseGroup& group) { return group.is_flaky; });
  return groups;
}

std::vector<FailedLine> failed_lines(const RunModel& model, const std::vector<CauseGroup>& groups) {
  std::vector<const CaseRecord*> cases;
  for (const bool wants_new : {true, false}) {
    for (const CauseGroup& group : groups) {
      std::ranges::copy_if(group.cases, std::back_inserter(cases), [&](const CaseRecord* record) {
        return is_new_failure(model, *record) == wants_new;
      });
    }
  }
  cases.resize(std::min(cases.size(), kMaxListed));
  std::vector<FailedLine> lines;
  for (const CaseRecord* record : cases) lines.push_back(failed_line(model, *record));
  return lines;
}

std::string past_text(const RunModel& model, const CaseRecord& record) {
  const CasePast* past = model.past(record);
  if (past == nullptr) return "";
  const std::string flaky = flaky_text(*past);
  if (is_flaky(model, record)) return flaky.empty() ? "not flaky before" : flaky;
  return age_text(*past) + (flaky.empty() || past->failing_runs == 0 ? "" : ", " + flaky);
}

std::vector<std::string> device_lines(const RunModel& model, const std::string& run_dir) {
  std::vector<std::string> lines;
  if (const auto verdict = device_verdict(model, run_dir)) {
    lines.push_back(verdict->sentence);
    for (const std::string& sentence : verdict->more) lines.push_back("  " + sentence);
    if (!verdict->exit.empty()) lines.push_back("  " + verdict->exit);
    if (!verdict->advice.empty()) lines.push_back(fmt::format("  {} {}", verdict->advice, verdict->command));
    return lines;
  }
  for (const DeviceDoubtText& doubt : device_doubts(model)) lines.push_back(doubt.sentence);
  const std::string command = code_or_device_command(model, run_dir);
  if (!lines.empty() && !command.empty()) lines.push_back("Code or device? " + command);
  return lines;
}

std::string verdict_words(const RunModel& model, int shell_code) {
  switch (shell_code) {
    case kExitGreen:
      return has_logged_errors(model) ? "every case passed, but a device is suspect" : "all good";
    case kExitRed:
      return red_words(model);
    case kExitUsage:
      return "refused";
    case kExitIncomplete:
      return incomplete_words(model);
    case kExitMachine:
      return "the machine failed: retry on another machine";
    default:
      return shell_code > 128 ? "stopped by signal " + std::to_string(shell_code - 128) : "unknown";
  }
}

}  // namespace proctor::cli
