#include "reports/page/page_html.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "harness/core/duration.h"
#include "harness/core/exit_code.h"
#include "harness/core/text.h"
#include "harness/core/words.h"
#include "reports/model/exit_code.h"
#include "reports/model/failure_summary.h"
#include "reports/model/known_failure_entries.h"
#include "reports/model/report_place.h"
#include "reports/model/rerun.h"
#include "reports/model/run_problems.h"
#include "reports/model/telemetry_text.h"
#include "reports/page/page_panels.h"
#include "reports/page/page_parts.h"
#include "reports/page/page_text.h"

namespace proctor {
namespace {

constexpr std::size_t kMostPlain = 500;  // bad cases without a script
constexpr std::size_t kMostPlainBytes = 2'000'000;
constexpr std::size_t kMostCauses = 50;
constexpr std::size_t kMostNamedCases = 10;
constexpr std::size_t kMostChangesNamed = 25;
constexpr std::size_t kMostWarnings = 100;
constexpr std::size_t kMostKnown = 200;  // entries of lists of known failures
constexpr int kFewDays = 14;             // that an entry still holds
constexpr std::size_t kMostReasons = 20;
constexpr std::size_t kCommandLineBytes = 4000;

struct Tally {
  Summary summary;
  std::size_t bad = 0;
  std::size_t flaky = 0;
  std::size_t fresh = 0;
  std::array<std::size_t, 4> blames{};
};

Tally tally_of(const PageRequest& request, const std::vector<PageCase>& cases,
               std::optional<std::size_t> run = {}) {
  Tally tally;
  for (std::size_t i = 0; i < request.runs.size(); ++i) {
    if (run && i != *run) continue;
    const Summary summary = request.runs[i].model.summary();
    for (const Outcome outcome : kAllOutcomes) tally.summary[outcome] += summary[outcome];
  }
  for (const PageCase& test : cases) {
    if (run && test.run != *run) continue;
    if (test.odd && result_of(request, test).flaky) ++tally.flaky;
    if (test.is_new) ++tally.fresh;
    if (!test.bad) continue;
    ++tally.bad;
    ++tally.blames.at(static_cast<std::size_t>(test.blame));
  }
  return tally;
}

// The exit code that says most, as ./dev and CI systems take it of several runs.
int worst_code(const PageRequest& request) {
  constexpr std::array kOrder = {kExitUsage, kExitRed, kExitMachine, kExitIncomplete};
  std::set<int> codes;
  for (const PageRun& run : request.runs) codes.insert(run.results.exit_code);
  for (const int code : kOrder) {
    if (codes.contains(code)) return code;
  }
  return codes.empty() ? kExitGreen : *codes.rbegin();
}

const PageRun* worst_run(const PageRequest& request) {
  const int code = worst_code(request);
  for (const PageRun& run : request.runs) {
    if (run.results.exit_code == code) return &run;
  }
  return nullptr;
}

std::string_view code_meaning(int code, std::string_view verdict) {
  if (verdict == "interrupted") return "it was stopped, or killed";
  switch (code) {
    case kExitGreen:
      return "all good";
    case kExitRed:
      return "another machine would say the same";
    case kExitMachine:
      return "retry on another machine";
    case kExitIncomplete:
      return "something planned has no result";
    case kExitUsage:
      return "refused";
    default:
      return "";
  }
}

std::string_view look_of_run(std::string_view verdict) {
  if (verdict == "green") return "good";
  return verdict == "red" || verdict == "machine" ? "bad" : "unrun";
}

std::string good_sentence(const Tally& tally) {
  std::string text =
      fmt::format("Good: {} passed", thousands(static_cast<std::size_t>(tally.summary[Outcome::kPass])));
  const auto add = [&](Outcome outcome, std::string_view words) {
    if (const int count = tally.summary[outcome]; count > 0)
      text += fmt::format(", {} {}", thousands(static_cast<std::size_t>(count)), words);
  };
  add(Outcome::kXfail, "failed as known");
  add(Outcome::kXpass, "passed unexpectedly");
  add(Outcome::kSkip, "skipped");
  return text;
}

std::string sentence(const PageRequest& request, const Tally& tally) {
  const auto planned = static_cast<std::size_t>(tally.summary.planned());
  const PageRun* worst = worst_run(request);
  const std::string_view verdict = worst == nullptr ? "green" : std::string_view(worst->results.verdict);
  const std::string bad =
      fmt::format("{} of {} not good", thousands(tally.bad), counted(planned, "case", "cases"));
  const auto unrun = static_cast<std::size_t>(tally.summary[Outcome::kNotrun]);
  if (verdict == "green") return good_sentence(tally);
  if (verdict == "incomplete" || verdict == "interrupted") {
    const std::string what = verdict == "incomplete" ? "Incomplete" : "Interrupted";
    if (unrun == 0 && worst != nullptr) {
      const auto problems = run_problems(worst->model);
      return what + ": " + (problems.empty() ? good_sentence(tally) : problems.front().title);
    }
    return fmt::format("{}: {} of {} not run", what, thousands(unrun), counted(planned, "case", "cases"));
  }
  const std::string who = verdict == "machine" ? "The machine is red" : "Red";
  if (tally.bad > 0) return who + ": " + bad;
  const auto problems = run_problems(worst->model);
  return who + ": " + (problems.empty() ? "no case of its own explains it" : problems.front().title);
}

// ---- Writing ----

class Body {
 public:
  Body(const PageRequest& request, const std::vector<PageCase>& cases, const PageData& data,
       TextOutput& output)
      : request_(request), cases_(cases), data_(data), output_(output), tally_(tally_of(request, cases)) {}

