#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "harness/core/duration.h"
#include "harness/core/exit_code.h"
#include "harness/core/words.h"
#include "reports/model/exit_code.h"
#include "reports/model/run_problems.h"
#include "reports/page/page_parts.h"
#include "reports/page/page_sections.h"

namespace proctor {
namespace {

using nlohmann::json;

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
      fmt::format("{} of {} not good", thousands(tally.bad), counted(planned, words::cases));
  const auto unrun = static_cast<std::size_t>(tally.summary[Outcome::kNotrun]);
  if (verdict == "green") return good_sentence(tally);
  if (verdict == "incomplete" || verdict == "interrupted") {
    const std::string what = verdict == "incomplete" ? "Incomplete" : "Interrupted";
    if (unrun == 0 && worst != nullptr) {
      const auto problems = run_problems(worst->model);
      return what + ": " + (problems.empty() ? good_sentence(tally) : problems.front().title);
    }
    return fmt::format("{}: {} of {} {}", what, thousands(unrun), counted(planned, words::cases),
                       words::not_run.one);
  }
  const std::string who = verdict == "machine" ? "The machine is red" : "Red";
  if (tally.bad > 0) return who + ": " + bad;
  const auto problems = run_problems(worst->model);
  return who + ": " + (problems.empty() ? "no case of its own explains it" : problems.front().title);
}

json about_run(const PageRun& run) {
  const RunPlanned& plan = run.model.plan();
  const Subject& subject = plan.subject;
  return {{"started", time_text(plan.started)},
          {"host", plan.hostname},
          {"state", run.model.ended() ? "complete" : "not finished"},
          {"took", human_duration(Milliseconds(run.model.elapsed_ms()))},
          {"id", plan.run_id},
          {"commit", short_digest(subject.commit.value.value_or(""))},
          {"branch", subject.branch.value.value_or("")},
          {"dirty", subject.dirty.value == "true"}};
}

json simulated_notice(const PageRequest& request) {
  std::set<std::string> topologies;
  std::size_t runs = 0;
  for (const PageRun& run : request.runs) {
    if (run.model.simulated()) ++runs;
    if (run.model.plan().sim) topologies.insert(run.model.plan().sim->topology);
  }
  if (runs == 0) return nullptr;
  return {{"what", runs == request.runs.size() ? "Simulated" : counted(runs, words::simulated_runs)},
          {"topologies", joined({topologies.begin(), topologies.end()}, "; ")},
          {"they_say", runs == 1 ? "it says" : "they say"}};
}

json outcome_counts(const Tally& tally) {
  json counts = json::array();
  const auto add = [&counts](std::size_t count, json badge_fields, const std::string& state) {
    if (count == 0) return;
    badge_fields["href"] = "#" + state;
    counts.push_back(std::move(badge_fields));
  };
  for (const Outcome outcome : kAllOutcomes) {
    const auto count = static_cast<std::size_t>(tally.summary[outcome]);
    const std::string name(to_string(outcome));
    json shown = badge(look_of(outcome), name);
    shown["strong"] = count;
    add(count, std::move(shown), "outcome=" + name);
  }
  add(tally.flaky, badge("known", fmt::format("{} {}", thousands(tally.flaky), words::flaky.one)),
      "mark=flaky");
  add(tally.fresh, badge("bad", fmt::format("{} {}", thousands(tally.fresh), words::fresh.one)), "new=1");
  return counts;
}

// How much of it was what, as a bar from good to bad.
json share_of_looks(const Tally& tally) {
  constexpr double kWidth = 1000;
  std::map<std::string_view, double> counts;
  for (const Outcome outcome : kAllOutcomes) counts[look_of(outcome)] += tally.summary[outcome];
  if (tally.summary.planned() == 0) return nullptr;
  json bars = json::array();
  double at = 0;
  for (const Look& look : all_looks()) {
    const double least = counts[look.name] > 0 ? kWidth / 200 : 0;  // a single one is seen
    const double width = std::max(least, kWidth * counts[look.name] / tally.summary.planned());
    if (width > 0)
      bars.push_back(
          {{"look", look.name}, {"x", fmt::format("{:.1f}", at)}, {"width", fmt::format("{:.1f}", width)}});
    at += width;
  }
  return json::object({{"bars", bars}});
}

json problem_tile(const Tally& tally, Blame blame, std::string_view what) {
  const std::size_t count = tally.blames.at(static_cast<std::size_t>(blame));
  const std::string name(to_string(blame));
  return {{"count", count},
          {"blame", name},
          {"what", what},
          {"href", count == 0 ? "" : "#problem=" + state_value(name)}};
}

}  // namespace

Tally tally_of(const PageRequest& request, const std::vector<PageCase>& cases,
               std::optional<std::size_t> run) {
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

json title_section(const PageView& view) { return sentence(view.request, view.tally); }

json verdict_section(const PageView& view) {
  const PageRequest& request = view.request;
  const PageRun* worst = worst_run(request);
  const std::string verdict = worst == nullptr ? "green" : worst->results.verdict;
  const std::string_view look = look_of_run(verdict);
  const int code = worst_code(request);
  return {{"look", look},
          {"sign", sign_of(look)},
          {"title", title_section(view)},
          {"code", std::to_string(code)},
          {"meaning", code_meaning(code, verdict)},
          {"run", view.several() || worst == nullptr ? json() : about_run(*worst)},
          {"runs", view.several() ? counted(request.runs.size(), words::runs) : ""},
          {"cases", counted(static_cast<std::size_t>(view.tally.summary.planned()), words::cases)},
          {"simulated", simulated_notice(request)},
          {"counts", outcome_counts(view.tally)},
          {"share", share_of_looks(view.tally)}};
}

json reports_section(const PageView& view) {
  if (!view.several()) return nullptr;
  PageTable table({words::run.one, "Verdict", "#Cases", "#Not good", "Started", "Host", "Stack"});
  for (std::size_t i = 0; i < view.request.runs.size(); ++i) {
    const PageRun& run = view.request.runs[i];
    const Tally tally = tally_of(view.request, view.cases, i);
    const RunPlanned& plan = run.model.plan();
    std::set<std::string> stacks;
    for (const Variant& variant : run.results.variants) stacks.insert(variant.stack);
    const std::string verdict = fmt::format("{} (exit {})", run.results.verdict, run.results.exit_code);
    table.add({{{"text", plan.run_id}, {"href", run.link ? *run.link + "index.html" : ""}},
               json::object({{"badge", badge(look_of_run(run.results.verdict), verdict)}}),
               linked(static_cast<std::size_t>(tally.summary.planned()), "run=" + std::to_string(i)),
               tally.bad,
               time_text(plan.started),
               plan.hostname,
               joined({stacks.begin(), stacks.end()}, ", ")});
  }
  return table.view();
}

json problem_section(const PageView& view) {
  const Tally& tally = view.tally;
  json of_runs = json::array();
  for (const PageRun& run : view.request.runs) {
    for (const RunProblem& problem : run_problems(run.model)) {
      if (problem.name != kUnexplained || tally.bad == 0)
        of_runs.push_back({{"title", problem.title}, {"lines", problem.message}});
    }
  }
  return {{"nothing", tally.bad == 0 && of_runs.empty()},
          {"tiles",
           {problem_tile(tally, Blame::kCode, "the code, or its test"),
            problem_tile(tally, Blame::kMachine, "a device, a driver, the host"),
            problem_tile(tally, Blame::kSetup, "configuration, or what stopped it")}},
          {"of_runs", of_runs}};
}

}  // namespace proctor
