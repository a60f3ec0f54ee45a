// Tests the classifier on the corpus (testdata/corpus.txt). Each line must have its expected diagnosis, and each rule
// must have a line.

#include "harness/classify/classify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

namespace proctor {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const Verdict kFail{Outcome::kFail, ""};

KernelLine kernel(const std::string& text) { return {.text = text}; }

TEST(Classify, EveryOutcomeHasADiagnosis) {
  for (const Outcome outcome : kAllOutcomes) {
    if (!is_bad(outcome) || outcome == Outcome::kNotrun) continue;
    const Diagnosis diagnosis = classify(rules(), {.verdict = {outcome, ""}});
    EXPECT_EQ(diagnosis.where, "outcome") << to_string(outcome);
    EXPECT_EQ(diagnosis.line, "");
    const Verdict verdict{outcome, ""};
    EXPECT_EQ(diagnosis.problem, failure_owner(verdict))
        << to_string(outcome) << ": the two agree where nothing is known";
  }
}

TEST(Classify, KernelLogPrecedesTestOutput) {
  const Diagnosis diagnosis = classify(
      rules(), {.verdict = kFail,
                .kernel = {kernel("NVRM: Xid (PCI:0000:03:00): 79, GPU has fallen off the bus.")},
                .pci = {"0000:03:00.0"},
                .said = {"RuntimeError: CUDA error: unspecified launch failure\nNVML_ERROR_GPU_IS_LOST\n"}});
  EXPECT_EQ(diagnosis.rule, "xid:79");
  EXPECT_EQ(diagnosis.problem, FailureOwner::kMachine);
  EXPECT_THAT(diagnosis.others, ElementsAre("nvml:lost", "cuda:719"));
}

TEST(Classify, EngineResetPrecedesOutOfMemory) {
  const Diagnosis diagnosis = classify(
      rules(),
      {.verdict = kFail,
       .kernel = {kernel("xe 0000:03:00.0: [drm] Tile0: GT0: Engine reset: engine_class=ccs, guc_id=6")},
       .pci = {"0000:03:00.0"},
       .said = {"level_zero backend failed with error: 39 (UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY)"}});
  EXPECT_EQ(diagnosis.error_class, "gpu_hang");
  EXPECT_THAT(diagnosis.others, ElementsAre("ze:oom_device"));
}

TEST(Classify, OomKillNeedsSignalAndKernelLine) {
  const KernelLine line = kernel("Memory cgroup out of memory: Killed process 77 (python3) total-vm:1kB");
  const Verdict killed{Outcome::kCrash, {Reason::kSignal, 9}};
  const Diagnosis both = classify(rules(), {.verdict = killed, .kernel = {line}});
  EXPECT_EQ(both.rule, "signal:oom_host");
  EXPECT_EQ(both.line, line.text);
  EXPECT_EQ(corrected(rules(), both, killed), (Verdict{Outcome::kCrash, Reason::kOomHost}));
  EXPECT_EQ(classify(rules(), {.verdict = killed}).rule, "outcome:killed");
  EXPECT_EQ(classify(rules(), {.verdict = {Outcome::kCrash, {Reason::kSignal, 11}}, .kernel = {line}}).rule,
            "outcome:crash");
  EXPECT_EQ(classify(rules(), {.verdict = {Outcome::kFail, {Reason::kExit, 137}}, .kernel = {line}}).rule,
            "signal:oom_host")
      << "a shell says it like this";
}

TEST(Classify, ForeignProcessFaultIsMachineProblem) {
  Symptoms symptoms{
      .verdict = kFail,
      .kernel = {kernel("i915 0000:03:00.0: [drm] GPU HANG: ecode 12:1:85dffffb, in game [99]")},
      .pci = {"0000:03:00.0"}};
  EXPECT_EQ(classify(rules(), symptoms).problem, FailureOwner::kCode);
  symptoms.is_foreign = [](const KernelProcess& process) {
    return process.pid == 99 && process.name == "game";
  };
  const Diagnosis diagnosis = classify(rules(), symptoms);
  EXPECT_EQ(diagnosis.rule, "kernel:foreign_process");
  EXPECT_EQ(diagnosis.problem, FailureOwner::kMachine);
}

TEST(Classify, UsesDeviceFieldOfKernelLine) {
  const KernelLine line{.text = "device wedged, needs recovery", .device = "0000:03:00.0"};
  EXPECT_EQ(classify(rules(), {.verdict = kFail, .kernel = {line}, .pci = {"0000:03:00.0"}}).rule,
            "drm:wedged");
  EXPECT_EQ(classify(rules(), {.verdict = kFail, .kernel = {line}, .pci = {"0000:04:00.0"}}).rule,
            "outcome:fail");
  EXPECT_EQ(classify(rules(), {.verdict = kFail, .kernel = {line}}).rule, "outcome:fail")
      << "a case without devices lost none";
}

TEST(Classify, LostDeviceReplacesOnlyCodeFailures) {
  const Diagnosis lost =
      classify(rules(), {.verdict = kFail,
                         .kernel = {kernel("NVRM: Xid (PCI:0000:03:00): 79, GPU has fallen off the bus.")},
                         .pci = {"0000:03:00.0"}});
  for (const Outcome outcome : {Outcome::kFail, Outcome::kCrash, Outcome::kTimeout, Outcome::kStall})
    EXPECT_EQ(corrected(rules(), lost, {outcome, reason_in_words("x")}).outcome, Outcome::kDeviceLost)
        << to_string(outcome);
  for (const Outcome outcome : {Outcome::kPass, Outcome::kError, Outcome::kSkip, Outcome::kXfail,
                                Outcome::kXpass, Outcome::kNotrun, Outcome::kDeviceLost})
    EXPECT_EQ(corrected(rules(), lost, {outcome, reason_in_words("x")}),
              (Verdict{outcome, reason_in_words("x")}))
        << to_string(outcome);
  const Diagnosis said = classify(rules(), {.verdict = kFail, .said = {"ZE_RESULT_ERROR_DEVICE_LOST"}});
  EXPECT_EQ(corrected(rules(), said, kFail), kFail) << "what a case says is believed for the words only";
}

// A visible card that should be hidden is not a sign of a machine without cards.
TEST(Classify, ExpectedErrorIsNoSymptom) {
  Symptoms symptoms{.verdict = kFail,
                    .got = {"1 device"},
                    .said = {"an empty mask is cudaErrorNoDevice",
                             "check.cc:7: Failure\nFailed\nan empty mask is cudaErrorNoDevice\n  expected: "
                             "cudaErrorNoDevice\n"},
                    .expected = {"cudaErrorNoDevice"}};
  EXPECT_EQ(classify(rules(), symptoms).rule, "outcome:fail");
  symptoms.said.push_back("NVML_ERROR_GPU_IS_LOST");
  EXPECT_EQ(classify(rules(), symptoms).rule, "nvml:lost") << "an error that nobody wanted";
  symptoms.got = {"cudaErrorNoDevice"};
  EXPECT_THAT(classify(rules(), symptoms).others, ElementsAre("cuda:100"))
      << "another expectation got what this one wanted";
}

TEST(Classify, CutsLongLineInLinearTime) {
  std::string text = "cudaErrorAssert";
  for (int i = 0; i < 200'000; ++i)
    text += " NVRM: Xid (PCI: cudaErrorAsser Out of memory:";  // 9 MB, one line
  const Diagnosis diagnosis = classify(rules(), {.verdict = kFail, .said = {text}});
  EXPECT_EQ(diagnosis.rule, "cuda:710");
  EXPECT_LE(diagnosis.line.size(), 303U);
}

TEST(Classify, SelectsKernelLinesOfDevice) {
  const std::vector<KernelLine> lines = {kernel("xe 0000:03:00.0: one"), kernel("xe 0000:04:00.0: two"),
                                         kernel("three")};
  EXPECT_THAT(lines_about(lines, {"0000:03:00.0"}), ElementsAre(lines[0]));
  EXPECT_THAT(lines_about(lines, {}), IsEmpty());
}

TEST(KernelSubject, ParsesEveryPciAddressSpelling) {
  EXPECT_EQ(pci_slot("0000:03:00.0"), "0000:03:00");
  EXPECT_EQ(pci_slot("00000000:03:00.0"), "0000:03:00");
  EXPECT_EQ(pci_slot("0000:C1:00): 79"), "0000:c1:00");
  EXPECT_EQ(pci_slot("0008:01:00"), "0008:01:00");
  EXPECT_EQ(pci_slot("10000:01:00.0"), "") << "a domain that a slot cannot name is no other domain";
  EXPECT_EQ(pci_slot("GPU-1234"), "");
  EXPECT_EQ(pci_slot("12:1:85dffffb"), "");
  EXPECT_EQ(pci_slot("0000:3:00"), "");
  EXPECT_EQ(pci_slot(""), "");
}

TEST(KernelSubject, FindsEveryPciAddressInLine) {
  EXPECT_THAT(pci_slots({.text = "pcieport 0000:00:01.0: AER: error received: 0000:03:00.0"}),
              ElementsAre("0000:00:01", "0000:03:00"));
  EXPECT_THAT(pci_slots({.text = "a link went down", .device = "0000:03:00.0"}), ElementsAre("0000:03:00"));
  EXPECT_THAT(pci_slots({.text = "GPU HANG: ecode 12:1:85dffffb"}), IsEmpty());
}

TEST(KernelSubject, FindsProcessInLine) {
  const auto nvidia = process_of("NVRM: Xid (PCI:0000:03:00): 31, pid=79749, name=exe, Ch 0000000a");
  ASSERT_TRUE(nvidia);
  EXPECT_EQ(nvidia->pid, 79749);
  EXPECT_EQ(nvidia->name, "exe");
  const auto intel = process_of("i915 0000:03:00.0: [drm] GPU HANG: ecode 12:1:0020fffe, in my prog [1676]");
  ASSERT_TRUE(intel);
  EXPECT_EQ(intel->pid, 1676);
  EXPECT_EQ(intel->name, "my prog");
  EXPECT_EQ(process_of("Xid: 62, pid='4711', text")->pid, 4711);
  EXPECT_FALSE(process_of("NVRM: Xid (PCI:0000:03:00): 79, pid='<unknown>', name=<unknown>, gone"));
  EXPECT_FALSE(process_of("Timedout job: flags=0x8 in no process [-1]"));
  EXPECT_FALSE(process_of("Engine memory CAT error [18]: class=bcs"));
}

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

// Parses "crash(signal:9)".
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

TEST(Corpus, ClassifiesEveryLineAsAnnotated) {
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
  // These two rules need more than one line; tests above cover them.
  hit.insert("signal:oom_host");
  hit.insert("kernel:foreign_process");
  for (const Rule& rule : rules()) EXPECT_EQ(hit.count(rule.id), 1U) << rule.id;
}

// If one attempt has all lines, their order is that of the rules.
TEST(Corpus, ReportsMatchesInRuleOrder) {
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
    const bool samples =
        rule.where == Where::kKernelLog || rule.where == Where::kCode || rule.where == Where::kOutput;
    if (samples && rule.id != "kernel:foreign_process") expected.push_back(rule.id);
  }
  EXPECT_EQ(found, expected);
}

}  // namespace

}  // namespace proctor
