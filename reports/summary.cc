#include "reports/summary.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>

#include "harness/core/duration.h"
#include "harness/core/exit_code.h"
#include "harness/core/text.h"
#include "reports/cut.h"
#include "reports/exit_code.h"
#include "reports/telemetry_text.h"

namespace proctor {
namespace {

// A CI step summary holds 1 MiB; what does not fit is in report.json.
constexpr std::size_t kMaxExplained = 100;
constexpr std::size_t kMaxListed = 500;
constexpr std::size_t kMaxIdsPerGroup = 20;
constexpr std::size_t kMaxLineBytes = 1000;

// Any text as a code span on one line; CommonMark 6.1: the fence is longer than any run of backticks inside.
std::string code(std::string_view text) {
  const std::string line = one_line(clean_text(text), kMaxLineBytes);
  std::size_t longest = 0;
  std::size_t run = 0;
  for (const char c : line) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  const std::string fence(longest + 1, '`');
  const std::string pad = longest > 0 ? " " : "";
  return line.empty() ? "(empty)" : fence + pad + line + pad + fence;
}

// Any text as prose on one line: nothing in it is markup.
std::string prose(std::string_view text) {
  std::string out;
  for (const char c : one_line(clean_text(text), kMaxLineBytes)) {
    if (std::string_view("\\`*_[]<>#|!&~").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

std::string_view light(const RunModel& model) {
  if (model.stop_signal() != 0) return "STOPPED";
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

void add_head(std::string& out, const RunModel& model) {
  const RunPlanned& plan = model.plan();
  out += fmt::format("# Proctor: {} (exit code {})\n\n", light(model), shell_exit_code(model));
  if (model.simulated()) {
    out += "> **SIMULATED.** These results were obtained without hardware";
    if (plan.sim) out += fmt::format(" ({}, driver {})", code(plan.sim->topology), code(plan.sim->driver));
    out += " and say nothing about any device.\n\n";
  }
  out +=
      fmt::format("Run {} on {}, started {}, ", code(plan.run_id), code(plan.hostname), prose(plan.started));
  out += model.ended() ? fmt::format("finished {}", prose(model.ended()->finished)) : "not finished";
  out += fmt::format(", {}.\n", human_duration(Milliseconds(model.elapsed_ms())));
  if (model.stop()) out += fmt::format("It was stopped: {}.\n", prose(model.stop()->reason));
  if (!plan.no_device_for.empty()) {
    out += fmt::format("**No device for backend {} exists on this machine**; next: `proctor doctor`.\n",
                       code(plan.no_device_for));
  }
  const int executed = model.summary().executed();
  if (executed == 0 || executed < plan.min_executed) {
    out += fmt::format("**{} executed, at least {} wanted.**\n", executed, std::max(plan.min_executed, 1));
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
  const std::string text = attempt && attempt->end ? telemetry_text(attempt->end->telemetry) : "";
  return text.empty() ? "" : fmt::format("- telemetry: {}\n", prose(text));
}

std::string evidence_list(const RunModel& model, const CaseRecord& record) {
  const Attempt* attempt = deciding_attempt(record, model.verdict(record));
  if (attempt == nullptr || !attempt->end || attempt->end->evidence.lines.empty()) return "";
  std::string out = "- evidence:\n";
  for (const std::string& line : attempt->end->evidence.lines) out += fmt::format("  - {}\n", code(line));
  return out;
}

std::string cause_and_next(const RunModel& model, const CaseRecord& record) {
  const Diagnosis* diagnosis = diagnosis_of(model, record);
  std::string out;
  if (const std::string cause = cause_text(diagnosis); !cause.empty()) out += " · " + code(cause);
  if (const std::string next = next_text(diagnosis); !next.empty()) out += "\n- next: " + prose(next);
  return out;
}

void add_bad(std::string& out, const RunModel& model) {
  std::size_t bad = 0;
  std::string more;
  for (const CaseRecord& record : model.cases()) {
    const Verdict verdict = model.verdict(record);
    if (!is_bad(verdict.outcome)) continue;
    ++bad;
    if (bad <= kMaxExplained) {
      out += bad == 1 ? "\n## Not good\n" : "";
      std::string note = record.end ? prose(record.end->note) : "";
      if (!note.empty()) note = " " + note;
      out += fmt::format(
          "\n### {}\n\n- whose problem: **{}**{}\n- what: {}: {}{}\n- rerun: {}\n- where to look: {}\n",
          code(record.planned.id), to_string(blame_in(model, record)), cause_and_next(model, record),
          code(to_string(verdict)), prose(headline(model, record)), note, code(rerun_command(model, record)),
          prose(where_to_look(model, record)));
      out += evidence_list(model, record) + telemetry_item(model, record);
    } else if (bad <= kMaxListed) {
      more += fmt::format("- {}: {}\n", code(record.planned.id), code(to_string(verdict)));
    }
  }
  if (!more.empty()) out += "\n### The others\n\n" + more;
  if (bad > kMaxListed) out += fmt::format("- and {} more: see `report.json`\n", bad - kMaxListed);
  if (bad == 0) return;
  out +=
      fmt::format("\nReruns start in {}; logs are below the run directory.\n", code(model.plan().directory));
}

// Cases of one outcome by reason, the most frequent reason first.
void add_by_reason(std::string& out, const RunModel& model, Outcome outcome, std::string_view title) {
  std::map<std::string, std::vector<const CaseRecord*>> groups;
  for (const CaseRecord& record : model.cases()) {
    const Verdict verdict = model.verdict(record);
    if (verdict.outcome == outcome) groups[verdict.reason].push_back(&record);
  }
  if (groups.empty()) return;
  std::vector<std::pair<std::string, std::vector<const CaseRecord*>>> sorted(groups.begin(), groups.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.size() > b.second.size(); });
  if (sorted.size() > kMaxExplained) sorted.resize(kMaxExplained);
  out += fmt::format("\n## {}\n\n", title);
  for (const auto& [reason, records] : sorted) {
    out += fmt::format("- {} × {}:", records.size(), reason.empty() ? "no reason" : code(reason));
    for (std::size_t i = 0; i < std::min(records.size(), kMaxIdsPerGroup); ++i) {
      out += (i == 0 ? " " : ", ") + code(records[i]->planned.id);
    }
    if (records.size() > kMaxIdsPerGroup) out += ", ...";
    out += '\n';
  }
}

void add_marks(std::string& out, const RunModel& model) {
  std::map<std::string, std::vector<const CaseRecord*>> marked;
  for (const CaseRecord& record : model.cases()) {
    for (const std::string& mark : model.marks(record)) marked[mark].push_back(&record);
  }
  if (marked.empty()) return;
  out += "\n## Marks\n\n";
  for (const auto& [mark, records] : marked) {
    out += fmt::format("- {} × {}:", records.size(), code(mark));
    for (std::size_t i = 0; i < std::min(records.size(), kMaxIdsPerGroup); ++i) {
      out += (i == 0 ? " " : ", ") + code(records[i]->planned.id);
    }
    if (records.size() > kMaxIdsPerGroup) out += ", ...";
    out += '\n';
  }
}

// A device that gets no more cases is news for whoever looks after the machine.
void add_drained(std::string& out, const RunModel& model) {
  bool any = false;
  for (const DeviceHealth& health : model.health()) {
    if (health.what != "drained") continue;
    if (!std::exchange(any, true)) out += "\n## Drained devices\n\n";
    out += fmt::format("- {}: {}", code(health.device), prose(health.evidence));
    if (!health.case_id.empty()) out += fmt::format(" (at {})", code(health.case_id));
    out += '\n';
  }
}

void add_surroundings(std::string& out, const RunModel& model) {
  const RunPlanned& plan = model.plan();
  if (!model.warnings().empty()) {
    out += "\n## Warnings\n\n";
    const std::size_t shown = std::min(model.warnings().size(), kMaxExplained);
    for (std::size_t i = 0; i < shown; ++i) {
      out += fmt::format("- {}: {}\n", code(model.warnings()[i].code), prose(model.warnings()[i].text));
    }
    if (shown < model.warnings().size()) out += "- and more: see `report.json`\n";
  }
  out += fmt::format("\n## Where it ran\n\n- containment: {}\n", code(plan.containment.layer));
  for (const std::string& gap : plan.containment.not_guaranteed) {
    out += fmt::format("  - not guaranteed: {}\n", prose(gap));
  }
  for (const std::string& way : plan.containment.how_to_improve) {
    out += fmt::format("  - better: {}\n", prose(way));
  }
  for (const PlannedDevice& device : plan.devices) {
    out += fmt::format("- device {}: {}{}\n", code(device.id), prose(device.name),
                       device.simulated ? " (simulated)" : "");
  }
  for (const auto& [name, value] : plan.stack) out += fmt::format("- {}: {}\n", prose(name), code(value));
  out += fmt::format(
      "- started as {} in {}\n",
      [&plan] {
        std::string line;
        for (const std::string& word : plan.command_line)
          line += (line.empty() ? "" : " ") + shell_quote(word);
        return code(line);
      }(),
      code(plan.directory));
}

}  // namespace

std::string summary_markdown(const RunModel& model) {
  std::string out;
  add_head(out, model);
  add_counts(out, model);
  add_bad(out, model);
  add_by_reason(out, model, Outcome::kSkip, "Skipped");
  add_by_reason(out, model, Outcome::kXfail, "Known failures");
  add_marks(out, model);
  add_drained(out, model);
  add_surroundings(out, model);
  return out;
}

}  // namespace proctor
