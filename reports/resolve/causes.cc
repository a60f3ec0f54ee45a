#include "reports/resolve/causes.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string_view>
#include <tuple>
#include <vector>

#include "harness/base/number_text.h"
#include "harness/base/text.h"
#include "reports/resolve/case_past.h"
#include "reports/resolve/failure_text.h"
#include "reports/resolve/report_text.h"

namespace proctor {
namespace {

// Parses "src/wait.c:40", or a file without a line.
void read_location(const std::string& location, Place& place) {
  place.file = location;
  const std::size_t colon = location.rfind(':');
  if (colon == location.npos) return;
  const char* end = location.data() + location.size();
  const auto read = std::from_chars(location.data() + colon + 1, end, place.line);
  if (read.ec != std::errc{} || read.ptr != end) {
    place.line = 0;
    return;
  }
  place.file.resize(colon);
}

bool has_words(const Failure& failure) {
  return failure.message.find_first_not_of(" \t\r\n") != std::string::npos;
}

// Returns the output of a suite's program instead of its list (harness/plan/discovery.cc).
std::string describe_listing(const ResolvedCase& test) {
  constexpr std::string_view kBefore = "; it wrote: ";
  if (test.verdict.reason != Reason::kDiscovery || !test.end) return {};
  const std::size_t at = test.end->note.find(kBefore);
  return at == std::string::npos ? "" : clean_text(test.end->note.substr(at + kBefore.size()));
}

// A case that was interrupted (notrun), or moved from a bad device, did not fail. A case can be both moved and flaky.
FailureCount count_failures(const ResolvedRun& run, const std::vector<CauseGroup>& groups) {
  FailureCount count;
  count.flaky = static_cast<std::size_t>(std::ranges::count(run.cases, true, &ResolvedCase::flaky));
  for (const CauseGroup& group : groups) {
    if (group.is_moved || group.is_flaky || group.cases.front()->verdict.outcome == Outcome::kNotrun)
      continue;
    count.failed += group.cases.size();
    ++count.causes;
    count.fresh += group.is_new ? 1 : 0;
  }
  return count;
}

}  // namespace

Place place_of(const Attempt& attempt) {
  Place place;
  if (!attempt.end) return place;
  const auto& failures = attempt.end->failures;
  const auto failure = std::ranges::find_if(failures, [](const Failure& one) { return !one.file.empty(); });
  if (failure != failures.end()) {
    place.file = failure->file;
    place.line = failure->line;
  } else if (const auto& frame = attempt.end->evidence.frame) {
    place.function = frame->function;
    read_location(frame->location, place);
  }
  return place;
}

Place place_of(const ResolvedCase& test) {
  return test.telling != nullptr ? place_of(*test.telling) : Place{};
}

std::string to_string(const Place& place) {
  std::string where = clean_text(place.file);
  if (place.line > 0) where += fmt::format(":{}", place.line);
  if (place.function.empty()) return where;
  const std::string function = clean_text(place.function);
  return where.empty() ? function : function + " at " + where;
}

std::string without_numbers(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const bool hex = text.substr(i, 2) == "0x";
    const auto end = text.find_first_not_of(hex ? "0123456789abcdefABCDEF" : "0123456789", hex ? i + 2 : i);
    if (end == i) {
      out += text[i++];
      continue;
    }
    out += '#';
    i = std::min(end, text.size());
  }
  return out;
}

std::string cause_key(const ResolvedCase& test) {
  const std::string outcome(to_string(test.verdict.outcome));
  const Diagnosis* diagnosis = test.diagnosis;
  const bool has_rule = !cause_text(diagnosis).empty();
  if (has_rule && diagnosis->problem == FailureOwner::kMachine) return outcome + "\nrule\n" + diagnosis->rule;
  if (const std::string place = to_string(place_of(test)); !place.empty())
    return outcome + "\nplace\n" + place;
  if (has_rule) return outcome + "\nrule\n" + diagnosis->rule;
  return outcome + "\n" + test.verdict.reason.text() + "\n" + without_numbers(whole_message(test));
}

