#include "harness/cli/console/console.h"

#include <algorithm>
#include <cstdio>

#include "harness/core/exit_code.h"
#include "harness/core/text.h"
#include "harness/core/words.h"
#include "reports/device_table.h"
#include "reports/exit_code.h"
#include "reports/failure_summary.h"
#include "reports/run_model.h"

namespace proctor::cli {
namespace {

constexpr const char* kRed = "31";
constexpr const char* kGreen = "32";
constexpr const char* kYellow = "33";
constexpr const char* kDim = "2";
constexpr int kLabelWidth = 13;
constexpr std::size_t kMaxExplained = 50;  // reds in full on the console; the reports have all
constexpr Milliseconds kDrainLimit{1000};

std::string labelled(const std::string& label, const std::string& text) {
  std::string line = "  " + label;
  line.resize(std::max<std::size_t>(line.size() + 1, kLabelWidth + 2), ' ');
  return line + text;
}

std::string device_text(const RunPlanned& planned) {
  if (planned.devices.empty()) return "none";
  std::string text;
  for (const auto& device : planned.devices) text += (text.empty() ? "" : ", ") + device.id;
  if (planned.sim) text += " (simulated: " + planned.sim->topology + " by " + planned.sim->driver + ")";
  return text;
}

std::string seconds(std::int64_t ms) {
  char text[32];
  std::snprintf(text, sizeof text, "%8.3fs", static_cast<double>(ms) / 1000);
  return text;
}

}  // namespace

std::string summary_line(const Summary& summary) {
  std::string text = std::to_string(summary.planned()) + " planned";
  const char* separator = ": ";
  for (const auto outcome : kAllOutcomes) {
    if (summary[outcome] == 0) continue;
    text += separator + std::to_string(summary[outcome]) + " " + std::string(to_string(outcome));
    separator = ", ";
  }
  return text;
}

std::string exit_code_meaning(int shell_code) {
  switch (shell_code) {
    case kExitGreen:
      return "all good";
    case kExitRed:
      return "the code is red";
    case kExitUsage:
      return "refused";
    case kExitIncomplete:
      return "incomplete: something planned was not run, or nothing was";
    case kExitMachine:
      return "the machine is red: retry elsewhere";
    default:
      return shell_code > 128 ? "stopped by signal " + std::to_string(shell_code - 128) : "unknown";
  }
}

std::string flaky_line(const RunModel& model, const FlakyCases& flaky) {
  const std::string policy =
      model.plan().flaky_passes ? "pass, up to " + std::to_string(model.plan().flaky_budget) + " %" : "fail";
  return "flaky: " + std::to_string(flaky.count) + " of " + std::to_string(model.summary().executed()) +
         " executed, " + (flaky.allowed ? "within" : "over") + " the policy (" + policy + ")";
}

Console::Console(ConsoleOutput& output, std::string run_dir, std::vector<std::string> notes,
                 bool quiet_status)
    : output_(output),
      run_dir_(std::move(run_dir)),
      notes_(std::move(notes)),
      status_(output.is_smart() && !quiet_status) {}

std::string Console::paint(const char* code, const std::string& text) const {
  return output_.colours() ? "\033[" + std::string(code) + "m" + text + "\033[0m" : text;
}

std::string Console::painted(const Verdict& verdict, const std::string& text) const {
  switch (verdict.outcome) {
    case Outcome::kPass:
      return paint(kGreen, text);
    case Outcome::kSkip:
    case Outcome::kXfail:
      return paint(kDim, text);
    case Outcome::kNotrun:
    case Outcome::kXpass:
      return paint(kYellow, text);
    case Outcome::kFail:
    case Outcome::kError:
    case Outcome::kTimeout:
    case Outcome::kStall:
    case Outcome::kCrash:
    case Outcome::kDeviceLost:
      return paint(kRed, text);
  }
  return text;
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
    running_.push_back(*started);
  } else if (const auto* attempt = std::get_if<AttemptEnded>(&event)) {
    std::erase_if(running_, [&](const AttemptStarted& entry) { return entry.case_id == attempt->case_id; });
    planned_[attempt->case_id].spent_ms += attempt->duration_ms;
  } else if (const auto* ended = std::get_if<CaseEnded>(&event)) {
    show(*ended);
  } else if (const auto* warning = std::get_if<Warning>(&event)) {
    print(paint(kYellow, "warning") + " " + clean_text(warning->text));
  } else if (const auto* stop = std::get_if<StopRequested>(&event)) {
    const std::string by = stop->signal != 0 ? " (signal " + std::to_string(stop->signal) + ")" : "";
    print(paint(kYellow, "stopping") + " " + stop->reason + by);
  }
}

