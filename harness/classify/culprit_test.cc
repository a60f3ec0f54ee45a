#include "harness/classify/culprit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "harness/classify/rules.h"

namespace proctor {
namespace {

class CulpritTest : public testing::Test {
 protected:
  CulpritTest() {
    run_.stack = {{"xpu.loader", "1.9"}, {"xpu.driver", "26.31.1"}, {"cuda.driver", "580.95.05"}};
    run_.devices = {{.id = "xpu:a", .backend = "xpu", .name = "Intel Arc Pro B60", .pci = "0000:03:00.0"},
                    {.id = "xpu:b", .backend = "xpu", .name = "Intel Arc A770", .pci = "0000:04:00.0"},
                    {.id = "cuda:c", .backend = "cuda", .name = "", .pci = "0000:05:00.0"}};
    run_.subject.commit.value = "0123abcd";
  }

  // Returns the culprit of a conformance check on `backend` whose diagnosis has this class.
  std::optional<Culprit> of_check(FailureOwner problem, const std::string& error_class,
                                  const std::string& backend = "xpu") const {
    return culprit_of({.error_class = error_class, .problem = problem},
                      {.run = run_, .suite = "memory", .kind = "proctor", .backend = backend, .devices = {}});
  }

  RunPlanned run_;
};

TEST_F(CulpritTest, ConformanceFailureNamesDriver) {
  for (const char* error_class : {"test_failure", "crash", "timeout", "stall", "gpu_fault", "oom_device"}) {
    EXPECT_EQ(of_check(FailureOwner::kCode, error_class), (Culprit{"driver", "Level Zero driver", "26.31.1"}))
        << error_class;
  }
  EXPECT_EQ(of_check(FailureOwner::kCode, "test_failure", "cuda"),
            (Culprit{"driver", "CUDA driver", "580.95.05"}));
  run_.stack.clear();
  EXPECT_EQ(of_check(FailureOwner::kCode, "test_failure"), (Culprit{"driver", "Level Zero driver", ""}));
}

TEST_F(CulpritTest, NamesSimulatedDriver) {
  for (PlannedDevice& device : run_.devices) device.simulated = true;
  run_.sim = SimInfo{"xpu:2,cuda:1", "simgpu"};
  EXPECT_EQ(of_check(FailureOwner::kCode, "crash")->name, "simulated Level Zero driver (simgpu)");
  EXPECT_EQ(of_check(FailureOwner::kCode, "crash", "cuda")->name, "simulated CUDA driver (simgpu)");
  run_.sim->driver = "intel";
  EXPECT_EQ(of_check(FailureOwner::kCode, "crash")->name, "simulated Level Zero driver (intel)");
  EXPECT_EQ(of_check(FailureOwner::kCode, "crash", "cuda")->name, "simulated CUDA driver (simgpu)");
}

TEST_F(CulpritTest, UnknownCauseHasNoCulprit) {
  EXPECT_EQ(of_check(FailureOwner::kCode, "test_failure", "none"), std::nullopt) << "no driver is under it";
  EXPECT_EQ(of_check(FailureOwner::kCode, "no_result"), std::nullopt);
  EXPECT_EQ(of_check(FailureOwner::kCode, "protocol"), std::nullopt);
  EXPECT_EQ(of_check(FailureOwner::kCode, "xpass"), std::nullopt);
  EXPECT_EQ(of_check(FailureOwner::kSetup, "no_device"), std::nullopt);
  EXPECT_EQ(of_check(FailureOwner::kMachine, "killed"), std::nullopt);
  EXPECT_EQ(of_check(FailureOwner::kMachine, "device_lost"), std::nullopt) << "of no leased device";
}

TEST_F(CulpritTest, CollectiveFailureNamesLibrary) {
  CulpritFacts facts{
      .run = run_, .suite = "collectives", .kind = "proctor", .backend = "cuda", .devices = {}};
  const Diagnosis failed{.error_class = "test_failure", .problem = FailureOwner::kCode};
  EXPECT_EQ(culprit_of(failed, facts), std::nullopt) << "it was not loaded yet";
  facts.properties = {{"points", "3 tried"}, {"library", "gloo 0.5.0"}};
  EXPECT_EQ(culprit_of(failed, facts), (Culprit{"library", "gloo", "0.5.0"}));
  facts.properties = {{"library", "nccl"}};
  EXPECT_EQ(culprit_of(failed, facts), (Culprit{"library", "nccl", ""}));
}

TEST_F(CulpritTest, NamesDeviceInKernelLine) {
  CulpritFacts facts{.run = run_, .suite = "unit", .kind = "gtest", .backend = "xpu", .devices = {"xpu:b"}};
  Diagnosis lost{.error_class = "device_lost", .problem = FailureOwner::kMachine};
  EXPECT_EQ(culprit_of(lost, facts), (Culprit{"device", "Intel Arc A770", ""}));
  facts.devices = {"xpu:a", "xpu:b"};
  EXPECT_EQ(culprit_of(lost, facts), std::nullopt) << "one of the two";
  lost.line = "xe 0000:03:00.0: [drm] Xe has declared device 0000:03:00.0 as wedged.";
  EXPECT_EQ(culprit_of(lost, facts), (Culprit{"device", "Intel Arc Pro B60", ""}));
  facts.devices = {"cuda:c"};
  EXPECT_EQ(culprit_of(lost, facts), (Culprit{"device", "cuda:c", ""})) << "one without a name";
  lost.error_class = "driver_error";
  EXPECT_EQ(culprit_of(lost, facts), (Culprit{"driver", "Level Zero driver", "26.31.1"}));
}

TEST_F(CulpritTest, ForeignSuiteFailureNamesTest) {
  const Diagnosis failed{.error_class = "test_failure", .problem = FailureOwner::kCode};
  const CulpritFacts facts{.run = run_, .suite = "unit", .kind = "pytest", .backend = "cuda", .devices = {}};
  EXPECT_EQ(culprit_of(failed, facts), (Culprit{"test", "unit", "0123abcd"}));
  run_.subject.commit.value.reset();
  EXPECT_EQ(culprit_of(failed, facts), (Culprit{"test", "unit", ""}));
  run_.exec = true;
  EXPECT_EQ(culprit_of(failed, facts), std::nullopt) << "a command need not be a test";
}

TEST_F(CulpritTest, DescribesCulpritsOfErrorClass) {
  EXPECT_EQ(culprits_of_class(FailureOwner::kMachine, "ecc"), "the device");
  EXPECT_EQ(culprits_of_class(FailureOwner::kCode, "crash"),
            "the library under test, for a check of it; the driver under test, for a conformance check; the "
            "test, for any other suite");
  EXPECT_EQ(culprits_of_class(FailureOwner::kCode, "no_result"), "the test, for any other suite");
  EXPECT_EQ(culprits_of_class(FailureOwner::kSetup, "no_device"), "");
}

// A class without any rule is a mistake in the table of culprits.
TEST_F(CulpritTest, EveryTableClassHasRule) {
  const auto has = [](FailureOwner problem, const char* error_class) {
    return std::ranges::any_of(rules(), [&](const Rule& rule) {
      return rule.problem == problem && rule.error_class == error_class;
    });
  };
  for (const char* error_class : {"device_lost", "ecc", "link", "device_suspect", "driver_error"})
    EXPECT_TRUE(has(FailureOwner::kMachine, error_class)) << error_class;
  for (const char* error_class : {"no_result", "result_mismatch", "protocol", "xpass"})
    EXPECT_TRUE(has(FailureOwner::kCode, error_class)) << error_class;
}

}  // namespace
}  // namespace proctor