  void write() {
    head();
    out("<main>\n");
    panel("gate", "Release gate", gate_panel(request_));
    reports();
    problems();
    changes();
    causes();
    matrix();
    list();
    devices();
    known_failures();
    panel("coverage", "Rules and their checks", coverage_panel(request_, cases_));
    warnings();
    surroundings();
    out("</main>\n");
    foot();
  }

 private:
  void out(std::string_view html) {
    written_ += html.size();
    output_.pending() += html;
    output_.passed();
  }
  void section(std::string_view id, std::string_view title) {
    out(fmt::format("<section id=\"{0}\" aria-labelledby=\"h-{0}\"><h2 id=\"h-{0}\">{1}</h2>\n", id, title));
  }
  void end_section() { out("</section>\n"); }

  void panel(std::string_view id, std::string_view title, const std::string& html) {
    if (html.empty()) return;
    section(id, title);
    out(html);
    end_section();
  }

  bool several() const { return request_.runs.size() > 1; }

  // Where there are several to tell apart.
  std::string run_name(std::size_t run) const {
    const RunPlanned& plan = request_.runs[run].model.plan();
    return several() ? plan.run_id : "";
  }

  // ---- The verdict ----

  void head() {
    const PageRun* worst = worst_run(request_);
    const std::string verdict = worst == nullptr ? "green" : worst->results.verdict;
    const std::string_view look = look_of_run(verdict);
    const int code = worst_code(request_);
    out("<a class=\"skip\" href=\"#h-cases\">To the cases</a>\n");
    out(fmt::format("<header class=\"{}\">\n<p class=\"kicker\">Proctor</p>\n", look));
    out(fmt::format("<h1><span class=\"sign\" aria-hidden=\"true\">{}</span> {}</h1>\n", sign_of(look),
                    html_text(sentence(request_, tally_))));
    const std::string_view meaning = code_meaning(code, verdict);
    out(fmt::format("<p class=\"exit\">Exit code <strong>{}</strong>{}{}.</p>\n", code,
                    meaning.empty() ? "" : ": ", meaning));
    if (!several() && worst != nullptr) about_run(*worst);
    if (several()) {
      const auto planned = static_cast<std::size_t>(tally_.summary.planned());
      out(fmt::format("<p class=\"meta\">{} runs, {}.</p>\n", request_.runs.size(),
                      counted(planned, "case", "cases")));
    }
    simulated();
    counts();
    share();
    out("</header>\n");
  }

  void about_run(const PageRun& run) {
    const RunPlanned& plan = run.model.plan();
    out(fmt::format(
        "<p class=\"meta\"><span>{}</span> on <span>{}</span>, {} · {} · run <span "
        "class=\"id\">{}</span></p>\n",
        time_html(plan.started), html_line(plan.hostname), run.model.ended() ? "complete" : "not finished",
        human_duration(Milliseconds(run.model.elapsed_ms())), html_line(plan.run_id)));
    if (const std::string tested = tested_text(plan.subject); !tested.empty())
      out("<p class=\"meta\">" + tested + "</p>\n");
  }

  static std::string tested_text(const Subject& subject) {
    if (!subject.commit.value) return "";
    std::string text = fmt::format("Commit <code>{}</code>", html_line(subject.commit.value->substr(0, 12)));
    if (subject.branch.value) text += fmt::format(" of <code>{}</code>", html_line(*subject.branch.value));
    if (subject.dirty.value == "true") text += ", with changes that are in no commit";
    return text;
  }

  void simulated() {
    std::set<std::string> topologies;
    std::size_t runs = 0;
    for (const PageRun& run : request_.runs) {
      if (run.model.simulated()) ++runs;
      if (run.model.plan().sim) topologies.insert(run.model.plan().sim->topology);
    }
    if (runs == 0) return;
    std::string what =
        runs == request_.runs.size() ? "Simulated" : counted(runs, "run is simulated", "runs are simulated");
    if (!topologies.empty())
      what += fmt::format(" ({})", html_line(joined({topologies.begin(), topologies.end()}, "; ")));
    out(fmt::format(
        "<p class=\"notice\"><strong>{}.</strong> No hardware was there: {} nothing about any device.</p>\n",
        what, runs == 1 ? "it says" : "they say"));
  }

  void counts() {
    out("<ul class=\"counts\">\n");
    for (const Outcome outcome : kAllOutcomes) {
      const int count = tally_.summary[outcome];
      if (count == 0) continue;
      const Verdict verdict{outcome, ""};
      const std::string_view look = look_of(verdict, meaning_of(verdict).standing);
      const std::string name(to_string(outcome));
      const std::string html =
          fmt::format("<strong>{}</strong> {}", thousands(static_cast<std::size_t>(count)), name);
      out(fmt::format("<li>{}</li>\n", state_link("outcome=" + name, badge_html(look, html))));
    }
    if (tally_.flaky > 0)
      out(fmt::format("<li>{}</li>\n",
                      state_link("mark=flaky", badge("known", thousands(tally_.flaky) + " flaky"))));
    if (tally_.fresh > 0)
      out(fmt::format("<li>{}</li>\n", state_link("new=1", badge("bad", thousands(tally_.fresh) + " new"))));
    out("</ul>\n");
  }

