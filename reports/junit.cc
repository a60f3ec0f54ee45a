#include "reports/junit.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "harness/core/digest.h"
#include "harness/core/outcome_meaning.h"
#include "harness/core/text.h"
#include "reports/failure_summary.h"
#include "reports/rerun.h"
#include "reports/run_problems.h"
#include "reports/telemetry_text.h"
#include "reports/truncate.h"
#include "reports/xml.h"

namespace proctor {
namespace {

// Readers keep at most 1,000 characters of a name.
constexpr std::size_t kMaxNameBytes = 1000;

const OutcomeMeaning& meaning_in(const RunModel& model, const CaseRecord& record) {
  return meaning_of(model.verdict(record), record.planned.kind);
}

// Seconds with three decimals and a point, whatever the locale.
std::string seconds(std::int64_t ms) { return fmt::format("{}.{:03}", ms / 1000, ms % 1000); }

// junit-10.xsd takes any string as a time stamp, Surefire only a real one.
bool is_utc_stamp(std::string_view text) {
  constexpr std::string_view kShape = "0000-00-00T00:00:00Z";
  return std::equal(text.begin(), text.end(), kShape.begin(), kShape.end(),
                    [](char c, char shape) { return shape == '0' ? c >= '0' && c <= '9' : c == shape; });
}

std::string shortened(std::string name, const std::string& id) {
  if (name.size() <= kMaxNameBytes) return name;
  return one_line(name, kMaxNameBytes - 17) + "~" + sha256_hex(id).substr(0, 16);
}

struct Name {
  std::string classname;
  std::string name;
  auto operator<=>(const Name&) const = default;
};

// The (classname, name) of every case, in the planned order and each once.
std::vector<Name> unique_names(const RunModel& model) {
  std::vector<Name> names;
  std::map<Name, int> uses;
  for (const CaseRecord& record : model.cases()) {
    const PlannedCase& planned = record.planned;
    names.push_back({shortened(clean_text(planned.classname), planned.id),
                     shortened(clean_text(planned.name), planned.id)});
    ++uses[names.back()];
  }
  std::set<Name> taken;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string& id = model.cases()[i].planned.id;
    if (uses[names[i]] > 1) names[i].name = shortened(names[i].name + " [" + clean_text(id) + "]", id);
    const std::string base = names[i].name;
    for (int n = 2; !taken.insert(names[i]).second; ++n) names[i].name = fmt::format("{} #{}", base, n);
  }
  return names;
}

// The cases of one suite on one backend.
struct Group {
  std::string name;  // SUITE.BACKEND
  std::vector<std::size_t> cases;
};

std::vector<Group> group_cases(const RunModel& model) {
  std::vector<Group> groups;
  std::map<std::string, std::size_t> index;
  for (std::size_t i = 0; i < model.cases().size(); ++i) {
    const PlannedCase& planned = model.cases()[i].planned;
    const std::string name = clean_text(planned.suite + "." + planned.backend);
    const auto [entry, is_new] = index.emplace(name, groups.size());
    if (is_new) groups.push_back({name, {}});
    groups[entry->second].cases.push_back(i);
  }
  return groups;
}

struct Totals {
  int tests = 0, failures = 0, errors = 0, skipped = 0;
  std::int64_t ms = 0;

