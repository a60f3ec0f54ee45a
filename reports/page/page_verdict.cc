#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
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
#include "reports/resolve/rerun.h"
#include "reports/resolve/run_end.h"

namespace proctor {
namespace {

using nlohmann::json;

// A run of `proctor accept` exits with the code of its acceptance.
int code_of_run(const PageRun& run) {
  return run.accept.report ? run.accept.report->exit_code : run.resolved.shell_exit_code;
}

// The run whose exit code says most, as ./dev and CI systems take it of several runs; null of a page without runs.
const PageRun* worst_run(const PageRequest& request) {
  constexpr std::array kOrder = {kExitUsage, kExitRed, kExitMachine, kExitIncomplete};
  for (const int code : kOrder) {
    const auto found = std::ranges::find(request.runs, code, code_of_run);
    if (found != request.runs.end()) return &*found;
  }
  const auto last = std::ranges::max_element(request.runs, {}, code_of_run);
  return last == request.runs.end() ? nullptr : &*last;
}

std::string_view verdict_of_page(const PageRequest& request) {
  const PageRun* worst = worst_run(request);
  return worst == nullptr ? "green" : worst->resolved.verdict;
}

std::string_view code_meaning(int code, std::string_view verdict, const Tally& tally) {
  if (verdict == "interrupted") return "it was stopped, or killed";
  switch (code) {
    case kExitGreen:
      return "all good";
    case kExitRed:
      return tally.bad == 0 && tally.flaky > 0 ? "cases failed and then passed" : "";
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

// What is wrong with a device of the run; of a page of several runs, each has its own.
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

// ", 3 skipped"; "" for none.
std::string and_count(int count, std::string_view words) {
  return count == 0 ? "" : fmt::format(", {} {}", thousands(count), words);
}

std::string flaky_count(const Tally& tally) { return and_count(tally.flaky, "flaky"); }

// Beside what is wrong with a device: "233 of 235 cases passed, 2 failed".
std::string counts_sentence(const Tally& tally) {
  const int unrun = tally.summary[Outcome::kNotrun];
  const int failed = tally.bad - std::min(tally.bad, unrun);
  return fmt::format("{} of {} passed", thousands(tally.summary[Outcome::kPass]),
                     count_text(tally.summary.planned(), "case")) +
         and_count(failed, "failed") + and_count(unrun, "not run") + flaky_count(tally);
}

std::string capitalised(std::string_view text) {
  std::string word(text);
  if (!word.empty()) word.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(word.front())));
  return word;
}

std::string_view look_of_run(std::string_view verdict) {
  if (verdict == "green") return "good";
  return verdict == "red" || verdict == "machine" ? "bad" : "unrun";
}

std::string good_sentence(const Tally& tally) {
  return fmt::format("Good: {} passed", thousands(tally.summary[Outcome::kPass])) +
         and_count(tally.summary[Outcome::kXfail], "failed as known") +
         and_count(tally.summary[Outcome::kXpass], "passed unexpectedly") +
         and_count(tally.summary[Outcome::kSkip], "skipped") + flaky_count(tally);
}

// "37 of 10,000 cases"
std::string share_of_cases(int count, const Tally& tally) {
  return thousands(count) + " of " + count_text(tally.summary.planned(), "case");
}

std::string sentence(const PageRequest& request, const Tally& tally) {
  const std::string_view verdict = verdict_of_page(request);
  if (verdict == "green") return good_sentence(tally);
  const auto& problems = worst_run(request)->resolved.problems;
  if (verdict == "incomplete" || verdict == "interrupted") {
    const int unrun = tally.summary[Outcome::kNotrun];
    const std::string what = capitalised(verdict) + ": ";
    if (unrun > 0) return fmt::format("{}{} {}", what, share_of_cases(unrun, tally), "not run");
    return what + (problems.empty() ? good_sentence(tally) : problems.front().title);
  }
  const std::string who = verdict == "machine" ? "The machine is red: " : "Red: ";
  if (tally.bad > 0) return who + share_of_cases(tally.bad, tally) + " not good" + flaky_count(tally);
  if (problems.empty()) return who + "no case of its own explains it";
  if (problems.front().name != kFlakyProblem) return who + problems.front().title;
  return fmt::format("{}{} {}", who, share_of_cases(tally.flaky, tally), "flaky");
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

json outcome_counts(const Tally& tally) {
  json counts = json::array();
  const auto add = [&counts](int count, std::string_view look, std::string_view text,
                             const std::string& state) {
    if (count == 0) return;
    counts.push_back(badge(look, text));
    counts.back().update({{"href", "#" + state}, {"strong", count}});
  };
  for (const Outcome outcome : kAllOutcomes) {
    const std::string name(to_string(outcome));
    add(tally.summary[outcome], look_of(outcome), name, "outcome=" + name);
  }
  add(tally.flaky, "flaky", "flaky", "look=flaky");
  add(tally.fresh, "bad", "new", "new=1");
  return counts;
}

// How much of it was what, as a bar from good to bad.
json share_of_looks(const Tally& tally) {
  constexpr double kWidth = 1000;
  std::map<std::string_view, double> counts;
  for (const Outcome outcome : kAllOutcomes) counts[look_of(outcome)] += tally.summary[outcome];
  const double flaky = std::min(counts["good"], static_cast<double>(tally.flaky));
  counts["good"] -= flaky;
  counts["flaky"] += flaky;
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

std::string_view look_of_page(const PageRequest& request) {
  if (const PageGate* gate = gate_of_page(request)) return gate->green ? "good" : "bad";
  if (const AcceptReport* accept = acceptance_of_page(request)) return look_of_acceptance(*accept);
  return look_of_run(verdict_of_page(request));
}

// What is the matter with a run beside its cases.
json problems_of_runs(const PageView& view) {
  json list = json::array();
  for (const PageRun& run : view.request.runs) {
    for (const RunProblem& problem : run.resolved.problems) {
      if (problem.name == kUnexplained && view.tally.bad > 0) continue;
      if (run.accept.report && (problem.name == kUnexplained || problem.name == kDeviceProblem)) continue;
      if (problem.name == kDeviceProblem && devices_of_run(run)) continue;  // the title, or a doubt, says it
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

// What the devices say of the failures, and what finds out more.
json doubts_of_devices(const PageRequest& request) {
  json list = json::array();
  for (const PageRun& run : request.runs) {
    const RunPlanned& plan = run.resolved.plan;
    if (run.accept.report) continue;  // the acceptance has the device, and what to do
    if (const auto devices = devices_of_run(run)) {
      if (!devices_of_page(request))
        list.push_back(
            {{"sentence", devices->sentence}, {"ask", devices->advice}, {"command", devices->command}});
      continue;
    }
    const auto& doubts = run.resolved.device_doubts;
    for (std::size_t i = 0; i < doubts.size(); ++i) {
      const bool is_last = i + 1 == doubts.size();
      list.push_back({{"sentence", doubts[i].sentence},
                      {"ask", "Code or device?"},
                      {"command", is_last ? code_or_device_command(plan, directory_of_run(plan)) : ""}});
    }
  }
  return list;
}

// Why files of runs are ignored.
json ignored_files(const PageRequest& request) {
  std::vector<std::string> why;
  for (const PageRun& run : request.runs) why.push_back(run.accept.warning);
  std::erase(why, "");
  return said_lines(why);
}

// ---- The gate, where it judged a run of the page ----

constexpr std::size_t kMostRedSentences = 5;

std::string gate_word(const PageGate& gate) { return gate.green ? "Releasable" : "Not releasable"; }

std::string gate_sentence(const PageGate& gate) {
  const auto red = std::ranges::count(gate.cells, false, &PageGateCell::green);
  if (!gate.green && red == 0)
    return fmt::format("{}: {} of all runs red", gate_word(gate), count_text(gate.red.size(), "rule"));
  const std::string all = thousands(gate.cells.size());
  return fmt::format("{}: {} of {} cells {}", gate_word(gate), gate.green ? all : thousands(red), all,
                     gate.green ? "green" : "red");
}

// The rules that do not hold, with what to do.
json red_sentences(const PageGate& gate) {
  json list = first_of(gate.red, kMostRedSentences, [](const PageGateRule& rule) {
    const std::string where = rule.cell.empty() ? "all runs" : rule.cell;
    const std::string why = rule.says.empty() ? rule.value : rule.says.front();
    return json{{"badge", badge("bad", rule.rule)}, {"why", fmt::format("{}: {}", where, why)}};
  });
  if (gate.red.size() > kMostRedSentences)
    list.push_back({{"why", fmt::format("and {} more", thousands(gate.red.size() - kMostRedSentences))}});
  return list;
}

json problem_tile(const Tally& tally, Blame blame, std::string_view what) {
  const int count = tally.blames.at(static_cast<std::size_t>(blame));
  const std::string name(to_string(blame));
  return {{"count", count},
          {"blame", name},
          {"what", what},
          {"href", count == 0 ? "" : "#problem=" + state_value(name)}};
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
    if (shown.test.flaky) ++tally.flaky;
    if (shown.is_new) ++tally.fresh;
    if (!shown.test.bad) continue;
    ++tally.bad;
    ++tally.blames.at(static_cast<std::size_t>(shown.test.problem));
  }
  return tally;
}

json title_section(const PageView& view) {
  const PageGate* gate = gate_of_page(view.request);
  if (gate != nullptr) return gate_sentence(*gate);
  if (const AcceptReport* accept = acceptance_of_page(view.request)) return accept_headline(*accept);
  const auto devices = devices_of_page(view.request);
  if (!devices) return sentence(view.request, view.tally);
  // A title has no full stop.
  return devices->sentence.substr(0, devices->sentence.find_last_not_of('.') + 1);
}

json verdict_section(const PageView& view) {
  const PageRequest& request = view.request;
  const PageRun* worst = worst_run(request);
  const PageGate* gate = gate_of_page(request);
  const std::string_view look = look_of_page(request);
  const int code = worst == nullptr ? kExitGreen : code_of_run(*worst);
  const auto devices = devices_of_page(request);
  const AcceptReport* accept = acceptance_of_page(request);
  return {{"look", look},
          {"sign", sign_of(look)},
          {"title", title_section(view)},
          {"sentence", accept != nullptr ? fmt::format("Level {}", accept->level)
                       : devices         ? counts_sentence(view.tally)
                       : gate == nullptr ? ""
                                         : sentence(request, view.tally)},
          {"device", devices ? json{{"more", said_lines(devices->more)},
                                    {"ask", devices->advice},
                                    {"command", devices->command}}
                             : json()},
          {"whys", gate == nullptr ? json() : red_sentences(*gate)},
          {"code", std::to_string(code)},
          {"meaning", accept != nullptr ? exit_words(*accept)
                                        : code_meaning(code, verdict_of_page(request), view.tally)},
          {"accept_command", accept != nullptr ? accept->command_line : ""},
          {"ignored", ignored_files(request)},
          {"of_runs", problems_of_runs(view)},
          {"doubts", doubts_of_devices(request)},
          {"run", view.several() || worst == nullptr ? json() : about_run(*worst)},
          {"runs", view.several() ? count_text(request.runs.size(), "run") : ""},
          {"cases", count_text(view.tally.summary.planned(), "case")},
          {"simulated", simulated_notice(request)},
          {"counts", accept != nullptr ? json() : listed(outcome_counts(view.tally))},
          {"share", accept != nullptr ? json() : share_of_looks(view.tally)}};
}

json bar_section(const PageView& view) {
  const PageGate* gate = gate_of_page(view.request);
  const AcceptReport* accept = acceptance_of_page(view.request);
  const std::string_view look = look_of_page(view.request);
  json links = json::array();
  links.push_back({{"href", "#top"},
                   {"look", look},
                   {"sign", sign_of(look)},
                   {"text", gate != nullptr     ? gate_word(*gate)
                            : accept != nullptr ? capitalised(to_string(accept->verdict))
                                                : capitalised(verdict_of_page(view.request))}});
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
  PageTable table({"Run", "Verdict", "#Cases", "#Not good", "Started", "Host", "Stack"});
  for (std::size_t i = 0; i < view.request.runs.size(); ++i) {
    const PageRun& run = view.request.runs[i];
    const Tally tally = tally_of(view.request, view.cases, i);
    const RunPlanned& plan = run.resolved.plan;
    std::set<std::string> stacks;
    for (const Variant& variant : run.resolved.variants) stacks.insert(variant.stack);
    const auto& accept = run.accept.report;
    const std::string verdict = fmt::format(
        "{} (exit {})", accept ? to_string(accept->verdict) : run.resolved.verdict, code_of_run(run));
    table.add({{{"text", plan.run_id}, {"href", run.link ? *run.link + "index.html" : ""}},
               badge_cell(accept ? look_of_acceptance(*accept) : look_of_run(run.resolved.verdict), verdict),
               linked(tally.summary.planned(), "run=" + std::to_string(i)),
               tally.bad,
               time_text(plan.started),
               plan.hostname,
               joined({stacks.begin(), stacks.end()}, ", ")});
  }
  return table.view();
}

json problem_section(const PageView& view) {
  const Tally& tally = view.tally;
  if (tally.bad == 0) return nullptr;
  return json::object({{"tiles",
                        {problem_tile(tally, Blame::kCode, "the code, or its test"),
                         problem_tile(tally, Blame::kMachine, "a device, a driver, the host"),
                         problem_tile(tally, Blame::kSetup, "configuration, or what stopped it")}}});
}

}  // namespace proctor
