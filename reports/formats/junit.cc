#include "reports/formats/junit.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "harness/base/digest.h"
#include "harness/base/replace_file.h"
#include "harness/base/text.h"
#include "harness/base/words.h"
#include "reports/formats/formats.h"
#include "reports/formats/xml.h"
#include "reports/resolve/devices.h"
#include "reports/resolve/failure_text.h"
#include "reports/resolve/report_text.h"
#include "reports/resolve/run_end.h"

namespace proctor {
namespace {

// Readers keep at most 1,000 characters of a name.
constexpr std::size_t kMaxNameBytes = 1000;
// Buildkite refuses a file with 5,000 cases, GitLab one with 30 MB. The remaining bytes are
// for the text before the cases.
constexpr std::size_t kMostCasesOfAFile = 4'500;
constexpr std::size_t kMostBytesOfCases = 20'000'000;
constexpr std::size_t kDepthOfCases = 2;  // below testsuites and testsuite

// Returns seconds with three decimals and a point, in every locale.
std::string seconds(std::int64_t ms) { return fmt::format("{}.{:03}", ms / 1000, ms % 1000); }

std::string shortened(std::string name, const std::string& id) {
  if (name.size() <= kMaxNameBytes) return name;
  return one_line(name, kMaxNameBytes - 17) + "~" + sha256_hex(id).substr(0, 16);
}

// The classname and the name of a testcase.
struct Name {
  std::string classname;
  std::string name;
  auto operator<=>(const Name&) const = default;
};

// Returns true if all names differ, which is the usual case and avoids a comparison of texts. Equal hashes give false.
bool differ_by_hash(const std::vector<Name>& names) {
  const std::hash<std::string> hash;
  std::vector<std::size_t> hashes;
  hashes.reserve(names.size());
  for (const Name& name : names) hashes.push_back(hash(name.classname) * 31 + hash(name.name));
  std::ranges::sort(hashes);
  return std::ranges::adjacent_find(hashes) == hashes.end();
}

// Returns classname and name of every case in the planned order, each pair once.
std::vector<Name> unique_names(const ResolvedRun& run) {
  std::vector<Name> names;
  names.reserve(run.cases.size());
  for (const ResolvedCase& test : run.cases) {
    const PlannedCase& planned = test.planned;
    names.push_back({shortened(clean_text(planned.classname), planned.id),
                     shortened(clean_text(planned.name), planned.id)});
  }
  if (differ_by_hash(names)) return names;
  std::map<Name, int> uses;
  for (const Name& name : names) ++uses[name];
  std::set<Name> taken;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string& id = run.cases[i].planned.id;
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

std::vector<Group> group_cases(const ResolvedRun& run) {
  std::vector<Group> groups;
  std::map<std::string, std::size_t> index;
  for (std::size_t i = 0; i < run.cases.size(); ++i) {
    const PlannedCase& planned = run.cases[i].planned;
    const std::string name = clean_text(planned.suite + "." + planned.backend);
    const auto [entry, is_new] = index.emplace(name, groups.size());
    if (is_new) groups.push_back({name, {}});
    groups[entry->second].cases.push_back(i);
  }
  return groups;
}

// The counts in the attributes of a suite.
struct Totals {
  int tests = 0, failures = 0, errors = 0, skipped = 0;
  std::int64_t ms = 0;

  void add(const ResolvedCase& test) {
    const JunitElement element = formats_of(test).junit;
    ++tests;
    failures += element == JunitElement::kFailure;
    errors += element == JunitElement::kError;
    skipped += element == JunitElement::kSkipped;
    ms += test.duration_ms;
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
  const std::string how = rank.verdict ? readable(*rank.verdict) : "had not ended";
  return fmt::format("rank {} ({}): {}{}; log {}\n", rank.rank, fmt::join(rank.devices, "+"), how,
                     rank.last_step.empty() ? "" : ", last step \"" + rank.last_step + "\"", rank.log);
}

// Returns all facts about a failed attempt. The text starts with `file:line: ` if the location is known, because
// readers without a file attribute parse it.
std::string attempt_text(const ResolvedCase& test, const Attempt& attempt) {
  std::string text;
  if (attempt.end) {
    for (const Failure& failure : attempt.end->failures) text += failure_text(failure);
  }
  if (text.empty()) text = attempt.headline + '\n';
  text += fmt::format("{}, attempt {}", readable(verdict_of(attempt)), attempt.start.attempt);
  if (test.planned.repeat > 1) text += fmt::format(", repeat {}", attempt.start.repeat);
  text += '\n';
  if (attempt.end) {
    if (!attempt.end->last_step.empty()) text += fmt::format("last step: {}\n", attempt.end->last_step);
    for (const RankEnd& rank : attempt.end->ranks) text += rank_text(rank);
    for (const LeakedProcess& leaked : attempt.end->termination.leaked_processes) {
      text += fmt::format("left behind: process {} ({})\n", leaked.pid, leaked.command);
    }
    for (const std::string& line : attempt.end->evidence.lines) text += fmt::format("evidence: {}\n", line);
    if (!attempt.end->evidence.file.empty()) {
      text += fmt::format("all evidence: {}\n", attempt.end->evidence.file);
    }
    if (const CoreInfo& core = attempt.end->evidence.core; !core.file.empty())
      text += fmt::format("core: {} ({} bytes of {})\n", core.file, core.bytes, core.program);
    if (const auto& lost = attempt.end->termination.guard_lost; !lost.empty())
      text += fmt::format("the process that guards it did not end it: {}; the runner did\n", lost);
    if (attempt.end->termination.unkillable) text += "a process could not be killed\n";
    const std::string telemetry = telemetry_text(attempt.telemetry());
    if (!telemetry.empty()) text += fmt::format("telemetry: {}\n", telemetry);
  }
  if (!attempt.start.log.empty()) text += fmt::format("log: {}\n", attempt.start.log);
  return elide_middle(clean_text(text));
}

std::string case_text(const ResolvedCase& test) {
  const Verdict verdict = test.verdict;
  const Attempt* attempt = test.deciding;
  const bool shows_verdict = attempt != nullptr && verdict_of(*attempt) == verdict;
  std::string text;
  if (!shows_verdict) text += test.headline + "\n" + readable(verdict) + "\n";
  if (attempt != nullptr) text += attempt_text(test, *attempt);
  if (test.end && !test.end->note.empty()) text += test.end->note + "\n";
  const Diagnosis* diagnosis = test.diagnosis;
  const std::string cause = cause_text(diagnosis);
  const std::string next = next_text(diagnosis);
  text += fmt::format("owner: {}{}{}\n", problem_text(test), cause.empty() ? "" : " · ", cause);
  if (!next.empty()) text += "next: " + next + '\n';
  for (const CaseFact& fact : facts_of(test)) text += fmt::format("{}: {}\n", fact.label, fact.text);
  return text + "rerun: " + test.rerun_command() + '\n';
}

// Returns the message that readers show in lists. A known cause precedes the failure.
std::string message_of(const ResolvedCase& test) {
  const Diagnosis* diagnosis = test.diagnosis;
  if (cause_text(diagnosis).empty()) return test.headline;
  return clean_text(
      fmt::format("[{}: {}] {}", to_string(diagnosis->problem), diagnosis->error_class, test.headline));
}

// GitLab interprets this mark in the output of a test as a file to attach, so it is escaped.
std::string without_attachments(std::string text) {
  constexpr std::string_view kMark = "[[ATTACHMENT|";
  for (std::size_t at = text.find(kMark); at != text.npos; at = text.find(kMark, at))
    text.insert(at + 1, "\\");
  return text;
}

// The plain files, and the form with extensions.
enum class Shape { kPlain, kExtended };

// Data that is computed once for the cases of a run.
struct Cases {
  const ResolvedRun& run;
  std::vector<Name> names;
};

// Writes suites and testcases to an XmlWriter.
class SuiteWriter {
 public:
  SuiteWriter(Cases& cases, XmlWriter& xml, Shape shape)
      : cases_(cases), run_(cases.run), xml_(xml), shape_(shape) {}

  // Writes the suite of the problems that are not cases. `number` is the id in junit.xml. The file of one suite has
  // neither id nor hostname, so it passes no number.
  void write(const std::vector<RunProblem>& problems, std::optional<std::size_t> number) {
    Totals totals;
    totals.add_problems(problems.size());
    open_suite(std::string(kRunSuite), totals, number);
    write_properties({});
    for (const RunProblem& problem : problems) write_problem(problem);
    xml_.close();
  }

  // Opens the suite of a group, and writes the text before its cases. The suite stays open.
  void open(const Group& group, std::optional<std::size_t> number) {
    Totals totals;
    for (const std::size_t i : group.cases) totals.add(run_.cases[i]);
    open_suite(group.name, totals, number);
    write_properties(group);
  }

  void write_case(std::size_t index) {
    const ResolvedCase& test = run_.cases[index];
    const Verdict verdict = test.verdict;
    xml_.open("testcase")
        .attribute("name", cases_.names[index].name)
        .attribute("classname", cases_.names[index].classname)
        .attribute("time", seconds(test.duration_ms));
    if (shape_ == Shape::kExtended) {
      write_place(test);
      write_case_properties(test, verdict);
    }
    const JunitElement element = formats_of(test).junit;
    if (element == JunitElement::kFailure) write_bad("failure", test, verdict);
    if (test.bad) write_other_attempts("rerunFailure", test);
    if (verdict.outcome == Outcome::kPass) write_other_attempts("flakyFailure", test);
    if (element == JunitElement::kSkipped) write_skipped(test, verdict);
    if (element == JunitElement::kError) write_bad("error", test, verdict);
    if (element == JunitElement::kFailure || element == JunitElement::kError) write_output(test);
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
    if (is_utc_stamp(run_.plan.started)) xml_.attribute("timestamp", run_.plan.started);
    if (number) {
      xml_.attribute("hostname", run_.plan.hostname).attribute("id", std::to_string(*number));
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
    const RunPlanned& plan = run_.plan;
    const bool simulated = std::any_of(group.cases.begin(), group.cases.end(),
                                       [this](std::size_t i) { return run_.cases[i].simulated; });
    // Readers keep the last value of a name. Here the first one is written, because names of the stack come last.
    std::set<std::string> written;
    const auto property = [&](const std::string& name, const std::string& value) {
      if (written.insert(clean_text(name)).second) write_property(name, value);
    };
    xml_.open("properties");
    property("proctor.simulated", simulated ? "true" : "false");
    property("proctor.run.id", plan.run_id);
    property("proctor.run.simulated", run_.simulated ? "true" : "false");
    property("proctor.version", plan.proctor_version);
    property("proctor.plan_digest", plan.plan_digest);
    if (const auto& commit = plan.subject.commit.value) property("proctor.commit", *commit);
    if (const auto& dirty = plan.subject.dirty.value) property("proctor.dirty", *dirty);
    if (!group.cases.empty()) property("proctor.backend", run_.cases[group.cases.front()].planned.backend);
    property("proctor.containment", plan.containment.layer);
    if (plan.sim) {
      property("proctor.sim.topology", plan.sim->topology);
      property("proctor.sim.driver", plan.sim->driver);
    }
    for (const PlannedDevice& device : plan.devices)
      property("proctor.device." + device.id, model_text(device));
    for (const DeviceHealth& health : run_.health) {
      if (health.what == HealthFact::kDrained) property("proctor.drained." + health.device, health.evidence);
    }
    for (const std::size_t i : group.cases) {
      const ResolvedCase& test = run_.cases[i];
      write_leaks(test, property);
      if (const auto& row = test.by_device)
        property("proctor.by_device." + test.planned.id, conclusion(*row));
    }
    for (const auto& [name, value] : plan.stack) property("stack." + name, value);
    if (shape_ == Shape::kExtended) {  // Datadog distinguishes configurations by these properties
      for (const auto& [name, value] : plan.stack) property("dd_tags[stack." + name + "]", value);
      if (const auto& commit = plan.subject.commit.value) property("dd_tags[git.commit.sha]", *commit);
    }
    xml_.close();
  }

  void write_property(const std::string& name, const std::string& value) {
    xml_.open("property").attribute("name", name).attribute("value", value).close();
  }

  // Writes the location of the failure, for which only the extended form has attributes.
  void write_place(const ResolvedCase& test) {
    const Attempt* attempt = test.deciding;
    if (attempt == nullptr || !attempt->end || attempt->end->failures.empty()) return;
    const Failure& failure = attempt->end->failures.front();
    const std::string file = below_checkout(run_.plan, failure.file);
    if (file.empty()) return;
    xml_.attribute("file", file);
    if (failure.line > 0) xml_.attribute("line", std::to_string(failure.line));
  }

  static std::string models_of(const ResolvedCase& test) {
    std::set<std::string> models;
    for (const Attempt& attempt : test.attempts) {
      for (const PlannedDevice* device : attempt.devices()) models.insert(device->name);
    }
    return fmt::format("{}", fmt::join(models, ", "));
  }

  // Readers keep the last value of a name, so a property of a test must not replace one of Proctor.
  static bool is_ours(std::string_view name) {
    return name.starts_with("proctor.") || name.starts_with("dd_tags[");
  }

  void write_case_properties(const ResolvedCase& test, const Verdict& verdict) {
    xml_.open("properties");
    write_property("proctor.id", test.planned.id);
    write_property("proctor.outcome", to_string(verdict));
    for (const CaseFact& fact : facts_of(test))
      write_property(fmt::format("proctor.{}", fact.name), fact.text);
    for (const MarkWord& mark : test.marks) write_property("proctor.mark." + mark.text(), "true");
    const Attempt* newest = test.attempts.empty() ? nullptr : &test.attempts.back();
    if (newest != nullptr && newest->end) {
      for (const Measure& m : newest->end->measures)
        write_property("proctor.measure." + m.name, fmt::format("{} {}", m.value, m.unit));
      for (const auto& [name, value] : newest->end->properties) {
        if (!is_ours(name)) write_property(name, value);
      }
    }
    if (const std::string models = models_of(test); !models.empty())
      write_property("dd_tags[device.model]", models);
    write_property("dd_tags[simulated]", test.simulated ? "true" : "false");
    xml_.close();
  }

  // Returns the files of a bad case, the most useful first, because GitLab shows only the first.
  std::string attachments_of(const ResolvedCase& test) const {
    std::string text;
    const auto attach = [&text](const std::string& file) {
      if (!file.empty()) text += fmt::format("[[ATTACHMENT|{}]]\n", clean_text(file));
    };
    const Attempt* shown = test.deciding;
    if (shape_ != Shape::kExtended || shown == nullptr || !test.bad) return text;
    attach(shown->start.log);
    if (shown->end) attach(shown->end->evidence.file);
    for (const Attempt& attempt : test.attempts) {
      if (&attempt != shown) attach(attempt.start.log);
    }
    return text;
  }

  // Leaks are properties of the suite, because a case that passed has no element for them.
  template <typename Property>
  void write_leaks(const ResolvedCase& test, const Property& property) {
    for (const Attempt& attempt : test.attempts) {
      const std::string left = attempt.end ? leak_text(attempt.end->termination) : "";
      if (!left.empty()) property("proctor.left_behind." + test.planned.id, left);
    }
  }

  void write_bad(std::string_view element, const ResolvedCase& test, const Verdict& verdict) {
    xml_.open(element)
        .attribute("message", message_of(test))
        .attribute("type", junit_type(verdict.outcome))
        .text(case_text(test))
        .close();
  }

  // Writes the bad attempts except the one that shows the verdict. For a bad case, it omits attempts that a rerun alone
  // replaced. Surefire's order of elements requires them between failure and skipped or error.
  void write_other_attempts(std::string_view element, const ResolvedCase& test) {
    const Attempt* shown = test.deciding;
    for (const Attempt& attempt : test.attempts) {
      const bool retried = passed_after_retry(attempt);
      const Outcome its = retried ? Outcome::kFail : verdict_of(attempt).outcome;
      if (!is_bad(its) || is_unproven(attempt) || (&attempt == shown && !retried)) continue;
      if (test.bad && attempt.confirmed_alone) continue;
      xml_.open(element)
          .attribute("message", attempt.headline)
          .attribute("type", junit_type(its))
          .open("stackTrace")
          .text(attempt_text(test, attempt))
          .close()
          .close();
    }
  }

  void write_skipped(const ResolvedCase& test, const Verdict& verdict) {
    const std::string reason(trimmed(clean_text(verdict.reason.text())));  // the clean reason may be empty
    std::string message = junit_type(verdict.outcome) + ": " + (reason.empty() ? "no reason" : reason);
    if (test.end && !test.end->known_failure.empty()) message += " (" + test.end->known_failure + ")";
    xml_.open("skipped").attribute("message", one_line(clean_text(message), 1000)).close();
  }

  void write_output(const ResolvedCase& test) {
    const Attempt* attempt = test.deciding;
    if (attempt == nullptr || !attempt->end) return;
    const OutputInfo& output = attempt->end->output;
    const std::string attached = attachments_of(test);
    const bool silent = output.bytes == 0 && output.stdout_tail.empty() && output.stderr_tail.empty();
    if (silent && attached.empty()) return;
    const bool kept = !output.stdout_tail.empty() || !output.stderr_tail.empty();
    std::string head = fmt::format("[proctor: {} bytes of output, {}", output.bytes,
                                   kept ? "its end is here" : "not repeated here");
    const std::uint64_t dropped = output.dropped_bytes;
    if (dropped > 0) head += fmt::format(", {} bytes dropped from the log", dropped);
    if (output.write_failed) head += ", the log could not be written";
    head += attempt->start.log.empty() ? "]\n" : fmt::format("; log: {}]\n", attempt->start.log);
    const std::string printed = without_attachments(elide_middle(output.stdout_tail));
    xml_.open("system-out").text(attached + head + printed).close();
    if (!output.stderr_tail.empty()) {
      xml_.open("system-err").text(without_attachments(elide_middle(output.stderr_tail))).close();
    }
  }

  Cases& cases_;
  const ResolvedRun& run_;
  XmlWriter& xml_;
  Shape shape_;
};

// Returns a file name for any suite name: special characters become `_`, and a repeated name gets a number.
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

// Writes the files of the suites, each with as many cases as readers accept.
class SuiteFiles {
 public:
  SuiteFiles(Cases& cases, const UseJunitFile& use) : cases_(cases), use_(use) {}

  void open(const Group& group) {
    part_ = {group.name, {}};
    parts_ = 0;
  }
  void add(std::size_t index, std::string_view text) {
    const bool full =
        part_.cases.size() == kMostCasesOfAFile || text_.size() + text.size() > kMostBytesOfCases;
    if (full && !part_.cases.empty()) end_part();
    part_.cases.push_back(index);
    text_ += text;
  }
  void end_part() {
    const std::string text = text_of([this](TextOutput& output) {
      XmlWriter xml(output);
      SuiteWriter(cases_, xml, Shape::kPlain).open(part_, std::nullopt);
      xml.insert(text_).finish();
    });
    const std::string number = ++parts_ > 1 ? fmt::format(".{}", parts_) : "";
    use_({file_name(part_.name + number, taken_), text});
    part_.cases.clear();
    text_.clear();
  }
  void add(const std::vector<RunProblem>& problems) {
    const std::string text = text_of([&](TextOutput& output) {
      XmlWriter xml(output);
      SuiteWriter(cases_, xml, Shape::kPlain).write(problems, std::nullopt);
      xml.finish();
    });
    use_({file_name(std::string(kRunSuite), taken_), text});
  }

 private:
  Cases& cases_;
  const UseJunitFile& use_;
  std::set<std::string> taken_;
  Group part_;
  std::string text_;  // the text of the cases of the part
  int parts_ = 0;
};

// Each case is written once, for junit.xml and for the file of its suite, with the nesting depth of junit.xml.
void write_run(const ResolvedRun& run, Shape shape, TextOutput& output, const UseJunitFile& use) {
  Cases cases{run, unique_names(run)};
  Totals totals;
  for (const ResolvedCase& test : run.cases) totals.add(test);
  const auto& problems = run.problems;
  totals.add_problems(problems.size());
  XmlWriter xml(output);
  xml.open("testsuites")
      .attribute("name", "proctor")
      .attribute("time", seconds(totals.ms))
      .attribute("tests", std::to_string(totals.tests))
      .attribute("failures", std::to_string(totals.failures))
      .attribute("errors", std::to_string(totals.errors));
  SuiteWriter writer(cases, xml, shape);
  SuiteFiles files(cases, use);
  std::size_t number = 0;
  for (const Group& group : group_cases(run)) {
    writer.open(group, number++);
    files.open(group);
    for (const std::size_t i : group.cases) {
      const std::string text = text_of([&](TextOutput& part) {
        XmlWriter part_xml(part, kDepthOfCases);
        SuiteWriter(cases, part_xml, shape).write_case(i);
      });
      xml.insert(text);
      if (use) files.add(i, text);
    }
    xml.close();
    if (use) files.end_part();
  }
  if (!problems.empty()) writer.write(problems, number);
  if (!problems.empty() && use) files.add(problems);
  xml.finish();
}

}  // namespace

void write_junit(const ResolvedRun& run, TextOutput& output, const UseJunitFile& use) {
  write_run(run, Shape::kPlain, output, use);
}

void write_junit_run(const ResolvedRun& run, TextOutput& output) {
  write_run(run, Shape::kPlain, output, nullptr);
}

Result<void> write_junit_file(const std::string& path, const ResolvedRun& run) {
  auto file = FileReplacement::open(path);
  if (!file) return file.error();
  {
    TextOutput output([&file](std::string_view piece) { file->add(piece); });
    write_junit_run(run, output);
  }
  return file->put();
}

void write_junit_extended(const ResolvedRun& run, TextOutput& output) {
  write_run(run, Shape::kExtended, output, nullptr);
}

std::string junit_run(const ResolvedRun& run) {
  return text_of([&](TextOutput& output) { write_junit_run(run, output); });
}

std::string junit_without_run(const std::string& why) {
  ResolvedRun nothing;
  nothing.problems = {{"no_report", "There is no report of the run", why}};
  return junit_run(nothing);
}

std::vector<JunitFile> junit_suites(const ResolvedRun& run) {
  std::vector<JunitFile> files;
  TextOutput nowhere([](std::string_view) {});
  write_junit(run, nowhere, [&files](JunitFile file) { files.push_back(std::move(file)); });
  return files;
}

}  // namespace proctor
