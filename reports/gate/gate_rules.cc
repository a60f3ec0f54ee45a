// What is asked of each cell of a policy; docs/reference/gate.md has the rules, each with the wrong way to green that
// it closes.
#include "reports/gate/gate_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "harness/core/count_text.h"
#include "harness/core/digest.h"
#include "harness/core/text.h"
#include "harness/core/toml_reader.h"
#include "harness/core/words.h"
#include "reports/gate/hardware_evidence.h"
#include "reports/resolve/report_place.h"
#include "reports/resolve/rerun.h"

namespace proctor::judging {

void red(GateFinding& finding, std::string why) {
  finding.held = false;
  finding.says.push_back(std::move(why));
}

bool counts_as_executed(const GateCase& one) {
  return one.end.verdict.outcome != Outcome::kSkip && one.end.verdict.outcome != Outcome::kNotrun &&
         one.end.colour != GateColour::kGrey;
}

std::string fact(const GateReport& report, std::string_view name) {
  const auto found = std::ranges::find(report.plan.fingerprint, name, &StackFact::name);
  return found != report.plan.fingerprint.end() ? found->value.value_or("") : "";
}

const SubjectFact& subject_fact(const GateReport& report, const std::string& name) {
  const Subject& subject = report.plan.subject;
  if (name == "branch") return subject.branch;
  if (name == "repository") return subject.repository;
  if (name == "build") return subject.build;
  return subject.commit;
}

std::string models_in(const GateReport& report, const std::string& backend) {
  std::set<std::string> models;
  for (const PlannedDevice& device : report.plan.devices) {
    if (device.backend == backend) models.insert(device.name);
  }
  return joined({models.begin(), models.end()}, ", ");
}

bool has_model(const GateReport& report, const std::string& backend, const std::string& glob) {
  return std::ranges::any_of(report.plan.devices, [&](const PlannedDevice& device) {
    return device.backend == backend && glob_match(glob, device.name);
  });
}

bool covers(const GateKnownFailure& entry, std::string_view id) {
  return std::ranges::any_of(entry.cases, [&](const std::string& glob) { return glob_match(glob, id); });
}

namespace {

constexpr std::int64_t kMsOfHour = 3'600'000;
// By how much the clock on the wall may have been set while a run lasted.
constexpr std::int64_t kClockStepMs = 600'000;

std::string hours(std::int64_t ms) { return fmt::format("{:.1f} h", static_cast<double>(ms) / kMsOfHour); }

// The end of the run, on the wall.
std::int64_t end_ms_of(const GateReport& report) {
  return report.finished.empty() ? unix_ms(report.plan.started) + report.elapsed_ms
                                 : unix_ms(report.finished);
}

bool holds_on(const GateKnownFailure& entry, const GateReport& report, const GateGroup& group,
              const GateAttempt& attempt) {
  if (!entry.backend.empty() && entry.backend != group.backend) return false;
  const Texts models = report.models(attempt);
  const auto is_named = [&](const std::string& model) { return glob_match(entry.device, model); };
  if (!entry.device.empty() && std::ranges::none_of(models, is_named)) return false;
  if (entry.driver.empty()) return true;
  for (const auto& [name, value] : report.plan.stack) {
    if (name != entry.driver) continue;
    const auto version = Version::parse(value);
    return version && entry.versions.contains(*version);
  }
  return false;
}

bool explains(const GateKnownFailure& entry, const Verdict& attempt) {
  if (attempt.outcome == Outcome::kPass) return true;         // a failure is known, whatever it was
  const bool by_marker = attempt.outcome == Outcome::kXfail;  // of a framework: it does not say as what
  return (by_marker || attempt.outcome == entry.outcome) && glob_match(entry.reason, attempt.reason.text());
}

// Cases that one rule is against; `words` completes "3 cases ".
template <typename Test>
void no_case(const CellView& view, GateFinding& finding, const std::string& words, const Test& test) {
  std::map<std::string, int> verdicts;
  view.for_each_case([&](const GateReport& report, const GateGroup& group, const GateCase& one) {
    if (!test(report, group, one)) return;
    finding.cases.emplace_back(one.id);
    ++verdicts[to_string(one.end.verdict)];
  });
  finding.limit = "0 cases";
  finding.value = count_text(finding.cases.size(), "case");
  if (finding.cases.empty()) return;
  std::string kinds;
  for (const auto& [verdict, count] : verdicts)
    kinds += fmt::format("{}{} {}", kinds.empty() ? "" : ", ", count, verdict);
  red(finding, fmt::format("{} {}: {}", finding.value, words, kinds));
}

// ---- the rules of a cell ----

// Runs of the same suite and backend that do not fill it, and why.
std::string why_not_taken(const CellView& view, const GateReport& report) {
  if (!view.cell.stack.empty() && fact(report, "image.stack") != view.cell.stack) {
    const std::string stack = fact(report, "image.stack");
    return fmt::format("{} is of {}", report.name(),
                       stack.empty() ? "no stack's image" : "the stack " + stack);
  }
  return fmt::format("{} is on {}", report.name(), models_in(report, view.cell.backend));
}

void report_rule(const CellView& view, GateFinding& finding) {
  finding.limit = "a run";
  finding.value = count_text(view.reports.size(), "run");
  if (!view.reports.empty()) return;
  std::string near;
  Texts groups;
  for (const GateReport* report : view.all.reports) {
    if (report->group(view.cell.suite, view.cell.backend) != nullptr)
      near += fmt::format("{}{}", near.empty() ? "" : "; ", why_not_taken(view, *report));
    for (const GateGroup& group : report->groups) groups.push_back(group.suite + "." + group.backend);
  }
  const std::string wanted = view.cell.suite + "." + view.cell.backend;
  if (near.empty() && !groups.empty())
    near = fmt::format("there is no {}; {}", wanted, suggestion(wanted, groups, "suites"));
  red(finding, "no report fills this cell" + (near.empty() ? "" : ": " + near));
}

void one_run_rule(const CellView& view, GateFinding& finding) {
  std::set<std::string> runs;
  for (const GateReport* report : view.reports)
    runs.insert(report->plan.shard ? fmt::format("shards of the plan {}", report->plan.shard->plan)
                                   : report->name());
  finding.limit = "1 run, or the shards of 1 plan";
  finding.value = joined({runs.begin(), runs.end()}, "; ");
  if (runs.size() > 1)
    red(finding,
        fmt::format("{} runs fill this cell, but only one is allowed: {}", runs.size(), finding.value));
}

void name_missing(const std::map<int, Texts>& shards, int count, GateFinding& finding) {
  constexpr std::size_t kNamed = 20;
  if (count > kMostShardsOfAPlan) return red(finding, fmt::format("{} is not a valid shard number", count));
  std::size_t missing = 0;
  for (int index = 1; index <= count; ++index) {
    if (shards.contains(index)) continue;
    if (++missing <= kNamed) red(finding, fmt::format("shard {}/{} is missing", index, count));
  }
  if (missing > kNamed) red(finding, fmt::format("and {} more are missing", missing - kNamed));
}

void shards_rule(const CellView& view, GateFinding& finding) {
  std::map<int, Texts> shards;
  int count = 0;
  for (const GateReport* report : view.reports) {
    if (!report->plan.shard) continue;
    shards[report->plan.shard->index].push_back(report->plan.run_id);
    if (count != 0 && count != report->plan.shard->count)
      red(finding, fmt::format("{} is one of {} shards, but others are of {}", report->name(),
                               report->plan.shard->count, count));
    count = report->plan.shard->count;
  }
  finding.limit = count == 0 ? "each shard once" : fmt::format("each of {} shards once", count);
  finding.value = count_text(shards.size(), "shard");
  name_missing(shards, count, finding);
  for (const auto& [index, runs] : shards) {
    if (runs.size() > 1)
      red(finding, fmt::format("shard {}/{} is given {} times: runs {}", index, count, runs.size(),
                               joined(runs, ", ")));
  }
  for (const GateReport* report : view.reports) {
    const bool merged =
        std::ranges::any_of(report->plan.stack, [](const auto& entry) { return entry.first == "shard.1"; });
    if (merged)
      red(finding,
          fmt::format("{} was merged from shards: give the run directories of the shards", report->name()));
  }
}

void journal_rule(const CellView& view, GateFinding& finding) {
  finding.limit = "every record fits those before it, and none contradicts another";
  std::size_t flaws = 0;
  for (const GateReport* report : view.reports) {
    for (const JournalFlaw& flaw : report->flaws) {
      ++flaws;
      red(finding, fmt::format("{}{}: {}", report->name(),
                               flaw.line > 0 ? fmt::format(", line {}", flaw.line) : "", flaw.what));
      if (!flaw.case_id.empty()) finding.cases.push_back(flaw.case_id);
    }
  }
  finding.value = count_text(flaws, "flaw");
}

void complete_rule(const CellView& view, GateFinding& finding) {
  finding.limit = "each runner said all";
  Texts cut;
  for (const GateReport* report : view.reports) {
    if (!report->cut_short.empty()) cut.push_back(fmt::format("{}: {}", report->name(), report->cut_short));
  }
  finding.value = count_text(cut.size(), "run") + " cut short";
  for (std::string& why : cut) red(finding, std::move(why));
}

// What one Proctor writes, another one may write in another way.
std::string by_another_version(const CellView& view, const GateReport& report) {
  const std::string& ours = view.all.inputs.proctor_version;
  if (ours.empty() || report.plan.proctor_version == ours) return "";
  return fmt::format("; Proctor {} wrote it, and this is Proctor {}", report.plan.proctor_version, ours);
}

void rendered_rule(const CellView& view, GateFinding& finding) {
  finding.limit = "files beside a journal are what it renders to";
  std::size_t count = 0;
  for (const GateReport* report : view.reports) {
    count += report->other_files.size();
    if (!report->other_files.empty())
      red(finding, fmt::format("{}: {} is not what its journal renders to{}", report->name(),
                               joined(report->other_files, ", "), by_another_version(view, *report)));
  }
  finding.value = count_text(count, "other file");
}

void signed_rule(const CellView& view, GateFinding& finding) {
  const auto& digests = view.all.inputs.signed_digests;
  finding.limit = digests ? "the journal's digest is in " + view.policy().signed_digests : "not asked for";
  std::size_t missing = 0;
  for (const GateReport* report : view.reports) {
    if (!digests || digests->contains(report->sha256)) continue;
    ++missing;
    red(finding, fmt::format("the journal of {} has the digest {}, which is not in {}", report->name(),
                             report->sha256, view.policy().signed_digests));
  }
  finding.value = digests ? count_text(missing, "digest") + " missing" : "not asked for";
}

void subject_rule(const CellView& view, GateFinding& finding) {
  const auto& said = view.all.inputs.subject;
  std::set<std::string> names(view.policy().subject.begin(), view.policy().subject.end());
  for (const auto& [name, value] : said) names.insert(name);
  std::set<std::string> values;
  for (const std::string& name : names) {
    const GateReport* first = nullptr;  // of all runs: two cells of two commits are no release
    for (const GateReport* report : view.all.reports) {
      if (subject_fact(*report, name).value) {
        first = report;
        break;
      }
    }
    const auto given = said.find(name);
    const std::string wanted = given != said.end() ? given->second
                               : first != nullptr  ? *subject_fact(*first, name).value
                                                   : "";
    finding.limit += fmt::format("{}{} {}", finding.limit.empty() ? "" : ", ", name,
                                 wanted.empty() ? "that is known" : wanted);
    for (const GateReport* report : view.reports) {
      const SubjectFact& its = subject_fact(*report, name);
      values.insert(fmt::format("{} {}", name, its.value.value_or("unknown")));
      if (!its.value) {
        red(finding, fmt::format("the {} of {} is unknown: {}", name, report->name(),
                                 its.reason.empty() ? "it is not recorded" : its.reason));
      } else if (*its.value != wanted) {
        red(finding, fmt::format("the {} of {} is {}, and {} is {}", name, report->name(), *its.value,
                                 given != said.end() ? "--subject" : "that of " + first->name(), wanted));
      }
    }
  }
  if (names.empty()) finding.limit = "not asked for";
  finding.value = values.empty() ? "nothing" : joined({values.begin(), values.end()}, ", ");
}

void clean_rule(const CellView& view, GateFinding& finding) {
  finding.limit = view.policy().clean ? "no uncommitted change" : "not asked for";
  std::size_t dirty = 0;
  for (const GateReport* report : view.reports) {
    const SubjectFact& its = report->plan.subject.dirty;
    if (its.value == "false") continue;
    ++dirty;
    if (!view.policy().clean) continue;
    red(finding, its.value
                     ? fmt::format("{} tested a checkout with uncommitted changes", report->name())
                     : fmt::format("it is unknown whether the checkout of {} had changes: {}", report->name(),
                                   its.reason.empty() ? "its journal does not" : its.reason));
  }
  finding.value = count_text(dirty, "run") + " of a changed or unknown checkout";
}

void age_rule(const CellView& view, GateFinding& finding) {
  finding.limit = format_duration(view.policy().max_age);
  std::int64_t oldest = 0;
  for (const GateReport* report : view.reports) {
    const std::int64_t age = view.all.at_ms - end_ms_of(*report);
    oldest = std::max(oldest, age);
    if (age > view.policy().max_age.count())
      red(finding, fmt::format("{} ended {} before {}", report->name(), hours(age), view.all.inputs.at));
  }
  finding.value = hours(oldest);
}

void clock_rule(const CellView& view, GateFinding& finding) {
  finding.limit = "no run is in the future, and its dates fit its own clock";
  std::size_t wrong = 0;
  for (const GateReport* report : view.reports) {
    const std::string& started = report->plan.started;
    const std::int64_t lasted = end_ms_of(*report) - unix_ms(started);
    std::string why;
    if (!is_utc_stamp(started) || !(report->finished.empty() || is_utc_stamp(report->finished))) {
      why = fmt::format("its dates are {} and {}", started, report->finished);
    } else if (end_ms_of(*report) > view.all.at_ms || unix_ms(started) > view.all.at_ms) {
      why = fmt::format("it ran from {} to {}, but the time now is {}", started, report->finished,
                        view.all.inputs.at);
    } else if (lasted < report->elapsed_ms - kClockStepMs || lasted > report->elapsed_ms + kClockStepMs) {
      why = fmt::format("it lasted {} by its dates, but {} by its own clock", hours(lasted),
                        hours(report->elapsed_ms));
    }
    if (why.empty()) continue;
    ++wrong;
    red(finding, report->name() + ": " + why);
  }
  finding.value = count_text(wrong, "run") + " with other dates";
}

// Returns whether the run had the option, or the key of the configuration.
bool was_given(const RunPlanned& plan, std::string_view option) {
  const auto& options = plan.narrowed.options;
  return std::ranges::find(options, option, &NarrowingOption::option) != options.end();
}

std::string words_of(const NarrowingOption& option) {
  return option.option + (option.value.empty() ? "" : " " + clean_text(option.value));
}

// What left something out of a run that no plan could be held to, or "".
std::string narrowed_by(const RunPlanned& plan) {
  for (const NarrowingOption& option : plan.narrowed.options) {
    if (option.told_by == kToldByPlan) return words_of(option);
  }
  if (!plan.filters.empty()) return plan.filters.front();
  if (plan.seed != 0) return fmt::format("--suite-arg seed={}", plan.seed);
  return plan.size == "smoke" ? "--suite-arg size=smoke" : "";
}

// Out of what CTest has started, one by one (reports/merge/join.h).
bool was_joined(const RunPlanned& plan) {
  return std::ranges::any_of(plan.stack,
                             [](const auto& entry) { return entry.first.starts_with(kCommandEntry); });
}

void plan_rule(const CellView& view, GateFinding& finding) {
  finding.limit = view.plan != nullptr ? fmt::format("the plan {}, {}", view.cell.plan, view.plan->digest)
                                       : "nothing was excluded, as far as a journal shows";
  std::set<std::string> values;
  for (const GateReport* report : view.reports) {
    const RunPlanned& its = report->plan;
    if (was_joined(its)) {
      values.insert("joined");
      red(finding,
          fmt::format("{} was joined from the tests of a CTest run. No journal lists the tests that CTest or "
                      "its options excluded, so it fills no cell. Run the suite with `proctor run`",
                      report->name()));
    } else if (view.plan == nullptr) {
      const std::string by = narrowed_by(its);
      values.insert(by.empty() ? "nothing" : by);
      if (!by.empty())
        red(finding,
            fmt::format("{} excluded cases, or may have: {}; the cell has no `plan` to compare it with",
                        report->name(), by));
    } else if (!its.shard) {
      values.insert("no plan");
      red(finding,
          fmt::format("{} was run without --plan, so its commands and limits are unknown", report->name()));
    } else {
      values.insert(its.shard->plan);
      if (its.shard->plan == view.plan->digest) continue;
      const bool same_ids = its.plan_digest == view.plan->plan_digest;
      red(finding, fmt::format("{} has another plan, {}: {}", report->name(), its.shard->plan,
                               same_ids ? "the same cases with another command, limit or rule"
                                        : fmt::format("{} cases, selected differently", its.shard->planned)));
    }
  }
  finding.value = joined({values.begin(), values.end()}, ", ");
}

void options_rule(const CellView& view, GateFinding& finding) {
  finding.limit = "no option that changes how a case runs or is judged";
  Texts typed;
  for (const GateReport* report : view.reports) {
    for (const NarrowingOption& option : report->plan.narrowed.options) {
      if (option.told_by == kToldByPlan || option.told_by == kToldByRule) continue;
      typed.push_back(words_of(option));
      red(finding, fmt::format("{} was run with {}, whose effect on its verdicts is unknown", report->name(),
                               typed.back()));
    }
  }
  finding.value = typed.empty() ? "none" : joined(typed, ", ");
}

void variables_rule(const CellView& view, GateFinding& finding) {
  const Texts& allowed = view.policy().variables;
  finding.limit = allowed.empty() ? "no variable that changes what a test runs or how it judges"
                                  : "of such variables only " + joined(allowed, ", ");
  std::set<std::string> there;
  for (const GateReport* report : view.reports) {
    for (const NarrowingVariable& one : report->plan.narrowed.variables) {
      if (one.suite != view.cell.suite || one.backend != view.cell.backend) continue;
      there.insert(one.name);
      const bool planned = view.plan != nullptr && one.told_by == kToldByPlan;
      if (planned || std::ranges::find(allowed, one.name) != allowed.end()) continue;
      red(finding, fmt::format("{} had {}={} of the {}, which may change what its tests run or how they "
                               "judge. To allow it, add it to `variables` of the policy",
                               report->name(), one.name, shell_quote(clean_text(one.value)), one.by));
    }
  }
  finding.value = there.empty() ? "none" : joined({there.begin(), there.end()}, ", ");
}

// The ids of a run, or of all its shards, must be those of which its plan's digest is.
bool ids_are_of_digest(const CellView& view) {
  const RunPlanned& plan = view.reports.front()->plan;
  Texts ids;
  for (const GateReport* report : view.reports) {
    report->cases.for_each([&](const GateCase& one) { ids.emplace_back(one.id); });
  }
  return digest_of_plan(std::move(ids), plan.filters) == plan.plan_digest;
}

// Else each has all cases, and another rule says so.
bool is_of_one_run(const CellView& view) {
  if (view.reports.size() == 1) return true;
  const auto& first = view.reports.front()->plan.shard;
  return first && std::ranges::all_of(view.reports, [&](const GateReport* report) {
           return report->plan.shard && report->plan.shard->plan == first->plan;
         });
}

void name_repeated(const Texts& sorted_ids, GateFinding& finding) {
  for (auto twice = std::ranges::adjacent_find(sorted_ids); twice != sorted_ids.end();
       twice = std::adjacent_find(twice + 1, sorted_ids.end())) {
    red(finding, fmt::format("the case {} is in two reports", *twice));
    finding.cases.push_back(*twice);
  }
}

void ids_rule(const CellView& view, GateFinding& finding) {
  Texts there;
  view.for_each_case([&](const auto&, const auto&, const GateCase& one) { there.emplace_back(one.id); });
  std::ranges::sort(there);
  finding.value = count_text(there.size(), "case");
  if (is_of_one_run(view)) name_repeated(there, finding);
  there.erase(std::unique(there.begin(), there.end()), there.end());
  if (view.plan == nullptr) {
    finding.limit = "the cases that match the plan's digest";
    if (is_of_one_run(view) && !ids_are_of_digest(view))
      red(finding, "the cases of the journal do not match the digest of its plan");
    return;
  }
  static const Texts kNone;
  const Texts& wanted = view.planned_ids() != nullptr ? *view.planned_ids() : kNone;
  finding.limit = fmt::format("the {} of the plan", count_text(wanted.size(), "case"));
  Texts missing;
  Texts more;
  std::ranges::set_difference(wanted, there, std::back_inserter(missing));
  std::ranges::set_difference(there, wanted, std::back_inserter(more));
  if (!missing.empty())
    red(finding, fmt::format("{} of {} planned {} in no report", missing.size(), wanted.size(),
                             plural(missing.size(), "is", "are")));
  if (!more.empty()) red(finding, fmt::format("{} not in the plan", count_text(more.size(), "case")));
  finding.cases.insert(finding.cases.end(), missing.begin(), missing.end());
  finding.cases.insert(finding.cases.end(), more.begin(), more.end());
}

void program_rule(const CellView& view, GateFinding& finding) {
  finding.limit = view.cell.program.empty() ? "one tested program with a known digest" : view.cell.program;
  std::set<std::string> values;
  for (const GateReport* report : view.reports) {
    for (const GateProgram& program : report->programs) {
      if (program.suite != view.cell.suite || program.backend != view.cell.backend) continue;
      values.insert(program.sha256.empty() ? "unknown" : program.sha256);
      if (program.sha256.empty()) {
        red(finding,
            fmt::format("the tested program of {} has no digest: {}", report->name(), program.reason));
      } else if (!view.cell.program.empty() && program.sha256 != view.cell.program) {
        red(finding, fmt::format("{} tested another program, {}", report->name(), program.sha256));
      }
    }
    const bool said = std::ranges::any_of(report->programs, [&](const GateProgram& program) {
      return program.suite == view.cell.suite && program.backend == view.cell.backend;
    });
    if (!said && report->group(view.cell.suite, view.cell.backend) != nullptr)
      red(finding, fmt::format("{} does not say which program it tested", report->name()));
  }
  finding.value = joined({values.begin(), values.end()}, ", ");
  if (view.cell.program.empty() && values.size() > 1 && !values.contains("unknown"))
    red(finding, fmt::format("{} programs were tested: {}", values.size(), finding.value));
}

std::string first_of(const Texts& ids) {
  constexpr std::size_t kShown = 20;
  const Texts shown(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(std::min(ids.size(), kShown)));
  const std::string more = ids.size() > kShown ? fmt::format(" and {} more", ids.size() - kShown) : "";
  return joined(shown, ", ") + more;
}

void failed_rule(const CellView& view, GateFinding& finding) {
  no_case(view, finding, "failed", [](const auto&, const auto&, const GateCase& one) {
    return one.end.colour == GateColour::kRed && one.end.verdict.outcome != Outcome::kNotrun &&
           one.end.verdict.outcome != Outcome::kXpass;
  });
  if (!view.all.inputs.baseline || finding.held) return;
  const GateBaseline& baseline = *view.all.inputs.baseline;
  Texts newly;
  Texts before;
  for (const std::string& id : finding.cases) {
    (baseline.failed.contains(id) ? before : newly).push_back(id);
  }
  if (!newly.empty())
    red(finding, fmt::format("failed newly, and not in {}: {}", baseline.name, first_of(newly)));
  if (!before.empty()) red(finding, fmt::format("failed before, in {}: {}", baseline.name, first_of(before)));
}

void machine_rule(const CellView& view, GateFinding& finding) {
  no_case(view, finding, "hit a machine problem, which counts as not run",
          [](const auto&, const auto&, const GateCase& one) {
            return one.end.colour == GateColour::kGrey || one.end.suspect || one.end.unkillable;
          });
  for (const GateReport* report : view.reports) {
    for (const Warning& warning : report->warnings) {
      if (is_machine_warning(warning.code) && warning.code != WarningCode::kStackChanged)
        red(finding,
            fmt::format("{}: {}: {}", report->name(), warning.code.text(), clean_text(warning.text)));
    }
    for (const DeviceHealth& health : report->errors)
      red(finding, fmt::format("{}: the kernel logged an error of {}{}: {}", report->name(), health.device,
                               health.case_id.empty() ? "" : " at " + clean_text(health.case_id),
                               clean_text(health.evidence)));
  }
}

void unrun_rule(const CellView& view, GateFinding& finding) {
  no_case(view, finding, "did not run", [](const auto&, const auto&, const GateCase& one) {
    return one.end.verdict.outcome == Outcome::kNotrun && one.end.colour == GateColour::kRed;
  });
}

void executed_rule(const CellView& view, GateFinding& finding) {
  const int least = view.cell.min_executed.value_or(std::max(view.planned(), 1));
  const int executed = view.executed();
  finding.limit = fmt::format("at least {}", least);
  finding.value = fmt::format("{} of {}", executed, view.planned());
  if (executed >= least) return;
  red(finding, executed == 0
                   ? "nothing was executed"
                   : fmt::format("only {} {} executed, and at least {} must be", count_text(executed, "case"),
                                 plural(executed, "was", "were"), least));
  view.for_each_case([&](const auto&, const auto&, const GateCase& one) {
    if (!counts_as_executed(one)) finding.cases.emplace_back(one.id);
  });
}

// Whether the policy has the reason. Each entry that has it is used.
bool accepts_skip(const CellView& view, const std::string& reason) {
  bool accepted = false;
  for (const GateSkip& skip : view.policy().skips) {
    if (!glob_match(skip.reason, reason)) continue;
    accepted = true;
    view.all.used_skips.insert(skip.reason);
  }
  return accepted;
}

void skips_rule(const CellView& view, GateFinding& finding) {
  finding.limit = view.policy().skips.empty() ? "no skip" : "skips for a reason that the policy has";
  int skipped = 0;
  std::map<std::string, int> unknown;
  view.for_each_case([&](const auto&, const auto&, const GateCase& one) {
    if (one.end.verdict.outcome != Outcome::kSkip) return;
    ++skipped;
    if (accepts_skip(view, one.end.verdict.reason.text())) return;
    ++unknown[one.end.verdict.reason.text()];
    finding.cases.emplace_back(one.id);
  });
  finding.value = count_text(skipped, "skip");
  for (const auto& [reason, count] : unknown)
    red(finding, fmt::format("{} skipped for a reason that the policy does not have: {}",
                             count_text(count, "case"), clean_text(reason)));
}

// The first entry that is about the case, and about each attempt that tells how it ended; null.
JudgedEntry* entry_about(const CellView& view, const GateReport& report, const GateGroup& group,
                         const GateCase& one) {
  for (JudgedEntry& judged : view.all.entries) {
    const GateKnownFailure& entry = *judged.entry;
    const bool about = covers(entry, one.id) && !one.end.telling.empty() &&
                       std::ranges::all_of(one.end.telling, [&](const GateAttempt& attempt) {
                         return holds_on(entry, report, group, attempt) && explains(entry, attempt.verdict);
                       });
    if (about) return &judged;
  }
  return nullptr;
}

void flaky_rule(const CellView& view, GateFinding& finding) {
  const double percent = view.policy().flaky_percent;
  const int executed = view.executed();
  Texts flaky;
  Texts unlisted;
  view.for_each_case([&](const GateReport& report, const GateGroup& group, const GateCase& one) {
    if (!one.end.flaky) return;
    flaky.emplace_back(one.id);
    JudgedEntry* judged = entry_about(view, report, group, one);
    if (judged != nullptr && judged->entry->mistakes.empty()) {
      ++judged->hits;
    } else {
      unlisted.emplace_back(one.id);
    }
  });
  const double share = executed > 0 ? 100.0 * static_cast<double>(flaky.size()) / executed : 0;
  finding.limit = fmt::format("{} % of the executed cases, each a known failure", percent);
  finding.value = fmt::format("{} of {}, {:.3f} %", flaky.size(), executed, share);
  if (share > percent) {
    red(finding,
        fmt::format("{} passed only after a failure, which is {:.3f} % of {} executed, and {} % are allowed",
                    count_text(flaky.size(), "case"), share, executed, percent));
    finding.cases = flaky;
  } else if (!unlisted.empty()) {
    red(finding, fmt::format("{} passed only after a failure, and no known failure covers it",
                             count_text(unlisted.size(), "case")));
    finding.cases = unlisted;
  }
}

void expected_rule(const CellView& view, GateFinding& finding) {
  finding.limit = "each failure that counts as expected has an entry that holds";
  int expected = 0;
  std::map<std::string, int> why;
  view.for_each_case([&](const GateReport& report, const GateGroup& group, const GateCase& one) {
    if (one.end.verdict.outcome != Outcome::kXfail) return;
    ++expected;
    JudgedEntry* judged = entry_about(view, report, group, one);
    if (judged != nullptr) ++judged->hits;
    if (judged != nullptr && judged->entry->mistakes.empty()) return;
    finding.cases.emplace_back(one.id);
    ++why[judged == nullptr
              ? "no known failure of the policy's list explains it"
              : fmt::format("{}: {}", judged->entry->origin, joined(judged->entry->mistakes, "; "))];
  });
  finding.value = fmt::format("{} expected", count_text(expected, "failure"));
  for (const auto& [text, count] : why)
    red(finding, fmt::format("{} expected to fail: {}", count_text(count, "case"), text));
}

// Also where the run itself did not know the list. An entry with a mistake is red by itself.
void unexpected_pass_rule(const CellView& view, GateFinding& finding) {
  no_case(view, finding, "passed although a failure is known: remove the entry or the marker",
          [&](const GateReport& report, const GateGroup& group, const GateCase& one) {
            if (one.end.verdict.outcome == Outcome::kXpass) return true;
            if (one.end.verdict.outcome != Outcome::kPass || one.end.flaky) return false;
            const JudgedEntry* judged = entry_about(view, report, group, one);
            return judged != nullptr && !judged->entry->predicted && judged->entry->mistakes.empty();
          });
}

void stack_rule(const CellView& view, GateFinding& finding) {
  finding.limit = "any stack";
  finding.value = "not compared";
  if (view.cell.stack.empty()) return;
  const GateLock& lock = view.all.inputs.locks.at(view.cell.stack);
  finding.limit = fmt::format("the stack {}, lock sha256:{}", view.cell.stack, lock.sha256);
  std::set<std::string> values;
  for (const GateReport* report : view.reports) {
    const std::string its = fact(*report, "image.lock");
    values.insert(its.empty() ? "unknown" : its);
    if (its != "sha256:" + lock.sha256)
      red(finding, fmt::format("{} ran in an image of the lock {}, but the lock is sha256:{}", report->name(),
                               its.empty() ? "that is unknown" : its, lock.sha256));
    if (was_given(report->plan, "stack_root"))
      red(finding, report->name() + " read its stack below another directory: `stack_root`");
    const auto differences = lock.differences.find(report->sha256);
    if (differences == lock.differences.end()) continue;
    for (const std::string& difference : differences->second)
      red(finding, fmt::format("{}: {}", report->name(), difference));
  }
  finding.value = joined({values.begin(), values.end()}, ", ");
}

void stack_kept_rule(const CellView& view, GateFinding& finding) {
  finding.limit = "no stack changed during a run";
  std::size_t changed = 0;
  for (const GateReport* report : view.reports) {
    for (const Warning& warning : report->warnings) {
      if (warning.code != WarningCode::kStackChanged) continue;
      ++changed;
      red(finding, fmt::format("the stack of {} changed: {}", report->name(), clean_text(warning.text)));
    }
  }
  finding.value = count_text(changed, "change");
}

void hardware_rule(const CellView& view, GateFinding& finding) {
  finding.limit = view.cell.hardware ? "evidence of the kernel for each device" : "not asked for";
  std::size_t devices = 0;
  std::size_t good = 0;
  std::set<std::string> simulated;
  view.for_each_group([&](const GateReport& report, const GateGroup& group) {
    if (group.simulated) simulated.insert(report.name() + " is simulated");
    if (!group.other_driver.empty())
      simulated.insert(
          fmt::format("{}: the loader loaded another driver, {}", report.name(), group.other_driver));
    if (was_given(report.plan, "stack_root"))
      simulated.insert(report.name() + " read its stack below another directory: `stack_root`");
    if (report.plan.sim) simulated.insert(report.name() + " is simulated: " + report.plan.sim->topology);
  });
  Texts missing;
  view.for_each_device([&](const GateReport& report, const PlannedDevice& device, const DeviceUse&) {
    ++devices;
    const Texts facts = missing_evidence(device, report.evidence, report.probed.contains(device.id));
    good += facts.empty() ? 1 : 0;
    if (!facts.empty())
      missing.push_back(
          fmt::format("{}, {} ({}): {}", report.name(), device.id, device.name, joined(facts, "; ")));
  });
  finding.value =
      simulated.empty() ? fmt::format("{} of {}", good, count_text(devices, "device")) : "simulated";
  if (!view.cell.hardware) return;
  for (const std::string& why : simulated) red(finding, why);
  for (std::string& why : missing) red(finding, std::move(why));
}

void model_rule(const CellView& view, GateFinding& finding) {
  finding.limit = view.cell.device.empty() ? "any model" : view.cell.device;
  std::set<std::string> models;
  view.for_each_device([&](const GateReport& report, const PlannedDevice& device, const DeviceUse&) {
    models.insert(device.name);
    if (!view.cell.device.empty() && !glob_match(view.cell.device, device.name))
      red(finding, fmt::format("{} executed cases on {}, which is {}", report.name(), device.id,
                               device.name.empty() ? "of no known model" : device.name));
  });
  finding.value = models.empty() ? "none" : joined({models.begin(), models.end()}, ", ");
}

// What is the same wherever the device is seen from: one card is one, under however many names of its machine.
std::string identity(const GateReport& report, const PlannedDevice& device) {
  if (!device.uuid.empty()) return device.uuid;
  for (const HardwareEvidence& evidence : report.evidence) {
    if (evidence.id == device.id && !evidence.boot_id.empty() && !evidence.pci.empty())
      return evidence.boot_id + "/" + evidence.pci;
  }
  return report.plan.hostname + "/" + device.id;
}

void devices_rule(const CellView& view, GateFinding& finding) {
  std::set<std::string> used;
  view.for_each_device([&](const GateReport& report, const PlannedDevice& device, const DeviceUse& use) {
    if (use.executed > 0 && (view.cell.device.empty() || glob_match(view.cell.device, device.name)))
      used.insert(identity(report, device));
  });
  finding.limit = fmt::format("at least {}", view.cell.devices);
  finding.value = std::to_string(used.size());
  if (static_cast<int>(used.size()) >= view.cell.devices) return;
  std::set<std::string> idle;
  for (const GateReport* report : view.reports) {
    for (const PlannedDevice& device : report->plan.devices) {
      if (device.backend == view.cell.backend && !used.contains(identity(*report, device)))
        idle.insert(report->plan.hostname + "/" + device.id);
    }
  }
  red(finding, fmt::format("{} executed something, and {} must", count_text(used.size(), "device"),
                           view.cell.devices) +
                   (idle.empty() ? "" : "; these did not: " + joined({idle.begin(), idle.end()}, ", ")));
}

// How long any of them lasted: what overlaps counts once.
std::int64_t covered_ms(std::vector<GateSpan> spans) {
  std::ranges::sort(spans, {}, &GateSpan::begin);
  std::int64_t covered = 0;
  std::int64_t until = 0;
  for (const GateSpan& span : spans) {
    covered += std::max<std::int64_t>(span.end - std::max(span.begin, until), 0);
    until = std::max(until, span.end);
  }
  return covered;
}

// Of one card, however many runs had it at a time.
std::int64_t busy_ms(const CellView& view) {
  std::map<std::string, std::vector<GateSpan>> spans;
  view.for_each_device([&](const GateReport& report, const PlannedDevice& device, const DeviceUse& use) {
    const std::int64_t started = unix_ms(report.plan.started);
    auto& its = spans[identity(report, device)];
    for (const GateSpan& span : use.busy) its.push_back({started + span.begin, started + span.end});
  });
  std::int64_t busy = 0;
  for (auto& [device, its] : spans) busy += covered_ms(std::move(its));
  return busy;
}

void soak_rule(const CellView& view, GateFinding& finding) {
  finding.limit = "not asked for";
  int resets = 0;
  for (const GateReport* report : view.reports) resets += report->resets;
  const double device_hours = static_cast<double>(busy_ms(view)) / kMsOfHour;
  finding.value = fmt::format("{:.3f} device hours, {} resets", device_hours, resets);
  if (!view.cell.soak) return;
  const GateSoak& soak = *view.cell.soak;
  finding.limit = fmt::format("at least {} device hours, at most {} resets", soak.device_hours, soak.resets);
  if (device_hours < soak.device_hours)
    red(finding, fmt::format("{:.3f} device hours, and {} are required", device_hours, soak.device_hours));
  if (resets > soak.resets)
    red(finding,
        fmt::format("devices were reset, lost or drained {} times, and {} are allowed", resets, soak.resets));
}

constexpr CellRule kCellRules[] = {
    {"report", report_rule},   {"one_run", one_run_rule},       {"shards", shards_rule},
    {"journal", journal_rule}, {"complete", complete_rule},     {"rendered", rendered_rule},
    {"signed", signed_rule},   {"subject", subject_rule},       {"clean", clean_rule},
    {"age", age_rule},         {"clock", clock_rule},           {"plan", plan_rule},
    {"options", options_rule}, {"variables", variables_rule},   {"ids", ids_rule},
    {"program", program_rule}, {"failed", failed_rule},         {"machine", machine_rule},
    {"unrun", unrun_rule},     {"executed", executed_rule},     {"skips", skips_rule},
    {"flaky", flaky_rule},     {"expected", expected_rule},     {"unexpected_pass", unexpected_pass_rule},
    {"stack", stack_rule},     {"stack_kept", stack_kept_rule}, {"hardware", hardware_rule},
    {"model", model_rule},     {"devices", devices_rule},       {"soak", soak_rule}};

}  // namespace

std::span<const CellRule> cell_rules() { return kCellRules; }

}  // namespace proctor::judging
