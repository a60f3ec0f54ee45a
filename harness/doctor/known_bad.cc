#include "harness/doctor/known_bad.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "harness/base/text.h"
#include "harness/base/toml_reader.h"
#include "harness/stack/lock_format.h"

namespace proctor {
namespace {

constexpr int kFormat = 1;

const std::vector<std::string>& fact_names() {
  static const std::vector<std::string> kNames = {
      "host.kernel",  "kmd.nvidia",     "kmd.xe",          "kmd.i915",       "firmware.vbios",
      "firmware.gsp", "firmware.guc",   "firmware.huc",    "umd.level_zero", "umd.opencl",
      "umd.igc",      "umd.gmmlib",     "umd.cuda_compat", "umd.libcuda",    "loader.level_zero",
      "library.nccl", "library.oneccl", "toolkit.cuda",    "glue.toolkit"};
  return kNames;
}

// Example: "8086:e223".
bool is_pci_id(std::string_view text) {
  return text.size() == 9 && text[4] == ':' && std::all_of(text.begin(), text.end(), [](char c) {
           return c == ':' || std::isdigit(static_cast<unsigned char>(c)) != 0 || (c >= 'a' && c <= 'f');
         });
}

bool is_date(std::string_view text) {
  if (text.size() != 10) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 4 || i == 7;
    if (dash ? text[i] != '-' : std::isdigit(static_cast<unsigned char>(text[i])) == 0) return false;
  }
  const std::string_view month = text.substr(5, 2);
  const std::string_view day = text.substr(8, 2);
  return month >= "01" && month <= "12" && day >= "01" && day <= "31";
}

// Reads one [[rule]] and stops at its first mistake.
class KnownBadReader {
 public:
  KnownBadReader(const std::string& file, const toml::table& table)
      : file_(file),

        reader_(
            file, table, "[[rule]]",
            {"id", "effect", "text", "fix", "sources", "recheck", "devices", "models", "count", "facts"}) {}

  Result<KnownBad> read();

 private:
  std::string text(const char* key);
  void words(const char* key, std::vector<std::string>& out, bool (*rule)(std::string_view),
             const char* expected);
  void effect();
  void facts();
  FactCondition condition(TableReader& facts, const std::string& name, const std::string& value);

  const std::string& file_;
  TableReader reader_;
  KnownBad rule_;
};

std::string KnownBadReader::text(const char* key) {
  reader_.require(key);
  std::string value;
  reader_.read(key, value);
  if (value.empty() && !reader_.error()) reader_.fail(key, fmt::format("`{}` says nothing", key));
  return value;
}

void KnownBadReader::words(const char* key, std::vector<std::string>& out, bool (*rule)(std::string_view),
                           const char* expected) {
  std::optional<std::vector<std::string>> values;
  reader_.read(key, values);
  for (const auto& value : values.value_or(std::vector<std::string>())) {
    if (!rule(value))
      return reader_.fail(key, fmt::format("`{}` contains \"{}\", but takes only {}", key, value, expected));
  }
  out = values.value_or(std::vector<std::string>());
}

void KnownBadReader::effect() {
  reader_.require("effect");
  std::optional<std::string> word;
  reader_.read_choice("effect", word, {"broken", "slow", "flaky"});
  for (const Effect effect : {Effect::kBroken, Effect::kSlow, Effect::kFlaky}) {
    if (word && to_string(effect) == *word) rule_.effect = effect;
  }
}

FactCondition KnownBadReader::condition(TableReader& facts, const std::string& name,
                                        const std::string& value) {
  FactCondition condition;
  if (value == "present") return condition;
  if (value == "absent") {
    condition.kind = FactCondition::Kind::kAbsent;
    return condition;
  }
  condition.kind = FactCondition::Kind::kVersion;
  auto range = VersionRange::parse(value);
  if (range) {
    condition.range = *std::move(range);
    return condition;
  }
  facts.fail(name.c_str(),
             fmt::format("`{}` is \"{}\", but must be a version, present or absent", name, value),
             did_you_mean(value, {"present", "absent"}, "Write versions such as \">=25.44, <26.15\"."));
  return condition;
}

void KnownBadReader::facts() {
  const toml::table* table = reader_.table("facts");
  if (table == nullptr) return;
  TableReader facts(file_, *table, "`facts`", fact_names());
  for (const auto& name : fact_names()) {
    std::optional<std::string> value;
    facts.read(name.c_str(), value);
    if (value) rule_.facts[name] = condition(facts, name, *value);
  }
  if (facts.error()) reader_.fail(*facts.error());
}

Result<KnownBad> KnownBadReader::read() {
  rule_.id = text("id");
  effect();
  rule_.text = text("text");
  rule_.fix = text("fix");
  rule_.recheck = text("recheck");
  if (!rule_.recheck.empty() && !is_date(rule_.recheck)) {
    reader_.fail("recheck",
                 fmt::format("`recheck` is \"{}\", but must be a date such as 2027-05-20", rule_.recheck));
  }
  reader_.require("sources");
  words("sources", rule_.sources, is_web_address, "addresses with http:// or https://");
  if (rule_.sources.empty()) reader_.fail("sources", "`sources` names no public source");
  words("devices", rule_.devices, is_pci_id, "PCI ids such as \"8086:e223\", in lower case");
  words(
      "models", rule_.models, [](std::string_view word) { return !word.empty(); }, "names");
  std::optional<int> count;
  reader_.read("count", count, 1, 64);
  rule_.count = count.value_or(1);
  facts();
  if (rule_.facts.empty() && !reader_.error()) {
    reader_.fail("facts",
                 fmt::format("the rule `{}` has no `facts`: it would hold on every machine", rule_.id));
  }
  if (reader_.error()) return *reader_.error();
  return std::move(rule_);
}

bool is_meant(const KnownBad& rule, const Card& card) {
  if (std::find(rule.devices.begin(), rule.devices.end(), card.id) != rule.devices.end()) return true;
  return std::any_of(rule.models.begin(), rule.models.end(),
                     [&](const std::string& pattern) { return glob_match(pattern, card.model); });
}

// Returns the last word of each part: "a 1.2, 0/gt0 70.58.0" -> "1.2", "70.58.0".
std::vector<std::string> versions_in(std::string text) {
  std::vector<std::string> versions;
  while (!text.empty()) {
    const auto comma = std::min(text.find(", "), text.size());
    const std::string part = text.substr(0, comma);
    versions.push_back(part.substr(part.find_last_of(" :") + 1));  // drops Debian's epoch
    text.erase(0, std::min(comma + 2, text.size()));
  }
  return versions;
}

Match holds(const FactCondition& condition, const StackFact* fact) {
  const bool absent = fact != nullptr && fact->absent;
  if (fact == nullptr || (!fact->value && !absent)) return Match::kUnknown;
  switch (condition.kind) {
    case FactCondition::Kind::kPresent:
      return absent ? Match::kNo : Match::kYes;
    case FactCondition::Kind::kAbsent:
      return absent ? Match::kYes : Match::kNo;
    case FactCondition::Kind::kVersion:
      break;
  }
  if (absent) return Match::kNo;
  const auto versions = versions_in(*fact->value);
  const bool any = std::any_of(versions.begin(), versions.end(), [&](const std::string& text) {
    const auto version = Version::parse(text);
    return version && condition.range->contains(*version);
  });
  return any ? Match::kYes : Match::kNo;
}

}  // namespace

