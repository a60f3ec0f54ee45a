#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "harness/base/duration.h"
#include "harness/base/number_text.h"
#include "harness/base/text.h"
#include "harness/base/words.h"
#include "harness/journal/outcome_meaning.h"
#include "reports/formats/formats.h"
#include "reports/formats/markdown.h"
#include "reports/resolve/causes.h"
#include "reports/resolve/devices.h"
#include "reports/resolve/failure_rates.h"
#include "reports/resolve/failure_text.h"
#include "reports/resolve/report_text.h"

namespace proctor {
namespace {

// Limits of the summary; report.json is complete.
constexpr std::size_t kMaxShown = 100;
constexpr std::size_t kFirstCauses = 5;
constexpr std::size_t kMaxIdsPerGroup = 20;
constexpr std::size_t kSummaryLineBytes = 200;
constexpr std::size_t kSummaryMessageBytes = 2000;

// Returns the line about failures, and the option that would allow flaky cases. Returns "" if no case failed.
std::string verdict_line(const ResolvedRun& run) {
  std::string text = failures_text(run);
  if (text.empty()) return "";
  text = "**" + text + ".**";
  if (const FlakyCases& found = run.flaky_cases; !found.allowed)
    text += fmt::format(" {} allows flaky cases.", markdown_code(found.option));
  return text + "\n";
}

// Returns "Tested: `0123abc` of `https://...`, branch `main`, with changes that are in no
// commit."; "" if the commit is unknown.
std::string tested_line(const Subject& subject) {
  if (!subject.commit.value) return "";
  std::string text = "Tested: " + markdown_code(*subject.commit.value);
  if (subject.repository.value) text += " of " + markdown_code(*subject.repository.value);
  if (subject.branch.value) text += ", branch " + markdown_code(*subject.branch.value);
  if (subject.dirty.value == "true") text += ", with changes that are in no commit";
  if (subject.build.value) text += ", by " + markdown_prose(*subject.build.value);
  return text + ".\n";
}

// Returns the lines below the title: the facts about the device, and the next step.
std::string device_lines(const DeviceVerdict& verdict) {
  std::string text;
  for (const std::string& sentence : verdict.more) text += "- " + markdown_prose(sentence) + "\n";
  if (!verdict.exit.empty()) text += "- " + markdown_prose(verdict.exit) + "\n";
  if (!verdict.advice.empty())
    text += fmt::format("- {} {}\n", markdown_prose(verdict.advice),
                        markdown_code(verdict.command_in("RUN_DIR")));
  return text.empty() ? text : text + "\n";
}

// Adds the title, and the fault of a device.
void add_verdict(std::string& out, const ResolvedRun& run, const std::optional<DeviceVerdict>& devices) {
  const RunPlanned& plan = run.plan;
  out += fmt::format("# Proctor: {}{} (exit code {})\n\n", headline(run.verdict),
                     devices ? ": " + markdown_prose(devices->sentence) : "", run.shell_exit_code);
  if (run.simulated) {
    out += "> **SIMULATED.** These results were obtained without hardware";
    if (plan.sim)
      out +=
          fmt::format(" ({}, driver {})", markdown_code(plan.sim->topology), markdown_code(plan.sim->driver));
    out += " and say nothing about any device.\n\n";
  }
  if (devices) out += device_lines(*devices);
}

void add_head(std::string& out, const ResolvedRun& run, bool has_verdict) {
  const RunPlanned& plan = run.plan;
  const std::optional<DeviceVerdict>& devices = run.device_verdict;
  if (has_verdict) add_verdict(out, run, devices);
  out += verdict_line(run);
  out += outcomes_text(run) + ".\n";
  const std::string command = code_or_device_command(run.plan, "RUN_DIR");
  for (const DeviceSuspicionText& suspicion :
       devices ? std::vector<DeviceSuspicionText>() : run.device_suspicions) {
    out += markdown_prose(suspicion.sentence);
    if (!command.empty()) out += " Code or device? " + markdown_code(command);
    out += '\n';
  }
  out += fmt::format("Run {} on {}, started {}, ", markdown_code(plan.run_id), markdown_code(plan.hostname),
                     markdown_prose(plan.started));
  out += run.ended ? fmt::format("finished {}", markdown_prose(run.ended->finished)) : "not finished";
  out += fmt::format(", {}.\n", human_duration(Milliseconds(run.elapsed_ms)));
  out += tested_line(plan.subject);
  if (run.stop) out += fmt::format("It was stopped: {}.\n", markdown_prose(run.stop->reason.text()));
  if (const auto text = no_device_text(plan); !text.empty())
    out += fmt::format("**{}.**\n", markdown_prose(text));
  for (const std::string& sentence : run.open_skips)
    out += fmt::format("**{}.**\n", markdown_prose(sentence));
  if (const auto text = shortage_text(run); !text.empty()) out += fmt::format("**{}.**\n", text);
  if (plan.shard) {
    out += fmt::format("Shard {} of {}: {} of {}.\n", plan.shard->index, plan.shard->count,
                       thousands(run.summary.planned()), count_text(plan.shard->planned, "planned case"));
  }
  if (plan.rest) {
    out +=
        fmt::format("Remaining cases of run {}: {} of {}.\n", markdown_prose(joined(plan.rest->runs, ", ")),
                    thousands(run.summary.planned()), count_text(plan.rest->planned, "planned case"));
  }
}

// Returns any text as one line of HTML. Newlines become <br>.
std::string summary_html(std::string_view text) {
  constexpr std::array<std::pair<char, std::string_view>, 5> kOthers = {
      {{'\n', "<br>"}, {'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'\r', ""}}};
  std::string out;
  for (const char c : without_hidden_controls(clean_text(text))) {
    const auto other = std::ranges::find(kOthers, c, &std::pair<char, std::string_view>::first);
    out += other != kOthers.end() ? other->second : std::string_view(&c, 1);
  }
  return out;
}

std::string summary_html_line(std::string_view text, std::size_t limit = kSummaryLineBytes) {
  return summary_html(one_line(clean_text(text), limit));
}

// A `|` ends a table cell, even in a code span.
std::string markdown_cell(std::string_view text) {
  const std::string line = one_line(clean_text(text), kSummaryLineBytes);
  return line.find('|') == line.npos ? markdown_code(line) : markdown_prose(line);
}

std::string outcome_of_cause(const CauseGroup& group) {
  if (group.is_moved) return "moved";
  return group.is_flaky ? "flaky" : readable(group.cases.front()->verdict);
}

// Returns the devices on which the cases failed: "xpu-sim:0, xpu-sim:1 and 2 more".
std::string devices_of_cause(const CauseGroup& group) {
  constexpr std::size_t kMostNamed = 2;
  std::set<std::string> devices;
  for (const ResolvedCase* test : group.cases) {
    if (const Attempt* attempt = test->telling)
      devices.insert(attempt->start.devices.begin(), attempt->start.devices.end());
  }
  return some_of(devices, kMostNamed);
}

std::string cases_cell(const CauseGroup& group) {
  const std::string first = markdown_cell(group.cases.front()->planned.id);
  return group.cases.size() == 1 ? first : fmt::format("{} and {} more", first, group.cases.size() - 1);
}

std::string or_dash(const std::string& text) { return text.empty() ? "-" : markdown_cell(text); }

void add_first_causes(MarkdownPage& page, const std::vector<CauseGroup>& groups) {
  page.title(
      "\n| outcome | message | place | device | cases | history |\n| --- | --- | --- | --- | --- | --- |\n");
  for (std::size_t i = 0; i < std::min(groups.size(), kFirstCauses); ++i) {
    const ResolvedCase& first = *groups[i].cases.front();
    const std::string message = one_line(whole_message(first), kSummaryLineBytes);
    page.add(fmt::format("| {} | {} | {} | {} | {} | {} |\n", markdown_cell(outcome_of_cause(groups[i])),
                         markdown_prose(message), or_dash(to_string(place_of(first))),
                         or_dash(devices_of_cause(groups[i])), cases_cell(groups[i]),
                         or_dash(age_of(groups[i]))));
  }
}

std::string case_list_html(const std::vector<const ResolvedCase*>& cases) {
  return some_of(cases, kMaxIdsPerGroup, [](const ResolvedCase* test) {
    return fmt::format("<code>{}</code>", summary_html_line(test->planned.id));
  });
}

std::string telemetry_line(const ResolvedCase& test) {
  const Attempt* attempt = test.telling;
  const std::string text = attempt != nullptr ? telemetry_text(attempt->telemetry()) : "";
  return text.empty() ? "" : fmt::format("telemetry:     {}\n", text);
}

// Returns a folded entry on two lines of HTML, so that a summary with ten causes fits on a page.
std::string cause_entry(const CauseGroup& group) {
  const ResolvedCase& first = *group.cases.front();
  const std::string place = to_string(place_of(first));
  std::string title = fmt::format("<b>{}</b>", summary_html_line(outcome_of_cause(group)));
  if (!place.empty()) title += " at " + summary_html_line(place);
  title += group.cases.size() == 1 ? fmt::format(": <code>{}</code>", summary_html_line(first.planned.id))
                                   : ": " + count_text(group.cases.size(), "case");
  if (const std::string age = age_of(group); !age.empty()) title += ", " + summary_html_line(age);
  const std::string text =
      message_beyond_headline(first, kSummaryMessageBytes) + summarize_failure(first) + telemetry_line(first);
  return fmt::format("<details><summary>{}</summary>{}\n<pre>{}</pre></details>\n", title,
                     case_list_html(group.cases), summary_html(text));
}

// Adds one entry for each cause of failures and flaky cases.
void add_causes(MarkdownPage& page, const ResolvedRun& run) {
  const std::vector<CauseGroup>& groups = run.causes;
  if (groups.empty()) return;
  add_first_causes(page, groups);
  page.title("\n");
  const std::size_t shown = std::min(groups.size(), kMaxShown);
  for (std::size_t i = 0; i < shown; ++i) page.add(cause_entry(groups[i]));
  if (shown < groups.size())
    page.add(fmt::format("\n{} more causes: see `report.json`\n", groups.size() - shown));
  page.title("");
  page.add(fmt::format("\nReruns start in {}; logs are below the run directory.\n",
                       markdown_code(run.plan.directory)));
}

std::string group_entry(const std::string& name, const std::vector<const ResolvedCase*>& cases) {
  std::string out = fmt::format("- {} × {}:", cases.size(), name);
  for (std::size_t i = 0; i < std::min(cases.size(), kMaxIdsPerGroup); ++i) {
    out += (i == 0 ? " " : ", ") + markdown_code(cases[i]->planned.id);
  }
  if (cases.size() > kMaxIdsPerGroup) out += ", ...";
  return out + '\n';
}

// Adds cases of one outcome that are not among the causes, by reason, the most frequent reason first.
void add_by_reason(MarkdownPage& page, const ResolvedRun& run, Outcome outcome, std::string_view title) {
  std::map<std::string, std::vector<const ResolvedCase*>> groups;
  for (const ResolvedCase& test : run.cases) {
    const Verdict verdict = test.verdict;
    const bool is_cause = test.bad && (outcome != Outcome::kNotrun || !test.attempts.empty());
    if (verdict.outcome == outcome && !is_cause) groups[verdict.reason.text()].push_back(&test);
  }
  if (groups.empty()) return;
  std::vector<std::pair<std::string, std::vector<const ResolvedCase*>>> sorted(groups.begin(), groups.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.size() > b.second.size(); });
  const std::size_t shown = std::min(sorted.size(), kMaxShown);
  page.title(fmt::format("\n## {}\n\n", title));
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& [reason, cases] = sorted[i];
    const std::string words = readable_reason(cases.front()->verdict);
    const std::string name = reason.empty() ? "no reason"
                             : words == reason
                                 ? markdown_code(reason)
                                 : fmt::format("{} ({})", markdown_prose(words), markdown_code(reason));
    page.add(is_device_lost(cases.front()->verdict) ? fmt::format("- {} × {}\n", cases.size(), name)
                                                    : group_entry(name, cases));
  }
  if (shown < sorted.size())
    page.add(fmt::format("- and {} more reasons: see `report.json`\n", sorted.size() - shown));
}

// Adds the results of repeated runs of a case on each device.
void add_each_device(MarkdownPage& page, const ResolvedRun& run) {
  page.title("\n## On each device\n\n| case | conclusion | failed attempts |\n| --- | --- | --- |\n");
  std::size_t shown = 0;
  for (const ResolvedCase& test : run.cases) {
    const DeviceRow* row = test.by_device.get();
    if (!row || ++shown > kMaxShown) continue;
    std::string counts;
    for (const auto& [device, count] : row->counts)
      counts += fmt::format("{}{}: {} of {}", counts.empty() ? "" : ", ", device, count.bad,
                            count.bad + count.good);
    page.add(fmt::format("| {} | {} | {} |\n", markdown_cell(test.planned.id),
                         markdown_prose(conclusion(*row)), markdown_prose(counts)));
  }
  if (shown > kMaxShown) page.add(fmt::format("\n{} more cases: see `report.json`\n", shown - kMaxShown));
}

// Adds the failure rates of cases repeated with --repeat 2h, and the claims of --repeat 99%:1%.
void add_failure_rates(MarkdownPage& page, const ResolvedRun& run) {
  page.title("\n## Failure rates\n\n");
  std::size_t shown = 0;
  for (const ResolvedCase& test : run.cases) {
    const bool is_worth_a_line = test.rates && (test.rates->claim || test.rates->all.failures > 0);
    if (!is_worth_a_line || ++shown > kMaxShown) continue;
    page.add(fmt::format("- {}: {}\n", markdown_code(test.planned.id), markdown_prose(test.rates->text)));
  }
  if (shown > kMaxShown) page.add(fmt::format("- {} more cases: see `report.json`\n", shown - kMaxShown));
}

// Adds the remaining days of each known failure, counted from the start of the run.
void add_days_left(MarkdownPage& page, const ResolvedRun& run) {
  if (!run.plan.known_failures) return;
  page.title("\n## Days left of known failures\n\n");
  const auto& entries = run.known_failures;
  const std::size_t shown = std::min(entries.size(), kMaxShown);
  for (std::size_t i = 0; i < shown; ++i) {
    const KnownFailureEntry& entry = *entries[i].entry;
    const auto days = entries[i].days_left;
    const int cases = entries[i].hits;
    std::string line =
        fmt::format("- {} (until {}): {}, {} case{} now", days ? days_left_words(*days) : "unknown",
                    markdown_prose(entry.expires), markdown_code(entry.at), cases, cases == 1 ? "" : "s");
    for (const std::string& word : {entry.owner, entry.issue})
      line += word.empty() ? "" : ", " + markdown_prose(word);
    page.add(line + "\n");
  }
  if (shown < entries.size())
    page.add(fmt::format("- and {} more: see `report.json`\n", entries.size() - shown));
}

void add_leaks(MarkdownPage& page, const std::vector<const ResolvedCase*>& cases) {
  for (std::size_t i = 0; i < std::min(cases.size(), kMaxIdsPerGroup); ++i) {
    for (const Attempt& attempt : cases[i]->attempts) {
      const std::string left = attempt.end ? leak_text(attempt.end->termination) : "";
      if (!left.empty())
        page.add(fmt::format("  - {}: {}\n", markdown_code(cases[i]->planned.id), markdown_prose(left)));
    }
  }
}

void add_marks(MarkdownPage& page, const ResolvedRun& run) {
  std::map<MarkWord, std::vector<const ResolvedCase*>> marked;
  for (const ResolvedCase& test : run.cases) {
    for (const MarkWord& mark : test.marks) marked[mark].push_back(&test);
  }
  page.title("\n## Marks\n\n");
  for (const auto& [mark, cases] : marked) {
    page.add(group_entry(markdown_code(mark.text()), cases));
    if (mark == Mark::kLeaky) add_leaks(page, cases);
  }
}

// Adds the devices that get no more cases.
void add_drained(MarkdownPage& page, const ResolvedRun& run) {
  page.title("\n## Drained devices\n\n");
  for (const DeviceHealth& health : run.health) {
    if (health.what != HealthFact::kDrained) continue;
    const std::string at =
        health.case_id.empty() ? "" : fmt::format(" (at {})", markdown_code(health.case_id));
    page.add(fmt::format("- {}: {}{}\n", markdown_code(health.device), markdown_prose(health.evidence), at));
  }
}

void add_run_warnings(MarkdownPage& page, const ResolvedRun& run) {
  page.title("\n## Warnings\n\n");
  const std::size_t shown = std::min(run.warnings.size(), kMaxShown);
  for (std::size_t i = 0; i < shown; ++i) {
    page.add(fmt::format("- {}: {}\n", markdown_code(run.warnings[i].code.text()),
                         markdown_prose(run.warnings[i].text)));
  }
  if (shown < run.warnings.size()) page.add("- and more: see `report.json`\n");
}

std::string stack_line(const RunPlanned& plan) {
  std::string line;
  for (const auto& [name, value] : plan.stack)
    line += fmt::format("{}{}: {}", line.empty() ? "" : " · ", name, value);
  return line;
}

// Adds a folded section with one line of HTML for each subject.
void add_surroundings(MarkdownPage& page, const ResolvedRun& run) {
  const RunPlanned& plan = run.plan;
  std::string text = "containment: " + plan.containment.layer;
  for (const std::string& gap : plan.containment.not_guaranteed) text += "\nnot guaranteed: " + gap;
  for (const std::string& way : plan.containment.how_to_improve) text += "\nbetter: " + way;
  for (const PlannedDevice& device : plan.devices)
    text += fmt::format("\ndevice {}: {}{}", device.id, device.name, device.simulated ? " (simulated)" : "");
  std::string line;
  for (const std::string& word : plan.command_line) line += (line.empty() ? "" : " ") + shell_quote(word);
  text += fmt::format("\nstarted as {} in {}", line, plan.directory);
  page.title("");
  page.add(fmt::format("\n<details><summary>Where it ran</summary>{}\n<br>{}</details>\n", summary_html(text),
                       summary_html(stack_line(plan))));
}

std::string summary_of(const ResolvedRun& run, std::size_t limit, bool has_verdict) {
  MarkdownPage page(limit, "report.json");
  std::string head;
  add_head(head, run, has_verdict);
  page.add(head);
  add_causes(page, run);
  add_each_device(page, run);
  add_failure_rates(page, run);
  add_by_reason(page, run, Outcome::kNotrun, "Not run");
  add_by_reason(page, run, Outcome::kSkip, "Skipped");
  add_by_reason(page, run, Outcome::kXfail, "Known failures");
  add_days_left(page, run);
  add_by_reason(page, run, Outcome::kXpass, "Passed unexpectedly");
  add_marks(page, run);
  add_drained(page, run);
  add_run_warnings(page, run);
  add_surroundings(page, run);
  return std::move(page).finish();
}

}  // namespace

std::string summary_markdown(const ResolvedRun& run, std::size_t limit) {
  return summary_of(run, limit, /*has_verdict=*/true);
}

std::string summary_of_cases(const ResolvedRun& run, std::size_t limit) {
  return summary_of(run, limit, /*has_verdict=*/false);
}

}  // namespace proctor
