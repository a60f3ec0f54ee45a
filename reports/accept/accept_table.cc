#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>

#include "harness/base/duration.h"
#include "harness/base/text.h"
#include "harness/base/words.h"
#include "reports/accept/accept_words.h"
#include "reports/formats/markdown.h"
#include "reports/resolve/report_text.h"

namespace proctor {
namespace {

using Cells = std::vector<std::string>;

constexpr std::size_t kGap = 2;
constexpr std::size_t kLeastModel = 8;  // a model that would be shorter is not shown
constexpr std::size_t kMostModel = 28;
constexpr std::size_t kShortBar = 4;
constexpr std::size_t kLongBar = 10;
constexpr std::size_t kPlainBytes = 400;
constexpr std::size_t kMostGaps = 3;  // for each device; accept.json has all
constexpr int kEighths = 8;

// ---- Text in columns ----

std::string plain_text(const std::string& text) { return one_line(clean_text(text), kPlainBytes); }

std::string padded(const std::string& text, std::size_t columns) {
  const std::size_t width = width_of(text);
  return width >= columns ? text : text + std::string(columns - width, ' ');
}

std::string centred(const std::string& text, std::size_t columns) {
  const std::size_t width = width_of(text);
  return width >= columns ? text : padded(std::string((columns - width) / 2, ' ') + text, columns);
}

std::string without_end_blanks(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

// Breaks lines between words. The first line begins with `head`, and the others with `indent` blanks.
std::string wrapped(const std::string& head, const std::string& text, std::size_t indent,
                    std::size_t columns) {
  std::string all;
  std::string line = head;
  bool is_empty = true;
  for (const std::string_view word : split(text, ' ')) {
    if (!is_empty && width_of(line) + 1 + width_of(word) > columns) {
      all += without_end_blanks(line);
      line = std::string(indent, ' ');
      is_empty = true;
    }
    line += (is_empty ? "" : " ") + std::string(word);
    is_empty = false;
  }
  return all + without_end_blanks(line);
}

// Pads the cells, so that the cells of each column are aligned.
std::string aligned(const std::vector<Cells>& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const Cells& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  std::string text;
  for (const Cells& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) line += padded(row[i], widths[i] + kGap);
    text += without_end_blanks(line);
  }
  return text;
}

std::size_t widest_line(const std::string& text) {
  std::size_t width = 0;
  for (const std::string_view line : lines_of(text)) width = std::max(width, width_of(line));
  return width;
}

// ---- Devices and steps ----

// Returns "a", "b", ..., "z", "27".
std::string letter_of(std::size_t step) {
  return step < 26 ? std::string(1, static_cast<char>('a' + step)) : std::to_string(step + 1);
}

// The columns of the steps in the console table.
struct StepColumns {
  Cells names;
  Cells headings;  // the names, or one letter for each
  std::string between = std::string(kGap, ' ');

