#include "harness/classify/rules.h"

#include <algorithm>
#include <array>
#include <initializer_list>

#include "harness/base/toml_reader.h"
#include "harness/base/words.h"

namespace proctor {
namespace {

constexpr std::array kAllWhere = {Where::kSignal, Where::kKernelLog, Where::kCode, Where::kOutput,
                                  Where::kOutcome};

constexpr std::size_t kMinAnchor = 4;  // LineMatcher hashes this many bytes of an anchor

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Reads one rule and records its first mistake.
class RuleReader {
 public:
  explicit RuleReader(const toml::table& table) : table_(table) {}

  Result<Rule> read();

 private:
  void fail(const std::string& what) {
    if (problem_.empty()) problem_ = what;
  }
  std::string text(const char* key);
  std::string choice(const char* key, std::initializer_list<std::string_view> words);
  std::vector<Pattern> patterns(const char* key);
  Where where();
  Gravity severity();
  FailureOwner problem();
  std::optional<Verdict> becomes();

  const toml::table& table_;
  std::string problem_;
};

std::string RuleReader::text(const char* key) {
  auto value = table_[key].value<std::string>().value_or("");
  if (value.empty()) fail(std::string(key) + " is missing");
  return value;
}

std::string RuleReader::choice(const char* key, std::initializer_list<std::string_view> words) {
  std::string word = text(key);
  if (!is_one_of(word, words)) fail(std::string(key) + " cannot be " + word);
  return word;
}

std::vector<Pattern> RuleReader::patterns(const char* key) {
  std::vector<Pattern> found;
  const toml::array* array = table_[key].as_array();
  for (std::size_t i = 0; array && i < array->size(); ++i) {
    found.emplace_back((*array)[i].value<std::string>().value_or(""));
    if (found.back().anchor().size() < kMinAnchor)
      fail(std::string(key) + " contains a pattern without a long piece");
  }
  return found;
}

Where RuleReader::where() {
  const std::string name = text("where");
  for (const Where where : kAllWhere) {
    if (to_string(where) == name) return where;
  }
  fail("where cannot be " + name);
  return Where::kOutput;
}

Gravity RuleReader::severity() {
  const std::string name = text("severity");
  for (std::size_t i = 0; i < kGravities; ++i) {
    if (to_string(static_cast<Gravity>(i)) == name) return static_cast<Gravity>(i);
  }
  fail("severity cannot be " + name);
  return Gravity::kError;
}

FailureOwner RuleReader::problem() {
  return parse_failure_owner(choice("owner", {"code", "machine", "setup"})).value_or(FailureOwner::kCode);
}

std::optional<Verdict> RuleReader::becomes() {
  const auto name = table_["becomes"].value<std::string>();
  if (!name) return std::nullopt;
  if (*name == to_string(Outcome::kDeviceLost)) return Verdict{Outcome::kDeviceLost, ""};
  if (*name == "crash(oom_host)") return Verdict{Outcome::kCrash, Reason::kOomHost};
  fail("becomes cannot be " + *name);
  return std::nullopt;
}

Result<Rule> RuleReader::read() {
  for (const auto& [key, value] : table_) {
    if (!is_one_of(key.str(), {"id", "where", "pattern", "kernel", "vendor", "class", "severity", "owner",
                               "next", "source", "any_device", "fits", "becomes"}))
      fail("unknown key " + std::string(key.str()));
  }
  Rule rule;
  rule.id = text("id");
  rule.where = where();
  rule.patterns = patterns("pattern");
  rule.kernel = patterns("kernel");
  rule.vendor = choice("vendor", {"nvidia", "intel", "any"});
  rule.error_class = text("class");
  rule.severity = severity();
  rule.problem = problem();
  rule.next = text("next");
  rule.source = text("source");
  rule.any_device = table_["any_device"].value_or(false);
  rule.fits = table_["fits"].value_or(false);
  rule.becomes = becomes();
  if (rule.patterns.empty()) fail("pattern is missing");
  if (!problem_.empty()) return Error::internal("read rule `" + rule.id + "`: " + problem_);
  return rule;
}

}  // namespace

std::string_view to_string(Where where) {
  switch (where) {
    case Where::kSignal:
      return "signal";
    case Where::kKernelLog:
      return "kernel_log";
    case Where::kCode:
      return "code";
    case Where::kOutput:
      return "output";
    case Where::kOutcome:
      return "outcome";
  }
  return "?";
}

Result<RuleSet> parse_rules(std::string_view text) {
  const auto parsed = parse_toml(text, "rules.toml");
  if (!parsed) return Error::internal("read the rules of diagnosis: " + parsed.error().what);
  RuleSet rules;
  const toml::array* array = (*parsed)["rule"].as_array();
  for (std::size_t i = 0; array && i < array->size(); ++i) {
    const toml::table* table = (*array)[i].as_table();
    if (!table) return Error::internal("read the rules: one is not a table");
    auto rule = RuleReader(*table).read();
    if (!rule) return rule.error();
    if (find_rule(rules, rule->id))
      return Error::internal("read rule `" + rule->id + "`: it is defined twice");
    rules.push_back(*std::move(rule));
  }
  if (rules.empty()) return Error::internal("read the rules: there is no rule");
  return rules;
}

const RuleSet& rules() {
  // A unit test parses the embedded text, so it is valid in a released program.
  static const RuleSet embedded = [] {
    auto parsed = parse_rules(embedded_rules());
    return parsed ? *std::move(parsed) : RuleSet();
  }();
  return embedded;
}

const Rule* find_rule(const RuleSet& rules, std::string_view id) {
  const auto found =
      std::find_if(rules.begin(), rules.end(), [id](const Rule& rule) { return rule.id == id; });
  return found == rules.end() ? nullptr : &*found;
}

namespace {

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool splits_word(std::string_view line, std::size_t at) {
  return at > 0 && at < line.size() && is_word(line[at - 1]) && is_word(line[at]);
}

}  // namespace

Pattern::Pattern(std::string_view text) {
  if (text.starts_with('^')) {
    at_begin_ = true;
    text.remove_prefix(1);
  }
  if (text.ends_with('$')) {
    at_end_ = true;
    text.remove_suffix(1);
  }
  while (!text.empty()) {
    const auto star = std::min(text.find('*'), text.size());
    if (star > 0) pieces_.emplace_back(text.substr(0, star));
    text.remove_prefix(std::min(star + 1, text.size()));
  }
}

bool Pattern::matches(std::string_view line) const {
  if (at_begin_ || at_end_) line = trimmed(line);
  if (pieces_.empty()) return false;
  std::size_t from = 0;
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    const std::string& piece = pieces_[i];
    const bool first = i == 0;
    const bool last = i + 1 == pieces_.size();
    if (last && at_end_) {
      if (line.size() < from + piece.size() || !line.ends_with(piece)) return false;
      const std::size_t at = line.size() - piece.size();
      return first ? (at_begin_ ? at == 0 : !splits_word(line, at)) : true;
    }
    std::size_t at = line.find(piece, from);
    while (at != line.npos &&
           ((first && splits_word(line, at)) || (last && splits_word(line, at + piece.size()))))
      at = line.find(piece, at + 1);
    if (at == line.npos || (first && at_begin_ && at != 0)) return false;
    from = at + piece.size();
  }
  return true;
}

std::string_view Pattern::anchor() const {
  const auto longest = std::max_element(pieces_.begin(), pieces_.end(),
                                        [](const auto& a, const auto& b) { return a.size() < b.size(); });
  return longest == pieces_.end() ? std::string_view() : std::string_view(*longest);
}

}  // namespace proctor
