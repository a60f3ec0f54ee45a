#include "harness/classify/classify.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <iterator>
#include <map>
#include <set>

#include "harness/classify/line_matcher.h"

namespace proctor {
namespace {

constexpr std::size_t kMaxLineBytes = 300;
constexpr const char* kForeignRule = "kernel:foreign_process";

// Names of tests, and what a test wanted to see, may hold any error's name.
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

// How long the words at the beginning of `text` are that say what was wanted: of "expected cudaErrorNoDevice, got
// cudaSuccess" those before the comma. 0: it does not begin with any.
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
    const std::size_t begin =
        std::min(line.find_first_of("eEi"), line.size());  // with which an expectation begins
    left += line.substr(0, begin);
    line.remove_prefix(begin);
    if (line.empty()) return left;
    const bool in_word = !left.empty() && std::isalnum(static_cast<unsigned char>(left.back())) != 0;
    const std::size_t length = in_word ? 0 : expectation_at(line);  // "unexpected" is none
    if (length == 0) left += line.front();
    line.remove_prefix(std::max<std::size_t>(length, 1));
  }
}

// Bytes of "13.22 GiB ...", or nothing.
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

// PyTorch: "Tried to allocate 192.00 MiB. GPU 0 has a total capacity of 15.89 GiB of
// which 13.22 GiB is free."
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
  // The first line of each rule that has one, in the order of the rules.
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
    if (rule->problem != Blame::kCode || !symptoms_.is_foreign) return rule;
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

// The rules that what was expected would match.
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

}  // namespace proctor
