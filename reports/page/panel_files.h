// What other commands of Proctor wrote, as far as a page shows it: gate.json (reports/schema/gate.schema.json), and what
// `proctor list --coverage --json` prints.
//
// Such a file came from somewhere: it is read up to a limit, one without the keys of its format is refused with the first
// that is missing, and each text in it is only a text. Keys that are not known are ignored, since the formats only grow.
// Example:
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

struct PageGateRule {
  std::string cell{};  // "": of all runs together
  std::string rule{};
  bool holds = false;
  std::string limit{};
  std::string value{};
  std::vector<std::string> reasons{};
  std::vector<std::string> cases{};
};

struct PageGateCell {
  std::string name{};
  bool passed = false;
  std::size_t planned = 0;
  std::size_t executed = 0;
  std::vector<std::string> runs{};
  std::vector<PageGateRule> rules{};
};

struct PageRelaxation {
  std::size_t line = 0;
  std::string key{};
  std::string value{};
  std::string strict{};
};

struct PageGate {
  bool passed = false;
  std::string at{};
  std::string policy{};
  std::string policy_sha256{};
  std::vector<PageRelaxation> relaxations{};
  std::set<std::string> journals{};  // SHA-256 of those that it judged
  std::vector<PageGateCell> cells{};
  std::vector<PageGateRule> rules{};  // of all runs together
  std::vector<PageGateRule> failed{};
};

struct PageCheck {
  std::string id{};
  std::vector<std::string> faults{};
};

struct PageRule {
  std::string id{};
  std::vector<std::string> sources{};
  std::vector<PageCheck> checks{};
};

// Of the simulator, or of a vendor's interface; and who notices it, or calls it.
struct PageCovered {
  std::string name{};
  std::string backend{};  // of a function
  std::vector<std::string> by{};
  std::string reason{};  // why nobody calls it
};

struct PageCoverage {
  std::vector<PageRule> rules{};
  std::vector<PageCovered> faults{};
  std::vector<PageCovered> functions{};
};

// Errors are of usage and call the file by its name.
Result<PageGate> parse_page_gate(std::string_view text, const std::string& name);
Result<PageCoverage> parse_page_coverage(std::string_view text, const std::string& name);

Result<PageGate> read_page_gate(const std::string& file);
Result<PageCoverage> read_page_coverage(const std::string& file);

}  // namespace proctor