  void add(const RunModel& model, const CaseRecord& record) {
    const JunitElement element = meaning_in(model, record).junit;
    ++tests;
    failures += element == JunitElement::kFailure;
    errors += element == JunitElement::kError;
    skipped += element == JunitElement::kSkipped;
    ms += duration_ms(record);
  }
  void add_problems(std::size_t count) {
    tests += static_cast<int>(count);
    errors += static_cast<int>(count);
  }
};

std::string failure_text(const Failure& failure) {
  std::string text;
  if (!failure.file.empty()) text += fmt::format("{}:{}: ", failure.file, failure.line);
  text += failure.message + '\n';
  const auto line = [&text](std::string_view label, const std::string& value) {
    if (!value.empty()) text += fmt::format("  {}: {}\n", label, value);
  };
  line("expected", failure.expected);
  line("got", failure.got);
  line("device", failure.device);
  line("rule", failure.rule);
  return text;
}

std::string rank_text(const RankEnd& rank) {
  const std::string how = rank.verdict ? to_string(*rank.verdict) : "had not ended";
  return fmt::format("rank {} ({}): {}{}; log {}\n", rank.rank, fmt::join(rank.devices, "+"), how,
                     rank.last_step.empty() ? "" : ", last step \"" + rank.last_step + "\"", rank.log);
}

// Everything known about an attempt that was not good; starts with `file:line: ` when there is one, which is
// where readers without a file attribute look for it.
std::string attempt_text(const RunModel& model, const CaseRecord& record, const Attempt& attempt) {
  std::string text;
  if (attempt.end) {
    for (const Failure& failure : attempt.end->failures) text += failure_text(failure);
  }
  if (text.empty()) text = headline(model, record, attempt) + '\n';
  text += fmt::format("{}, attempt {}", to_string(verdict_of(attempt)), attempt.start.attempt);
  if (record.planned.repeat > 1) text += fmt::format(", repeat {}", attempt.start.repeat);
  text += '\n';
  if (attempt.end) {
    if (!attempt.end->last_step.empty()) text += fmt::format("last step: {}\n", attempt.end->last_step);
    for (const RankEnd& rank : attempt.end->ranks) text += rank_text(rank);
    for (const Stray& stray : attempt.end->termination.strays) {
      text += fmt::format("left behind: process {} ({})\n", stray.pid, stray.command);
    }
    for (const std::string& line : attempt.end->evidence.lines) text += fmt::format("evidence: {}\n", line);
    if (!attempt.end->evidence.file.empty()) {
      text += fmt::format("all evidence: {}\n", attempt.end->evidence.file);
    }
    if (const CoreInfo& core = attempt.end->evidence.core; !core.file.empty())
      text += fmt::format("core: {} ({} bytes of {})\n", core.file, core.bytes, core.program);
    if (const auto& lost = attempt.end->termination.guard_lost; !lost.empty())
      text += fmt::format("the process that guards it did not end it: {}; the runner did\n", lost);
    if (attempt.end->termination.unreapable) text += "a process could not be killed\n";
    const std::string telemetry = telemetry_text(attempt.end->telemetry);
    if (!telemetry.empty()) text += fmt::format("telemetry: {}\n", telemetry);
  }
  if (!attempt.start.log.empty()) text += fmt::format("log: {}\n", attempt.start.log);
  return elide_middle(clean_text(text));
}

std::string case_text(const RunModel& model, const CaseRecord& record) {
  const Verdict verdict = model.verdict(record);
  const Attempt* attempt = deciding_attempt(record, verdict);
  const bool shows_verdict = attempt != nullptr && verdict_of(*attempt) == verdict;
  std::string text;
  if (!shows_verdict) text += headline(model, record) + "\n" + to_string(verdict) + "\n";
  if (attempt != nullptr) text += attempt_text(model, record, *attempt);
  if (record.end && !record.end->note.empty()) text += record.end->note + "\n";
  const Diagnosis* diagnosis = diagnosis_of(model, record);
  const std::string cause = cause_text(diagnosis);
  const std::string next = next_text(diagnosis);
  text += fmt::format("whose problem: {}{}{}\n", to_string(blame_in(model, record)),
                      cause.empty() ? "" : " · ", cause);
  if (!next.empty()) text += "next: " + next + '\n';
  return text + "rerun: " + rerun_command(model, record) + '\n';
}

// What readers show in their lists: a cause that was found stands before what happened.
std::string message_of(const RunModel& model, const CaseRecord& record) {
  const Diagnosis* diagnosis = diagnosis_of(model, record);
  if (cause_text(diagnosis).empty()) return headline(model, record);
  return clean_text(fmt::format("[{}: {}] {}", to_string(diagnosis->problem), diagnosis->error_class,
                                headline(model, record)));
}

class SuiteWriter {
 public:
  SuiteWriter(const RunModel& model, const std::vector<Name>& names, XmlWriter& xml)
      : model_(model), names_(names), xml_(xml) {}

  // `number`: the id in a whole-run file; none in the strict shape, which has neither id nor hostname.
  void write(const Group& group, std::optional<std::size_t> number) {
    Totals totals;
    for (const std::size_t i : group.cases) totals.add(model_, model_.cases()[i]);
    open_suite(group.name, totals, number);
    write_properties(group);
    for (const std::size_t i : group.cases) write_case(i);
    xml_.close();
  }

  // The suite of what is no case.
  void write(const std::vector<RunProblem>& problems, std::optional<std::size_t> number) {
    Totals totals;
    totals.add_problems(problems.size());
    open_suite(std::string(kRunSuite), totals, number);
    write_properties({});
    for (const RunProblem& problem : problems) write_problem(problem);
    xml_.close();
  }