void resolve_causes(ResolvedRun& run) {
  std::vector<CauseGroup> groups;
  std::map<std::string, std::size_t> known;
  for (ResolvedCase& test : run.cases) {
    test.cause = kNoCause;
    const bool failed = test.bad || test.moved;
    if (!failed && !test.flaky) continue;
    if (test.attempts.empty() && test.verdict.outcome == Outcome::kNotrun) continue;
    const std::string key = (test.moved ? "moved\n" : failed ? "" : "flaky\n") + cause_key(test);
    const auto [place, is_first] = known.emplace(key, groups.size());
    if (is_first) groups.push_back({.is_new = true, .is_flaky = !failed, .is_moved = test.moved});
    CauseGroup& group = groups[place->second];
    group.cases.push_back(&test);
    group.is_new = group.is_new && test.is_new;
  }
  for (CauseGroup& group : groups) std::ranges::stable_partition(group.cases, &ResolvedCase::is_new);
  std::ranges::stable_sort(groups, std::less<>(), [](const CauseGroup& group) {
    return std::tuple(group.is_flaky, group.is_moved, !group.is_new,
                      -static_cast<std::int64_t>(group.cases.size()));
  });
  for (std::uint32_t number = 0; number < groups.size(); ++number) {
    for (const ResolvedCase* test : groups[number].cases) run.cases[test->index].cause = number;
  }
  run.failures = count_failures(run, groups);
  run.causes = std::move(groups);
}

std::string age_of(const CauseGroup& group) {
  const CasePast* oldest = group.cases.front()->past;
  if (oldest == nullptr || group.is_flaky) return oldest == nullptr ? "" : flaky_text(*oldest);
  std::size_t fresh = 0;
  for (const ResolvedCase* test : group.cases) {
    const CasePast* past = test->past;
    if (past == nullptr) continue;
    if (is_new(*past)) ++fresh;
    if (past->failing_runs > oldest->failing_runs) oldest = past;
  }
  const bool mixed = fresh > 0 && fresh < group.cases.size();
  return age_text(*oldest) +
         (mixed ? fmt::format(", {} of {} NEW", thousands(fresh), count_text(group.cases.size(), "case"))
                : "");
}

std::string whole_message(const ResolvedCase& test) {
  const Attempt* attempt = test.telling;
  if (attempt != nullptr && attempt->end) {
    const auto& failures = attempt->end->failures;
    const auto failure = std::ranges::find_if(failures, has_words);
    if (failure != failures.end()) {
      const std::string message = clean_text(failure->message);
      return test.planned.kind == "gtest" ? describe_test_first(message) : message;
    }
  }
  if (std::string words = describe_listing(test); !words.empty()) return words;
  return message_line(test);
}

std::string message_beyond_headline(const ResolvedCase& test, std::size_t limit) {
  const std::string message = whole_message(test);
  return message == test.headline ? "" : truncate(message, limit) + "\n\n";
}

namespace {

using Lines = std::vector<std::string_view>;

Lines lines_of_message(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(text.size(), end + 1));
  }
  return lines;
}

template <typename Belongs>
std::size_t skip_while(const Lines& lines, std::size_t at, Belongs belongs) {
  while (at < lines.size() && belongs(lines[at])) ++at;
  return at;
}

bool is_indented(std::string_view line) { return line.starts_with("  "); }
bool is_actual(std::string_view line) { return line.starts_with("  Actual: "); }

// Skips an equality message, and the "With diff:" and unified difference that may follow it.
std::size_t after_equality(const Lines& lines) {
  const std::size_t at = skip_while(
      lines, 1, [](std::string_view line) { return is_indented(line) || line == "Ignoring case"; });
  if (at == lines.size() || lines[at] != "With diff:") return at;
  return skip_while(lines, at + 1, [](std::string_view line) {
    return !line.empty() && std::string_view("@+- ").find(line.front()) != std::string_view::npos;
  });
}

// Returns the number of lines that GoogleTest wrote; 0 if it is unknown.
std::size_t lines_of_expectation(const Lines& lines) {
  if (lines.empty()) return 0;
  const std::string_view first = lines.front();
  if (first == "Failed") return 1;
  if (first == "Expected equality of these values:") return after_equality(lines);
  if (first.starts_with("Expected: ")) return skip_while(lines, 1, is_actual);
  if (first.starts_with("The difference between ")) {
    return skip_while(lines, 1, [](std::string_view line) {
      return line.find(" evaluates to ") != std::string_view::npos;
    });
  }
  if (!first.starts_with("Value of: ")) return 0;
  const std::size_t expected = skip_while(lines, 1, is_actual);
  if (expected == lines.size() || !lines[expected].starts_with("Expected: ")) return 0;
  return skip_while(lines, expected + 1, is_actual);
}

}  // namespace

std::string describe_test_first(const std::string& message) {
  const Lines lines = lines_of_message(message);
  const std::size_t count = lines_of_expectation(lines);
  if (count == 0 || count >= lines.size()) return message;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < count; ++i) begin += lines[i].size() + 1;
  std::string words = message.substr(begin);
  while (words.ends_with('\n')) words.pop_back();
  if (words.find_first_not_of(" \t\r\n") == std::string::npos) return message;
  return lines.front() == "Failed" ? words : words + "\n" + message.substr(0, begin - 1);
}

}  // namespace proctor
