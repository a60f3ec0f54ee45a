// Combinations of card, kernel, firmware and versions that are known to be bad, as data: known_bad.toml, or a
// file of the user. There is no single good version: what one card needs makes another slow.
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

// What one fact must be.
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
  std::string recheck{};               // "2027-05-20": after this day somebody must check the rule again
  std::vector<std::string> devices{};  // PCI ids, one must match; any card if both lists are empty
  std::vector<std::string> models{};   // patterns for names that NVIDIA's driver gives
  int count = 1;                       // at least so many of these cards
  std::map<std::string, FactCondition> facts{};  // all must hold
};

// What a rule says about a host.
enum class Match { kNo, kYes, kUnknown };
struct RuleAnswer {
  Match match = Match::kNo;
  std::vector<std::string> unknown{};  // unknown facts that would decide it
};

// `file` stands for the text in messages.
Result<std::vector<KnownBad>> parse_known_bad(std::string_view text, const std::string& file);

std::string_view embedded_known_bad();
// The embedded rules, read once.
const std::vector<KnownBad>& known_bad_rules();

RuleAnswer evaluate(const KnownBad& rule, const Host& host);

}  // namespace proctor
