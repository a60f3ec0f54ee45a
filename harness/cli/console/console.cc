#include "harness/cli/console/console.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <limits>
#include <ranges>
#include <set>

#include "harness/base/number_text.h"
#include "harness/base/text.h"
#include "harness/base/words.h"
#include "harness/cli/console/ending.h"
#include "harness/journal/outcome_meaning.h"
#include "reports/resolve/causes.h"
#include "reports/resolve/devices.h"
#include "reports/resolve/failure_rates.h"
#include "reports/resolve/failure_text.h"
#include "reports/resolve/log_text.h"
#include "reports/resolve/report_text.h"

namespace proctor::cli {
namespace {

constexpr const char* kRed = "31";
constexpr const char* kGreen = "32";
constexpr const char* kYellow = "33";
constexpr const char* kDim = "2";
constexpr int kLabelWidth = 13;
constexpr std::size_t kMaxExplained = 50;  // causes that are printed in full; the reports have all
constexpr std::size_t kMaxAlike = 3;       // further cases that are named with the printed one
constexpr std::size_t kOutputLines = 40;
constexpr std::size_t kBannerLines = 16;  // lines of a framework around a case's output
constexpr std::size_t kOutputBytes = 8 * 1024;
constexpr std::size_t kAllBytes = 64 * 1024 * 1024;  // for --show-output all
constexpr std::size_t kMaxLiveLine = 64 * 1024;
constexpr std::int64_t kReportRunningMs = 60'000;
constexpr std::int64_t kReportProgressMs = 30'000;
constexpr int kUnlimited = std::numeric_limits<int>::max();  // --repeat 2h, or only until-fail
constexpr std::string_view kStillInBlock = "  | ";
constexpr Milliseconds kDrainLimit{30'000};  // for a reader with a pager
constexpr Milliseconds kHastyDrainLimit{1000};

std::string labelled(const std::string& label, const std::string& text) {
  std::string line = "  " + label;
  line.resize(std::max<std::size_t>(line.size() + 1, kLabelWidth + 2), ' ');
  return line + text;
}

// Returns ", each 25 times"; "" if the cases have different repeats (--repeat new:N) or no number of repeats.
std::string repeats_text(const ResolvedRun& run) {
  if (run.cases.empty() || run.plan.exclusion) return "";
  const int repeat = run.cases.front().planned.repeat;
  const bool alike =
      std::ranges::all_of(run.cases, [&](const ResolvedCase& test) { return test.planned.repeat == repeat; });
  return alike && repeat > 1 && repeat < kUnlimited ? fmt::format(", each {} times", thousands(repeat)) : "";
}

std::string device_text(const RunPlanned& planned) {
  if (planned.devices.empty()) return "none";
  std::string text;
  for (const auto& device : planned.devices) text += (text.empty() ? "" : ", ") + device.id;
  if (planned.sim) text += " (simulated: " + planned.sim->topology + " by " + planned.sim->driver + ")";
  return text;
}

// Returns a path relative to the current directory if the file is below it.
std::string shortest(const std::string& path) {
  std::error_code error;
  const std::string relative =
      std::filesystem::path(path).lexically_relative(std::filesystem::current_path(error)).string();
  return error || relative.empty() || relative.starts_with("..") ? path : relative;
}

// Returns the visible text of a line that was overwritten with \r, such as a progress bar.
std::string shown_part(std::string line) {
  while (line.ends_with('\r')) line.pop_back();
  return line.substr(line.rfind('\r') + 1);
}

int width(const std::string& text) {
  return static_cast<int>(std::ranges::count_if(
      text, [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }));
}

// Formats a duration in ten columns.
std::string duration_column(std::int64_t ms) {
  return fmt::format("{:>10}", human_duration(Milliseconds(ms)));
}

std::string reason_in_brackets(const Verdict& verdict) {
  return verdict.reason.empty() ? "" : "  (" + clean_text(readable_reason(verdict)) + ")";
}

std::string containment_text(const ContainmentInfo& containment) {
  const std::string signals = signals_text(containment.signals);
  return containment.layer + (signals.empty() ? "" : ", ") + signals;
}

}  // namespace

std::string flaky_line(const ResolvedRun& run, const FlakyCases& flaky) {
  const std::string policy = run.plan.flaky_passes
                                 ? fmt::format("pass, up to {} %{}", run.plan.max_flaky_percent,
                                               run.plan.max_flaky_percent > 0 ? ", at least one" : "")
                                 : "fail";
  return fmt::format("flaky: {} of {}, {} the policy ({}){}", thousands(flaky.count),
                     count_text(run.summary.executed(), "executed case"), flaky.allowed ? "within" : "over",
                     policy, flaky.allowed ? "" : fmt::format(": {} allows them", flaky.option));
}

ConsoleOptions console_options(const ConsoleRequest& request) {
  static const std::map<std::string, ShowOutput> kChoices = {{"failed", ShowOutput::kFailed},
                                                             {"all", ShowOutput::kAll},
                                                             {"live", ShowOutput::kLive},
                                                             {"none", ShowOutput::kNone}};
  ConsoleOptions options{
      .verbose = request.verbose, .quiet = request.quiet, .durations = request.durations.value_or(0)};
  if (request.show_output) options.output = kChoices.at(*request.show_output);
  options.colour = request.colour.value_or(options.colour);
  return options;
}

Console::Console(ConsoleOutput& output, const ConsoleOptions& options, std::string run_dir,
                 std::vector<std::string> notes, bool quiet_status)
    : output_(output),
      options_(options),
      run_dir_(std::move(run_dir)),
      run_dir_from_here_(shortest(run_dir_)),
      notes_(std::move(notes)),
      status_(output.is_smart() && !quiet_status) {
  options_.only_failed = options_.only_failed && !output.is_terminal();
}

std::string Console::paint(const char* code, const std::string& text) const {
  const bool colours = options_.colour == "auto" ? output_.colours() : options_.colour == "always";
  return colours ? "\033[" + std::string(code) + "m" + text + "\033[0m" : text;
}

std::string Console::painted(const Verdict& verdict, const std::string& text) const {
  constexpr std::array kCodes = {kGreen, kDim, kYellow, kRed};  // one per Shade
  return paint(kCodes[static_cast<std::size_t>(meaning_of(verdict).shade)], text);
}

void Console::clear_status() {
  if (std::exchange(status_shown_, false)) output_.write("\r\033[K");
}

void Console::print(const std::string& line) {
  clear_status();
  output_.write(line + "\n");
}

void Console::on(const Event& event) {
  if (const auto* planned = std::get_if<RunPlanned>(&event)) {
    show(*planned);
  } else if (const auto* started = std::get_if<AttemptStarted>(&event)) {
    show_retried(*started);
    running_.push_back(*started);
  } else if (const auto* attempt = std::get_if<AttemptEnded>(&event)) {
    Planned& planned = planned_[attempt->case_id];
    planned.spent_ms += attempt->duration_ms;
    const auto running = std::ranges::find(running_, attempt->case_id, &AttemptStarted::case_id);
    std::string& where = is_bad(attempt->verdict.outcome) ? planned.failed_on : planned.passed_on;
    where = running == running_.end() ? "" : joined(running->devices, "+");
    if (is_bad(attempt->verdict.outcome) && running != running_.end())
      failed_[attempt->case_id] = {*running, attempt->verdict, attempt->marks, attempt->duration_ms};
    if (options_.output == ShowOutput::kAll && running != running_.end() && !running->log.empty())
      planned.attempts.push_back(*running);
    show_remaining_lines(attempt->case_id);
    const bool by_it = attempt->termination.leaked_by.empty();  // otherwise a warning reports them
    planned.left_behind = by_it ? leak_text(attempt->termination) : "";
    if (running != running_.end()) running_.erase(running);
  } else if (const auto* ended = std::get_if<CaseEnded>(&event)) {
    show(*ended);
  } else if (const auto* suspected = std::get_if<AttemptSuspected>(&event)) {
    failed_.erase(suspected->case_id);  // the case is not retried, but moved to another device
  } else if (const auto* warning = std::get_if<Warning>(&event)) {
    if (warning->code == WarningCode::kDeviceSuspect) return;  // printed with the line of its case
    print(paint(kYellow, "warning") + " " + clean_text(warning->text));
  } else if (const auto* stop = std::get_if<StopRequested>(&event)) {
    const std::string by = stop->signal != 0 ? " (signal " + std::to_string(stop->signal) + ")" : "";
    print(paint(kYellow, "stopping") + " " + stop->reason.text() + by +
          (stop->signal == SIGINT ? "; Ctrl-C again kills everything at once" : ""));
  }
}

void Console::show(const RunPlanned& planned) {
  counts_.planned = static_cast<int>(planned.cases.size());
  counts_.jobs = planned.jobs;
  each_device_ = planned.rules.each_device;
  for (const auto& test : planned.cases) {
    planned_[test.id].timeout_ms = test.timeout_ms;
    planned_[test.id].kind = test.kind;
    planned_[test.id].suite = test.suite + (test.backend == "none" ? "" : "." + test.backend);
  }
  if (options_.quiet || !options_.header) return;

  print("proctor " + planned.proctor_version + " · run " + planned.run_id + " · " +
        count_text(planned.cases.size(), "case") + ", " + std::to_string(planned.jobs) + " at once");
  print(labelled("devices", clean_text(device_text(planned))));
  show_containment(planned.containment);
  for (const auto& note : notes_) print(clean_text(note));
  print(labelled("reports", clean_text(run_dir_from_here_)));
}

std::string signals_text(const std::string& signals) {
  if (signals == "landlock") return "signals held by Landlock";
  if (signals == "seccomp") return "signals held by a seccomp filter";
  return "";
}

void Console::show_containment(const ContainmentInfo& containment) {
  const std::size_t caveats = containment.not_guaranteed.size();
  if (!options_.verbose) {
    const std::string more =
        caveats == 0 ? "" : fmt::format(" ({}: -v, or `proctor doctor`)", count_text(caveats, "caveat"));
    return print(labelled("containment", containment_text(containment) + more));
  }
  print(labelled("containment", containment_text(containment)));
  for (const auto& sentence : containment.not_guaranteed) print(labelled("", "not guaranteed: " + sentence));
  for (const auto& sentence : containment.how_to_improve) print(labelled("", "better: " + sentence));
}

void Console::show(const CaseEnded& ended) {
  ++counts_.ended;
  failed_.erase(ended.case_id);
  const bool bad = is_bad(ended.verdict.outcome, planned_[ended.case_id].kind);
  if (bad) ++counts_.bad;
  const std::int64_t spent = planned_[ended.case_id].spent_ms;
  if (spent > 0) {
    ++counts_.executed;
    counts_.executed_ms += spent;
  }
  const bool never_started =
      ended.verdict.outcome == Outcome::kNotrun && spent == 0;  // counted in the summary
  if (ended.verdict.outcome == Outcome::kSkip && spent == 0 && ended.marks.empty()) {
    Skipped& skipped = skipped_[{planned_[ended.case_id].suite, ended.verdict.reason.text()}];
    if (skipped.count++ == 0) skipped.first = ended.case_id;
    return;
  }
  const bool each = options_.output == ShowOutput::kAll;
  const bool report_good_ones = each || (!status_ && (!options_.only_failed || options_.verbose));
  const bool worth_a_line = bad || !ended.marks.empty() || (report_good_ones && !options_.quiet);
  if (never_started || !worth_a_line) return;
  const std::string& from = planned_[ended.case_id].failed_on;
  const bool moved = !bad && !each_device_ && !from.empty() && has_mark(ended.marks, Mark::kDeviceSuspect);
  std::string word = moved ? "MOVED" : upper_case(to_string(ended.verdict.outcome));
  word.resize(std::max<std::size_t>(word.size(), 11), ' ');
  std::string line = (moved ? paint(kYellow, word) : painted(ended.verdict, word)) + duration_column(spent) +
                     "  " + clean_text(ended.case_id);
  line += reason_in_brackets(ended.verdict);
  if (moved)
    line += fmt::format("  {} -> {}", clean_text(from), clean_text(planned_[ended.case_id].passed_on));
  for (const auto& mark : ended.marks) {
    if (!moved || mark != Mark::kDeviceSuspect) line += "  " + paint(kYellow, upper_case(mark.text()));
  }
  print(line);
  if (const std::string& left = planned_[ended.case_id].left_behind; !left.empty())
    print(fmt::format("{:24}left behind and killed: {}", "", left));
  if (each) show_all_output(ended.case_id);
}

// Prints the failed attempt before `next`, which replaces or retries it.
void Console::show_retried(const AttemptStarted& next) {
  const auto failed = failed_.find(next.case_id);
  if (failed == failed_.end()) return;
  const FailedAttempt last = std::move(failed->second);
  failed_.erase(failed);
  if (last.start.attempt >= next.attempt || last.start.repeat != next.repeat) return;
  std::string word;
  if (has_mark(last.marks, Mark::kUnconfirmed) && next.shared)
    return;  // a process can have thousands of these cases
  if (has_mark(last.marks, Mark::kUnconfirmed)) {
    word = "not proven in a shared process, running alone";
  } else if (last.start.shared && !next.shared) {
    word = "failed in a shared process, running alone";
  } else {
    word = fmt::format("{} {}, retrying", upper_case(to_string(last.verdict.outcome)), count_retry(next));
  }
  print(paint(kYellow, word) + duration_column(last.duration_ms) + "  " + clean_text(next.case_id) +
        reason_in_brackets(last.verdict));
}

// Returns the number of the failed attempt and the limit: "1/2". Only attempts that were retried in this repeat count.
std::string Console::count_retry(const AttemptStarted& retry) {
  Planned& planned = planned_[retry.case_id];
  if (std::exchange(planned.of_repeat, retry.repeat) != retry.repeat) planned.retried = 0;
  const int number = ++planned.retried;
  const auto retries = options_.retries.find(retry.case_id);
  const int all = retries == options_.retries.end() ? 0 : retries->second + 1;
  return number < all ? fmt::format("{}/{}", number, all) : std::to_string(number);
}

// Prints the output of all attempts. If several cases share a log, it prints the part since the previous case.
void Console::show_all_output(const std::string& case_id) {
  const auto attempts = std::exchange(planned_[case_id].attempts, {});
  for (const AttemptStarted& attempt : attempts) {
    if (!is_below_run_directory(attempt.log)) continue;
    std::string which = case_id;
    if (attempts.size() > 1) which += fmt::format(", attempt {}", attempt.attempt);
    if (attempt.repeat > 1) which += fmt::format(", repeat {}", attempt.repeat);
    show_output(which, lines_of_log(run_dir_ + "/" + attempt.log, shown_of_log_[attempt.log], kAllBytes));
  }
}

// ---- Live output, line by line; if several cases run, with the id of the case ----

void Console::output(const std::string& case_id, bool is_stderr, std::string_view bytes) {
  std::string& open = open_lines_[{case_id, is_stderr}];
  while (!bytes.empty()) {
    const std::size_t newline = bytes.find('\n');
    const std::size_t room = kMaxLiveLine - open.size();
    const std::size_t taken = std::min({newline, room, bytes.size()});
    open += bytes.substr(0, taken);
    bytes.remove_prefix(taken);
    const bool ended = taken == newline;
    if (ended) bytes.remove_prefix(1);
    if (ended || taken == room) show_live(case_id, std::exchange(open, {}));
  }
}

void Console::show_live(const std::string& case_id, std::string line) {
  if (output_.is_behind()) {
    ++lines_not_shown_;
    return;
  }
  report_not_shown();
  const std::string whose = running_.size() > 1 ? clean_text(case_id) + " | " : std::string(kStillInBlock);
  print(whose + clean_text(shown_part(std::move(line))));
}

void Console::show_remaining_lines(const std::string& case_id) {
  for (const bool is_stderr : {false, true}) {
    const auto open = open_lines_.find({case_id, is_stderr});
    if (open == open_lines_.end()) continue;
    std::string line = std::move(open->second);
    open_lines_.erase(open);
    if (!line.empty()) show_live(case_id, std::move(line));
  }
}

void Console::report_not_shown() {
  if (const std::size_t lines = std::exchange(lines_not_shown_, 0); lines > 0)
    print(fmt::format("-- {} of output not shown: the reader was too slow; the logs have them --",
                      count_text(lines, "line")));
}

LastLines Console::output_of(const std::string& log, std::size_t lines, std::size_t bytes) const {
  return is_below_run_directory(log) ? last_lines_of_log(run_dir_ + "/" + log, lines, bytes) : LastLines{};
}

// Prints whole lines only. Workflow commands and terminal controls in the output have no effect.
void Console::show_output(const std::string& case_id, const LastLines& last) {
  if (last.lines.empty()) return;
  clear_status();
  output_.begin_group(fmt::format("output of {}{}", clean_text(case_id),
                                  last.is_all ? "" : ", its last " + count_text(last.lines.size(), "line")));
  for (const std::string& text : last.lines) print(std::string(kStillInBlock) + clean_text(shown_part(text)));
  output_.end_group();
}

void Console::show_skipped() {
  if (options_.quiet) return;
  for (const auto& [what, skipped] : skipped_) {
    const auto& [suite, reason] = what;
    print(paint(kDim, "SKIP       ") + "            " +
          clean_text(skipped.count == 1 ? skipped.first : suite + ": " + count_text(skipped.count, "case")) +
          (reason.empty() ? "" : "  (" + clean_text(reason) + ")"));
  }
}

LiveState Console::live() const {
  LiveState state = counts_;
  const auto now = std::chrono::duration_cast<Milliseconds>(Clock::now() - started_).count();
  std::set<std::string> shared;  // logs of shared processes; the newest case of each is running
  for (const auto& entry : std::views::reverse(running_)) {
    if (entry.shared && !entry.log.empty() && !shared.insert(entry.log).second) continue;
    const auto planned = planned_.find(entry.case_id);
    state.running.push_back({.id = clean_text(entry.case_id),
                             .age_ms = std::max<std::int64_t>(0, now - entry.at_ms),
                             .timeout_ms = planned == planned_.end() ? 0 : planned->second.timeout_ms});
  }
  std::ranges::reverse(state.running);
  return state;
}

// Without a status line, prints once a minute which cases are still running.
void Console::report_running() {
  const auto now = std::chrono::duration_cast<Milliseconds>(Clock::now() - started_).count();
  if (options_.quiet || now - reported_running_ms_ < kReportRunningMs) return;
  reported_running_ms_ = now;
  for (const RunningCase& running : live().running) {
    if (running.age_ms < kReportRunningMs) continue;
    std::string limit;
    if (running.timeout_ms > 0)
      limit = "  (its limit is " + human_duration(Milliseconds(running.timeout_ms)) + ")";
    print("running    " + duration_column(running.age_ms) + "  " + running.id + limit);
  }
}

// Prints the progress if there is neither a status line nor a line for each passed case.
void Console::report_progress() {
  const auto now = std::chrono::duration_cast<Milliseconds>(Clock::now() - started_).count();
  if (!options_.only_failed || options_.quiet || now - reported_progress_ms_ < kReportProgressMs) return;
  reported_progress_ms_ = now;
  print(progress_text(live()));
}

void Console::tick() {
  if (!status_) report_progress();
  if (!status_) report_running();
  if (!status_) return output_.write({});  // writes text that a slow reader had no room for
  output_.write("\r\033[K" + status_line(live(), output_.columns() - 1));
  status_shown_ = true;
}

// Prints one block per cause; with -v, one per case.
void Console::show_causes(const std::vector<CauseGroup>& groups) {
  std::size_t left = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const auto& cases = groups[i].cases;
    if (options_.verbose) {
      for (const ResolvedCase* test : cases) show_block({.cases = {test}, .is_moved = groups[i].is_moved});
    } else if (i < kMaxExplained) {
      show_block(groups[i]);
    } else {
      left += cases.size();
    }
  }
  if (left == 0) return;
  print("");
  print(fmt::format("{} with {}: -v, or {}", count_text(left, "more case"),
                    count_text(groups.size() - kMaxExplained, "other cause"), from_here("summary.md")));
}

void Console::show_block(const CauseGroup& group) {
  const std::vector<const ResolvedCase*>& alike = group.cases;
  const ResolvedCase& test = *alike.front();
  const Verdict verdict = test.verdict;
  const bool flaky = test.flaky;
  print("");
  const std::string word = flaky ? "flaky" : group.is_moved ? "moved" : clean_text(readable(verdict));
  const std::string past = alike.size() == 1 ? past_text(test) : age_of(group);
  const bool is_good = flaky || group.is_moved;
  print((is_good ? paint(kYellow, word) : painted(verdict, word)) + "  " + clean_text(test.planned.id) +
        (past.empty() ? "" : "  " + (past.starts_with("NEW") ? paint(kRed, past) : past)));
  show_message(test);
  output_.write(answers_below_message(test, run_dir_from_here_));
  show_output_of_failure(test);
  if (alike.size() == 1) return;
  std::string others;
  for (std::size_t i = 1; i < std::min(alike.size(), kMaxAlike + 1); ++i)
    others += (i == 1 ? ": " : ", ") + clean_text(alike[i]->planned.id);
  print(fmt::format("and {} more like it{}{}", thousands(alike.size() - 1), others,
                    alike.size() > kMaxAlike + 1 ? ", …" : ""));
}

// Prints the user's message first.
void Console::show_message(const ResolvedCase& test) {
  for (const std::string& line : message_lines(test)) print("  " + line);
}

void Console::show_output_of_failure(const ResolvedCase& test) {
  const Attempt* attempt = test.telling;
  if (attempt == nullptr || !attempt->end || options_.output != ShowOutput::kFailed) return;
  const LastLines last = output_of(attempt->start.log, kOutputLines + kBannerLines, kOutputBytes);
  show_output(test.planned.id, own_lines(last, test, *attempt, kOutputLines));
}

void Console::show_durations(const ResolvedRun& run) {
  std::vector<std::pair<std::int64_t, const ResolvedCase*>> cases;
  for (const auto& test : run.cases) {
    if (!test.attempts.empty()) cases.emplace_back(test.duration_ms, &test);
  }
  std::ranges::stable_sort(cases, std::greater<>(), &std::pair<std::int64_t, const ResolvedCase*>::first);
  cases.resize(std::min(cases.size(), static_cast<std::size_t>(options_.durations)));
  if (cases.empty()) return;
  print("");
  print(cases.size() == 1 ? "the slowest case"
                          : fmt::format("the {} slowest cases", thousands(cases.size())));
  for (const auto& [duration, test] : cases)
    print(duration_column(duration) + "  " + clean_text(test->planned.id));
}

// Prints a line per failed case, and the commands that run the cases again.
void Console::show_failed(const std::vector<CauseGroup>& groups) {
  if (groups.empty()) return;
  std::size_t all = 0;
  for (const CauseGroup& group : groups) all += group.cases.size();
  const std::vector<FailedLine> lines = failed_lines(groups);
  for (const FailedLine& line : lines) show(line);
  if (all > lines.size())
    print(fmt::format("and {}: {}", count_text(all - lines.size(), "more case"), from_here("summary.md")));
  print("rerun all: proctor rerun " + clean_text(shell_quote(run_dir_from_here_)) + " --failed");
}

// Prints a failed case. On a terminal the message is not wrapped; it moves to its own line if it does not fit.
void Console::show(const FailedLine& line) {
  const std::string start = line.word + (line.is_new ? " NEW " : " ");
  const std::string shown = paint(line.word == "FLAKY" ? kYellow : kRed, start) + line.head + ":";
  const std::string rest = clean_text(line.message);
  if (!output_.is_terminal() || width(start + line.head + rest) + 2 <= output_.columns())
    return print(shown + " " + rest);
  print(shown);
  print("  " + elide(rest, output_.columns() - 2));
}

std::string Console::from_here(const std::string& file) const {
  return clean_text((std::filesystem::path(run_dir_from_here_) / file).string());
}

void Console::finish(const ResolvedRun& run, int shell_code, const Result<void>& rendered) {
  clear_status();
  report_not_shown();
  show_skipped();
  const std::vector<CauseGroup> groups = failing_groups(run);
  show_causes(groups);
  show_durations(run);
  print("");
  if (const auto text = no_device_text(run.plan); !text.empty()) print(text);
  for (const std::string& sentence : run.open_skips) print(sentence + ".");
  if (const auto text = device_table(run); options_.ending && run.plan.rules.each_device && !text.empty())
    output_.write(text + '\n');
  if (const auto text = failure_rate_text(run); !text.empty()) output_.write(text + '\n');
  const std::vector<std::string> about_devices =
      options_.ending ? device_lines(run, run_dir_from_here_) : std::vector<std::string>();
  for (std::size_t i = 0; i < about_devices.size(); ++i)
    print(i == 0 ? paint(kRed, clean_text(about_devices[i])) : clean_text(about_devices[i]));
  if (options_.ending) show_failed(groups);
  if (const auto& flaky = run.flaky_cases; flaky.count > 0) print(flaky_line(run, flaky));
  print(outcomes_text(run) + repeats_text(run) + " · " + human_duration(Milliseconds(run.elapsed_ms)) +
        (run.simulated ? " · simulated: no evidence about hardware" : ""));
  const std::string reports = options_.page ? "page: " + from_here("index.html")
                                            : "results: " + clean_text(run_dir_from_here_) +
                                                  "; the reports follow after the last test";
  print(rendered ? reports
                 : paint(kRed, "reports are missing") + "; the journal is in " + clean_text(run_dir_));
  if (options_.ending)
    print(paint(shell_code == kExitGreen ? kGreen : kRed,
                fmt::format("exit {} ({})", shell_code, verdict_text(run, shell_code))));
  output_.drain(run.stop ? kHastyDrainLimit : kDrainLimit);
}

}  // namespace proctor::cli
