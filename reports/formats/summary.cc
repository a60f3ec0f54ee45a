#include "reports/formats/summary.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>

#include "harness/core/duration.h"
#include "harness/core/exit_code.h"
#include "harness/core/text.h"
#include "reports/formats/markdown.h"
#include "reports/model/exit_code.h"
#include "reports/model/failure_summary.h"
#include "reports/model/known_failure_entries.h"
#include "reports/model/rerun.h"
#include "reports/model/telemetry_text.h"
#include "reports/model/truncate.h"

namespace proctor {
namespace {

// What is worth reading in a summary; report.json has all.
constexpr std::size_t kMaxShown = 100;
constexpr std::size_t kMaxListed = 500;
constexpr std::size_t kMaxIdsPerGroup = 20;

std::string_view light(const RunModel& model) {
  if (ending_signal(model) != 0) return "STOPPED";
  switch (exit_code(model)) {
    case kExitGreen:
      return "GREEN";
    case kExitRed:
      return "RED: the code";
    case kExitMachine:
      return "RED: the machine (retry elsewhere)";
    default:
      return "INCOMPLETE";
  }
}

// "Tested: `0123abc` of `https://...`, branch `main`, with changes that are in no commit." or "" when nobody knows.
std::string tested_line(const Subject& subject) {
  if (!subject.commit.value) return "";
  std::string text = "Tested: " + markdown_code(*subject.commit.value);
  if (subject.repository.value) text += " of " + markdown_code(*subject.repository.value);
  if (subject.branch.value) text += ", branch " + markdown_code(*subject.branch.value);
  if (subject.dirty.value == "true") text += ", with changes that are in no commit";
  if (subject.build.value) text += ", by " + markdown_prose(*subject.build.value);
  return text + ".\n";
}

void add_head(std::string& out, const RunModel& model) {
  const RunPlanned& plan = model.plan();
  out += fmt::format("# Proctor: {} (exit code {})\n\n", light(model), shell_exit_code(model));
  if (model.simulated()) {
    out += "> **SIMULATED.** These results were obtained without hardware";
    if (plan.sim)
      out +=
          fmt::format(" ({}, driver {})", markdown_code(plan.sim->topology), markdown_code(plan.sim->driver));
    out += " and say nothing about any device.\n\n";
  }
  out += fmt::format("Run {} on {}, started {}, ", markdown_code(plan.run_id), markdown_code(plan.hostname),
                     markdown_prose(plan.started));
  out += model.ended() ? fmt::format("finished {}", markdown_prose(model.ended()->finished)) : "not finished";
  out += fmt::format(", {}.\n", human_duration(Milliseconds(model.elapsed_ms())));
  out += tested_line(plan.subject);
  if (model.stop()) out += fmt::format("It was stopped: {}.\n", markdown_prose(model.stop()->reason.text()));
  if (const auto text = no_device_text(plan); !text.empty())
    out += fmt::format("**{}.**\n", markdown_prose(text));
  const int executed = model.summary().executed();
  if (executed < least_executed(model)) {
    out += fmt::format("**{} executed, at least {} wanted.**\n", executed, least_executed(model));
  }
  if (plan.shard) {
    out += fmt::format("Shard {} of {}: {} of {} planned cases.\n", plan.shard->index, plan.shard->count,
                       model.summary().planned(), plan.shard->planned);
  }
}

void add_counts(std::string& out, const RunModel& model) {
  const Summary summary = model.summary();
  out += "\n| outcome | cases |\n| --- | ---: |\n";
  out += fmt::format("| **planned** | **{}** |\n", summary.planned());
  for (const Outcome outcome : kAllOutcomes) {
    if (summary[outcome] > 0) out += fmt::format("| {} | {} |\n", to_string(outcome), summary[outcome]);
  }
}

std::string telemetry_item(const RunModel& model, const CaseRecord& record) {
  const Attempt* attempt = deciding_attempt(record, model.verdict(record));
  const std::string text = attempt != nullptr ? telemetry_text(model.telemetry(*attempt)) : "";
  return text.empty() ? "" : fmt::format("- telemetry: {}\n", markdown_prose(text));
}

std::string evidence_list(const RunModel& model, const CaseRecord& record) {
  const Attempt* attempt = deciding_attempt(record, model.verdict(record));
  if (attempt == nullptr || !attempt->end || attempt->end->evidence.lines.empty()) return "";
  std::string out = "- evidence:\n";
  for (const std::string& line : attempt->end->evidence.lines)
    out += fmt::format("  - {}\n", markdown_code(line));
  return out;
}

std::string who_and_next(const RunModel& model, const CaseRecord& record) {
  const Diagnosis* diagnosis = diagnosis_of(model, record);
  std::string out;
  if (const std::string who = culprit_text(model, record); !who.empty())
    out += " (" + markdown_prose(who) + ")";
  if (const std::string cause = cause_text(diagnosis); !cause.empty()) out += " · " + markdown_code(cause);
  if (const std::string next = next_text(diagnosis); !next.empty())
    out += "\n- next: " + markdown_prose(next);
  return out;
}

std::string bad_entry(const RunModel& model, const CaseRecord& record) {
  std::string note = record.end ? markdown_prose(record.end->note) : "";
  if (!note.empty()) note = " " + note;
  return fmt::format(
             "\n### {}\n\n- whose problem: **{}**{}\n- what: {}: {}{}\n- rerun: {}\n- where to look: {}\n",
             markdown_code(record.planned.id), to_string(blame_in(model, record)),
             who_and_next(model, record), markdown_code(to_string(model.verdict(record))),
             markdown_prose(headline(model, record)), note, markdown_code(rerun_command(model, record)),
             markdown_prose(where_to_look(model, record))) +
         evidence_list(model, record) + telemetry_item(model, record);
}

void add_bad(MarkdownPage& page, const RunModel& model) {
  std::size_t bad = 0;
  for (const CaseRecord& record : model.cases()) {
    const Verdict verdict = model.verdict(record);
    if (!model.is_bad(record) && !is_good_elsewhere(model, record)) continue;
    ++bad;
    if (bad == 1) page.title("\n## Not good\n");
    if (bad == kMaxShown + 1) page.title("\n### The others\n\n");
    if (bad <= kMaxShown) {
      page.add(bad_entry(model, record));
    } else if (bad <= kMaxListed) {
      page.add(
          fmt::format("- {}: {}\n", markdown_code(record.planned.id), markdown_code(to_string(verdict))));
    }
  }
  if (bad > kMaxListed) page.add(fmt::format("- and {} more: see `report.json`\n", bad - kMaxListed));
  if (bad == 0) return;
  page.add(fmt::format("\nReruns start in {}; logs are below the run directory.\n",
                       markdown_code(model.plan().directory)));
}

std::string group_entry(const std::string& name, const std::vector<const CaseRecord*>& records) {
  std::string out = fmt::format("- {} × {}:", records.size(), name);
  for (std::size_t i = 0; i < std::min(records.size(), kMaxIdsPerGroup); ++i) {
    out += (i == 0 ? " " : ", ") + markdown_code(records[i]->planned.id);
  }
  if (records.size() > kMaxIdsPerGroup) out += ", ...";
  return out + '\n';
}

// Cases of one outcome, which is not bad, by reason, the most frequent reason first.
void add_by_reason(MarkdownPage& page, const RunModel& model, Outcome outcome, std::string_view title) {
  std::map<std::string, std::vector<const CaseRecord*>> groups;
  for (const CaseRecord& record : model.cases()) {
    const Verdict verdict = model.verdict(record);
    if (verdict.outcome == outcome && !model.is_bad(record)) groups[verdict.reason.text()].push_back(&record);
  }
  if (groups.empty()) return;
  std::vector<std::pair<std::string, std::vector<const CaseRecord*>>> sorted(groups.begin(), groups.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.size() > b.second.size(); });
  const std::size_t shown = std::min(sorted.size(), kMaxShown);
  page.title(fmt::format("\n## {}\n\n", title));
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& [reason, records] = sorted[i];
    page.add(group_entry(reason.empty() ? "no reason" : markdown_code(reason), records));
  }
  if (shown < sorted.size())
    page.add(fmt::format("- and {} more reasons: see `report.json`\n", sorted.size() - shown));
}