void Console::show(const RunPlanned& planned) {
  counts_.planned = static_cast<int>(planned.cases.size());
  counts_.jobs = planned.jobs;
  for (const auto& test : planned.cases) {
    planned_[test.id].timeout_ms = test.timeout_ms;
    planned_[test.id].kind = test.kind;
  }

  print("proctor " + planned.proctor_version + " · run " + planned.run_id + " · " +
        std::to_string(planned.cases.size()) + (planned.cases.size() == 1 ? " case, " : " cases, ") +
        std::to_string(planned.jobs) + " at once");
  print(labelled("devices", clean_text(device_text(planned))));
  print(labelled("containment", planned.containment.layer));
  for (const auto& sentence : planned.containment.not_guaranteed)
    print(labelled("", "not guaranteed: " + sentence));
  for (const auto& sentence : planned.containment.how_to_improve) print(labelled("", "better: " + sentence));
  for (const auto& note : notes_) print(clean_text(note));
  print(labelled("reports", clean_text(run_dir_)));
}

void Console::show(const CaseEnded& ended) {
  ++counts_.ended;
  const bool bad = is_bad(ended.verdict.outcome, planned_[ended.case_id].kind);
  if (bad) ++counts_.bad;
  const std::int64_t spent = planned_[ended.case_id].spent_ms;
  if (spent > 0) {
    ++counts_.executed;
    counts_.executed_ms += spent;
  }
  const bool never_started =
      ended.verdict.outcome == Outcome::kNotrun && spent == 0;  // the summary counts them
  const bool worth_a_line = bad || !ended.marks.empty() || !status_;
  if (never_started || !worth_a_line) return;
  std::string word = upper_case(to_string(ended.verdict.outcome));
  word.resize(std::max<std::size_t>(word.size(), 11), ' ');
  std::string line = painted(ended.verdict, word) + seconds(spent) + "  " + clean_text(ended.case_id);
  if (!ended.verdict.reason.empty()) line += "  (" + clean_text(ended.verdict.reason) + ")";
  for (const auto& mark : ended.marks) line += "  " + paint(kYellow, upper_case(mark));
  print(line);
}

LiveState Console::live() const {
  LiveState state = counts_;
  const auto now = std::chrono::duration_cast<Milliseconds>(Clock::now() - started_).count();
  for (const auto& entry : running_) {
    const auto planned = planned_.find(entry.case_id);
    state.running.push_back({.id = clean_text(entry.case_id),
                             .age_ms = std::max<std::int64_t>(0, now - entry.at_ms),
                             .timeout_ms = planned == planned_.end() ? 0 : planned->second.timeout_ms});
  }
  return state;
}

void Console::tick() {
  if (!status_) return output_.write({});  // what a slow reader had no room for
  output_.write("\r\033[K" + status_line(live(), output_.columns() - 1));
  status_shown_ = true;
}

void Console::finish(const RunModel& model, int shell_code, const Result<void>& rendered) {
  clear_status();
  std::size_t explained = 0;
  for (const auto& record : model.cases()) {
    const Verdict verdict = model.verdict(record);
    const bool answers = model.is_bad(record) || is_good_elsewhere(model, record);
    if (!answers || explained == kMaxExplained) continue;
    if (verdict.outcome == Outcome::kNotrun && record.attempts.empty())
      continue;  // counted in the summary line
    ++explained;
    print("");
    print(painted(verdict, to_string(verdict)) + "  " + clean_text(record.planned.id));
    output_.write(summarize_failure(model, record));
  }
  print("");
  if (const auto text = no_device_text(model.plan()); !text.empty()) print(text);
  if (model.plan().each_device) output_.write(device_table(model) + '\n');
  if (const auto flaky = flaky_cases(model); flaky.count > 0) print(flaky_line(model, flaky));
  print(summary_line(model.summary()) + " · " + human_duration(Milliseconds(model.elapsed_ms())) +
        (model.simulated() ? " · simulated: no evidence about hardware" : ""));
  print("exit " + std::to_string(shell_code) + " (" + exit_code_meaning(shell_code) + ")");
  print(rendered ? "reports in " + clean_text(run_dir_)
                 : paint(kRed, "failed to " + clean_text(rendered.error().what)) + "; the journal is in " +
                       clean_text(run_dir_));
  output_.drain(kDrainLimit);
}

}  // namespace proctor::cli
