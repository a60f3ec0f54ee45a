#include "harness/classify/classify.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "harness/base/words.h"
#include "harness/classify/rules.h"

namespace proctor {
namespace {

// Matches all patterns of some rules against many lines, in time linear in the text. A line is compared only with
// patterns whose anchor it contains. Anchors are found by a hash of their first bytes.
class LineMatcher {
 public:
  // Uses the rules of the sources in `where`. `rules` must outlive this object.
  LineMatcher(const RuleSet& rules, std::initializer_list<Where> where);

  // Returns the matching rules in their order. The reference is valid until the next call.
  const std::vector<const Rule*>& match(std::string_view line);

 private:
  struct Entry {
    const Rule* rule;
    const Pattern* pattern;
    std::uint64_t tried = 0;  // number of the line with which it was last compared
  };
  void add(const Rule& rule, const Pattern& pattern);
  void try_at(std::string_view rest, std::string_view line, std::uint32_t key);

  std::vector<Entry> entries_;
  std::unordered_map<std::uint32_t, std::vector<std::size_t>> by_key_;
  std::bitset<65536> may_begin_;
  std::uint64_t line_ = 0;
  std::vector<const Rule*> found_;
};

constexpr std::size_t kKeyBytes = 4;

std::uint32_t key_at(const char* bytes) {
  std::uint32_t key = 0;
  std::memcpy(&key, bytes, kKeyBytes);
  return key;
}

// Knuth's multiplicative hash, upper 16 bits.
std::size_t slot_of(std::uint32_t key) { return (key * 2654435761U) >> 16; }

LineMatcher::LineMatcher(const RuleSet& rules, std::initializer_list<Where> where) {
  for (const Rule& rule : rules) {
    if (std::find(where.begin(), where.end(), rule.where) == where.end()) continue;
    for (const Pattern& pattern : rule.patterns) add(rule, pattern);
  }
}

void LineMatcher::add(const Rule& rule, const Pattern& pattern) {
  const std::uint32_t key = key_at(pattern.anchor().data());  // parse_rules() refuses shorter anchors
  by_key_[key].push_back(entries_.size());
  may_begin_.set(slot_of(key));
  entries_.push_back({.rule = &rule, .pattern = &pattern});
}

const std::vector<const Rule*>& LineMatcher::match(std::string_view line) {
  found_.clear();
  ++line_;
  for (std::size_t at = 0; at + kKeyBytes <= line.size(); ++at) {
    const std::uint32_t key = key_at(line.data() + at);
    if (may_begin_.test(slot_of(key))) try_at(line.substr(at), line, key);
  }
  std::sort(found_.begin(), found_.end());  // pointers into one vector, so their order is that of the rules
  found_.erase(std::unique(found_.begin(), found_.end()), found_.end());
  return found_;
}

void LineMatcher::try_at(std::string_view rest, std::string_view line, std::uint32_t key) {
  const auto candidates = by_key_.find(key);
  if (candidates == by_key_.end()) return;
  for (const std::size_t index : candidates->second) {
    Entry& entry = entries_[index];
    if (entry.tried == line_ || !rest.starts_with(entry.pattern->anchor())) continue;
    entry.tried = line_;
    if (entry.pattern->matches(line)) found_.push_back(entry.rule);
  }
}

constexpr std::size_t kMaxLineBytes = 300;
constexpr const char* kForeignRule = "kernel:foreign_process";

// Returns whether the line only contains a name of a test or an expected value, which can contain any error's name.
bool is_about_a_name(std::string_view line) {
  constexpr std::array<std::string_view, 10> kStarts = {
      "[ RUN ",       "[       OK ]", "[  FAILED  ]", "[  SKIPPED ]", "[ DISABLED ]",
      "[==========]", "[----------]", "Expected:",    "expected:",    "Expected equality"};
  const auto begin = line.find_first_not_of(" \t");
  if (begin == line.npos) return true;
  line.remove_prefix(begin);
  if (std::any_of(kStarts.begin(), kStarts.end(), [line](auto prefix) { return line.starts_with(prefix); }))
    return true;
  const auto file = line.find(".py::");  // pytest's progress; its summary repeats the message after " - "
  return file != line.npos && line.find(" - ", file) == line.npos;
}

// Returns the length of the expected value at the beginning of `text`, or 0. In "expected cudaErrorNoDevice, got
// cudaSuccess" it is the text before the comma.
std::size_t expectation_at(std::string_view text) {
  constexpr std::array<std::string_view, 4> kBegins = {"expected ", "Expected ", "expected: ", "instead of "};
  constexpr std::array<std::string_view, 6> kEnds = {", ", "; ", ": ", ")", " but ", " got "};
  const auto begin = std::ranges::find_if(kBegins, [text](auto word) { return text.starts_with(word); });
  if (begin == kBegins.end()) return 0;
  std::size_t end = begin->size();
  while (end < text.size() &&
         std::ranges::none_of(kEnds, [rest = text.substr(end)](auto word) { return rest.starts_with(word); }))
    ++end;
  return end;
}

std::string without_expectations(std::string_view line) {
  std::string left;
  while (true) {
    const std::size_t begin = std::min(line.find_first_of("eEi"),
                                       line.size());  // first letters of the words that begin an expectation
    left += line.substr(0, begin);
    line.remove_prefix(begin);
    if (line.empty()) return left;
    const bool in_word = !left.empty() && std::isalnum(static_cast<unsigned char>(left.back())) != 0;
    const std::size_t length = in_word ? 0 : expectation_at(line);  // "unexpected" is not an expectation
    if (length == 0) left += line.front();
    line.remove_prefix(std::max<std::size_t>(length, 1));
  }
}

// Parses "13.22 GiB ..." into bytes.
std::optional<double> bytes_in(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  constexpr std::array<std::pair<std::string_view, double>, 4> kUnits = {
      {{" bytes", 1.0}, {" KiB", 1024.0}, {" MiB", 1048576.0}, {" GiB", 1073741824.0}}};
  for (const auto& [name, factor] : kUnits) {
    if (unit.starts_with(name)) return number * factor;
  }
  return std::nullopt;
}

std::optional<double> bytes_after(std::string_view line, std::string_view word) {
  const auto at = line.find(word);
  return at == line.npos ? std::nullopt : bytes_in(line.substr(at + word.size()));
}

// Reads PyTorch's message: "Tried to allocate 192.00 MiB. GPU 0 has a total capacity of 15.89 GiB of which 13.22 GiB is
// free."
bool more_was_free_than_asked(std::string_view line) {
  const auto requested = bytes_after(line, "Tried to allocate ");
  const auto free = bytes_after(line, "of which ");
  return requested && free && *free > *requested;
}

template <typename Function>
void for_each_line(std::string_view text, Function function) {
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    function(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

std::string shortened(std::string_view line) {
  const auto begin = std::min(line.find_first_not_of(" \t\r"), line.size());
  line.remove_prefix(begin);
  std::string text(line.substr(0, kMaxLineBytes));
  if (line.size() > kMaxLineBytes) text += "...";
  while (!text.empty() && (text.back() == ' ' || text.back() == '\r')) text.pop_back();
  return text;
}

bool names_one_of(const KernelLine& line, const std::vector<std::string>& pci) {
  if (pci.empty()) return false;
  const auto named = pci_slots(line);
  return std::any_of(pci.begin(), pci.end(), [&named](const std::string& address) {
    return std::find(named.begin(), named.end(), pci_slot(address)) != named.end();
  });
}

class Judgement {
 public:
  Judgement(const RuleSet& rules, const Symptoms& symptoms) : rules_(rules), symptoms_(symptoms) {}

  Diagnosis judge();

 private:
  // Keeps the first line of each rule. The map is ordered as the rules are.
  void add(const Rule& rule, std::string_view line) { found_.try_emplace(&rule, shortened(line)); }
  void match_end();
  void match_kernel_log();
  std::set<const Rule*> wanted(LineMatcher& matcher) const;
  void match_text(LineMatcher& matcher, std::string_view text, const std::set<const Rule*>& no_symptoms);
  void match_output();
  void match_outcome();
  const Rule* rule_for(const KernelLine& line, const std::vector<const Rule*>& matching) const;

  const RuleSet& rules_;
  const Symptoms& symptoms_;
  std::map<const Rule*, std::string> found_;
};

void Judgement::match_end() {
  LineMatcher matcher(rules_, {Where::kSignal});
  for (const Rule* rule : matcher.match(to_string(symptoms_.verdict))) {
    if (rule->kernel.empty()) add(*rule, "");
    for (const KernelLine& line : symptoms_.kernel) {
      if (std::any_of(rule->kernel.begin(), rule->kernel.end(),
                      [&line](const Pattern& pattern) { return pattern.matches(line.text); }))
        add(*rule, line.text);
    }
  }
}

const Rule* Judgement::rule_for(const KernelLine& line, const std::vector<const Rule*>& matching) const {
  if (matching.empty()) return nullptr;
  const bool ours = names_one_of(line, symptoms_.pci);
  for (const Rule* rule : matching) {
    if (!ours && !rule->any_device) continue;
    if (rule->problem != FailureOwner::kCode || !symptoms_.is_foreign) return rule;
    const auto process = process_of(line.text);
    return process && symptoms_.is_foreign(*process) ? find_rule(rules_, kForeignRule) : rule;
  }
  return nullptr;
}

void Judgement::match_kernel_log() {
  if (symptoms_.kernel.empty()) return;
  LineMatcher matcher(rules_, {Where::kKernelLog});
  for (const KernelLine& line : symptoms_.kernel) {
    if (const Rule* rule = rule_for(line, matcher.match(line.text))) add(*rule, line.text);
  }
}

// Returns the rules that match an expected value of the checks.
std::set<const Rule*> Judgement::wanted(LineMatcher& matcher) const {
  std::set<const Rule*> rules;
  for (const std::string& text : symptoms_.expected) {
    for_each_line(text, [&](std::string_view line) {
      const auto& matching = matcher.match(line);
      rules.insert(matching.begin(), matching.end());
    });
  }
  return rules;
}

void Judgement::match_text(LineMatcher& matcher, std::string_view text,
                           const std::set<const Rule*>& no_symptoms) {
  for_each_line(text, [&](std::string_view line) {
    auto matching = matcher.match(line);
    if (matching.empty() || is_about_a_name(line)) return;
    if (const std::string left = without_expectations(line); left.size() != line.size()) {
      const auto& still = matcher.match(left);
      std::erase_if(matching,
                    [&still](const Rule* rule) { return std::ranges::find(still, rule) == still.end(); });
    }
    const auto rule = std::find_if(matching.begin(), matching.end(), [line](const Rule* candidate) {
      return !candidate->fits || more_was_free_than_asked(line);
    });
    if (rule != matching.end() && !no_symptoms.contains(*rule)) add(**rule, line);
  });
}

void Judgement::match_output() {
  LineMatcher matcher(rules_, {Where::kCode, Where::kOutput});
  for (const std::string& text : symptoms_.got) match_text(matcher, text, {});
  const auto no_symptoms = wanted(matcher);
  for (const std::string& text : symptoms_.said) match_text(matcher, text, no_symptoms);
}

void Judgement::match_outcome() {
  LineMatcher matcher(rules_, {Where::kOutcome});
  const auto& matching = matcher.match(to_string(symptoms_.verdict));
  if (!matching.empty()) add(*matching.front(), "");
}

Diagnosis Judgement::judge() {
  match_end();
  match_kernel_log();
  match_output();
  if (found_.empty()) match_outcome();
  if (found_.empty()) return {};
  const auto& [rule, line] = *found_.begin();
  Diagnosis diagnosis{.rule = rule->id,
                      .error_class = rule->error_class,
                      .problem = rule->problem,
                      .severity = rule->severity,
                      .where = std::string(to_string(rule->where)),
                      .line = line,
                      .next = rule->next,
                      .source = rule->source};
  for (auto other = std::next(found_.begin()); other != found_.end(); ++other)
    diagnosis.others.push_back(other->first->id);
  return diagnosis;
}

}  // namespace

Diagnosis classify(const RuleSet& rules, const Symptoms& symptoms) {
  return Judgement(rules, symptoms).judge();
}

Verdict corrected(const RuleSet& rules, const Diagnosis& diagnosis, const Verdict& verdict) {
  constexpr std::array kMayChange = {Outcome::kFail, Outcome::kCrash, Outcome::kTimeout, Outcome::kStall};
  const Rule* rule = find_rule(rules, diagnosis.rule);
  const bool may = std::find(kMayChange.begin(), kMayChange.end(), verdict.outcome) != kMayChange.end();
  return may && rule && rule->becomes ? *rule->becomes : verdict;
}

std::vector<KernelError> kernel_errors(const RuleSet& rules, const std::vector<KernelLine>& lines,
                                       const std::string& pci, std::string_view vendor) {
  std::vector<KernelError> errors;
  if (lines.empty() || pci.empty()) return errors;
  LineMatcher matcher(rules, {Where::kKernelLog});
  for (const KernelLine& line : lines) {
    const bool is_named = names_one_of(line, {pci});
    const auto& matching = matcher.match(line.text);
    const auto counts = [&](const Rule* rule) {
      return is_named || (rule->any_device && rule->severity == Gravity::kFatal && rule->vendor == vendor);
    };
    const auto rule = std::ranges::find_if(matching, counts);
    if (rule == matching.end() || std::ranges::find(errors, *rule, &KernelError::rule) != errors.end())
      continue;
    errors.push_back({*rule, shortened(line.text)});
  }
  return errors;
}

std::vector<KernelLine> lines_about(const std::vector<KernelLine>& lines,
                                    const std::vector<std::string>& pci) {
  std::vector<KernelLine> about;
  std::copy_if(lines.begin(), lines.end(), std::back_inserter(about),
               [&pci](const KernelLine& line) { return names_one_of(line, pci); });
  return about;
}

namespace {

bool is_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

std::size_t hex_digits(std::string_view text) {
  return static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_hex) - text.begin());
}

// Returns whether the text begins with ":BB:DD".
bool has_bus_and_device(std::string_view text) {
  return text.size() >= 6 && text[0] == ':' && hex_digits(text.substr(1)) == 2 && text[3] == ':' &&
         hex_digits(text.substr(4)) == 2;
}

std::optional<int> number_in(std::string_view text) {
  if (text.starts_with('\'')) text.remove_prefix(1);
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number <= 0) return std::nullopt;
  return number;
}

std::optional<KernelProcess> nvidia_process(std::string_view text) {
  const auto at = text.find("pid=");
  if (at == text.npos) return std::nullopt;
  const auto pid = number_in(text.substr(at + 4));
  if (!pid) return std::nullopt;
  KernelProcess process{.pid = *pid, .name = {}};
  if (const auto name = text.find("name=", at); name != text.npos) {
    const std::string_view rest = text.substr(name + 5);
    process.name = rest.substr(0, rest.find_first_of(", "));
  }
  return process;
}

std::optional<KernelProcess> intel_process(std::string_view text) {
  const auto in = text.rfind(" in ");
  const auto bracket = in == text.npos ? text.npos : text.find(" [", in);
  if (bracket == text.npos) return std::nullopt;
  const auto pid = number_in(text.substr(bracket + 2));
  if (!pid) return std::nullopt;
  return KernelProcess{.pid = *pid, .name = std::string(text.substr(in + 4, bracket - in - 4))};
}

}  // namespace

std::string pci_slot(std::string_view text) {
  const std::size_t domain = hex_digits(text);
  if (domain < 4 || domain > 8 || !has_bus_and_device(text.substr(domain))) return "";
  if (domain > 4 && text.substr(0, domain - 4).find_first_not_of('0') != text.npos) return "";
  return lower_case(text.substr(domain - 4, 10));
}

std::vector<std::string> pci_slots(const KernelLine& line) {
  std::vector<std::string> slots;
  const auto add = [&slots](std::string slot) {
    if (!slot.empty() && std::find(slots.begin(), slots.end(), slot) == slots.end())
      slots.push_back(std::move(slot));
  };
  add(pci_slot(line.device));
  const std::string_view text = line.text;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool begins = is_hex(text[at]) && (at == 0 || !is_hex(text[at - 1]));
    if (begins) add(pci_slot(text.substr(at, 16)));
  }
  return slots;
}

std::optional<KernelProcess> process_of(std::string_view text) {
  if (auto process = nvidia_process(text)) return process;
  return intel_process(text);
}

}  // namespace proctor
