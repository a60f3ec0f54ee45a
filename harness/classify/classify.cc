#include "harness/classify/classify.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <map>

#include "harness/classify/line_matcher.h"

namespace proctor {
namespace {

constexpr std::size_t kMaxLineBytes = 300;
constexpr const char* kForeignRule = "kernel:foreign_process";

// Names of tests, and what a test wanted to see, may hold any error's name.
bool is_about_a_name(std::string_view line) {
  constexpr std::array<std::string_view, 9> kGtest = {"[ RUN ",       "[       OK ]", "[  FAILED  ]",
                                                      "[  SKIPPED ]", "[ DISABLED ]", "[==========]",
                                                      "[----------]", "Expected:",    "Expected equality"};
  const auto begin = line.find_first_not_of(" \t");
  if (begin == line.npos) return true;
  line.remove_prefix(begin);
  if (std::any_of(kGtest.begin(), kGtest.end(), [line](auto prefix) { return line.starts_with(prefix); }))
    return true;
  const auto file = line.find(".py::");  // pytest's progress; its summary repeats the message after " - "
  return file != line.npos && line.find(" - ", file) == line.npos;
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

void Judgement::match_output() {
  LineMatcher matcher(rules_, {Where::kCode, Where::kOutput});
  for (const std::string& text : symptoms_.said) {
    for_each_line(text, [&](std::string_view line) {
      const auto& matching = matcher.match(line);
      if (matching.empty() || is_about_a_name(line)) return;
      const auto rule = std::find_if(matching.begin(), matching.end(), [line](const Rule* candidate) {
        return !candidate->fits || more_was_free_than_asked(line);
      });
      if (rule != matching.end()) add(**rule, line);
    });
  }
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

std::vector<KernelLine> lines_about(const std::vector<KernelLine>& lines,
                                    const std::vector<std::string>& pci) {
  std::vector<KernelLine> about;
  std::copy_if(lines.begin(), lines.end(), std::back_inserter(about),
               [&pci](const KernelLine& line) { return names_one_of(line, pci); });
  return about;
}

}  // namespace proctor
