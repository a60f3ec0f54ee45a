// An acceptance as text: the words and signs that all reports share, the end of `proctor accept` on the console, and the
// beginning of summary.md.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reports/accept/accept_report.h"

namespace proctor {

// What follows the verdict: "1 of 4 GPUs: replace cuda-sim:2", "4 of 4 GPUs", "stopped by SIGINT".
std::string accept_details(const AcceptReport& report);

// ✓ ✗ ~ ·, which to_string(state) has in words.
std::string_view sign_of(StepState state);

// The steps of all devices, in their order.
std::vector<std::string> step_names(const AcceptReport& report);
const AcceptStepResult* find_step(const AcceptedDevice& device, const std::string& name);

// What is open, whatever the verdict is: a label ("Not proven") and a text each.
using OpenPoints = std::vector<std::pair<std::string_view, std::string>>;
OpenPoints open_points(const AcceptReport& report);

// A fact of the management library that the load changed.
struct ChangedFact {
  std::string name{};
  std::string before{};
  std::string after{};
};
std::vector<ChangedFact> changed_facts(const AcceptedDevice& device);

// The figures of the devices of one model with a common scale. Figures of one name have one unit.
struct FigureRow {
  std::string name{};
  std::string unit{};
  double most = 0;  // the end of the scale
  std::optional<double> floor{};
  std::optional<double> best{};
  std::vector<const AcceptFigure*> values{};  // of each device of the model; null: it has none
};
struct ModelFigures {
  std::string model{};
  std::vector<const AcceptedDevice*> devices{};
  std::vector<FigureRow> rows{};
};
std::vector<ModelFigures> figures_by_model(const AcceptReport& report);

// The id of a device on hardware is as long as its UUID. At most 20 columns for each device of the report; the whole ids where
// two would be equal.
using ShortIds = std::map<const AcceptedDevice*, std::string>;
ShortIds short_ids(const AcceptReport& report);

// The first `columns` characters of UTF-8 text; "…" stands for the rest.
std::string cut_text(const std::string& text, std::size_t columns);
// Columns of UTF-8 text without wide characters.
std::size_t width_of(std::string_view text);

// ---- The console (accept_table.cc): each part fits into any width ----

inline constexpr std::size_t kUsualColumns = 120;  // of output to a file or pipe

// "level 1 · 4.8 s · host vm · simulated: no evidence about hardware · exit 1 (failed)".
std::string accept_meta_line(const AcceptReport& report);
// A row for each device, with a sign for each step, the verdict and the action; then what the signs mean. Names of steps that
// do not fit into `columns` become letters. A table of 8 devices and 15 steps fits into 120 columns.
std::string accept_step_table(const AcceptReport& report, std::size_t columns);
// Speeds of the devices of each model as bars of one scale, beside floor and best device; "" without any.
std::string accept_speed_table(const AcceptReport& report, std::size_t columns);
// A paragraph for each device that did not pass, then the open points.
std::string accept_reasons(const AcceptReport& report, std::size_t columns);

// ---- summary.md (accept_table.cc) ----

// The verdict, a table of devices and steps, the reasons, and the open points. A section "Details" follows.
std::string accept_summary(const AcceptReport& report);

}  // namespace proctor
