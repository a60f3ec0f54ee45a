// The rules about the runs of a cell: their number, journals, subject, age and plan. docs/reference/gate.md lists the
// rules, each with the invalid release that it rejects.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "harness/base/digest.h"
#include "harness/base/number_text.h"
#include "harness/base/text.h"
#include "harness/base/toml_reader.h"
#include "harness/base/words.h"
#include "reports/gate/gate_rules.h"
#include "reports/resolve/report_text.h"
#include "reports/resolve/rerun.h"

namespace proctor::judging {
namespace {

// The largest accepted step of the wall clock during a run.
constexpr std::int64_t kClockStepMs = 600'000;

std::string hours(std::int64_t ms) { return fmt::format("{:.1f} h", static_cast<double>(ms) / kMsOfHour); }

// Returns the end of the run in wall-clock time.
std::int64_t end_ms_of(const GateReport& report) {
  const std::string finished = report.finished();
  return finished.empty() ? unix_ms(report.run.plan.started) + report.run.elapsed_ms : unix_ms(finished);
}

// Returns why a run of the same suite and backend does not belong to the cell.
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
  Texts suites;
  for (const GateReport* report : view.all.reports) {
    if (view.has_case_in(*report))
      near += fmt::format("{}{}", near.empty() ? "" : "; ", why_not_taken(view, *report));
    for (const SuiteSum& sum : report->run.suites) suites.push_back(sum.suite + "." + sum.backend);
  }
  const std::string wanted = view.cell.suite + "." + view.cell.backend;
  if (near.empty() && !suites.empty())
    near = fmt::format("there is no {}; {}", wanted, suggestion(wanted, suites, "suites"));
  fail_rule(finding, "no report fills this cell" + (near.empty() ? "" : ": " + near));
}

void one_run_rule(const CellView& view, GateFinding& finding) {
  std::set<std::string> runs;
  for (const GateReport* report : view.reports)
    runs.insert(report->run.plan.shard ? fmt::format("shards of the plan {}", report->run.plan.shard->plan)
                                       : report->name());
  finding.limit = "1 run, or the shards of 1 plan";
  finding.value = listed(runs, "; ");
  if (runs.size() > 1)
    fail_rule(finding,
              fmt::format("{} runs fill this cell, but only one is allowed: {}", runs.size(), finding.value));
}

void name_missing(const std::map<int, Texts>& shards, int count, GateFinding& finding) {
  constexpr std::size_t kNamed = 20;
  if (count > kMostShardsOfAPlan)
    return fail_rule(finding, fmt::format("{} is not a valid shard number", count));
  std::size_t missing = 0;
  for (int index = 1; index <= count; ++index) {
    if (shards.contains(index)) continue;
    if (++missing <= kNamed) fail_rule(finding, fmt::format("shard {}/{} is missing", index, count));
  }
  if (missing > kNamed) fail_rule(finding, fmt::format("and {} more are missing", missing - kNamed));
}

void shards_rule(const CellView& view, GateFinding& finding) {
  std::map<int, Texts> shards;
  int count = 0;
  for (const GateReport* report : view.reports) {
    if (!report->run.plan.shard) continue;
    shards[report->run.plan.shard->index].push_back(report->run.plan.run_id);
    if (count != 0 && count != report->run.plan.shard->count)
      fail_rule(finding, fmt::format("{} is one of {} shards, but others are of {}", report->name(),
                                     report->run.plan.shard->count, count));
    count = report->run.plan.shard->count;
  }
  finding.limit = count == 0 ? "each shard once" : fmt::format("each of {} shards once", count);
  finding.value = count_text(shards.size(), "shard");
  name_missing(shards, count, finding);
  for (const auto& [index, runs] : shards) {
    if (runs.size() > 1)
      fail_rule(finding, fmt::format("shard {}/{} is given {} times: runs {}", index, count, runs.size(),
                                     joined(runs, ", ")));
  }
  for (const GateReport* report : view.reports) {
    const bool merged = std::ranges::any_of(report->run.plan.stack,
                                            [](const auto& entry) { return entry.first == "shard.1"; });
    if (merged)
      fail_rule(finding, fmt::format("{} was merged from shards: give the run directories of the shards",
                                     report->name()));
  }
}

void journal_rule(const CellView& view, GateFinding& finding) {
  finding.limit = "every record fits those before it, and none contradicts another";
  const auto flaws = ask_each_run(view, finding, [&](const GateReport& report) {
    Texts why;
    for (const JournalFlaw& flaw : report.flaws) {
      const std::string line = flaw.line > 0 ? fmt::format(", line {}", flaw.line) : "";
      why.push_back(fmt::format("{}{}: {}", report.name(), line, flaw.what));
      if (!flaw.case_id.empty()) finding.cases.push_back(flaw.case_id);
    }
    return why;
  });
  finding.value = count_text(flaws, "flaw");
}

std::string why_cut_short(const ResolvedRun& run) {
  if (!run.ended) return "its journal has no end: the runner was killed";
  if (run.stop_signal != 0) return fmt::format("signal {} stopped it", run.stop_signal);
  if (run.stop) return fmt::format("it was stopped: {}", run.stop->reason.text());
  if (run.warned_of(WarningCode::kPartRefused)) return "one of its parts was refused";
  if (run.warned_of(WarningCode::kPartIncomplete)) return "one of its parts was cut short";
  return "";
}

Texts after_name(const GateReport& report, const std::string& why) {
  return why.empty() ? Texts() : Texts{report.name() + ": " + why};
}

void complete_rule(const CellView& view, GateFinding& finding) {
  finding.limit = "the journal of each runner is complete";
  const auto cut = ask_each_run(
      view, finding, [](const GateReport& report) { return after_name(report, why_cut_short(report.run)); });
  finding.value = count_text(cut, "run") + " cut short";
}

// Another version of Proctor may render a report differently.
std::string by_another_version(const CellView& view, const GateReport& report) {
  const std::string& ours = view.all.inputs.proctor_version;
  if (ours.empty() || report.run.plan.proctor_version == ours) return "";
  return fmt::format("; Proctor {} wrote it, and this is Proctor {}", report.run.plan.proctor_version, ours);
}

void rendered_rule(const CellView& view, GateFinding& finding) {
  finding.limit = "the reports beside a journal match it";
  std::size_t count = 0;
  for (const GateReport* report : view.reports) {
    count += report->other_files.size();
    if (!report->other_files.empty())
      fail_rule(finding, fmt::format("{}: {} is not what its journal renders to{}", report->name(),
                                     joined(report->other_files, ", "), by_another_version(view, *report)));
  }
  finding.value = count_text(count, "other file");
}

void signed_rule(const CellView& view, GateFinding& finding) {
  const auto& digests = view.all.inputs.signed_digests;
  finding.limit = digests ? "the journal's digest is in " + view.policy().signed_digests : "not required";
  const auto missing = ask_each_run(view, finding, [&](const GateReport& report) -> Texts {
    if (!digests || digests->contains(report.sha256)) return {};
    return {fmt::format("the journal of {} has the digest {}, which is not in {}", report.name(),
                        report.sha256, view.policy().signed_digests)};
  });
  finding.value = digests ? count_text(missing, "digest") + " missing" : "not required";
}

void subject_rule(const CellView& view, GateFinding& finding) {
  const auto& said = view.all.inputs.subject;
  std::set<std::string> names(view.policy().subject.begin(), view.policy().subject.end());
  for (const auto& [name, value] : said) names.insert(name);
  std::set<std::string> values;
  for (const std::string& name : names) {
    const GateReport* first = nullptr;  // compared over all runs, because a release has one commit
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
        fail_rule(finding, fmt::format("the {} of {} is unknown: {}", name, report->name(),
                                       its.reason.empty() ? "it is not recorded" : its.reason));
      } else if (*its.value != wanted) {
        fail_rule(finding,
                  fmt::format("the {} of {} is {}, and {} is {}", name, report->name(), *its.value,
                              given != said.end() ? "--subject" : "that of " + first->name(), wanted));
      }
    }
  }
  if (names.empty()) finding.limit = "not required";
  finding.value = values.empty() ? "nothing" : listed(values);
}