  bool are_letters() const { return between.size() < kGap; }
  std::string heading() const { return joined(headings, between); }
};

StepColumns with_letters(StepColumns columns) {
  columns.between = " ";
  for (std::size_t i = 0; i < columns.headings.size(); ++i) columns.headings[i] = letter_of(i);
  return columns;
}

std::string signs_of(const AcceptedDevice& device, const StepColumns& columns) {
  Cells signs;
  for (std::size_t i = 0; i < columns.names.size(); ++i) {
    const AcceptStepResult* step = find_step(device, columns.names[i]);
    signs.push_back(
        centred(std::string(step == nullptr ? " " : sign_of(step->state)), width_of(columns.headings[i])));
  }
  return joined(signs, columns.between);
}

// A row for each device below the headings. `model_width` 0 omits the models.
std::string device_table(const AcceptReport& report, const StepColumns& steps, std::size_t model_width) {
  const ShortIds ids = short_ids(report);
  std::vector<Cells> rows = {{"DEVICE", "MODEL", steps.heading(), "VERDICT", "ACTION"}};
  for (const AcceptedDevice& device : report.devices) {
    rows.push_back({ids.at(&device), cut_text(plain_text(device.model), model_width), signs_of(device, steps),
                    std::string(to_string(device.verdict)),
                    device.action.empty() ? "-" : plain_text(device.action)});
  }
  for (Cells& row : rows) {
    if (steps.names.empty()) row.erase(row.begin() + 2);
    if (model_width == 0) row.erase(row.begin() + 1);
  }
  return aligned(rows);
}

std::string legend_of(const StepColumns& steps, std::size_t columns) {
  const std::string all = "✓ proven   ✗ failed   ~ partly   · not tried\n";
  if (!steps.are_letters()) return all;
  Cells meanings;
  for (std::size_t i = 0; i < steps.names.size(); ++i)
    meanings.push_back(steps.headings[i] + " " + plain_text(steps.names[i]));
  return all + wrapped("", joined(meanings, "   "), 0, columns);
}

// ---- Speeds ----

// Returns a bar such as "█▌" with at most `columns` columns.
std::string bar_of(double value, double most, std::size_t columns) {
  static constexpr std::array<std::string_view, kEighths> kParts = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const double share = most > 0 ? std::clamp(value / most, 0.0, 1.0) : 0;
  const auto eighths = static_cast<std::size_t>(std::lround(share * static_cast<double>(columns) * kEighths));
  std::string bar;
  for (std::size_t i = 0; i < eighths / kEighths; ++i) bar += "█";
  return bar + std::string(kParts[eighths % kEighths]);
}

std::string speed_text(const std::optional<double>& number) {
  return number ? fmt::format("{:.4g}", *number) : "-";
}

// Returns "████▌ 7.15", with "✗" if the speed is too low.
std::string speed_cell(const AcceptFigure* figure, double most, std::size_t bar) {
  if (figure == nullptr) return "-";
  return fmt::format("{} {}{}", padded(bar_of(figure->value, most, bar), bar), speed_text(figure->value),
                     figure->low ? " ✗" : "");
}

// Returns a table of at most `count` devices, beginning with device `first`.
std::string speed_block(const ModelFigures& model, const ShortIds& ids, std::size_t first, std::size_t count,
                        std::size_t bar) {
  Cells head = {plain_text(model.model)};
  const std::size_t end = std::min(first + count, model.devices.size());
  for (std::size_t i = first; i < end; ++i) head.push_back(ids.at(model.devices[i]));
  head.insert(head.end(), {"FLOOR", "BEST"});
  std::vector<Cells> rows = {head};
  for (const FigureRow& row : model.rows) {
    Cells cells = {fmt::format("{} {}", plain_text(row.name), plain_text(row.unit))};
    for (std::size_t i = first; i < end; ++i) cells.push_back(speed_cell(row.values[i], row.most, bar));
    cells.insert(cells.end(), {speed_text(row.floor), speed_text(row.best)});
    rows.push_back(std::move(cells));
  }
  return aligned(rows);
}

// Each table has as many devices as fit into `columns`.
std::string speed_blocks(const ModelFigures& model, const ShortIds& ids, std::size_t columns) {
  std::size_t sibling = model.devices.size();
  std::size_t bar = kLongBar;
  while (widest_line(speed_block(model, ids, 0, sibling, bar)) > columns &&
         (bar > kShortBar || sibling > 1)) {
    if (bar > kShortBar) {
      --bar;
    } else {
      --sibling;
    }
  }
  std::string text;
  for (std::size_t i = 0; i < model.devices.size(); i += sibling)
    text += (text.empty() ? "" : "\n") + speed_block(model, ids, i, sibling, bar);
  return text;
}

// ---- Reasons ----

std::string identity_of(const AcceptedDevice& device) {
  Cells words = {plain_text(device.id), std::string(to_string(device.verdict))};
  for (const std::string& word : {device.model, device.pci, device.uuid}) {
    if (!word.empty()) words.push_back(plain_text(word));
  }
  return joined(words, "  ");
}

std::string first_reason(const AcceptedDevice& device) {
  if (device.findings.empty()) return "";
  std::string text = plain_text(device.findings.front().words);
  if (const std::size_t more = device.findings.size() - 1; more > 0)
    text += fmt::format("; and {} more finding{}", more, more == 1 ? "" : "s");
  return text;
}

// The lines below the identity of a device.
std::string explanation_of(const AcceptedDevice& device, std::size_t columns) {
  constexpr std::size_t kIndent = 10;
  std::string text;
  if (const std::string reason = first_reason(device); !reason.empty())
    text += wrapped("  reason  ", reason, kIndent, columns);
  const std::size_t gaps = std::min(device.gaps.size(), kMostGaps);
  for (std::size_t i = 0; i < gaps; ++i)
    text += wrapped("  gap     ", plain_text(device.gaps[i]), kIndent, columns);
  if (device.gaps.size() > gaps) text += fmt::format("  gap     and {} more\n", device.gaps.size() - gaps);
  if (!device.action.empty()) text += fmt::format("  action  {}\n", plain_text(device.action));
  // A command is not wrapped, so that users can copy it.
  if (!device.next.empty()) text += fmt::format("  next    {}\n", plain_text(device.next));
  return text;
}

// Groups devices with one explanation into one paragraph. Each entry has the explanation and the identities.
std::vector<std::pair<std::string, std::string>> paragraphs_of(const AcceptReport& report,
                                                               std::size_t columns) {
  std::vector<std::pair<std::string, std::string>> paragraphs;
  for (const AcceptedDevice& device : report.devices) {
    if (device.verdict == RunVerdict::kPassed) continue;
    const std::string explanation = explanation_of(device, columns);
    auto same = std::ranges::find(paragraphs, explanation, &std::pair<std::string, std::string>::first);
    if (same == paragraphs.end()) same = paragraphs.insert(paragraphs.end(), {explanation, ""});
    same->second += wrapped("", identity_of(device), 2, columns);
  }
  return paragraphs;
}

}  // namespace

std::string accept_meta_line(const AcceptReport& report) {
  return fmt::format("level {} · {} · host {}{} · exit {} ({})", report.level,
                     human_duration(Milliseconds(report.duration_ms)), plain_text(report.host),
                     report.simulated ? " · simulated: no evidence about hardware" : "", report.exit_code,
                     describe(report.verdict));
}

// Letters replace the names of steps before the models become narrower than kMostModel.
std::string accept_step_table(const AcceptReport& report, std::size_t columns) {
  if (report.devices.empty()) return "";
  const Cells names = step_names(report);
  StepColumns steps{.names = names, .headings = names};
  std::string table = device_table(report, steps, kMostModel);
  if (widest_line(table) > columns) {
    steps = with_letters(std::move(steps));
    std::size_t model_width = kMostModel;
    table = device_table(report, steps, model_width);
    while (widest_line(table) > columns && model_width > 0) {
      model_width = model_width > kLeastModel ? model_width - 1 : 0;
      table = device_table(report, steps, model_width);
    }
  }
  return table + legend_of(steps, columns);
}

std::string accept_speed_table(const AcceptReport& report, std::size_t columns) {
  std::string text;
  const ShortIds ids = short_ids(report);
  for (ModelFigures& model : figures_by_model(report)) {
    std::erase_if(model.rows,
                  [](const FigureRow& row) { return row.values.size() < 2 && !row.floor && !row.best; });
    if (!model.rows.empty()) text += (text.empty() ? "" : "\n") + speed_blocks(model, ids, columns);
  }
  return text;
}

std::string accept_reasons(const AcceptReport& report, std::size_t columns) {
  std::string text;
  for (const auto& [explanation, identities] : paragraphs_of(report, columns))
    text += identities + explanation + "\n";
  for (const auto& [label, open] : open_points(report))
    text += wrapped("", fmt::format("{}: {}", lower_case(label), plain_text(open)), 2, columns);
  return text;
}

namespace {

// These constants limit each list; accept.json is complete.
constexpr std::size_t kMostTableRows = 256;
constexpr std::size_t kMostSummaryLines = 20;
constexpr std::size_t kMostOpenPoints = 20;  // for each label

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
    const bool passed = device.verdict == RunVerdict::kPassed;
    out += fmt::format(" {} | {} |\n", passed ? verdict : "**" + verdict + "**", cell_text(device.action));
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
  std::string out = fmt::format("# Proctor: {}: {} (exit code {})\n\n", headline(report.verdict),
                                markdown_prose(accept_details(report)), report.exit_code);
  if (report.simulated)
    out += "> **SIMULATED.** No hardware was tested: this is not evidence about any device.\n\n";
  out += fmt::format("Level {}, {}, host {}.\n", report.level,
                     human_duration(Milliseconds(report.duration_ms)), markdown_code(report.host));
  if (!report.command_line.empty())
    out += fmt::format("\nStarted as {}\n", markdown_code(report.command_line));
  out += "\n";
  add_table(out, report);
  std::size_t reasons = 0;
  for (const AcceptedDevice& device : report.devices) {
    if (device.verdict != RunVerdict::kPassed && ++reasons <= kMostSummaryLines) add_reason(out, device);
  }
  if (reasons > kMostSummaryLines)
    out += fmt::format("And {} more devices, see `accept.json`.\n\n", reasons - kMostSummaryLines);
  std::map<std::string_view, std::size_t> shown;  // by label
  for (const auto& [label, text] : open_points(report)) {
    if (++shown[label] <= kMostOpenPoints) out += fmt::format("- {}: {}\n", label, markdown_prose(text));
  }
  return out + "\n";
}

}  // namespace proctor