  // How much of it was what, as a bar from good to bad.
  void share() {
    constexpr double kWidth = 1000;
    std::map<std::string_view, double> counts;
    for (const Outcome outcome : kAllOutcomes) {
      const Verdict verdict{outcome, ""};
      counts[look_of(verdict, meaning_of(verdict).standing)] += tally_.summary[outcome];
    }
    if (tally_.summary.planned() == 0) return;
    out(fmt::format(
        "<svg class=\"share\" viewBox=\"0 0 {} 6\" width=\"100%\" height=\"6\" preserveAspectRatio=\"none\" "
        "aria-hidden=\"true\">",
        kWidth));
    double at = 0;
    for (const Look& look : all_looks()) {
      const double least = counts[look.name] > 0 ? kWidth / 200 : 0;  // a single one is seen
      const double width = std::max(least, kWidth * counts[look.name] / tally_.summary.planned());
      if (width > 0)
        out(fmt::format("<rect class=\"{}\" fill=\"{}\" x=\"{:.1f}\" width=\"{:.1f}\" height=\"6\"/>",
                        look.name, look.bar, at, width));
      at += width;
    }
    out("</svg>\n");
  }

  void reports() {
    if (!several()) return;
    section("reports", "Runs");
    HtmlTable table({"Run", "Verdict", "#Cases", "#Not good", "Started", "Host", "Stack"});
    for (std::size_t i = 0; i < request_.runs.size(); ++i) {
      const PageRun& run = request_.runs[i];
      const Tally tally = tally_of(request_, cases_, i);
      const RunPlanned& plan = run.model.plan();
      std::string name = html_line(plan.run_id);
      if (run.link) name = fmt::format("<a href=\"{}index.html\">{}</a>", html_text(*run.link), name);
      std::set<std::string> stacks;
      for (const Variant& variant : run.results.variants) stacks.insert(variant.stack);
      table.add({name,
                 badge(look_of_run(run.results.verdict),
                       fmt::format("{} (exit {})", run.results.verdict, run.results.exit_code)),
                 state_link("run=" + std::to_string(i),
                            thousands(static_cast<std::size_t>(tally.summary.planned()))),
                 thousands(tally.bad), time_html(plan.started), html_line(plan.hostname),
                 html_line(joined({stacks.begin(), stacks.end()}, ", "))});
    }
    out(table.html());
    end_section();
  }

  void problems() {
    section("problem", "Whose problem");
    std::vector<RunProblem> of_runs;
    for (std::size_t i = 0; i < request_.runs.size(); ++i) {
      for (RunProblem& problem : run_problems(request_.runs[i].model)) {
        if (problem.name != kUnexplained || tally_.bad == 0) of_runs.push_back(std::move(problem));
      }
    }
    if (tally_.bad == 0 && of_runs.empty()) {
      out("<p>Nobody's: nothing is bad.</p>\n");
      end_section();
      return;
    }
    out("<ul class=\"tiles\">\n");
    tile(Blame::kCode, "the code, or its test");
    tile(Blame::kMachine, "a device, a driver, the host");
    tile(Blame::kSetup, "configuration, or what stopped it");
    out("</ul>\n");
    for (const RunProblem& problem : of_runs) {
      out(fmt::format("<p class=\"problem\"><strong>{}.</strong> <span class=\"lines\">{}</span></p>\n",
                      html_line(problem.title), html_line(problem.message, 2000)));
    }
    end_section();
  }

  void tile(Blame blame, std::string_view words) {
    const std::size_t count = tally_.blames.at(static_cast<std::size_t>(blame));
    const std::string text = fmt::format("<strong>{}</strong> <span>{}</span> <small>{}</small>",
                                         thousands(count), to_string(blame), words);
    out(count == 0
            ? fmt::format("<li class=\"none\">{}</li>\n", text)
            : fmt::format("<li>{}</li>\n", state_link("problem=" + state_value(to_string(blame)), text)));
  }

  // ---- What changed ----

  void changes() {
    section("changes", "What changed");
    bool any = false;
    for (std::size_t i = 0; i < request_.runs.size(); ++i) {
      const PageRun& run = request_.runs[i];
      if (!run.changes) continue;
      any = true;
      changes_of(i, *run.changes);
    }
    const bool past =
        std::ranges::any_of(request_.runs, [](const PageRun& run) { return run.past != nullptr; });
    if (!any && past) {
      any = true;
      since_last_run();
    }
    if (!any) out("<p class=\"quiet\">This page was made without an earlier run to compare with.</p>\n");
    end_section();
  }

  void since_last_run() {
    const std::size_t old = tally_.bad - std::min(tally_.bad, tally_.fresh);
    if (tally_.bad == 0) {
      out("<p>Nothing is bad.</p>\n");
    } else {
      out(fmt::format("<p>{} against the runs before; {} longer.</p>\n",
                      state_link("new=1", counted(tally_.fresh, "case is newly bad", "cases are newly bad")),
                      counted(old, "is so", "are so")));
    }
  }

