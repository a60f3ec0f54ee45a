// An acceptance as text: the words and signs that all its reports share, the end of `proctor accept` on the console,
// and the beginning of summary.md.
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

// Returns the text after the verdict: "1 of 4 GPUs: replace cuda-sim:2", "4 of 4 GPUs", "stopped by SIGINT".
std::string accept_details(const AcceptReport& report);

// Returns ✓ ✗ ~ or ·. to_string(state) returns the word for it.
std::string_view sign_of(StepState state);

// Returns the names of the steps of all devices, in their order.
std::vector<std::string> step_names(const AcceptReport& report);
const AcceptStepResult* find_step(const AcceptedDevice& device, const std::string& name);

// Open points, which may exist with any verdict. Each has a label ("Not proven") and a text.
using OpenPoints = std::vector<std::pair<std::string_view, std::string>>;
OpenPoints open_points(const AcceptReport& report);

// A fact of the management library that changed during the load.
struct ChangedFact {
  std::string name{};
  std::string before{};
  std::string after{};
};
std::vector<ChangedFact> changed_facts(const AcceptedDevice& device);

// The figures of the devices of one model, with a common scale. Figures with one name have one unit.
struct FigureRow {
  std::string name{};
  std::string unit{};
  double most = 0;  // the end of the scale
  std::optional<double> floor{};
  std::optional<double> best{};
  // One for each device of the model; null if the device does not have the figure.
  std::vector<const AcceptFigure*> values{};
};
// The figures of all devices of one model.
struct ModelFigures {
  std::string model{};
  std::vector<const AcceptedDevice*> devices{};
  std::vector<FigureRow> rows{};
};
std::vector<ModelFigures> figures_by_model(const AcceptReport& report);

// On hardware, the id of a device is as long as its UUID. Returns ids with at most 20 columns for each device of the
// report. If two of these were equal, it returns the complete ids.
using ShortIds = std::map<const AcceptedDevice*, std::string>;
ShortIds short_ids(const AcceptReport& report);

// Returns the first `columns` characters of UTF-8 text. If the text is longer, "…" is the last one.
std::string cut_text(const std::string& text, std::size_t columns);
// Returns the number of columns of UTF-8 text without wide characters.
std::size_t width_of(std::string_view text);

// ---- The console (accept_table.cc): each part fits into any width ----

inline constexpr std::size_t kUsualColumns = 120;  // for output to a file or pipe

// Returns "level 1 · 4.8 s · host vm · simulated: no evidence about hardware · exit 1 (failed)".
std::string accept_meta_line(const AcceptReport& report);
// Returns a table with a row for each device: a sign for each step, the verdict and the action. The meaning of the
// signs follows. If the names of the steps do not fit into `columns`, letters replace them. A table of 8 devices and 15
// steps fits into 120 columns.
std::string accept_step_table(const AcceptReport& report, std::size_t columns);
// Returns the speeds of the devices of each model as bars of one scale, with floor and
// best device; "" if there are none.
std::string accept_speed_table(const AcceptReport& report, std::size_t columns);
// Returns a paragraph for each device that did not pass, then the open points.
std::string accept_reasons(const AcceptReport& report, std::size_t columns);

// ---- summary.md (accept_table.cc) ----

// Returns the verdict, a table of devices and steps, the reasons, and the open points. The
// caller adds a section "Details".
std::string accept_summary(const AcceptReport& report);

}  // namespace proctor
