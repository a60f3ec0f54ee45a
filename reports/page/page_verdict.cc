#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <set>
#include <utility>

#include "harness/base/duration.h"
#include "harness/base/text.h"
#include "harness/base/words.h"
#include "harness/journal/outcome_meaning.h"
#include "reports/page/page_sections.h"
#include "reports/page/page_template.h"
#include "reports/page/page_text.h"
#include "reports/resolve/device_verdict.h"
#include "reports/resolve/devices.h"
#include "reports/resolve/report_text.h"
#include "reports/resolve/rerun.h"
#include "reports/resolve/run_end.h"

namespace proctor {
namespace {

using nlohmann::json;

// A run of `proctor accept` exits with the code of its acceptance.
int code_of_run(const PageRun& run) {
  return run.accept.report ? run.accept.report->exit_code : run.resolved.shell_exit_code;
}

RunVerdict verdict_of_run(const PageRun& run) {
  return run.accept.report ? run.accept.report->verdict : run.resolved.verdict;
}

// Returns null for a page without runs.
const PageRun* worst_run(const PageRequest& request) {
  const auto worst = std::ranges::max_element(request.runs, {}, verdict_of_run);
  return worst == request.runs.end() ? nullptr : &*worst;
}

// Returns the combined verdict of all runs.
RunVerdict verdict_of_runs(const PageRequest& request) {
  const PageRun* worst = worst_run(request);
  return worst == nullptr ? RunVerdict::kPassed : verdict_of_run(*worst);
}

RunVerdict verdict_of_page(const PageRequest& request) {
  const PageGate* gate = gate_of_page(request);
  return gate != nullptr ? passed_or_failed(gate->passed) : verdict_of_runs(request);
}

std::string_view code_meaning(RunVerdict verdict, const Tally& tally) {
  switch (verdict) {
    case RunVerdict::kPassed:
      return "";
    case RunVerdict::kFailed:
      return tally.failed == 0 && tally.flaky > 0 ? "cases failed and then passed" : "";
    case RunVerdict::kMachineFailed:
      return "retry on another machine";
    case RunVerdict::kIncomplete:
      return "something planned has no result";
    case RunVerdict::kInterrupted:
      return "it was stopped, or killed";
  }
  return "";
}

// Returns the device verdict of the run. On a page of several runs each run has its own.
std::optional<DeviceVerdict> devices_of_run(const PageRun& run) {
  std::optional<DeviceVerdict> verdict = run.resolved.device_verdict;
  if (verdict) verdict->command = verdict->command_in(directory_of_run(run.resolved.plan));
  return verdict;
}

std::optional<DeviceVerdict> devices_of_page(const PageRequest& request) {
  return request.runs.size() == 1 && !request.runs.front().accept.report && gate_of_page(request) == nullptr
             ? devices_of_run(request.runs.front())
             : std::nullopt;
}

// Returns ", 3 skipped"; "" for 0.
std::string and_count(int count, std::string_view words) {
  return count == 0 ? "" : fmt::format(", {} {}", thousands(count), words);
}

// Returns the counts of cases that do not determine the verdict.
std::string other_counts(const Tally& tally) {
  return and_count(tally.not_run, "not run") + and_count(tally.flaky, "flaky");
}

// The sentence beside a device verdict: "233 of 235 cases passed, 2 failed".
std::string counts_sentence(const Tally& tally) {
  return fmt::format("{} of {} passed", thousands(tally.summary[Outcome::kPass]),
                     count_text(tally.summary.planned(), "case")) +
         and_count(tally.failed, "failed") + other_counts(tally);
}

// Returns "37 of 10,000 cases".
std::string share_of_cases(int count, const Tally& tally) {
  return thousands(count) + " of " + count_text(tally.summary.planned(), "case");
}

std::string passed_details(const Tally& tally) {
  return share_of_cases(tally.summary[Outcome::kPass], tally) +
         and_count(tally.summary[Outcome::kXfail], "known") +
         and_count(tally.summary[Outcome::kXpass], "passed unexpectedly") +
         and_count(tally.summary[Outcome::kSkip], "skipped") + and_count(tally.flaky, "flaky");
}

// Returns the text after the verdict.
std::string details(const PageRequest& request, const Tally& tally) {
  const RunVerdict verdict = verdict_of_runs(request);
  if (verdict == RunVerdict::kPassed) return passed_details(tally);
  const bool is_open = verdict == RunVerdict::kIncomplete || verdict == RunVerdict::kInterrupted;
  if (!is_open && tally.failed > 0) return share_of_cases(tally.failed, tally) + other_counts(tally);
  if (tally.not_run > 0)
    return share_of_cases(tally.not_run, tally) + " not run" + and_count(tally.failed, "failed") +
           and_count(tally.flaky, "flaky");
  const auto& problems = worst_run(request)->resolved.problems;
  if (problems.empty()) return is_open ? passed_details(tally) : "no single case explains it";
  if (problems.front().name != kFlakyProblem) return problems.front().title;
  return share_of_cases(tally.flaky, tally) + " flaky";
}

std::string sentence(const PageRequest& request, const Tally& tally) {
  return title_of(verdict_of_runs(request)) + ": " + details(request, tally);
}

json about_run(const PageRun& run) {
  const RunPlanned& plan = run.resolved.plan;
  const Subject& subject = plan.subject;
  return {{"started", time_text(plan.started)},
          {"host", plan.hostname},
          {"state", run.resolved.ended ? "complete" : "not finished"},
          {"took", human_duration(Milliseconds(run.resolved.elapsed_ms))},
          {"id", plan.run_id},
          {"commit", short_digest(subject.commit.value.value_or(""))},
          {"commit_href", commit_address(subject)},
          {"branch", subject.branch.value.value_or("")},
          {"dirty", subject.dirty.value == "true"}};
}

json simulated_notice(const PageRequest& request) {
  std::set<std::string> topologies;
  std::size_t runs = 0;
  for (const PageRun& run : request.runs) {
    if (run.resolved.simulated) ++runs;
    if (run.resolved.plan.sim) topologies.insert(run.resolved.plan.sim->topology);
  }
  if (runs == 0) return nullptr;
  const std::string some = fmt::format("{} {} simulated", count_text(runs, "run"), plural(runs, "is", "are"));
  return {{"what", runs == request.runs.size() ? "Simulated" : some},
          {"topologies", joined({topologies.begin(), topologies.end()}, "; ")},
          {"they_say", runs == 1 ? "it says" : "they say"}};
}

// Ordered from passed to failed.
auto styles_from_passed() { return std::views::reverse(all_styles()); }

std::size_t count_of(const Tally& tally, std::string_view style) {
  const auto found = tally.styles.find(style);
  return found == tally.styles.end() ? 0 : found->second;
}

json style_counts(const Tally& tally) {
  json counts = json::array();
  const auto add = [&counts](std::size_t count, std::string_view style, std::string_view text,
                             const std::string& state) {
    if (count == 0) return;
    counts.push_back(badge(style, text));
    counts.back().update({{"href", "#" + state}, {"strong", count}});
  };
  for (const Style& style : styles_from_passed())
    add(count_of(tally, style.name), style.name, label_of_style(style.name),
        fmt::format("look={}", style.name));
  add(static_cast<std::size_t>(tally.fresh), "failed", "new", "new=1");
  return counts;
}

// Returns a bar with the share of each look, from failed to passed.
json share_of_styles(const Tally& tally) {
  constexpr double kWidth = 1000;
  if (tally.summary.planned() == 0) return nullptr;
  json bars = json::array();
  double at = 0;
  for (const Style& style : all_styles()) {
    const auto count = static_cast<double>(count_of(tally, style.name));
    const double least = count > 0 ? kWidth / 200 : 0;  // a single case stays visible
    const double width = std::max(least, kWidth * count / tally.summary.planned());
    if (width > 0)
      bars.push_back(
          {{"look", style.name}, {"x", fmt::format("{:.1f}", at)}, {"width", fmt::format("{:.1f}", width)}});
    at += width;
  }
  return json::object({{"bars", bars}});
}

// Returns the problems of the runs that no case has.
json problems_of_runs(const PageView& view) {
  json list = json::array();
  for (const PageRun& run : view.request.runs) {
    for (const RunProblem& problem : run.resolved.problems) {
      if (problem.name == kUnexplained && view.tally.failed + view.tally.not_run > 0) continue;
      if (run.accept.report && (problem.name == kUnexplained || problem.name == kDeviceProblem)) continue;
      if (problem.name == kDeviceProblem && devices_of_run(run))
        continue;  // the title or a device sentence has it
      const std::size_t line_ends = problem.message.find('\n');
      const bool has_more = line_ends != std::string::npos;
      std::string said = problem.message.substr(0, line_ends);
      if (said.ends_with(':')) said.back() = '.';
      list.push_back({{"title", problem.title},
                      {"said", std::move(said)},
                      {"lines", has_more ? problem.message.substr(line_ends + 1) : ""}});
    }
  }
  return list;
}

// Returns the device verdict of each run that is not in the title, with the command that gives more evidence.
json suspicions_of_devices(const PageRequest& request) {
  json list = json::array();
  for (const PageRun& run : request.runs) {
    const RunPlanned& plan = run.resolved.plan;
    if (run.accept.report) continue;  // the acceptance has the device and the next step
    if (const auto devices = devices_of_run(run)) {
      if (!devices_of_page(request))
        list.push_back(
            {{"sentence", devices->sentence}, {"ask", devices->advice}, {"command", devices->command}});
      continue;
    }
    const auto& suspicions = run.resolved.device_suspicions;
    for (std::size_t i = 0; i < suspicions.size(); ++i) {
      const bool is_last = i + 1 == suspicions.size();
      list.push_back({{"sentence", suspicions[i].sentence},
                      {"ask", "Code or device?"},
                      {"command", is_last ? code_or_device_command(plan, directory_of_run(plan)) : ""}});
    }
  }
  return list;
}

// Returns why files of the runs are ignored.
json ignored_files(const PageRequest& request) {
  std::vector<std::string> why;
  for (const PageRun& run : request.runs) why.push_back(run.accept.warning);
  std::erase(why, "");
  return said_lines(why);
}

// ---- The gate, where it judged a run of the page ----

constexpr std::size_t kMostFailedRules = 5;

std::string gate_title(RunVerdict verdict) { return "Gate " + describe(verdict); }

std::string gate_sentence(const PageGate& gate) {
  const auto failed = std::ranges::count(gate.cells, false, &PageGateCell::passed);
  return fmt::format("{}: {}", gate_title(passed_or_failed(gate.passed)),
                     gate_details(gate.cells.size(), static_cast<std::size_t>(failed), gate.failed.size()));
}

// Returns the rules that do not hold, each with its first reason.
json failed_rules(const PageGate& gate) {
  json list = first_of(gate.failed, kMostFailedRules, [](const PageGateRule& rule) {
    const std::string where = rule.cell.empty() ? "all runs" : rule.cell;
    const std::string why = rule.reasons.empty() ? rule.value : rule.reasons.front();
    return json{{"badge", badge("failed", rule.rule)}, {"why", fmt::format("{}: {}", where, why)}};
  });
  if (gate.failed.size() > kMostFailedRules)
    list.push_back({{"why", fmt::format("and {} more", thousands(gate.failed.size() - kMostFailedRules))}});
  return list;
}

json owner_tile(const Tally& tally, FailureOwner cause, std::string_view what) {
  const int count = tally.blames.at(static_cast<std::size_t>(cause));
  const std::string name(to_string(cause));
  return {{"count", count},
          {"owner", name},
          {"what", what},
          {"href", count == 0 ? "" : "#owner=" + state_value(name)}};
}

}  // namespace

const PageGate* gate_of_page(const PageRequest& request) {
  if (request.gate == nullptr) return nullptr;
  const bool is_judged = std::ranges::any_of(
      request.runs, [&](const PageRun& run) { return request.gate->journals.contains(run.journal_sha256); });
  return is_judged ? request.gate : nullptr;
}

Tally tally_of(const PageRequest& request, const std::vector<PageCase>& cases,
               std::optional<std::size_t> run) {
  Tally tally;
  for (std::size_t i = 0; i < request.runs.size(); ++i) {
    if (run && i != *run) continue;
    const Summary& summary = request.runs[i].resolved.summary;
    for (const Outcome outcome : kAllOutcomes) tally.summary[outcome] += summary[outcome];
  }
  for (const PageCase& shown : cases) {
    if (run && shown.run != *run) continue;
    ++tally.styles[counted_as(shown.test)];
    if (shown.test.flaky) ++tally.flaky;
    if (shown.is_new) ++tally.fresh;
    if (!shown.test.bad) continue;
    ++(shown.test.verdict.outcome == Outcome::kNotrun ? tally.not_run : tally.failed);
    ++tally.blames.at(static_cast<std::size_t>(shown.test.problem));
  }
  return tally;
}

json title_section(const PageView& view) {
  const PageGate* gate = gate_of_page(view.request);
  if (gate != nullptr) return gate_sentence(*gate);
  const std::string title = title_of(verdict_of_page(view.request)) + ": ";
  if (const AcceptReport* accept = acceptance_of_page(view.request)) return title + accept_details(*accept);
  const auto devices = devices_of_page(view.request);
  if (!devices) return sentence(view.request, view.tally);
  // A title has no full stop.
  return title + devices->sentence.substr(0, devices->sentence.find_last_not_of('.') + 1);
}

json verdict_section(const PageView& view) {
  const PageRequest& request = view.request;
  const PageRun* worst = worst_run(request);
  const PageGate* gate = gate_of_page(request);
  const std::string_view style = style_of(verdict_of_page(request));
  const int code = worst == nullptr ? kExitGreen : code_of_run(*worst);
  const auto devices = devices_of_page(request);
  const AcceptReport* accept = acceptance_of_page(request);
  return {{"look", style},
          {"sign", sign_of(style)},
          {"title", title_section(view)},
          {"sentence", accept != nullptr ? fmt::format("Level {}", accept->level)
                       : devices         ? counts_sentence(view.tally)
                       : gate == nullptr ? ""
                                         : sentence(request, view.tally)},
          {"device", devices ? json{{"more", said_lines(devices->more)},
                                    {"ask", devices->advice},
                                    {"command", devices->command}}
                             : json()},
          {"whys", gate == nullptr ? json() : failed_rules(*gate)},
          {"code", std::to_string(code)},
          {"meaning", accept != nullptr ? "" : code_meaning(verdict_of_runs(request), view.tally)},
          {"accept_command", accept != nullptr ? accept->command_line : ""},
          {"ignored", ignored_files(request)},
          {"of_runs", problems_of_runs(view)},
          {"doubts", suspicions_of_devices(request)},
          {"run", view.several() || worst == nullptr ? json() : about_run(*worst)},
          {"runs", view.several() ? count_text(request.runs.size(), "run") : ""},
          {"cases", count_text(view.tally.summary.planned(), "case")},
          {"simulated", simulated_notice(request)},
          {"counts", accept != nullptr ? json() : listed(style_counts(view.tally))},
          {"share", accept != nullptr ? json() : share_of_styles(view.tally)}};
}

json bar_section(const PageView& view) {
  const PageGate* gate = gate_of_page(view.request);
  const AcceptReport* accept = acceptance_of_page(view.request);
  const RunVerdict verdict = verdict_of_page(view.request);
  const std::string_view style = style_of(verdict);
  json links = json::array();
  links.push_back({{"href", "#top"},
                   {"look", style},
                   {"sign", sign_of(style)},
                   {"text", gate != nullptr ? gate_title(verdict) : title_of(verdict)}});
  const auto add = [&links](const char* href, std::string_view text, auto count) {
    if (count > 0) links.push_back({{"href", href}, {"text", text}, {"strong", count}});
  };
  std::set<std::string> devices;
  for (const PageRun& run : view.request.runs) {
    for (const PlannedDevice& device : run.resolved.plan.devices) devices.insert(device.id);
  }
  if (accept != nullptr) {
    add("#acceptance", "Devices", accept->devices.size());
    add("#details", "Details", view.tally.summary.planned());
    return json::object({{"links", links}});
  }
  add("#causes", "Causes", cause_count(view));
  add("#cases", "Cases", view.tally.summary.planned());
  add("#devices", "Devices", devices.size());
  return json::object({{"links", links}});
}

json reports_section(const PageView& view) {
  if (!view.several()) return nullptr;
  PageTable table({"Run", "Verdict", "#Cases", "#Failed", "Started", "Host", "Stack"});
  for (std::size_t i = 0; i < view.request.runs.size(); ++i) {
    const PageRun& run = view.request.runs[i];
    const Tally tally = tally_of(view.request, view.cases, i);
    const RunPlanned& plan = run.resolved.plan;
    std::set<std::string> stacks;
    for (const Variant& variant : run.resolved.variants) stacks.insert(variant.stack);
    const RunVerdict verdict = verdict_of_run(run);
    table.add(
        {{{"text", plan.run_id}, {"href", run.link ? *run.link + "index.html" : ""}},
         badge_cell(style_of(verdict), fmt::format("{} (exit {})", describe(verdict), code_of_run(run))),
         linked(tally.summary.planned(), "run=" + std::to_string(i)),
         tally.failed,
         time_text(plan.started),
         plan.hostname,
         joined({stacks.begin(), stacks.end()}, ", ")});
  }
  return table.view();
}

json owner_section(const PageView& view) {
  const Tally& tally = view.tally;
  if (tally.failed + tally.not_run == 0) return nullptr;
  return json::object({{"tiles",
                        {owner_tile(tally, FailureOwner::kCode, "the code, or its test"),
                         owner_tile(tally, FailureOwner::kMachine, "a device, a driver, the host"),
                         owner_tile(tally, FailureOwner::kSetup, "configuration, or what stopped it")}}});
}

}  // namespace proctor