// How long each entry of the list still holds, counted from the start of the run.
void add_days_left(MarkdownPage& page, const RunModel& model) {
  if (!model.plan().known_failures) return;
  page.title("\n## Days left of known failures\n\n");
  const auto& entries = model.plan().known_failures->entries;
  const std::size_t shown = std::min(entries.size(), kMaxShown);
  for (std::size_t i = 0; i < shown; ++i) {
    const KnownFailureEntry& entry = entries[i];
    const auto days = days_left(model, entry);
    const int cases = hits(model, entry);
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

void add_leaks(MarkdownPage& page, const std::vector<const CaseRecord*>& records) {
  for (std::size_t i = 0; i < std::min(records.size(), kMaxIdsPerGroup); ++i) {
    for (const Attempt& attempt : records[i]->attempts) {
      const std::string left = attempt.end ? leak_text(attempt.end->termination) : "";
      if (!left.empty())
        page.add(fmt::format("  - {}: {}\n", markdown_code(records[i]->planned.id), markdown_prose(left)));
    }
  }
}

void add_marks(MarkdownPage& page, const RunModel& model) {
  std::map<MarkWord, std::vector<const CaseRecord*>> marked;
  for (const CaseRecord& record : model.cases()) {
    for (const MarkWord& mark : model.marks(record)) marked[mark].push_back(&record);
  }
  page.title("\n## Marks\n\n");
  for (const auto& [mark, records] : marked) {
    page.add(group_entry(markdown_code(mark.text()), records));
    if (mark == Mark::kLeaky) add_leaks(page, records);
  }
}

// A device that gets no more cases is news for whoever looks after the machine.
void add_drained(MarkdownPage& page, const RunModel& model) {
  page.title("\n## Drained devices\n\n");
  for (const DeviceHealth& health : model.health()) {
    if (health.what != HealthFact::kDrained) continue;
    const std::string at =
        health.case_id.empty() ? "" : fmt::format(" (at {})", markdown_code(health.case_id));
    page.add(fmt::format("- {}: {}{}\n", markdown_code(health.device), markdown_prose(health.evidence), at));
  }
}

void add_run_warnings(MarkdownPage& page, const RunModel& model) {
  page.title("\n## Warnings\n\n");
  const std::size_t shown = std::min(model.warnings().size(), kMaxShown);
  for (std::size_t i = 0; i < shown; ++i) {
    page.add(fmt::format("- {}: {}\n", markdown_code(model.warnings()[i].code.text()),
                         markdown_prose(model.warnings()[i].text)));
  }
  if (shown < model.warnings().size()) page.add("- and more: see `report.json`\n");
}

void add_surroundings(MarkdownPage& page, const RunModel& model) {
  const RunPlanned& plan = model.plan();
  page.title("\n## Where it ran\n\n");
  page.add(fmt::format("- containment: {}\n", markdown_code(plan.containment.layer)));
  for (const std::string& gap : plan.containment.not_guaranteed) {
    page.add(fmt::format("  - not guaranteed: {}\n", markdown_prose(gap)));
  }
  for (const std::string& way : plan.containment.how_to_improve) {
    page.add(fmt::format("  - better: {}\n", markdown_prose(way)));
  }
  for (const PlannedDevice& device : plan.devices) {
    page.add(fmt::format("- device {}: {}{}\n", markdown_code(device.id), markdown_prose(device.name),
                         device.simulated ? " (simulated)" : ""));
  }
  for (const auto& [name, value] : plan.stack)
    page.add(fmt::format("- {}: {}\n", markdown_prose(name), markdown_code(value)));
  std::string line;
  for (const std::string& word : plan.command_line) line += (line.empty() ? "" : " ") + shell_quote(word);
  page.add(fmt::format("- started as {} in {}\n", markdown_code(line), markdown_code(plan.directory)));
}

}  // namespace

std::string summary_markdown(const RunModel& model, std::size_t limit) {
  MarkdownPage page(limit, "report.json");
  std::string head;
  add_head(head, model);
  add_counts(head, model);
  page.add(head);
  add_bad(page, model);
  add_by_reason(page, model, Outcome::kSkip, "Skipped");
  add_by_reason(page, model, Outcome::kXfail, "Known failures");
  add_days_left(page, model);
  add_by_reason(page, model, Outcome::kXpass, "Passed unexpectedly");
  add_marks(page, model);
  add_drained(page, model);
  add_run_warnings(page, model);
  add_surroundings(page, model);
  return std::move(page).finish();
}

}  // namespace proctor
