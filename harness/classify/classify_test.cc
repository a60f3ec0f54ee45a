#include "harness/classify/classify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
    EXPECT_EQ(diagnosis.problem, blame_of(verdict))
        << to_string(outcome) << ": the two agree where nothing is known";
  }
}

TEST(Classify, TheKernelLogComesBeforeWhatTheCaseSaid) {
  const Diagnosis diagnosis = classify(
      rules(), {.verdict = kFail,
                .kernel = {kernel("NVRM: Xid (PCI:0000:03:00): 79, GPU has fallen off the bus.")},
                .pci = {"0000:03:00.0"},
                .said = {"RuntimeError: CUDA error: unspecified launch failure\nNVML_ERROR_GPU_IS_LOST\n"}});
  EXPECT_EQ(diagnosis.rule, "xid:79");
  EXPECT_EQ(diagnosis.problem, Blame::kMachine);
  EXPECT_THAT(diagnosis.others, ElementsAre("nvml:lost", "cuda:719"));
}

TEST(Classify, AnEngineResetIsNotOutOfMemory) {
  const Diagnosis diagnosis = classify(
      rules(),
      {.verdict = kFail,
       .kernel = {kernel("xe 0000:03:00.0: [drm] Tile0: GT0: Engine reset: engine_class=ccs, guc_id=6")},
       .pci = {"0000:03:00.0"},
       .said = {"level_zero backend failed with error: 39 (UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY)"}});
  EXPECT_EQ(diagnosis.error_class, "gpu_hang");
  EXPECT_THAT(diagnosis.others, ElementsAre("ze:oom_device"));
}

TEST(Classify, AKillForWantOfMemoryNeedsBothTheSignalAndTheKernelsWord) {
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

TEST(Classify, AProcessOfSomebodyElseIsNoFaultOfTheTest) {
  Symptoms symptoms{
      .verdict = kFail,
      .kernel = {kernel("i915 0000:03:00.0: [drm] GPU HANG: ecode 12:1:85dffffb, in game [99]")},
      .pci = {"0000:03:00.0"}};
  EXPECT_EQ(classify(rules(), symptoms).problem, Blame::kCode);
  symptoms.is_foreign = [](const KernelProcess& process) {
    return process.pid == 99 && process.name == "game";
  };
  const Diagnosis diagnosis = classify(rules(), symptoms);
  EXPECT_EQ(diagnosis.rule, "kernel:foreign_process");
  EXPECT_EQ(diagnosis.problem, Blame::kMachine);
}

TEST(Classify, TheKernelMayNameTheDeviceBesideTheText) {
  const KernelLine line{.text = "device wedged, needs recovery", .device = "0000:03:00.0"};
  EXPECT_EQ(classify(rules(), {.verdict = kFail, .kernel = {line}, .pci = {"0000:03:00.0"}}).rule,
            "drm:wedged");
  EXPECT_EQ(classify(rules(), {.verdict = kFail, .kernel = {line}, .pci = {"0000:04:00.0"}}).rule,
            "outcome:fail");
  EXPECT_EQ(classify(rules(), {.verdict = kFail, .kernel = {line}}).rule, "outcome:fail")
      << "a case without devices lost none";
}

TEST(Classify, ALostDeviceChangesOnlyWhatTheCodeIsBlamedFor) {
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

// A card that was hidden and shows up is not a machine without cards.
TEST(Classify, AnErrorThatWasWantedIsNoSymptomWhereItIsSaid) {
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

TEST(Classify, ALongLineIsCutAndTakesLinearTime) {
  std::string text = "cudaErrorAssert";
  for (int i = 0; i < 200'000; ++i)
    text += " NVRM: Xid (PCI: cudaErrorAsser Out of memory:";  // 9 MB, one line
  const Diagnosis diagnosis = classify(rules(), {.verdict = kFail, .said = {text}});
  EXPECT_EQ(diagnosis.rule, "cuda:710");
  EXPECT_LE(diagnosis.line.size(), 303U);
}

TEST(Classify, LinesAboutADevice) {
  const std::vector<KernelLine> lines = {kernel("xe 0000:03:00.0: one"), kernel("xe 0000:04:00.0: two"),
                                         kernel("three")};
  EXPECT_THAT(lines_about(lines, {"0000:03:00.0"}), ElementsAre(lines[0]));
  EXPECT_THAT(lines_about(lines, {}), IsEmpty());
}

}  // namespace
}  // namespace proctor
