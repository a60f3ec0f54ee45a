#include "harness/cli/console/ending.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "harness/base/number_text.h"
#include "harness/base/text.h"
#include "harness/base/words.h"
#include "harness/journal/outcome_meaning.h"
#include "reports/resolve/case_past.h"
#include "reports/resolve/causes.h"
#include "reports/resolve/device_verdict.h"
#include "reports/resolve/devices.h"
#include "reports/resolve/failure_text.h"
#include "reports/resolve/report_text.h"

namespace proctor::cli {
namespace {

constexpr std::size_t kListedMessage = 160;  // bytes
constexpr std::size_t kListedHead = 400;     // limit for the head, because an id may have any length
constexpr std::string_view kNew = "NEW";     // the line already begins with this word

// Returns the devices of the failed attempt, if the run has several devices.
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

// Returns the first line, or the whole message if its first line only introduces the next ones: "Expected equality of
// these values:".
std::string first_words(const std::string& message) {
  const std::string line = message.substr(0, message.find('\n'));
  return line.empty() || line.ends_with(':') ? message : line;
}

FailedLine failed_line(const ResolvedCase& test) {
  const Attempt* attempt = test.telling;
  const bool reported = attempt != nullptr && is_bad(verdict_of(*attempt).outcome);
  FailedLine line{.verdict = reported ? verdict_of(*attempt) : test.verdict};
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
  for (const DeviceSuspicionText& suspicion : run.device_suspicions) lines.push_back(suspicion.sentence);
  const std::string command = code_or_device_command(run.plan, run_dir);
  if (!lines.empty() && !command.empty()) lines.push_back("Code or device? " + command);
  return lines;
}

namespace {

constexpr std::size_t kMessageBytes = 8 * 1024;
constexpr std::size_t kMessageLines = 40;
constexpr std::size_t kValueBytes = 400;
constexpr std::size_t kFurther = 3;  // failures of one case after the first
constexpr std::string_view kRunMark = "[ RUN      ] ";
constexpr std::string_view kFailedMark = "[  FAILED  ] ";

using Lines = std::vector<std::string>;

// Splits at \r too, because a lone \r would overwrite earlier text on a terminal.
Lines split_lines(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of("\r\n"), text.size());
    lines.emplace_back(text.substr(0, end));
    const bool both = text.substr(end).starts_with("\r\n");
    text.remove_prefix(std::min(text.size(), end + (both ? 2 : 1)));
  }
  while (!lines.empty() && lines.back().find_first_not_of(" \t") == std::string::npos) lines.pop_back();
  return lines;
}

void add_value(Lines& lines, const char* name, const std::string& value) {
  if (!value.empty()) lines.push_back(fmt::format("{:10}{}", name, one_line(clean_text(value), kValueBytes)));
}

bool has_words(const Failure& failure) {
  return failure.message.find_first_not_of(" \t\r\n") != std::string::npos;
}

// Adds the expected value, and further failures of the case.
void add_failures(Lines& lines, const std::vector<Failure>& failures) {
  const auto spoke = std::ranges::find_if(failures, has_words);
  if (spoke == failures.end()) return;
  add_value(lines, "expected:", spoke->expected);
  add_value(lines, "got:", spoke->got);
  std::size_t further = 0;
  for (auto failure = std::next(spoke); failure != failures.end(); ++failure) {
    if (further++ == kFurther) return lines.push_back("also …");
    const std::string place =
        failure->file.empty() ? "" : fmt::format("{}:{}: ", failure->file, failure->line);
    lines.push_back("also " + one_line(clean_text(place + failure->message), kValueBytes));
  }
}

// Returns the name after the mark; "" for a line without it. A test may print text before the mark without a newline.
std::string_view marked(const std::string& line, std::string_view mark) {
  const std::size_t at = line.rfind(mark);
  if (at == std::string::npos) return {};
  const std::string_view name = std::string_view(line).substr(at + mark.size());
  return name.substr(0, std::min(name.find(" ("), name.find(", where ")));
}

// Keeps the lines between the two marks of the case. If there are only marks of other cases, nothing is kept.
void strip_gtest(LastLines& last, const std::string& id) {
  const auto is_of_case = [&](std::string_view name) {
    return !name.empty() && id.ends_with("/" + std::string(name));
  };
  auto first = last.lines.begin();
  bool others = false;
  for (auto line = last.lines.begin(); line != last.lines.end(); ++line) {
    const std::string_view name = marked(*line, kRunMark);
    others = others || !name.empty();
    if (is_of_case(name)) first = line + 1;
  }
  const bool found = first != last.lines.begin();
  if (others && !found) last.lines.clear();
  if (last.lines.empty()) return;
  const auto end = std::find_if(first, last.lines.end(), [&](const std::string& line) {
    return is_of_case(marked(line, kFailedMark));
  });
  last.is_all = last.is_all || found;
  last.lines.erase(end, last.lines.end());
  last.lines.erase(last.lines.begin(), first);
}

// Removes the message together with the line of its place, which GoogleTest prints before it.
void remove_message(Lines& lines, const Failure& failure) {
  const Lines message = split_lines(clean_text(failure.message));
  if (message.empty()) return;
  const auto same = [](const std::string& line, const std::string& word) { return clean_text(line) == word; };
  const auto found = std::search(lines.begin(), lines.end(), message.begin(), message.end(), same);
  if (found == lines.end()) return;
  const bool has_place = found != lines.begin() && std::prev(found)->ends_with(": Failure");
  lines.erase(has_place ? std::prev(found) : found, found + static_cast<std::ptrdiff_t>(message.size()));
}

}  // namespace

Lines message_lines(const ResolvedCase& test) {
  const std::string message = whole_message(test);
  Lines lines = split_lines(truncate(message, kMessageBytes));
  if (lines.size() > kMessageLines) {
    const std::size_t more = lines.size() - kMessageLines;
    lines.resize(kMessageLines);
    lines.push_back("… " + count_text(more, "more line"));
  }
  const Attempt* attempt = test.telling;
  if (attempt != nullptr && attempt->end) add_failures(lines, attempt->end->failures);
  if (const std::string said = test.headline; test.moved && said != message) lines.push_back(said);
  const std::string attempts = flaky_attempts_text(test);
  if (!attempts.empty()) lines.push_back(attempts);
  if (const std::string note = note_text(test); !note.empty()) lines.push_back(note);
  return lines;
}

LastLines own_lines(LastLines last, const ResolvedCase& test, const Attempt& attempt, std::size_t most) {
  if (test.planned.kind == "gtest") strip_gtest(last, test.planned.id);
  if (attempt.end) {
    for (const Failure& failure : attempt.end->failures) remove_message(last.lines, failure);
  }
  while (!last.lines.empty() && last.lines.front().empty()) last.lines.erase(last.lines.begin());
  while (!last.lines.empty() && last.lines.back().empty()) last.lines.pop_back();
  if (last.lines.size() > most) {
    last.is_all = false;
    last.lines.erase(last.lines.begin(), last.lines.end() - static_cast<std::ptrdiff_t>(most));
  }
  return last;
}

}  // namespace proctor::cli