 private:
  void open_suite(const std::string& name, const Totals& totals, std::optional<std::size_t> number) {
    xml_.open("testsuite")
        .attribute("name", name)
        .attribute("tests", std::to_string(totals.tests))
        .attribute("failures", std::to_string(totals.failures))
        .attribute("errors", std::to_string(totals.errors))
        .attribute("skipped", std::to_string(totals.skipped))
        .attribute("time", seconds(totals.ms));
    if (is_utc_stamp(model_.plan().started)) xml_.attribute("timestamp", model_.plan().started);
    if (number) {
      xml_.attribute("hostname", model_.plan().hostname).attribute("id", std::to_string(*number));
    }
  }

  void write_problem(const RunProblem& problem) {
    xml_.open("testcase")
        .attribute("name", problem.name)
        .attribute("classname", kRunSuite)
        .attribute("time", seconds(0))
        .open("error")
        .attribute("message", one_line(clean_text(problem.title + ": " + problem.message), kMaxNameBytes))
        .attribute("type", std::string(kRunSuite) + "." + problem.name)
        .text(clean_text(problem.message))
        .close()
        .close();
  }

  void write_properties(const Group& group) {
    const RunPlanned& plan = model_.plan();
    const bool simulated = std::any_of(group.cases.begin(), group.cases.end(),
                                       [this](std::size_t i) { return model_.simulated(model_.cases()[i]); });
    // Readers keep one value per name, the last: here the first wins, because names of the stack come last.
    std::set<std::string> written;
    const auto property = [&](const std::string& name, const std::string& value) {
      if (!written.insert(clean_text(name)).second) return;
      xml_.open("property").attribute("name", name).attribute("value", value).close();
    };
    xml_.open("properties");
    property("proctor.simulated", simulated ? "true" : "false");
    property("proctor.run.id", plan.run_id);
    property("proctor.run.simulated", model_.simulated() ? "true" : "false");
    property("proctor.version", plan.proctor_version);
    property("proctor.plan_digest", plan.plan_digest);
    if (!group.cases.empty())
      property("proctor.backend", model_.cases()[group.cases.front()].planned.backend);
    property("proctor.containment", plan.containment.layer);
    if (plan.sim) {
      property("proctor.sim.topology", plan.sim->topology);
      property("proctor.sim.driver", plan.sim->driver);
    }
    for (const PlannedDevice& device : plan.devices)
      property("proctor.device." + device.id, model_text(device));
    for (const DeviceHealth& health : model_.health()) {
      if (health.what == "drained") property("proctor.drained." + health.device, health.evidence);
    }
    for (const std::size_t i : group.cases) write_leaks(model_.cases()[i], property);
    for (const auto& [name, value] : plan.stack) property("stack." + name, value);
    xml_.close();
  }

  // A case that is good has no element of its own for it.
  template <typename Property>
  void write_leaks(const CaseRecord& record, const Property& property) {
    for (const Attempt& attempt : record.attempts) {
      const std::string left = attempt.end ? leak_text(attempt.end->termination) : "";
      if (!left.empty()) property("proctor.left_behind." + record.planned.id, left);
    }
  }

  void write_case(std::size_t index) {
    const CaseRecord& record = model_.cases()[index];
    const Verdict verdict = model_.verdict(record);
    xml_.open("testcase")
        .attribute("name", names_[index].name)
        .attribute("classname", names_[index].classname)
        .attribute("time", seconds(duration_ms(record)));
    const JunitElement element = meaning_in(model_, record).junit;
    if (element == JunitElement::kFailure) write_bad("failure", record, verdict);
    if (model_.is_bad(record)) write_other_attempts("rerunFailure", record, verdict);
    if (verdict.outcome == Outcome::kPass) write_other_attempts("flakyFailure", record, verdict);
    if (element == JunitElement::kSkipped) write_skipped(record, verdict);
    if (element == JunitElement::kError) write_bad("error", record, verdict);
    if (element == JunitElement::kFailure || element == JunitElement::kError) write_output(record, verdict);
    xml_.close();
  }

  void write_bad(std::string_view element, const CaseRecord& record, const Verdict& verdict) {
    xml_.open(element)
        .attribute("message", message_of(model_, record))
        .attribute("type", junit_type(verdict.outcome))
        .text(case_text(model_, record))
        .close();
  }