  void changes_of(std::size_t number_of_run, const PageChanges& changes) {
    const Comparison& comparison = changes.comparison;
    const PageRun& run = request_.runs[number_of_run];
    out(fmt::format("<p>Against run <span class=\"id\">{}</span> of {}{}.</p>\n",
                    html_line(changes.before.run_id), time_html(changes.before.started),
                    several() ? ", of run " + html_line(run_name(number_of_run)) : ""));
    const auto still = static_cast<std::size_t>(
        std::ranges::count(comparison.changes, Change::kStillFailing, &CaseChange::change));
    if (comparison.stack.empty() && comparison.programs.empty() && comparison.changes.size() == still &&
        comparison.only_before.empty() && comparison.only_after.empty()) {
      const std::string bad = still == 0 ? "" : fmt::format(", {} of them bad", thousands(still));
      out(fmt::format("<p>Nothing: {} ended as before{}.</p>\n",
                      counted(comparison.unchanged + still, "case", "cases"), bad));
      return;
    }
    facts(comparison);
    std::map<Change, std::vector<const CaseChange*>> classes;
    for (const CaseChange& change : comparison.changes) classes[change.change].push_back(&change);
    for (const auto& [change, found] : classes) change_class(change, found, changes, run);
    variants("Only before", comparison.only_before);
    variants("Only now", comparison.only_after);
    out(fmt::format("<p class=\"quiet\">{} ended as before.</p>\n",
                    counted(comparison.unchanged, "case", "cases")));
  }

  // The beginning, by which people know it.
  static std::string digest_html(const std::string& digest) {
    return digest.empty() ? "" : "<code>" + html_line(digest.substr(0, 12)) + "</code>";
  }

  void facts(const Comparison& comparison) {
    if (comparison.stack.empty() && comparison.programs.empty()) return;
    HtmlTable table({"Stack", "Before", "Now"});
    for (const FactChange& fact : comparison.stack) {
      table.add({html_line(fact.name), html_line(fact.before.value_or("not there")),
                 html_line(fact.after.value_or("not there"))});
    }
    for (const ProgramChange& program : comparison.programs) {
      table.add({"program of " + html_line(suite_name({program.suite, program.backend, {}, {}, false})),
                 digest_html(program.before), digest_html(program.after)});
    }
    out(table.html());
  }

  void change_class(Change change, const std::vector<const CaseChange*>& found, const PageChanges& changes,
                    const PageRun& run) {
    std::string words(to_string(change));
    std::ranges::replace(words, '_', ' ');
    const bool bad = change == Change::kRegression || change == Change::kNewFailing;
    out(fmt::format("<details{}><summary>{}: {}</summary><ul class=\"ids\">\n", bad ? " open" : "", words,
                    thousands(found.size())));
    for (std::size_t i = 0; i < std::min(found.size(), kMostChangesNamed); ++i) {
      const CaseChange& one = *found[i];
      const bool here = one.after != kNotThere;
      const std::string& id = here ? run.results.cases[one.after].id : changes.before.cases[one.before].id;
      std::string text = here ? case_link(id) : "<span class=\"id\">" + html_line(id) + "</span>";
      if (here && one.before != kNotThere) {
        text += fmt::format(" <small>{} → {}</small>",
                            html_line(to_string(changes.before.cases[one.before].verdict)),
                            html_line(to_string(run.results.cases[one.after].verdict)));
      }
      for (const MeasureChange& measure : one.measures) {
        text += fmt::format(" <small>{}: {:.4g} → {:.4g} {}</small>", html_line(measure.name), measure.before,
                            measure.after, html_line(measure.unit));
      }
      out("<li>" + text + "</li>\n");
    }
    if (found.size() > kMostChangesNamed)
      out(fmt::format("<li>and {} more</li>\n", thousands(found.size() - kMostChangesNamed)));
    out("</ul></details>\n");
  }

  void variants(std::string_view title, const std::vector<Variant>& found) {
    if (found.empty()) return;
    out(fmt::format("<p>{}, and so not compared: ", title));
    for (std::size_t i = 0; i < found.size(); ++i) out((i == 0 ? "" : "; ") + html_line(to_string(found[i])));
    out(".</p>\n");
  }

  // ---- Why ----

  struct CauseCases {
    std::size_t number = 0;
    bool bad = false;
    std::vector<const PageCase*> cases{};
  };

  std::vector<CauseCases> sorted_causes() const {
    std::map<std::size_t, CauseCases> found;
    for (const PageCase& test : cases_) {
      if (!test.odd) continue;
      const CaseResult& result = result_of(request_, test);
      if ((!test.bad && !result.flaky) || result.cause == kNoCause) continue;
      const std::size_t place = cause_number(request_, test.run, result.cause);
      CauseCases& cause = found[place];
      cause.number = place;
      cause.bad = cause.bad || test.bad;
      cause.cases.push_back(&test);
    }
    std::vector<CauseCases> causes;
    for (auto& [place, cause] : found) causes.push_back(std::move(cause));
    std::ranges::stable_sort(causes, [](const CauseCases& a, const CauseCases& b) {
      return a.bad != b.bad ? a.bad : a.cases.size() > b.cases.size();
    });
    return causes;
  }

  void causes() {
    section("causes", "Causes");
    const std::vector<CauseCases> causes = sorted_causes();
    if (causes.empty()) out("<p>None: nothing is bad.</p>\n");
    if (!causes.empty()) out("<ol class=\"causes\">\n");
    for (std::size_t i = 0; i < std::min(causes.size(), kMostCauses); ++i) cause(causes[i]);
    if (!causes.empty()) out("</ol>\n");
    if (causes.size() > kMostCauses) {
      std::size_t left = 0;
      for (std::size_t i = kMostCauses; i < causes.size(); ++i) left += causes[i].cases.size();
      out(fmt::format("<p>And {} more causes, of {}.</p>\n", thousands(causes.size() - kMostCauses),
                      counted(left, "case", "cases")));
    }
    reasons(Outcome::kSkip, "Skipped");
    reasons(Outcome::kNotrun, "Not run");
    end_section();
  }

