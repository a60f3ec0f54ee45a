#include "reports/resolve/report_text.h"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "harness/base/clock.h"
#include "harness/base/number_text.h"
#include "harness/base/text.h"
#include "harness/journal/outcome_meaning.h"

namespace proctor {

std::string failures_text(const ResolvedRun& run) {
  const auto& [failed, flaky, causes, fresh] = run.failures;
  std::string text;
  if (failed > 0) {
    text = fmt::format("{} of {} failed, with {}", thousands(failed),
                       count_text(run.summary.planned(), "case"), count_text(causes, "cause"));
    if (fresh > 0) text += fmt::format(", {} of them new", thousands(fresh));
  }
  if (flaky > 0) {
    text += fmt::format("{}{} {} flaky: failed, then passed", text.empty() ? "" : "; ",
                        count_text(flaky, "case"), plural(flaky, "was", "were"));
  }
  return text;
}

namespace {

// Returns whether the kernel logged an error about a device.
bool has_logged_errors(const ResolvedRun& run) {
  return std::ranges::any_of(
      run.health, [](const DeviceHealth& health) { return health.what == HealthFact::kKernelLog; });
}

std::string incomplete_text(const ResolvedRun& run) {
  if (!run.open_skips.empty()) return "tests were skipped, see above";
  const bool is_short = run.summary.executed() < run.plan.rules.min_executed;
  return "something planned was not run, or nothing was" + (is_short ? "; " + shortage_text(run) : "");
}

std::string interruption_text(const ResolvedRun& run) {
  if (run.stop_signal != 0) return "stopped by " + signal_words(std::to_string(run.stop_signal));
  return run.stop ? "stopped: " + run.stop->reason.text() : "the runner was killed";
}

// Returns the text after the verdict; "" for none.
std::string verdict_details(const ResolvedRun& run, RunVerdict verdict) {
  switch (verdict) {
    case RunVerdict::kPassed:
      return has_logged_errors(run) ? "every case passed, but a device is suspect" : "";
    case RunVerdict::kFailed:
      if (run.failures.failed > 0 || !run.flaky_cases.allowed) return failures_text(run);
      return run.exit_code == kExitIncomplete ? incomplete_text(run) : "";
    case RunVerdict::kMachineFailed:
      return "retry on another machine";
    case RunVerdict::kIncomplete:
      return incomplete_text(run);
    case RunVerdict::kInterrupted:
      return interruption_text(run);
  }
  return "";
}

}  // namespace

RunVerdict verdict_of(const ResolvedRun& run, int shell_code) {
  if (shell_code == run.shell_exit_code) return run.verdict;
  return shell_code == kExitMachine ? RunVerdict::kMachineFailed : RunVerdict::kFailed;
}

std::string verdict_text(const ResolvedRun& run, int shell_code) {
  const RunVerdict verdict = verdict_of(run, shell_code);
  const std::string details = verdict_details(run, verdict);
  return headline(verdict) + (details.empty() ? "" : ": " + details);
}

std::string_view counted_as(const ResolvedCase& test) {
  switch (test.result_class) {
    case ResultClass::kPassing:
      return test.flaky ? "flaky" : "passed";
    case ResultClass::kFailing:
      return "failed";
    case ResultClass::kExpected:
      return "known";
    case ResultClass::kNotrun:
      break;
  }
  return test.verdict.outcome == Outcome::kSkip ? "skipped" : "notrun";
}

std::string outcomes_text(const ResolvedRun& run) {
  std::map<std::string_view, std::size_t> counts;
  for (const ResolvedCase& test : run.cases) ++counts[counted_as(test)];
  std::string text = thousands(run.summary.planned()) + " planned";
  std::string_view before = ": ";
  for (const std::string_view word : {"passed", "failed", "flaky", "known", "skipped", "notrun"}) {
    if (!counts.contains(word)) continue;
    text += fmt::format("{}{} {}", std::exchange(before, ", "), thousands(counts[word]),
                        word == "notrun" ? "not run" : word);
  }
  return text;
}

std::string shortage_text(const ResolvedRun& run) {
  const int executed = run.summary.executed();
  if (executed >= run.least_executed) return "";
  return fmt::format("{} of {} executed, at least {} required", thousands(executed),
                     count_text(run.summary.planned(), "planned case"), thousands(run.least_executed));
}

std::string below_checkout(const RunPlanned& plan, const std::string& file) {
  const std::string clean = clean_text(file);
  const std::string checkout = clean_text(plan.subject.checkout);
  const bool below = !checkout.empty() && clean.starts_with(checkout + "/");
  const std::string place = below ? clean.substr(checkout.size() + 1) : clean;
  return place.starts_with('/') || place.starts_with("..") ? "" : place;
}

// junit-10.xsd accepts any string as a time stamp, but Surefire only a real one.
bool is_utc_stamp(std::string_view text) {
  constexpr std::size_t kLength = 20;  // parse_utc() also accepts a day without a time
  return text.size() == kLength && parse_utc(text);
}

bool is_shard_number(const PlannedShard& shard) {
  return shard.index >= 1 && shard.index <= shard.count && shard.count <= kMostShardsOfAPlan;
}

std::int64_t unix_ms(const std::string& utc) {
  if (!is_utc_stamp(utc)) return 0;
  return parse_utc(utc)->time_since_epoch().count() * std::int64_t{1000};
}

namespace {

std::string size_text(double bytes) {
  constexpr double kMib = 1024.0 * 1024;
  return bytes < 1024 * kMib ? fmt::format("{:.0f} MiB", bytes / kMib)
                             : fmt::format("{:.1f} GiB", bytes / kMib / 1024);
}

std::string words_text(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

// Returns the text of important figures. Others, such as a clock frequency alone, give "".
std::string figure_text(const TelemetryFigure& figure) {
  if (figure.name == "throttle") return figure.seen.empty() ? "" : "held back by " + words_text(figure.seen);
  if (figure.name == "cpu_time") return figure.delta ? fmt::format("{:.1f} s CPU", *figure.delta) : "";
  if (figure.name == "ecc_errors")
    return figure.delta.value_or(0) > 0 ? fmt::format("{} uncorrected errors", *figure.delta) : "";
  if (!figure.peak) return "";
  if (figure.name == "memory_used") return "memory up to " + size_text(*figure.peak);
  if (figure.name == "host_memory") return size_text(*figure.peak);
  if (figure.name == "utilisation") return fmt::format("{:.0f} % busy", figure.mean.value_or(*figure.peak));
  if (figure.name == "temperature") return fmt::format("{:.0f} C", *figure.peak);
  if (figure.name == "power") return fmt::format("{:.0f} W", *figure.peak);
  return "";
}

void add(std::string& text, const std::string& title, const std::vector<TelemetryFigure>& figures) {
  std::string part;
  for (const auto& figure : figures) {
    const std::string one = figure_text(figure);
    if (!one.empty()) part += (part.empty() ? "" : ", ") + one;
  }
  if (!part.empty()) text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", title, part);
}

}  // namespace

std::string telemetry_text(const TelemetryInfo& telemetry) {
  std::string text;
  for (const auto& device : telemetry.devices) add(text, device.device, device.figures);
  add(text, "host", telemetry.host);
  return text;
}

namespace {

constexpr std::string_view kMore = "...";

bool inside_character(std::string_view text, std::size_t at) {
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80;
}

}  // namespace

std::string one_line(std::string_view text, std::size_t limit) {
  constexpr std::string_view kSpace = " \t\r\n";
  std::string line;
  std::size_t at = text.find_first_not_of(kSpace);
  while (at != text.npos && line.size() <= limit) {
    const std::size_t end = std::min(text.find_first_of(kSpace, at), text.size());
    if (!line.empty()) line += ' ';
    line += text.substr(at, std::min(end - at, limit + 1));
    at = text.find_first_not_of(kSpace, end);
  }
  return truncate(line, limit);
}

std::string both_ends(std::string_view text, std::size_t limit) {
  const std::string line = one_line(text, text.size());
  if (line.size() <= limit) return line;
  const std::string head = truncate(line, limit / 3);
  std::size_t tail = line.size() - (limit - head.size());
  while (inside_character(line, tail)) ++tail;
  return head + line.substr(tail);
}

std::string truncate(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return std::string(text);
  std::size_t end = limit - kMore.size();
  while (inside_character(text, end)) --end;
  return std::string(text.substr(0, end)) + std::string(kMore);
}

std::string elide_middle(std::string_view text) {
  if (text.size() <= kShownHeadBytes + kShownTailBytes) return std::string(text);
  std::size_t head = kShownHeadBytes;
  while (inside_character(text, head)) --head;
  std::size_t tail = text.size() - kShownTailBytes;
  while (inside_character(text, tail)) ++tail;
  return fmt::format("{}\n[proctor: {} bytes cut here]\n{}", text.substr(0, head), tail - head,
                     text.substr(tail));
}

std::string gate_details(std::size_t cells, std::size_t failed_cells, std::size_t failed_rules) {
  if (failed_cells == 0 && failed_rules > 0) return count_text(failed_rules, "rule") + " of all runs";
  return fmt::format("{} of {}", thousands(failed_cells == 0 ? cells : failed_cells),
                     count_text(cells, "cell"));
}

}  // namespace proctor
