// Combinations of card, kernel, firmware and versions that are known to be bad. The rules are data: known_bad.toml, or
// a file of the user. There is no single good version, because a version that one card needs makes another card slow.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"
#include "harness/base/version.h"
#include "harness/doctor/host.h"

namespace proctor {

enum class Effect { kBroken, kSlow, kFlaky };
std::string_view to_string(Effect effect);

// The condition for one fact.
struct FactCondition {
  enum class Kind { kPresent, kAbsent, kVersion };
  Kind kind = Kind::kPresent;
  std::optional<VersionRange> range{};  // for kVersion
};

struct KnownBad {
  std::string id{};
  Effect effect = Effect::kBroken;
  std::string text{};
  std::string fix{};
  std::vector<std::string> sources{};
  std::string recheck{};  // "2027-05-20": the rule must be reviewed after this day
  // PCI ids, one of them must match; any card matches if `devices` and `models` are empty
  std::vector<std::string> devices{};
  std::vector<std::string> models{};             // patterns for the names from NVIDIA's driver
  int count = 1;                                 // minimum number of these cards
  std::map<std::string, FactCondition> facts{};  // all conditions must hold
};

// The result of evaluating a rule on a host.
enum class Match { kNo, kYes, kUnknown };
struct RuleAnswer {
  Match match = Match::kNo;
  std::vector<std::string> unknown{};  // unknown facts on which the result depends
};

// `file` is the name of the text in error messages.
Result<std::vector<KnownBad>> parse_known_bad(std::string_view text, const std::string& file);

std::string_view embedded_known_bad();
// Returns the embedded rules, parsed at the first call.
const std::vector<KnownBad>& known_bad_rules();

RuleAnswer evaluate(const KnownBad& rule, const Host& host);

}  // namespace proctor