  void cause(const CauseCases& cause) {
    const PageCase& first = *cause.cases.front();
    const PageRun& run = request_.runs[first.run];
    const CaseRecord& record = record_of(request_, first);
    const CaseResult& result = result_of(request_, first);
    const Diagnosis* diagnosis = diagnosis_of(run.model, record);
    const std::string_view look = cause.bad ? look_of(result.verdict, result.standing) : "known";
    out(fmt::format(
        "<li><p class=\"what\"><span class=\"many\">{}</span> {} <span class=\"headline\">{}</span></p>\n",
        state_link(fmt::format("cause={}", cause.number), counted(cause.cases.size(), "case", "cases")),
        badge(look == "good" ? "bad" : look, cause.bad ? to_string(result.verdict) : "flaky"),
        html_line(message_of(request_, first))));
    std::string who =
        fmt::format("Whose problem: <strong>{}</strong>", to_string(blame_in(run.model, record)));
    if (const std::string culprit = culprit_text(run.model, record); !culprit.empty())
      who += " (" + html_line(culprit) + ")";
    if (const std::string text = cause_text(diagnosis); !text.empty()) who += " · " + html_line(text);
    if (!cause.bad) who = "Bad first and then good";
    out("<p class=\"who\">" + who + "</p>\n");
    if (const std::string next = next_text(diagnosis); !next.empty())
      out("<p class=\"who\">Next: " + html_line(next) + "</p>\n");
    out("<p class=\"ids\">");
    for (std::size_t i = 0; i < std::min(cause.cases.size(), kMostNamedCases); ++i)
      out((i == 0 ? "" : ", ") + case_link(record_of(request_, *cause.cases[i]).planned.id));
    if (cause.cases.size() > kMostNamedCases)
      out(fmt::format(" and {} more", thousands(cause.cases.size() - kMostNamedCases)));
    out("</p></li>\n");
  }

  void reasons(Outcome outcome, std::string_view title) {
    std::map<std::string, std::size_t> reasons;
    std::size_t all = 0;
    for (const PageRun& run : request_.runs) {
      for (const CaseResult& result : run.results.cases) {
        if (result.verdict.outcome != outcome) continue;
        ++reasons[result.verdict.reason.text()];
        ++all;
      }
    }
    if (reasons.empty()) return;
    std::vector<std::pair<std::string, std::size_t>> sorted(reasons.begin(), reasons.end());
    std::ranges::stable_sort(sorted, [](const auto& a, const auto& b) { return a.second > b.second; });
    out(fmt::format("<details><summary>{}, by reason: {}</summary><ul>\n", title,
                    counted(all, "case", "cases")));
    for (std::size_t i = 0; i < std::min(sorted.size(), kMostReasons); ++i) {
      const auto& [reason, count] = sorted[i];
      const std::string text = reason.empty() ? "no reason" : html_line(reason);
      out(fmt::format(
          "<li>{} × {}</li>\n", thousands(count),
          state_link(fmt::format("outcome={}&amp;q={}", to_string(outcome), state_value(reason)), text)));
    }
    if (sorted.size() > kMostReasons)
      out(fmt::format("<li>and {} more reasons</li>\n", thousands(sorted.size() - kMostReasons)));
    out("</ul></details>\n");
  }

  // ---- Where ----

  struct Cell {
    std::array<std::size_t, kAllOutcomes.size()> outcomes{};
    std::size_t all = 0, good = 0, bad = 0, flaky = 0, known = 0, skip = 0, unrun = 0;
    std::uint32_t oldest = 0;        // the most runs in a row that one of its cases fails
    const PastRun* since = nullptr;  // the first of them
  };

  void matrix() {
    section("matrix", "Suites");
    std::map<std::size_t, Cell> cells;
    for (const PageCase& test : cases_) add_to(cells, test);
    if (cells.empty()) {
      out("<p>No case was planned.</p>\n");
      end_section();
      return;
    }
    HtmlTable table({"Suite", "Backend", "Stack", "Devices", "State", "#Cases", "#Good", "#Bad", "#Flaky",
                     "#Known", "#Skipped", "#Not run", "Bad since"});
    std::size_t place = 0;
    for (const PageRun& run : request_.runs) {
      for (const Variant& variant : run.results.variants) {
        const auto cell = cells.find(place);
        if (cell != cells.end()) table.add(matrix_row(place, variant, cell->second));
        ++place;
      }
    }
    out(table.html());
    end_section();
  }

  void add_to(std::map<std::size_t, Cell>& cells, const PageCase& test) const {
    const CaseResult& result = result_of(request_, test);
    Cell& cell = cells[variant_number(request_, test.run, result.variant)];
    ++cell.all;
    if (result.flaky) ++cell.flaky;
    if (test.bad && result.standing != Standing::kUnrun) {
      ++cell.bad;
      if (test.failing_runs > cell.oldest) {
        cell.oldest = test.failing_runs;
        cell.since = test.since == kNotThere ? nullptr : &request_.runs[test.run].past->runs[test.since];
      }
      return;
    }
    const std::string_view look = look_of(result.verdict, result.standing);
    ++(look == "good" ? cell.good : look == "known" ? cell.known : look == "skip" ? cell.skip : cell.unrun);
  }

  static std::pair<std::string_view, std::string_view> state_of(const Cell& cell) {
    if (cell.bad > 0) return {"bad", "bad"};
    if (cell.unrun > 0) return {"unrun", "not run"};
    if (cell.good == 0 && cell.known == 0) return {"skip", "skipped"};
    if (cell.flaky > 0) return {"known", "flaky"};
    return {"good", "good"};
  }

