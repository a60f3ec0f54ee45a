// Reads files of other Proctor commands for the panels of a page: gate.json (reports/schema/gate.schema.json), and the
// output of `proctor list --coverage --json`.
//
// Such a file is not trusted. It is read up to a size limit. A file without a required key is refused, and the error
// names the first missing key. All its texts are shown as text only. Unknown keys are ignored, because
// the formats only grow. Example:
//
//   const Result<PageGate> gate = read_page_gate("gate.json");
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"

namespace proctor {

inline constexpr std::size_t kMostPanelFileBytes = std::size_t{32} << 20;

// The result of one rule of the gate.
struct PageGateRule {
  std::string cell{};  // "": the rule of all runs together
  std::string rule{};
  bool holds = false;
  std::string limit{};
  std::string value{};
  std::vector<std::string> reasons{};
  std::vector<std::string> cases{};
};

// The verdict of the gate on one cell.
struct PageGateCell {
  std::string name{};
  bool passed = false;
  std::size_t planned = 0;
  std::size_t executed = 0;
  std::vector<std::string> runs{};
  std::vector<PageGateRule> rules{};
};

// A key of the policy with a weaker value than the strict default.
struct PageRelaxation {
  std::size_t line = 0;
  std::string key{};
  std::string value{};
  std::string strict{};
};

// The content of gate.json.
struct PageGate {
  bool passed = false;
  std::string at{};
  std::string policy{};
  std::string policy_sha256{};
  std::vector<PageRelaxation> relaxations{};
  std::set<std::string> journals{};  // SHA-256 of the journals that it judged
  std::vector<PageGateCell> cells{};
  std::vector<PageGateRule> rules{};  // rules of all runs together
  std::vector<PageGateRule> failed{};
};

// A check, and the simulated faults that it detects.
struct PageCheck {
  std::string id{};
  std::vector<std::string> faults{};
};

// A rule of a suite, its sources, and its checks.
struct PageRule {
  std::string id{};
  std::vector<std::string> sources{};
  std::vector<PageCheck> checks{};
};

// A fault of the simulator with the checks that detect it, or a function of a vendor's
// interface with the checks that call it.
struct PageCovered {
  std::string name{};
  std::string backend{};  // only for a function
  std::vector<std::string> by{};
  std::string reason{};  // why no check calls the function
};

// The output of `proctor list --coverage --json`.
struct PageCoverage {
  std::vector<PageRule> rules{};
  std::vector<PageCovered> faults{};
  std::vector<PageCovered> functions{};
};

// Errors are usage errors that name the file `name`.
Result<PageGate> parse_page_gate(std::string_view text, const std::string& name);
Result<PageCoverage> parse_page_coverage(std::string_view text, const std::string& name);

Result<PageGate> read_page_gate(const std::string& file);
Result<PageCoverage> read_page_coverage(const std::string& file);

}  // namespace proctor