void clean_rule(const CellView& view, GateFinding& finding) {
  finding.limit = view.policy().clean ? "no uncommitted change" : "not required";
  std::size_t dirty = 0;
  for (const GateReport* report : view.reports) {
    const SubjectFact& its = report->run.plan.subject.dirty;
    if (its.value == "false") continue;
    ++dirty;
    if (!view.policy().clean) continue;
    fail_rule(finding,
              its.value
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
      fail_rule(finding,
                fmt::format("{} ended {} before {}", report->name(), hours(age), view.all.inputs.at));
  }
  finding.value = hours(oldest);
}

std::string why_wrong_dates(const CellView& view, const GateReport& report) {
  const std::string& started = report.run.plan.started;
  const std::string finished = report.finished();
  const std::int64_t elapsed = report.run.elapsed_ms;
  const std::int64_t lasted = end_ms_of(report) - unix_ms(started);
  if (!is_utc_stamp(started) || !(finished.empty() || is_utc_stamp(finished)))
    return fmt::format("its dates are {} and {}", started, finished);
  if (end_ms_of(report) > view.all.at_ms || unix_ms(started) > view.all.at_ms)
    return fmt::format("it ran from {} to {}, but the time now is {}", started, finished, view.all.inputs.at);
  if (lasted < elapsed - kClockStepMs || lasted > elapsed + kClockStepMs)
    return fmt::format("it lasted {} by its dates, but {} by its own clock", hours(lasted), hours(elapsed));
  return "";
}

void clock_rule(const CellView& view, GateFinding& finding) {
  finding.limit = "no run is in the future, and its dates fit its own clock";
  const auto wrong = ask_each_run(view, finding, [&](const GateReport& report) {
    return after_name(report, why_wrong_dates(view, report));
  });
  finding.value = count_text(wrong, "run") + " with other dates";
}

std::string describe(const NarrowingOption& option) {
  return option.option + (option.value.empty() ? "" : " " + clean_text(option.value));
}

// Returns the option that removed cases from the run in a way that no plan could prove, or "".
std::string narrowed_by(const RunPlanned& plan) {
  for (const NarrowingOption& option : plan.restrictions.options) {
    if (option.covered_by == kCoveredByPlan) return describe(option);
  }
  if (!plan.filters.empty()) return plan.filters.front();
  if (plan.seed != 0) return fmt::format("--suite-arg seed={}", plan.seed);
  return plan.size == "smoke" ? "--suite-arg size=smoke" : "";
}

// Returns whether the run was joined from parts that CTest started one by one (reports/merge/join.h).
bool was_joined(const RunPlanned& plan) {
  return std::ranges::any_of(plan.stack,
                             [](const auto& entry) { return entry.first.starts_with(kCommandEntry); });
}

void plan_rule(const CellView& view, GateFinding& finding) {
  finding.limit = view.plan != nullptr ? fmt::format("the plan {}, {}", view.cell.plan, view.plan->digest)
                                       : "nothing was excluded, as far as a journal shows";
  std::set<std::string> values;
  for (const GateReport* report : view.reports) {
    const RunPlanned& its = report->run.plan;
    if (was_joined(its)) {
      values.insert("joined");
      fail_rule(
          finding,
          fmt::format("{} was joined from the tests of a CTest run. No journal lists the tests that CTest or "
                      "its options excluded, so it fills no cell. Run the suite with `proctor run`",
                      report->name()));
    } else if (view.plan == nullptr) {
      const std::string by = narrowed_by(its);
      values.insert(by.empty() ? "nothing" : by);
      if (!by.empty())
        fail_rule(finding,
                  fmt::format("{} excluded cases, or may have: {}; the cell has no `plan` to compare it with",
                              report->name(), by));
    } else if (!its.shard) {
      values.insert("no plan");
      fail_rule(finding, fmt::format("{} was run without --plan, so its commands and limits are unknown",
                                     report->name()));
    } else {
      values.insert(its.shard->plan);
      if (its.shard->plan == view.plan->digest) continue;
      const bool same_ids = its.plan_digest == view.plan->plan_digest;
      fail_rule(finding,
                fmt::format("{} has another plan, {}: {}", report->name(), its.shard->plan,
                            same_ids ? "the same cases with another command, limit or rule"
                                     : fmt::format("{} cases, selected differently", its.shard->planned)));
    }
  }
  finding.value = listed(values);
}

void options_rule(const CellView& view, GateFinding& finding) {
  finding.limit = "no option that changes how a case runs or is judged";
  Texts typed;
  for (const GateReport* report : view.reports) {
    for (const NarrowingOption& option : report->run.plan.restrictions.options) {
      if (option.covered_by == kCoveredByPlan || option.covered_by == kCoveredByRule) continue;
      typed.push_back(describe(option));
      fail_rule(finding, fmt::format("{} was run with {}, whose effect on its verdicts is unknown",
                                     report->name(), typed.back()));
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
    for (const NarrowingVariable& one : report->run.plan.restrictions.variables) {
      if (one.suite != view.cell.suite || one.backend != view.cell.backend) continue;
      there.insert(one.name);
      const bool planned = view.plan != nullptr && one.covered_by == kCoveredByPlan;
      if (planned || std::ranges::find(allowed, one.name) != allowed.end()) continue;
      fail_rule(finding,
                fmt::format("{} had {}={} of the {}, which may change what its tests run or how they "
                            "judge. To allow it, add it to `variables` of the policy",
                            report->name(), one.name, shell_quote(clean_text(one.value)), one.by));
    }
  }
  finding.value = there.empty() ? "none" : listed(there);
}

// The ids of a run, or of all its shards, must match the digest of its plan.
bool ids_are_of_digest(const CellView& view) {
  const RunPlanned& plan = view.reports.front()->run.plan;
  Texts ids;
  for (const GateReport* report : view.reports) {
    for (const ResolvedCase& test : report->run.cases) ids.push_back(test.planned.id);
  }
  return digest_of_plan(std::move(ids), plan.filters) == plan.plan_digest;
}

// Otherwise each run has all cases, and another rule reports it.
bool is_of_one_run(const CellView& view) {
  if (view.reports.size() == 1) return true;
  const auto& first = view.reports.front()->run.plan.shard;
  return first && std::ranges::all_of(view.reports, [&](const GateReport* report) {
           return report->run.plan.shard && report->run.plan.shard->plan == first->plan;
         });
}

void name_repeated(const Texts& sorted_ids, GateFinding& finding) {
  for (auto twice = std::ranges::adjacent_find(sorted_ids); twice != sorted_ids.end();
       twice = std::adjacent_find(twice + 1, sorted_ids.end())) {
    fail_rule(finding, fmt::format("the case {} is in two reports", *twice));
    finding.cases.push_back(*twice);
  }
}

void ids_rule(const CellView& view, GateFinding& finding) {
  Texts there;
  view.for_each_case([&](const ResolvedCase& test) { there.emplace_back(test.planned.id); });
  std::ranges::sort(there);
  finding.value = count_text(there.size(), "case");
  if (is_of_one_run(view)) name_repeated(there, finding);
  there.erase(std::unique(there.begin(), there.end()), there.end());
  if (view.plan == nullptr) {
    finding.limit = "the cases that match the plan's digest";
    if (is_of_one_run(view) && !ids_are_of_digest(view))
      fail_rule(finding, "the cases of the journal do not match the digest of its plan");
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
    fail_rule(finding, fmt::format("{} of {} planned {} in no report", missing.size(), wanted.size(),
                                   plural(missing.size(), "is", "are")));
  if (!more.empty()) fail_rule(finding, fmt::format("{} not in the plan", count_text(more.size(), "case")));
  finding.cases.insert(finding.cases.end(), missing.begin(), missing.end());
  finding.cases.insert(finding.cases.end(), more.begin(), more.end());
}

void program_rule(const CellView& view, GateFinding& finding) {
  finding.limit = view.cell.program.empty() ? "one tested program with a known digest" : view.cell.program;
  std::set<std::string> values;
  for (const GateReport* report : view.reports) {
    bool is_named = false;
    for (const PlannedSuite& suite : report->run.plan.suites) {
      if (suite.name != view.cell.suite || suite.backend != view.cell.backend) continue;
      is_named = true;
      const ProgramRead program = report->run.program_read(suite);
      values.insert(program.sha256.empty() ? "unknown" : program.sha256);
      if (program.sha256.empty()) {
        fail_rule(finding,
                  fmt::format("the tested program of {} has no digest: {}", report->name(), program.reason));
      } else if (!view.cell.program.empty() && program.sha256 != view.cell.program) {
        fail_rule(finding, fmt::format("{} tested another program, {}", report->name(), program.sha256));
      }
    }
    if (!is_named && view.has_case_in(*report))
      fail_rule(finding, fmt::format("{} does not name the tested program", report->name()));
  }
  finding.value = listed(values);
  if (view.cell.program.empty() && values.size() > 1 && !values.contains("unknown"))
    fail_rule(finding, fmt::format("{} programs were tested: {}", values.size(), finding.value));
}

constexpr CellRule kRunRules[] = {
    {"report", report_rule},   {"one_run", one_run_rule},     {"shards", shards_rule},
    {"journal", journal_rule}, {"complete", complete_rule},   {"reports_match", rendered_rule},
    {"signed", signed_rule},   {"subject", subject_rule},     {"clean", clean_rule},
    {"age", age_rule},         {"clock", clock_rule},         {"plan", plan_rule},
    {"options", options_rule}, {"variables", variables_rule}, {"ids", ids_rule},
    {"program", program_rule}};

}  // namespace

std::span<const CellRule> run_rules() { return kRunRules; }

}  // namespace proctor::judging
