#include "reports/resolve/failure_text.h"

#include <fmt/core.h>

#include <filesystem>

#include "harness/base/text.h"
#include "reports/resolve/case_past.h"
#include "reports/resolve/devices.h"
#include "reports/resolve/truncate.h"

namespace proctor {
namespace {

constexpr std::size_t kLineBytes = 200;
// Of harness/classify/rules.toml: what the outcome alone leads to, and the class that
// says no more than `fail`.
constexpr std::string_view kWhereOutcome = "outcome";
constexpr std::string_view kTestFailure = "test_failure";
constexpr std::string_view kCrashRule = "outcome:crash";

void add_location(std::string& locations, const std::string& location) {
  if (!locations.empty()) locations += " · ";
  locations += location;
}

// "logs/x.log" of a run directory, from where the reader stands.
std::string from_here(const std::string& run_dir, const std::string& file) {
  return run_dir.empty() ? file : (std::filesystem::path(run_dir) / file).string();
}

// For outcomes that have neither a source line nor a log.
std::string next_action(const ResolvedCase& test, const std::string& run_dir) {
  if (test.verdict.reason == Reason::kSpawn) {
    return test.of_exec ? "the command, and PATH" : "the command of the suite in its config, and PATH";
  }
  if (test.verdict.reason == Reason::kDiscovery) return "the listing command, started by hand";
  switch (test.problem) {
    case Blame::kMachine:  // where nothing was tried, the kernel has nothing to tell of it
      return test.attempts.empty() ? "proctor doctor" : "proctor doctor, and the kernel log (dmesg)";
    case Blame::kSetup:
      return "the limits of the run: --deadline, --fail-fast, and what stopped it";
    case Blame::kCode:
    case Blame::kNobody:
      break;
  }
  return from_here(run_dir, "journal.jsonl");
}

std::string line(std::string_view label, std::string_view text) {
  return fmt::format("{:15}{}\n", label, text);
}

std::string line_if_any(std::string_view label, std::string_view text) {
  return text.empty() ? "" : line(label, text);
}

// What its processes did when the limit was hit, at most ten lines.
std::string evidence_text(const ResolvedCase& test) {
  const Attempt* attempt = test.deciding;
  std::string text;
  if (attempt == nullptr || !attempt->end) return text;
  for (const std::string& evidence : attempt->end->evidence.lines)
    text += line(text.empty() ? "evidence:" : "", one_line(clean_text(evidence), kLineBytes));
  return text;
}

// "gdb ./program RUN/evidence/x.1.core (1.5 MiB)", or "" when none was kept.
std::string core_text(const Attempt* attempt, const std::string& run_dir) {
  if (attempt == nullptr || !attempt->end || attempt->end->evidence.core.file.empty()) return "";
  const CoreInfo& core = attempt->end->evidence.core;
  std::string command = "gdb";
  for (const std::string& word : {core.program, from_here(run_dir, core.file)}) {
    if (!word.empty()) command += ' ' + shell_quote(word);
  }
  constexpr double kMib = 1024 * 1024;
  return fmt::format("{} ({:.1f} MiB)", one_line(clean_text(command), 4 * kLineBytes),
                     static_cast<double>(core.bytes) / kMib);
}

// Of an attempt: where it hung or crashed, the line of what failed, the log, the evidence, the rule.
void add_locations(std::string& locations, const Attempt& attempt, const std::string& run_dir) {
  if (attempt.end) {
    const AttemptEnded& end = *attempt.end;
    if (const auto& frame = end.evidence.frame) {
      const std::string function = one_line(clean_text(frame->function), kLineBytes);
      add_location(locations, frame->location.empty() ? function : function + " at " + frame->location);
    }
    if (!end.failures.empty() && !end.failures[0].file.empty()) {
      add_location(locations, fmt::format("{}:{}", end.failures[0].file, end.failures[0].line));
    }
    const bool ran = end.verdict.reason != Reason::kSpawn;  // else its log says that there is no output
    if (ran && !attempt.start.log.empty()) add_location(locations, from_here(run_dir, attempt.start.log));
    if (!end.evidence.file.empty()) add_location(locations, from_here(run_dir, end.evidence.file));
    if (!end.rule.empty()) add_location(locations, "rule " + end.rule);
    if (!end.source.empty()) add_location(locations, end.source);
  } else if (!attempt.start.log.empty()) {
    add_location(locations, from_here(run_dir, attempt.start.log));
  }
}

// A test is not named: the id of its case does it.
std::string words_for(const Culprit* culprit, Blame problem) {
  if (culprit == nullptr || culprit->kind == "test") return "";
  const bool is_tested = problem == Blame::kCode && (culprit->kind == "driver" || culprit->kind == "library");
  const std::string who = is_tested ? "the stack under test" : "the " + culprit->kind;
  const std::string version = culprit->version.empty() ? "" : " " + culprit->version;
  return one_line(clean_text(fmt::format("{}: {}{}", who, culprit->name, version)), kLineBytes);
}

std::string problem_words(Blame problem, const std::string& culprit) {
  return std::string(to_string(problem)) + (culprit.empty() ? "" : " (" + culprit + ")");
}

}  // namespace

std::vector<CaseFact> facts_of(const ResolvedCase& test) {
  std::vector<CaseFact> facts;
  if (test.by_device != nullptr) facts.push_back({"by_device", "devices", conclusion(*test.by_device)});
  if (test.past != nullptr) facts.push_back({"history", "history", age_text(*test.past)});
  return facts;
}

std::string culprit_text(const ResolvedCase& test) { return words_for(test.culprit.get(), test.problem); }

std::string problem_text(const ResolvedCase& test) {
  if (test.verdict.reason == Reason::kInterrupted) return problem_words(Blame::kNobody, "interrupted");
  return problem_words(test.problem, culprit_text(test));
}

std::string cause_text(const Diagnosis* diagnosis) {
  if (diagnosis == nullptr || diagnosis->where == kWhereOutcome) return "";
  std::string text = fmt::format("{} ({}", diagnosis->error_class, diagnosis->rule);
  for (const std::string& other : diagnosis->others) text += ", also " + other;
  text += ")";
  if (!diagnosis->line.empty()) text += ": " + diagnosis->line;
  return one_line(clean_text(text), 2 * kLineBytes);
}

std::string next_text(const Diagnosis* diagnosis) {
  if (diagnosis == nullptr || diagnosis->error_class == kTestFailure) return "";
  return one_line(clean_text(diagnosis->next), kLineBytes);
}

std::string where_to_look(const ResolvedCase& test, const std::string& run_dir) {
  std::string locations;
  if (const Attempt* attempt = test.telling) add_locations(locations, *attempt, run_dir);
  if (test.end && !test.end->known_failure.empty()) add_location(locations, test.end->known_failure);
  const bool machine = test.problem == Blame::kMachine;
  if (locations.empty() || machine) add_location(locations, next_action(test, run_dir));
  return one_line(clean_text(locations), 4 * kLineBytes);
}

namespace {

// `exec` has no --debugger, one debugger cannot have several ranks, and not every crash leaves a core.
std::string next_of_crash(const ResolvedCase& test) {
  const Attempt* attempt = test.telling;
  const bool has_core = attempt != nullptr && attempt->end && !attempt->end->evidence.core.file.empty();
  if (has_core) return "Open its core in a debugger.";
  if (test.planned.ranks > 0)
    return "Rerun it with --timeout 1h --stall off, and attach to a rank: gdb -p PID.";
  return test.of_exec ? "Run the command under `gdb --args`." : "Rerun it with --debugger 'gdb --args'.";
}

// With the options that it leaves out below it.
std::string rerun_text(const ResolvedCase& test) {
  const std::string left_out = test.rerun == nullptr ? "" : test.rerun->left_out;
  return test.rerun_command() + (left_out.empty() ? "" : "\n               without " + left_out);
}

// Each answer of one case; "" where there is none.
struct Answers {
  std::string problem;
  std::string next;
  std::string what;
  std::string evidence;  // lines
  std::string core;
  std::string rerun;
  std::string where;
};

std::string with_cause(std::string problem, const Diagnosis* diagnosis) {
  const std::string cause = cause_text(diagnosis);
  return cause.empty() ? problem : problem + " · " + cause;
}

// Of a case that was bad first and then good: the bad attempt answers.
Answers answers_of_flaky(const ResolvedCase& test, const Attempt& bad, const std::string& run_dir) {
  const Diagnosis* diagnosis = bad.end && bad.end->diagnosis ? &*bad.end->diagnosis : nullptr;
  const Blame of_verdict = passed_after_retry(bad) ? Blame::kCode : blame_of(verdict_of(bad));
  const Blame blame = diagnosis != nullptr ? diagnosis->problem : of_verdict;
  std::string locations;
  add_locations(locations, bad, run_dir);
  Answers answers;
  answers.problem = with_cause(
      problem_words(blame,
                    diagnosis != nullptr && diagnosis->culprit ? words_for(&*diagnosis->culprit, blame) : ""),
      diagnosis);
  answers.what = fmt::format("{}: {}", flaky_attempts_text(test), bad.headline);
  answers.rerun = rerun_text(test);
  answers.where = one_line(clean_text(locations), 4 * kLineBytes);
  return answers;
}

Answers answers_of(const ResolvedCase& test, const std::string& run_dir) {
  const Attempt* attempt = test.telling;
  if (test.flaky && attempt != nullptr) return answers_of_flaky(test, *attempt, run_dir);
  const Diagnosis* diagnosis = test.diagnosis;
  const bool is_crash = diagnosis != nullptr && diagnosis->rule == kCrashRule;
  Answers answers;
  answers.problem = with_cause(problem_text(test), diagnosis);
  answers.next = is_crash ? next_of_crash(test) : next_text(diagnosis);
  answers.what = clean_text(to_string(test.verdict)) + ": " + test.headline;
  if (const std::string note = note_text(test); !note.empty()) answers.what += "; " + note;
  answers.evidence = evidence_text(test);
  answers.core = core_text(attempt, run_dir);
  answers.rerun = rerun_text(test);
  answers.where = where_to_look(test, run_dir);
  return answers;
}

}  // namespace

std::string note_text(const ResolvedCase& test) {
  return test.end ? both_ends(clean_text(test.end->note), 3 * kLineBytes) : "";
}

std::string flaky_attempts_text(const ResolvedCase& test) {
  const Attempt* bad = test.telling;
  if (bad == nullptr || !test.flaky) return "";
  const std::string was = clean_text(to_string(verdict_of(*bad)));
  const std::string is = clean_text(to_string(test.verdict));
  if (passed_after_retry(*bad)) return fmt::format("{} only when its framework ran it again", is);
  if (bad->confirmed_alone) return fmt::format("{} in a shared process, {} alone", was, is);
  return fmt::format("{} at attempt {}, {} at the last", was, bad->start.attempt, is);
}

std::string summarize_failure(const ResolvedCase& test, const std::string& run_dir) {
  const Answers answers = answers_of(test, run_dir);
  return line("whose problem:", answers.problem) + line_if_any("next:", answers.next) +
         line("what:", one_line(answers.what, 4 * kLineBytes)) + line_if_any("on:", test.devices_text) +
         answers.evidence + line_if_any("core:", answers.core) + line("rerun:", answers.rerun) +
         line("where to look:", answers.where);
}

std::string answers_below_message(const ResolvedCase& test, const std::string& run_dir) {
  const Answers answers = answers_of(test, run_dir);
  return line("where to look:", answers.where) + line_if_any("on:", test.devices_text) +
         line("rerun:", answers.rerun) + line("whose problem:", answers.problem) +
         line_if_any("next:", answers.next) + answers.evidence + line_if_any("core:", answers.core);
}

}  // namespace proctor