  static std::string age_html(const Cell& cell) {
    if (cell.bad == 0) return "";
    if (cell.since == nullptr) return "this run";
    return fmt::format("{} <small>{} runs</small>", time_html(cell.since->started), cell.oldest);
  }

  std::vector<std::string> matrix_row(std::size_t place, const Variant& variant, const Cell& cell) const {
    const auto count = [&](std::size_t value, const std::string& state) {
      return value == 0 ? std::string()
                        : state_link(fmt::format("variant={}{}", place, state), thousands(value));
    };
    const auto [look, state] = state_of(cell);
    std::string devices = html_line(variant.device_model);
    if (variant.simulated) devices += devices.empty() ? "simulated" : " <small>simulated</small>";
    const bool past =
        std::ranges::any_of(request_.runs, [](const PageRun& run) { return run.past != nullptr; });
    return {html_line(variant.suite),
            html_line(variant.backend == "none" ? "" : variant.backend),
            html_line(variant.stack),
            devices,
            badge(look, state),
            count(cell.all, ""),
            count(cell.good, "&amp;look=good"),
            count(cell.bad, "&amp;look=bad"),
            count(cell.flaky, "&amp;mark=flaky"),
            count(cell.known, "&amp;look=known"),
            count(cell.skip, "&amp;look=skip"),
            count(cell.unrun, "&amp;look=unrun"),
            past ? age_html(cell) : ""};
  }

  // ---- The cases ----

  void list() {
    section("cases", "Cases");
    out("<div id=\"explorer\" hidden></div>\n<div id=\"plain\">\n");
    std::size_t bad = 0;
    std::size_t shown = 0;
    for (const PageCase& test : cases_) {
      if (!test.bad) continue;
      ++bad;
      if (shown == kMostPlain || written_ > kMostPlainBytes) continue;
      ++shown;
      plain_case(test);
    }
    if (bad == 0) out("<p>No case is bad.</p>\n");
    if (bad > shown)
      out(fmt::format("<p>And {} more bad cases: <code>report.json</code> has all.</p>\n",
                      thousands(bad - shown)));
    out("</div>\n");
    left_out();
    end_section();
  }

  void plain_case(const PageCase& test) {
    const PageRun& run = request_.runs[test.run];
    const CaseRecord& record = record_of(request_, test);
    const CaseResult& result = result_of(request_, test);
    const std::string_view look = look_of(result.verdict, result.standing);
    out(fmt::format("<article><h3 class=\"id\">{}</h3>\n<p>{} {}</p>\n", html_line(record.planned.id),
                    badge(look == "good" ? "bad" : look, to_string(result.verdict)),
                    html_line(message_of(request_, test))));
    out(command_html(rerun_command(run.model, record)));
    out("</article>\n");
  }

  void left_out() {
    std::vector<std::string> said;
    if (data_.cases_left_out > 0)
      said.push_back(counted(data_.cases_left_out, "case is not in the list", "cases are not in the list"));
    if (data_.details_left_out > 0)
      said.push_back(counted(data_.details_left_out, "case is without its attempts",
                             "cases are without their attempts"));
    if (data_.logs_left_out > 0)
      said.push_back(counted(data_.logs_left_out, "log is linked only", "logs are linked only"));
    if (said.empty()) return;
    out(
        fmt::format("<p class=\"quiet\" id=\"left-out\">Left out, so that this page stays below {} MB: {}. "
                    "<code>report.json</code> and <code>logs/</code> have all.</p>\n",
                    request_.budget / 1'000'000, joined(said, "; ")));
  }

  // ---- The machine ----

  struct DeviceUse {
    std::size_t attempts = 0;
    std::size_t bad = 0;
    std::map<std::string, TelemetryFigure> peaks{};
  };

  static void add_figures(const std::vector<TelemetryFigure>& figures, DeviceUse& use) {
    for (const TelemetryFigure& figure : figures) {
      if (!figure.peak && !figure.delta && figure.seen.empty()) continue;
      const auto [found, is_new] = use.peaks.try_emplace(figure.name, figure);
      if (is_new) continue;
      TelemetryFigure& peak = found->second;
      if (figure.peak) peak.peak = std::max(peak.peak.value_or(*figure.peak), *figure.peak);
      if (figure.mean) peak.mean = std::max(peak.mean.value_or(*figure.mean), *figure.mean);
      if (figure.delta) peak.delta = peak.delta.value_or(0) + *figure.delta;
      for (const std::string& seen : figure.seen) {
        if (std::ranges::find(peak.seen, seen) == peak.seen.end()) peak.seen.push_back(seen);
      }
    }
  }

  static std::map<std::string, DeviceUse, std::less<>> uses_of(const RunModel& model) {
    std::map<std::string, DeviceUse, std::less<>> uses;
    for (const CaseRecord& record : model.cases()) {
      for (const Attempt& attempt : record.attempts) {
        const bool bad = is_bad(verdict_of(attempt).outcome);
        for (const std::string& device : attempt.start.devices) {
          DeviceUse& use = uses[device];
          ++use.attempts;
          if (bad) ++use.bad;
        }
        if (!attempt.end) continue;
        for (const DeviceTelemetry& device : attempt.end->telemetry.devices)
          add_figures(device.figures, uses[device.device]);
      }
    }
    return uses;
  }

