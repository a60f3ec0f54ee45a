#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "harness/base/duration.h"
#include "reports/accept/accept_words.h"
#include "reports/formats/markdown.h"

namespace proctor {
namespace {

// These bound each list; accept.json is complete.
constexpr std::size_t kMostTableRows = 256;
constexpr std::size_t kMostSummaryLines = 20;
constexpr std::size_t kMostOpenPoints = 20;  // of each label

std::string cell_text(const std::string& text) { return text.empty() ? "-" : markdown_prose(text); }

void add_table(std::string& out, const AcceptReport& report) {
  if (report.devices.empty()) return;
  const auto names = step_names(report);
  out += "| device | model |";
  for (const std::string& name : names) out += fmt::format(" {} |", markdown_prose(name));
  out += " verdict | action |\n| --- | --- |";
  for (std::size_t i = 0; i < names.size(); ++i) out += " :-: |";
  out += " --- | --- |\n";
  for (std::size_t i = 0; i < std::min(report.devices.size(), kMostTableRows); ++i) {
    const AcceptedDevice& device = report.devices[i];
    out += fmt::format("| {} | {} |", cell_text(device.id), cell_text(device.model));
    for (const std::string& name : names) {
      const AcceptStepResult* step = find_step(device, name);
      out += step == nullptr
                 ? "  |"
                 : fmt::format(" {} |", sign_of(step->state) == "~" ? "\\~" : sign_of(step->state));
    }
    const std::string verdict(to_string(device.verdict));
    const bool is_accepted = device.verdict == AcceptVerdict::kAccepted;
    out +=
        fmt::format(" {} | {} |\n", is_accepted ? verdict : "**" + verdict + "**", cell_text(device.action));
  }
  out += "\n✓ proven, ✗ failed, \\~ partly, · not tried\n\n";
}

std::string low_text(const AcceptedDevice& device) {
  std::string text;
  for (const AcceptFigure& figure : device.figures) {
    if (figure.low)
      text += fmt::format("{}{} {:.4g} {}", text.empty() ? "" : ", ", figure.name, figure.value, figure.unit);
  }
  return text;
}

void add_reason(std::string& out, const AcceptedDevice& device) {
  out += fmt::format("**{}** {}", markdown_prose(device.id), to_string(device.verdict));
  for (const std::string& word : {device.model, device.pci, device.uuid}) {
    if (!word.empty()) out += ", " + markdown_prose(word);
  }
  out += ".\n\n";
  if (!device.findings.empty()) {
    out += fmt::format("- Reason: {}", markdown_prose(device.findings.front().words));
    if (device.findings.size() > 1)
      out += fmt::format("; and {} more, see `accept.json`", device.findings.size() - 1);
    out += ".\n";
  }
  if (const std::string low = low_text(device); !low.empty())
    out += fmt::format("- Too low: {}.\n", markdown_prose(low));
  for (std::size_t i = 0; i < std::min(device.gaps.size(), kMostSummaryLines); ++i)
    out += fmt::format("- Gap: {}.\n", markdown_prose(device.gaps[i]));
  if (!device.action.empty()) out += fmt::format("- Action: **{}**.\n", markdown_prose(device.action));
  if (!device.next.empty()) out += fmt::format("- Next: {}\n", markdown_code(device.next));
  for (const ChangedFact& fact : changed_facts(device))
    out += fmt::format("- Changed during the load: {}: {} → {}.\n", markdown_code(fact.name),
                       markdown_prose(fact.before), markdown_prose(fact.after));
  out += "\n";
}

}  // namespace

std::string accept_summary(const AcceptReport& report) {
  std::string out = fmt::format("# Proctor: {} (exit code {})\n\n", markdown_prose(accept_headline(report)),
                                report.exit_code);
  if (report.simulated)
    out += "> **SIMULATED.** No hardware was there: this is no evidence about any device.\n\n";
  out += fmt::format("Level {}, {}, host {}.\n", report.level,
                     human_duration(Milliseconds(report.duration_ms)), markdown_code(report.host));
  if (!report.command_line.empty())
    out += fmt::format("\nStarted as {}\n", markdown_code(report.command_line));
  out += "\n";
  add_table(out, report);
  std::size_t reasons = 0;
  for (const AcceptedDevice& device : report.devices) {
    if (device.verdict != AcceptVerdict::kAccepted && ++reasons <= kMostSummaryLines) add_reason(out, device);
  }
  if (reasons > kMostSummaryLines)
    out += fmt::format("And {} more devices, see `accept.json`.\n\n", reasons - kMostSummaryLines);
  std::map<std::string_view, std::size_t> shown;  // of each label
  for (const auto& [label, text] : open_points(report)) {
    if (++shown[label] <= kMostOpenPoints) out += fmt::format("- {}: {}\n", label, markdown_prose(text));
  }
  return out + "\n";
}

}  // namespace proctor