std::string_view to_string(Effect effect) {
  switch (effect) {
    case Effect::kBroken:
      return "broken";
    case Effect::kSlow:
      return "slow";
    case Effect::kFlaky:
      return "flaky";
  }
  return "?";
}

Result<std::vector<KnownBad>> parse_known_bad(std::string_view text, const std::string& file) {
  const auto root = parse_toml(text, file);
  if (!root) return root.error();
  TableReader top(file, *root, "the rules", {"version", "rule"});
  top.require("version");
  std::optional<int> version;
  top.read("version", version, kFormat, kFormat);
  std::vector<KnownBad> rules;
  std::set<std::string> ids;
  for (const auto* table : top.tables("rule")) {
    auto rule = KnownBadReader(file, *table).read();
    if (!rule) return rule.error();
    if (!ids.insert(rule->id).second)
      return toml_error(file, table->source(), fmt::format("the rule `{}` is defined twice", rule->id));
    rules.push_back(*std::move(rule));
  }
  if (rules.empty()) top.fail("rule", "there is no [[rule]]");
  if (top.error()) return *top.error();
  return rules;
}

const std::vector<KnownBad>& known_bad_rules() {
  // A unit test parses the embedded text, so it is valid in a released program.
  static const std::vector<KnownBad> kRules = [] {
    auto rules = parse_known_bad(embedded_known_bad(), "known_bad.toml");
    return rules ? *std::move(rules) : std::vector<KnownBad>();
  }();
  return kRules;
}

RuleAnswer evaluate(const KnownBad& rule, const Host& host) {
  if (!rule.devices.empty() || !rule.models.empty()) {
    const auto cards = std::count_if(host.cards.begin(), host.cards.end(),
                                     [&](const Card& card) { return is_meant(rule, card); });
    if (cards < rule.count) return {};
  } else if (static_cast<int>(host.cards.size()) < rule.count) {
    return {};
  }
  RuleAnswer answer{Match::kYes, {}};
  bool points_here = !rule.devices.empty() || !rule.models.empty();
  for (const auto& [name, condition] : rule.facts) {
    const Match match = holds(condition, host.fact(name));
    if (match == Match::kNo) return {};
    if (match == Match::kUnknown) answer.unknown.push_back(name);
    if (match == Match::kYes && condition.kind == FactCondition::Kind::kVersion) points_here = true;
  }
  if (answer.unknown.empty()) return answer;
  // A rule with unknown facts is reported only if a card or a version matches it.
  return points_here ? RuleAnswer{Match::kUnknown, answer.unknown} : RuleAnswer{};
}

}  // namespace proctor
