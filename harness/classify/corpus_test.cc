// Every line of the corpus is judged as it says, and every rule has a line.
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "harness/classify/classify.h"

namespace proctor {
namespace {

struct Entry {
  int number = 0;
  std::string error_class;
  std::string rule;
  std::string where;
  std::string line;
};

std::vector<Entry> read_corpus() {
  std::ifstream file(PROCTOR_SOURCE_DIR "/harness/classify/testdata/corpus.txt");
  std::vector<Entry> entries;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.empty() || line.front() == '#') continue;
    const auto bar = line.find(" | ");
    Entry entry;
    entry.number = number;
    std::istringstream(line.substr(0, bar)) >> entry.error_class >> entry.rule >> entry.where;
    entry.line = line.substr(bar + 3);
    entries.push_back(entry);
  }
  return entries;
}

// "crash(signal:9)"
Verdict verdict_in(const std::string& text) {
  const auto open = text.find('(');
  const auto outcome = parse_outcome(text.substr(0, open));
  EXPECT_TRUE(outcome) << text;
  const bool has_reason = open != text.npos;
  return {outcome.value_or(Outcome::kFail),
          reason_in_words(has_reason ? text.substr(open + 1, text.size() - open - 2) : "")};
}

Symptoms symptoms_of(const Entry& entry) {
  Symptoms symptoms{.verdict = {Outcome::kFail, ""}, .pci = {"0000:03:00.0"}};
  if (entry.where == "kernel") symptoms.kernel = {{.text = entry.line}};
  if (entry.where == "said") symptoms.said = {"before\n" + entry.line + "\nafter\n"};
  if (entry.where == "end") symptoms.verdict = verdict_in(entry.line);
  return symptoms;
}

TEST(Corpus, EveryLineIsJudgedAsItSays) {
  const auto corpus = read_corpus();
  int negatives = 0;
  for (const Entry& entry : corpus) {
    SCOPED_TRACE("corpus.txt:" + std::to_string(entry.number) + ": " + entry.line);
    const bool none = entry.rule == "-";
    negatives += none;
    const Diagnosis diagnosis = classify(rules(), symptoms_of(entry));
    EXPECT_EQ(diagnosis.rule, none ? "outcome:fail" : entry.rule);
    EXPECT_EQ(diagnosis.error_class, none ? "test_failure" : entry.error_class);
    if (none) {
      EXPECT_TRUE(diagnosis.others.empty()) << diagnosis.others.front();
    } else if (entry.where != "end") {
      EXPECT_EQ(diagnosis.line.substr(0, 300), entry.line.substr(0, 300));
    }
  }
  EXPECT_GE(corpus.size(), 150U);
  EXPECT_GE(negatives, 30);
}

TEST(Corpus, HasALineForEveryRule) {
  std::set<std::string> hit;
  for (const Entry& entry : read_corpus()) hit.insert(entry.rule);
  // These two need more than one line: classify_test.cc has them.
  hit.insert("signal:oom_host");
  hit.insert("kernel:foreign_process");
  for (const Rule& rule : rules()) EXPECT_EQ(hit.count(rule.id), 1U) << rule.id;
}

// Where one line has everything, the order is that of the rules.
TEST(Corpus, TheOrderOfTheRulesDecides) {
  Symptoms all{.verdict = {Outcome::kFail, ""}, .pci = {"0000:03:00.0"}};
  for (const Entry& entry : read_corpus()) {
    if (entry.where == "kernel") all.kernel.push_back({.text = entry.line});
    if (entry.where == "said") all.said.insert(all.said.begin(), entry.line);
  }
  const Diagnosis diagnosis = classify(rules(), all);
  std::vector<std::string> found = {diagnosis.rule};
  found.insert(found.end(), diagnosis.others.begin(), diagnosis.others.end());
  std::vector<std::string> expected;
  for (const Rule& rule : rules()) {
    const bool looks =
        rule.where == Where::kKernelLog || rule.where == Where::kCode || rule.where == Where::kOutput;
    if (looks && rule.id != "kernel:foreign_process") expected.push_back(rule.id);
  }
  EXPECT_EQ(found, expected);
}

}  // namespace
}  // namespace proctor