  static std::string peaks_text(const std::string& device, const DeviceUse& use) {
    TelemetryInfo info;
    info.devices.push_back({device, {}});
    for (const auto& [name, figure] : use.peaks) info.devices.front().figures.push_back(figure);
    const std::string text = telemetry_text(info);
    return text.size() > device.size() + 2 ? text.substr(device.size() + 2) : "";
  }

  void devices() {
    section("devices", "Devices");
    bool any = false;
    for (std::size_t i = 0; i < request_.runs.size(); ++i) {
      const RunModel& model = request_.runs[i].model;
      if (model.plan().devices.empty()) continue;
      any = true;
      if (several()) out("<h3 class=\"id\">" + html_line(run_name(i)) + "</h3>\n");
      HtmlTable table({"Device", "Model", "State", "#Attempts", "#Bad", "Peaks"});
      const auto uses = uses_of(model);
      for (const PlannedDevice& device : model.plan().devices) table.add(device_row(model, device, uses));
      out(table.html());
    }
    if (!any) out("<p>None was used.</p>\n");
    end_section();
  }

  static std::vector<std::string> device_row(const RunModel& model, const PlannedDevice& device,
                                             const std::map<std::string, DeviceUse, std::less<>>& uses) {
    static const DeviceUse kUnused;
    const auto found = uses.find(device.id);
    const DeviceUse& use = found == uses.end() ? kUnused : found->second;
    std::string_view look = "good";
    std::string state = "in use";
    std::string evidence;
    for (const DeviceHealth& health : model.health()) {
      if (health.device != device.id) continue;
      const bool sick = health.what == HealthFact::kDrained || health.what == HealthFact::kLost ||
                        health.what == HealthFact::kL1Fail;
      if (!sick) continue;
      look = "bad";
      state = health.what == HealthFact::kDrained ? "drained" : "suspect";
      evidence = health.evidence;
    }
    if (use.attempts == 0 && look == "good") look = "skip", state = "unused";
    std::string cell = badge(look, state);
    if (!evidence.empty()) cell += " <small>" + html_line(evidence) + "</small>";
    std::string model_cell = html_line(model_text(device));
    if (device.simulated) model_cell += " <small>simulated</small>";
    const auto count = [&](std::size_t value, const std::string& more) {
      return value == 0 ? std::string()
                        : state_link("device=" + state_value(device.id) + more, thousands(value));
    };
    return {"<span class=\"id\">" + html_line(device.id) + "</span>",
            model_cell,
            cell,
            count(use.attempts, ""),
            count(use.bad, "&amp;look=bad"),
            html_line(peaks_text(device.id, use))};
  }

  // An entry of the lists of known failures. What expires first comes first; in the journal of an older version stands
  // nothing but where it is known from.
  struct KnownKey {
    bool is_older = false;
    std::string until{};
    std::string at{};
    std::string source{};
    auto operator<=>(const KnownKey&) const = default;
  };
  struct Known {
    std::string owner{};
    std::optional<int> days{};  // by the last of the runs
    std::vector<const PageCase*> cases{};
  };

  std::map<KnownKey, Known> known() const {
    std::map<KnownKey, Known> known;
    const auto key_of = [](const KnownFailureEntry& entry) {
      return KnownKey{false, entry.expires, entry.at,
                      entry.issue.empty() ? entry.source : entry.source + ", " + entry.issue};
    };
    for (const PageRun& run : request_.runs) {
      if (!run.model.plan().known_failures) continue;
      for (const KnownFailureEntry& entry : run.model.plan().known_failures->entries) {
        Known& here = known[key_of(entry)];
        here.owner = entry.owner;
        const auto days = days_left(run.model, entry);
        if (days) here.days = std::min(here.days.value_or(*days), *days);
      }
    }
    for (const PageCase& test : cases_) {
      if (!test.odd || result_of(request_, test).verdict.outcome != Outcome::kXfail) continue;
      const CaseRecord& record = record_of(request_, test);
      if (!record.end || record.end->known_failure.empty()) continue;
      const KnownFailureEntry* entry = request_.runs[test.run].model.known_failure(record);
      known[entry != nullptr ? key_of(*entry) : KnownKey{true, "", "", record.end->known_failure}]
          .cases.push_back(&test);
    }
    return known;
  }

  void known_failures() {
    section("known", "Known failures");
    const auto all = known();
    if (all.empty()) out("<p>None is listed.</p>\n");
    HtmlTable table({"Days left", "Until", "Entry", "Known from", "Owner", "#Cases", "Which"});
    std::size_t shown = 0;
    for (const auto& [key, entry] : all) {
      if (++shown > kMostKnown) break;
      std::string ids;
      for (std::size_t i = 0; i < std::min(entry.cases.size(), kMostNamedCases); ++i)
        ids += (i == 0 ? "" : ", ") + case_link(record_of(request_, *entry.cases[i]).planned.id);
      if (entry.cases.size() > kMostNamedCases)
        ids += fmt::format(" and {} more", thousands(entry.cases.size() - kMostNamedCases));
      table.add({entry.days ? badge(*entry.days < kFewDays ? "bad" : "known", days_left_words(*entry.days))
                            : "unknown",
                 html_line(key.until), html_line(key.at), html_line(key.source), html_line(entry.owner),
                 thousands(entry.cases.size()),
                 entry.cases.empty() ? "no case failed so" : "<span class=\"ids\">" + ids + "</span>"});
    }
    out(table.html());
    if (shown > kMostKnown) {
      out(fmt::format("<p>And {} more: <code>report.json</code> has all.</p>\n",
                      thousands(all.size() - kMostKnown)));
    }
    end_section();
  }