  // Bad attempts beside the one that shows the verdict. Surefire's order of elements puts them between
  // failure and skipped or error.
  void write_other_attempts(std::string_view element, const CaseRecord& record, const Verdict& verdict) {
    const Attempt* shown = deciding_attempt(record, verdict);
    for (const Attempt& attempt : record.attempts) {
      const Verdict its = verdict_of(attempt);
      if (&attempt == shown || !is_bad(its.outcome)) continue;
      xml_.open(element)
          .attribute("message", headline(model_, record, attempt))
          .attribute("type", junit_type(its.outcome))
          .open("stackTrace")
          .text(attempt_text(model_, record, attempt))
          .close()
          .close();
    }
  }

  void write_skipped(const CaseRecord& record, const Verdict& verdict) {
    std::string message =
        junit_type(verdict.outcome) + ": " + (verdict.reason.empty() ? "no reason" : verdict.reason);
    if (record.end && !record.end->known_failure.empty()) message += " (" + record.end->known_failure + ")";
    xml_.open("skipped").attribute("message", one_line(clean_text(message), 1000)).close();
  }

  void write_output(const CaseRecord& record, const Verdict& verdict) {
    const Attempt* attempt = deciding_attempt(record, verdict);
    if (attempt == nullptr || !attempt->end) return;
    const OutputInfo& output = attempt->end->output;
    if (output.bytes == 0 && output.stdout_tail.empty() && output.stderr_tail.empty()) return;
    const bool kept = !output.stdout_tail.empty() || !output.stderr_tail.empty();
    std::string head = fmt::format("[proctor: {} bytes of output, {}", output.bytes,
                                   kept ? "its end is here" : "not repeated here");
    const std::uint64_t dropped = output.dropped_bytes;
    if (dropped > 0) head += fmt::format(", {} bytes dropped from the log", dropped);
    if (output.lost) head += ", the log could not be written";
    head += attempt->start.log.empty() ? "]\n" : fmt::format("; log: {}]\n", attempt->start.log);
    xml_.open("system-out").text(head + elide_middle(output.stdout_tail)).close();
    if (!output.stderr_tail.empty()) {
      xml_.open("system-err").text(elide_middle(output.stderr_tail)).close();
    }
  }

  const RunModel& model_;
  const std::vector<Name>& names_;
  XmlWriter& xml_;
};

// A file name from any suite name: what is not plain becomes `_`, and a second file
// of that name gets a number.
std::string file_name(const std::string& suite, std::set<std::string>& taken) {
  std::string name;
  for (const char c : suite.substr(0, 200)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || (c == '.' && !name.empty());
    name += plain ? c : '_';
  }
  std::string unique = name;
  for (int n = 2; !taken.insert(unique).second; ++n) unique = fmt::format("{}-{}", name, n);
  return unique + ".xml";
}

}  // namespace

std::string junit_run(const RunModel& model) {
  const auto names = unique_names(model);
  Totals totals;
  for (const CaseRecord& record : model.cases()) totals.add(model, record);
  const auto problems = run_problems(model);
  totals.add_problems(problems.size());
  XmlWriter xml;
  xml.open("testsuites")
      .attribute("name", "proctor")
      .attribute("time", seconds(totals.ms))
      .attribute("tests", std::to_string(totals.tests))
      .attribute("failures", std::to_string(totals.failures))
      .attribute("errors", std::to_string(totals.errors));
  SuiteWriter writer(model, names, xml);
  std::size_t number = 0;
  for (const Group& group : group_cases(model)) writer.write(group, number++);
  if (!problems.empty()) writer.write(problems, number);
  return xml.finish();
}

std::string junit_without_run(const std::string& why) {
  const RunModel nothing;
  const std::vector<RunProblem> problems = {{"no_report", "There is no report of the run", why}};
  XmlWriter xml;
  xml.open("testsuites")
      .attribute("name", "proctor")
      .attribute("time", seconds(0))
      .attribute("tests", "1")
      .attribute("failures", "0")
      .attribute("errors", "1");
  const std::vector<Name> none;
  SuiteWriter(nothing, none, xml).write(problems, 0);
  return xml.finish();
}

std::vector<JunitFile> junit_suites(const RunModel& model) {
  const auto names = unique_names(model);
  std::vector<JunitFile> files;
  std::set<std::string> taken;
  for (const Group& group : group_cases(model)) {
    XmlWriter xml;
    SuiteWriter(model, names, xml).write(group, std::nullopt);
    files.push_back({file_name(group.name, taken), xml.finish()});
  }
  if (const auto problems = run_problems(model); !problems.empty()) {
    XmlWriter xml;
    SuiteWriter(model, names, xml).write(problems, std::nullopt);
    files.push_back({file_name(std::string(kRunSuite), taken), xml.finish()});
  }
  return files;
}

}  // namespace proctor