  void warnings() {
    section("warnings", "Warnings");
    std::size_t shown = 0;
    for (const PageRun& run : request_.runs) shown += run.model.warnings().size();
    if (shown == 0) out("<p>None.</p>\n");
    std::size_t left = kMostWarnings;
    if (shown > 0) out("<ul>\n");
    for (const PageRun& run : request_.runs) {
      for (const Warning& warning : run.model.warnings()) {
        if (left == 0) break;
        --left;
        out(fmt::format("<li><code>{}</code> {}</li>\n", html_line(warning.code.text()),
                        html_line(warning.text, 2000)));
      }
    }
    if (shown > kMostWarnings) out(fmt::format("<li>and {} more</li>\n", thousands(shown - kMostWarnings)));
    if (shown > 0) out("</ul>\n");
    end_section();
  }

  void surroundings() {
    section("where", "Where it ran");
    for (std::size_t i = 0; i < request_.runs.size(); ++i) {
      if (several()) out("<h3 class=\"id\">" + html_line(run_name(i)) + "</h3>\n");
      surroundings_of(request_.runs[i]);
    }
    end_section();
  }

  void fact(std::string_view name, const std::string& html) {
    if (!html.empty()) out(fmt::format("<dt>{}</dt><dd>{}</dd>\n", name, html));
  }

  void surroundings_of(const PageRun& run) {
    const RunPlanned& plan = run.model.plan();
    out("<dl>\n");
    fact("Host", html_line(plan.hostname));
    fact("Started", time_html(plan.started));
    fact("Finished", run.model.ended() ? time_html(run.model.ended()->finished) : "not finished");
    std::string line;
    for (const std::string& word : plan.command_line) line += (line.empty() ? "" : " ") + shell_quote(word);
    fact("Started as", "<code>" + html_line(line, kCommandLineBytes) + "</code> in <code>" +
                           html_line(plan.directory) + "</code>");
    std::string containment = "<code>" + html_line(plan.containment.layer) + "</code>";
    for (const std::string& gap : plan.containment.not_guaranteed)
      containment += "<br>not guaranteed: " + html_line(gap);
    fact("Containment", containment);
    if (plan.sim) fact("Simulated", html_line(plan.sim->topology) + " by " + html_line(plan.sim->driver));
    if (plan.shard) fact("Shard", fmt::format("{} of {}", plan.shard->index, plan.shard->count));
    fact("Repository", html_line(plan.subject.repository.value.value_or("")));
    fact("Build", html_line(plan.subject.build.value.value_or("")));
    fact("Plan", "<code>" + html_line(plan.plan_digest.substr(0, 12)) + "</code>");
    files(run);
    out("</dl>\n");
    suites(run);
    stack(run);
  }

  void files(const PageRun& run) {
    if (!run.link) return;
    std::string html;
    for (const std::string_view file : request_.files_beside) {
      html += fmt::format("{}<a href=\"{}{}\">{}</a>", html.empty() ? "" : ", ", html_text(*run.link), file,
                          file);
    }
    fact("Beside it", html);
  }

  void suites(const PageRun& run) {
    if (run.model.plan().suites.empty()) return;
    HtmlTable table({"Suite", "Kind", "Command", "Program"});
    for (const PlannedSuite& suite : run.model.plan().suites) {
      const ProgramRead read = run.model.program_read(suite);
      std::string command;
      for (const std::string& word : suite.command)
        command += (command.empty() ? "" : " ") + shell_quote(word);
      table.add({html_line(suite_name({suite.name, suite.backend, {}, {}, false})), html_line(suite.kind),
                 "<code>" + html_line(command) + "</code>",
                 read.sha256.empty() ? html_line(read.reason) : digest_html(read.sha256)});
    }
    out("<details><summary>Programs</summary>" + table.html() + "</details>\n");
  }

  void stack(const PageRun& run) {
    const RunPlanned& plan = run.model.plan();
    if (plan.fingerprint.empty() && plan.stack.empty()) return;
    HtmlTable table({"Layer", "Value", "Source"});
    std::set<std::string_view> said;
    for (const StackFact& fact : plan.fingerprint) {
      said.insert(fact.name);
      table.add({html_line(fact.name),
                 fact.value    ? html_line(*fact.value)
                 : fact.absent ? "<em>not there</em>"
                               : "<em>unknown</em>",
                 html_line(fact.value ? fact.source : fact.reason)});
    }
    for (const auto& [name, value] : plan.stack) {
      if (said.insert(name).second) table.add({html_line(name), html_line(value), ""});
    }
    out("<details><summary>Driver stack</summary>" + table.html() + "</details>\n");
  }

  void foot() {
    std::set<std::string> versions;
    for (const PageRun& run : request_.runs) versions.insert(run.model.plan().proctor_version);
    out(
        fmt::format("<footer><p>Made by Proctor {}. This page is one file and reads nothing from any "
                    "network.</p></footer>\n",
                    html_line(joined({versions.begin(), versions.end()}, ", "))));
  }

  const PageRequest& request_;
  const std::vector<PageCase>& cases_;
  const PageData& data_;
  TextOutput& output_;
  Tally tally_;
  std::size_t written_ = 0;
};

}  // namespace

std::string page_title(const PageRequest& request, const std::vector<PageCase>& cases) {
  return sentence(request, tally_of(request, cases));
}

void write_page_body(const PageRequest& request, const std::vector<PageCase>& cases, const PageData& data,
                     TextOutput& output) {
  Body(request, cases, data, output).write();
}

}  // namespace proctor
