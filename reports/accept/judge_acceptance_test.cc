#include "reports/accept/judge_acceptance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/base/json.h"
#include "reports/resolve/test_journal.h"

namespace proctor {
namespace {

using namespace testing_support;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// One case of each required step of level 2.
const std::vector<std::string> kGoodCases = {
    "visibility.cuda/Enumeration.LeasedDevicesAreVisible", "memory.cuda/Copy.UnalignedCopyIsByteExact",
    "kernels.cuda/Launch.EveryGroupRunsOnce", "memory.cuda/Fill.Is", "kernels.cuda/Matmul.Is"};

// One attempt of a case on these devices.
struct Ran {
  std::string case_id;
  std::vector<std::string> devices;
  Verdict verdict{Outcome::kPass, ""};
  std::vector<Measure> measures{};
  std::vector<std::pair<std::string, std::string>> properties{};
  Marks marks{};
  std::vector<Trial> trials{};
};

// A machine with the given devices, all of one model. All good cases passed on each of them. add() adds more attempts.
class Machine {
 public:
  explicit Machine(std::vector<std::string> devices, bool simulated = true)
      : devices_(std::move(devices)), simulated_(simulated) {
    for (const std::string& id : kGoodCases) {
      for (const std::string& device : devices_) add({id, {device}});
    }
  }

  void add(const Ran& ran) { ran_.push_back(ran); }
  void lose(const std::string& device) { without_.push_back(device); }
  void find(const DeviceHealth& health) { health_.push_back(health); }
  void warn(const Warning& warning) { warnings_.push_back(warning); }

  ResolvedRun run(const std::optional<Event>& last = {}) const {
    std::vector<PlannedCase> cases;
    std::vector<Event> events;
    std::map<std::string, int> repeats;
    for (const Ran& ran : ran_) {
      if (std::ranges::find(without_, ran.devices.front()) != without_.end()) continue;
      const int repeat = ++repeats[ran.case_id];
      if (repeat == 1) cases.push_back(planned(ran.case_id));
      cases.back().devices = static_cast<int>(ran.devices.size());
      cases.back().backend = "cuda";
      AttemptStarted start = started(ran.case_id);
      start.repeat = repeat;
      start.devices = ran.devices;
      AttemptEnded end = ended(ran.case_id, ran.verdict);
      end.repeat = repeat;
      end.measures = ran.measures;
      end.properties = ran.properties;
      end.marks = ran.marks;
      end.trials = ran.trials;
      events.push_back(start);
      events.push_back(end);
    }
    RunPlanned plan = plan_of(std::move(cases));
    plan.rules.each_device = true;
    plan.devices.clear();
    for (const std::string& id : devices_) {
      plan.devices.push_back({.id = id,
                              .backend = "cuda",
                              .name = "H100",
                              .simulated = simulated_,
                              .uuid = "GPU-" + id,
                              .pci = "PCI-" + id});
    }
    events.insert(events.begin(), plan);
    events.insert(events.end(), health_.begin(), health_.end());
    events.insert(events.end(), warnings_.begin(), warnings_.end());
    events.push_back(RunEnded{});
    if (last) events.push_back(*last);
    return resolved_of(events);
  }

 private:
  std::vector<std::string> devices_;
  std::vector<DeviceHealth> health_;
  std::vector<Warning> warnings_;
  bool simulated_;
  std::vector<Ran> ran_;
  std::vector<std::string> without_;
};

AcceptQuestion at_level(int level) { return {.level = level, .steps = choose_steps(level)}; }

// Returns "a passed", "b failed replace".
std::vector<std::string> verdicts(const AcceptReport& acceptance) {
  std::vector<std::string> texts;
  for (const AcceptedDevice& device : acceptance.devices) {
    std::string text = device.id + " " + std::string(to_string(device.verdict));
    if (!device.findings.empty()) text += " " + std::string(to_string(device.findings.front().rule.action));
    texts.push_back(text);
  }
  return texts;
}

std::vector<std::string> verdicts(const Machine& machine, const AcceptQuestion& question = at_level(2)) {
  return verdicts(judge_acceptance(machine.run(), question));
}

const Verdict kFailed{Outcome::kFail, ""};

TEST(Acceptance, HealthyDevicesPass) {
  EXPECT_THAT(verdicts(Machine({"a", "b"})), ElementsAre("a passed", "b passed"));
}

TEST(Acceptance, OnlyTheDeviceOfTheFailureFails) {
  Machine machine({"a", "b"});
  machine.add({"memory.cuda/Copy.DestinationHasSourceBytes", {"a"}});
  machine.add({"memory.cuda/Copy.DestinationHasSourceBytes", {"b"}, kFailed});
  const AcceptReport acceptance = judge_acceptance(machine.run(), at_level(2));
  EXPECT_THAT(verdicts(acceptance), ElementsAre("a passed", "b failed replace"));
  EXPECT_EQ(exit_code_of(acceptance.verdict), 1);
  EXPECT_THAT(acceptance.devices[1].reason(), HasSubstr("memory.cuda/Copy.DestinationHasSourceBytes"));
}

TEST(Acceptance, FailureOnAllDevicesIsSoftware) {
  Machine machine({"a", "b"});
  machine.add({"memory.cuda/Copy.DestinationHasSourceBytes", {"a"}, kFailed});
  machine.add({"memory.cuda/Copy.DestinationHasSourceBytes", {"b"}, kFailed});
  EXPECT_THAT(verdicts(machine), ElementsAre("a failed fix software", "b failed fix software"));
}

TEST(Acceptance, MostSpecificCauseDeterminesAction) {
  Machine machine({"a", "b"});
  for (const char* id :
       {"memory.cuda/Copy.DestinationHasSourceBytes", "management.cuda/RowRemap.NoRemapIsPending"})
    machine.add({id, {"a"}});
  machine.add({"memory.cuda/Copy.DestinationHasSourceBytes", {"b"}, kFailed});
  machine.add({"management.cuda/RowRemap.NoRemapIsPending", {"b"}, kFailed});
  EXPECT_THAT(verdicts(machine), ElementsAre("a passed", "b failed reset"));
}

TEST(Acceptance, RequiredStepWithoutPassIsIncomplete) {
  EXPECT_THAT(verdicts(Machine({"a"}), at_level(3)), ElementsAre("a incomplete"));
}

TEST(Acceptance, AnErrorOfTheMachineIsIncompleteAndNoFailure) {
  Machine machine({"a"});
  machine.add({"memory.cuda/Copy.DestinationHasSourceBytes", {"a"}, {Outcome::kError, Reason::kDeviceInUse}});
  EXPECT_THAT(verdicts(machine), ElementsAre("a incomplete"));
}

TEST(Acceptance, DrainedDeviceIsIncomplete) {
  Machine machine({"a", "b"});
  machine.lose("b");
  machine.warn({WarningCode::kDeviceDrained, "b is drained since today (by hand): fan"});
  const AcceptReport acceptance = judge_acceptance(machine.run(), at_level(2));
  EXPECT_THAT(verdicts(acceptance), ElementsAre("a passed", "b incomplete"));
  EXPECT_EQ(acceptance.devices[1].reason(), "b is drained since today (by hand): fan");
  EXPECT_EQ(acceptance.devices[1].next, "proctor devices undrain b");
}

TEST(Acceptance, ADeviceWithAnErrorInTheKernelLogFails) {
  Machine machine({"a", "b"});
  machine.find(
      {"a", HealthFact::kKernelLog, kGoodCases[1], 5, 0, 0, "xid:48: NVRM: Xid (PCI:0000:03:00): 48, DBE"});
  EXPECT_THAT(verdicts(machine), ElementsAre("a failed reset", "b passed"));
  const AcceptReport acceptance = judge_acceptance(machine.run(), at_level(2));
  EXPECT_EQ(acceptance.devices[0].findings[0].code, "xid:48");
  EXPECT_THAT(acceptance.devices[0].findings[0].words, HasSubstr("48, DBE"));
}

TEST(Acceptance, SingleDeviceFailureExplainsMultiDeviceFailure) {
  Machine machine({"a", "b", "c"});
  machine.add({"memory.cuda/Peer.CopiesAreByteExact", {"a", "c"}, kFailed});
  EXPECT_THAT(verdicts(machine), ElementsAre("a incomplete", "b passed", "c incomplete"));
  machine.add({"memory.cuda/Copy.DestinationHasSourceBytes", {"a"}});
  machine.add({"memory.cuda/Copy.DestinationHasSourceBytes", {"b"}});
  machine.add({"memory.cuda/Copy.DestinationHasSourceBytes", {"c"}, kFailed});
  EXPECT_THAT(verdicts(machine), ElementsAre("a passed", "b passed", "c failed replace"));
}

// Returns one attempt that copied between every two devices. `is_wrong` returns whether the copy
// between a source and a target failed.
Ran copies_between(const std::vector<std::string>& devices,
                   const std::function<bool(const std::string&, const std::string&)>& is_wrong) {
  Ran ran{"memory.cuda/PeerCopy.TwoDevicesExchangeExactBytes", devices};
  for (const std::string& source : devices) {
    for (const std::string& target : devices) {
      if (source == target) continue;
      const bool ok = !is_wrong(source, target);
      ran.trials.push_back({.ok = ok, .devices = {{"source", "GPU-" + source}, {"target", "GPU-" + target}}});
      if (!ok) ran.verdict = kFailed;
    }
  }
  return ran;
}

TEST(Acceptance, OfFourDevicesTheSourceOfAllWrongCopiesFails) {
  Machine machine({"a", "b", "c", "d"});
  machine.add(copies_between({"a", "b", "c", "d"},
                             [](const std::string& source, const std::string&) { return source == "c"; }));
  const AcceptReport acceptance = judge_acceptance(machine.run(), at_level(2));
  EXPECT_THAT(verdicts(acceptance), ElementsAre("a passed", "b passed", "c failed replace", "d passed"));
  EXPECT_THAT(acceptance.devices[2].reason(), HasSubstr("with a, b, d"));
}

TEST(Acceptance, FailedConnectionLeavesBothDevicesIncomplete) {
  Machine machine({"a", "b", "c", "d"});
  machine.add(copies_between({"a", "b", "c", "d"}, [](const std::string& source, const std::string& target) {
    return source > "b" && target > "b";
  }));
  const AcceptReport acceptance = judge_acceptance(machine.run(), at_level(2));
  EXPECT_THAT(verdicts(acceptance), ElementsAre("a passed", "b passed", "c incomplete", "d incomplete"));
  EXPECT_THAT(acceptance.devices[2].reason(), HasSubstr("c and d fail together, and each works with others"));
}

TEST(Acceptance, WrongCopiesOfTwoDevicesAreIncomplete) {
  Machine machine({"a", "b"});
  machine.add(copies_between({"a", "b"},
                             [](const std::string& source, const std::string&) { return source == "a"; }));
  const AcceptReport acceptance = judge_acceptance(machine.run(), at_level(2));
  EXPECT_THAT(verdicts(acceptance), ElementsAre("a incomplete", "b incomplete"));
  EXPECT_THAT(acceptance.devices[1].reason(), HasSubstr("one of a and b or their connection is at fault"));
  EXPECT_EQ(exit_code_of(acceptance.verdict), 3);
}

TEST(Acceptance, TheDeviceOfBothWrongPairsOfARingFails) {
  Machine machine({"a", "b", "c"});
  for (const auto& pair : std::vector<std::vector<std::string>>{{"a", "b"}, {"b", "c"}, {"c", "a"}}) {
    const bool has_b = pair.front() == "b" || pair.back() == "b";
    machine.add({"kernels.cuda/Device.PeersWork", pair, has_b ? kFailed : Verdict{Outcome::kPass, ""}});
  }
  EXPECT_THAT(verdicts(machine), ElementsAre("a passed", "b failed replace", "c passed"));
}

TEST(Acceptance, InventoryFindingDoesNotExplainWrongCopies) {
  Machine machine({"a", "b"});
  machine.add({"management.cuda/Inventory.FirmwareIsTheSame", {"a"}, kFailed});
  machine.add({"management.cuda/Inventory.FirmwareIsTheSame", {"b"}});
  machine.add(copies_between({"a", "b"}, [](const std::string&, const std::string&) { return true; }));
  EXPECT_THAT(verdicts(machine), ElementsAre("a failed fix software", "b incomplete"));
}

TEST(Acceptance, ACaseAboutTheMachineThatFailsOnAllDevicesFailsNone) {
  Machine machine({"a", "b", "c"});
  for (const char* device : {"a", "b", "c"})
    machine.add({"visibility.cuda/Enumeration.RepeatedEnumerationGivesSameDevices", {device}, kFailed});
  EXPECT_THAT(verdicts(machine), ElementsAre("a incomplete", "b incomplete", "c incomplete"));
  Machine once({"a", "b"});
  once.add({"visibility.cuda/Enumeration.RepeatedEnumerationGivesSameDevices", {"a"}, kFailed});
  once.add({"visibility.cuda/Enumeration.RepeatedEnumerationGivesSameDevices", {"b"}});
  EXPECT_THAT(verdicts(once), ElementsAre("a incomplete", "b passed"));
}

Machine with_coverage(const std::vector<Measure>& measures) {
  Machine machine({"a"});
  machine.add({"kernels.cuda/Cores.IntegersMatchHost", {"a"}});
  machine.add({"memory.cuda/Contents.MostMemoryKeepsPattern/noise", {"a"}, {Outcome::kPass, ""}, measures});
  return machine;
}

TEST(Acceptance, UnplannedDeviceInTrialSuspectsAttemptDevices) {
  Machine machine({"a", "b"});
  machine.add({"memory.cuda/PeerCopy.TwoDevicesExchangeExactBytes",
               {"a", "b"},
               kFailed,
               {},
               {},
               {},
               {{.ok = false, .devices = {{"source", "another"}, {"target", "GPU-b"}}}}});
  EXPECT_THAT(verdicts(machine), ElementsAre("a incomplete", "b incomplete"));
}

TEST(Acceptance, ConflictingIdsInTrialSuspectBothDevices) {
  Machine machine({"a", "b", "c"});
  machine.add({"visibility.cuda/Identity.PciAddressesAreDistinct",
               {"c"},
               kFailed,
               {},
               {},
               {},
               {{.ok = false, .devices = {{"", "Simulated GPU PCI-a GPU-b"}}}}});
  EXPECT_THAT(verdicts(machine), ElementsAre("a incomplete", "b incomplete", "c passed"));
}

TEST(Acceptance, DriverWithoutVisibleDevicesIsSoftware) {
  Machine machine({"a", "b"});
  for (const char* device : {"a", "b"})
    machine.find({device, HealthFact::kProbeFailed, kGoodCases[0], 5, 0, 0,
                  "failed to list the devices: none is visible"});
  EXPECT_THAT(verdicts(machine), ElementsAre("a failed fix software", "b failed fix software"));
}

TEST(Acceptance, OmittedMultiDeviceCaseIsGap) {
  Machine machine({"a", "b"});
  machine.add({"memory.cuda/PeerCopy.TwoDevicesExchangeExactBytes",
               {"a", "b"},
               {Outcome::kNotrun, Reason::kRunLimit}});
  EXPECT_THAT(verdicts(machine), ElementsAre("a incomplete", "b incomplete"));
}

TEST(Acceptance, SkippedCaseOfSmallStepIsIncomplete) {
  Machine machine = with_coverage({{"covered.memory", 75.0, "%", 1, 0}});
  machine.add({"kernels.cuda/Cores.SubGroupLanesMatchHost",
               {"a"},
               {Outcome::kSkip, {Reason::kNeeds, "all_cores:3<4"}}});
  const AcceptReport acceptance = judge_acceptance(machine.run(), at_level(3));
  EXPECT_EQ(acceptance.devices[0].reason(), "silent errors: 1 case skipped: needs:all_cores:3<4");
}

TEST(Acceptance, DeviceNamedByMachineCaseIsRejected) {
  Machine machine({"a", "b", "c"});
  for (const char* device : {"a", "b", "c"}) {
    machine.add({"visibility.cuda/Enumeration.RepeatedEnumerationGivesSameDevices", {device}, kFailed});
    machine.add({"visibility.cuda/Identity.UuidIsThatOfNvml",
                 {device},
                 kFailed,
                 {},
                 {},
                 {},
                 {{.ok = false, .devices = {{"", "GPU-b"}}}}});
  }
  EXPECT_THAT(verdicts(machine), ElementsAre("a passed", "b failed fix software", "c passed"));
}

TEST(Acceptance, ResultUnlikeMajorityIsRejected) {
  Machine machine({"a", "b", "c"});
  for (const char* device : {"a", "b", "c"}) {
    machine.add({"kernels.cuda/Integers.Mix",
                 {device},
                 {Outcome::kPass, ""},
                 {},
                 {{"same.mix", *device == 'b' ? "1" : "2"}}});
  }
  EXPECT_THAT(verdicts(machine), ElementsAre("a passed", "b failed replace", "c passed"));
}

TEST(Acceptance, TwoDifferingDevicesAreIncomplete) {
  Machine machine({"a", "b"});
  for (const char* device : {"a", "b"})
    machine.add({"kernels.cuda/Integers.Mix", {device}, {Outcome::kPass, ""}, {}, {{"same.mix", device}}});
  EXPECT_THAT(verdicts(machine), ElementsAre("a incomplete", "b incomplete"));
}

TEST(Acceptance, DifferentFirmwareOfTwoDevicesIsIncomplete) {
  Machine machine({"a", "b"});
  for (const char* device : {"a", "b"}) {
    machine.add({"management.cuda/Inventory.FirmwareMatchesSameModelCards",
                 {device},
                 {Outcome::kSkip, {Reason::kNeeds, "siblings"}},
                 {},
                 {{"same.inventory.firmware", device}}});
  }
  EXPECT_THAT(verdicts(machine), ElementsAre("a incomplete", "b incomplete"));
}

TEST(Acceptance, DeviceWithWrongResultsHasNoVote) {
  Machine machine({"a", "b"});
  for (const char* device : {"a", "b"}) {
    machine.add({"kernels.cuda/Integers.Mix",
                 {device},
                 *device == 'a' ? kFailed : Verdict{Outcome::kPass, ""},
                 {},
                 {{"same.mix", device}}});
  }
  EXPECT_THAT(verdicts(machine), ElementsAre("a failed replace", "b passed"));
}

TEST(Acceptance, InsufficientMemoryCoverageIsIncomplete) {
  EXPECT_THAT(verdicts(with_coverage({{"covered.memory", 75.0, "%", 1, 0}}), at_level(3)),
              ElementsAre("a passed"));
  const AcceptReport acceptance = judge_acceptance(
      with_coverage({{"covered.memory.tile0", 75.0, "%", 1, 0}, {"covered.memory.tile1", 3.0, "%", 1, 0}})
          .run(),
      at_level(3));
  EXPECT_THAT(verdicts(acceptance), ElementsAre("a incomplete"));
  EXPECT_EQ(acceptance.devices[0].reason(),
            "memory patterns: 3 % of the free memory was covered, and 75 % is required");
  EXPECT_THAT(verdicts(with_coverage({}), at_level(3)), ElementsAre("a incomplete"));
}

TEST(Acceptance, StepWithoutCaseIsOmitted) {
  const AcceptReport acceptance = judge_acceptance(Machine({"a"}).run(), at_level(2));
  EXPECT_THAT(acceptance.devices[0].steps,
              ::testing::Not(::testing::Contains(::testing::Field(&AcceptStepResult::name, "management"))));
}

TEST(Acceptance, SmallestBudgetIncludesRequiredSteps) {
  const int least = smallest_budget_s(2);
  const auto is_required = [](const AcceptStep* step) { return step->required; };
  EXPECT_EQ(std::ranges::count_if(choose_steps(2, least).taken, is_required),
            std::ranges::count_if(choose_steps(2).taken, is_required));
  EXPECT_THAT(choose_steps(2, least).left_out, ::testing::Not(IsEmpty()));
  EXPECT_THAT(choose_steps(2).left_out, IsEmpty());
}

Machine with_speeds(double first, double second, bool simulated) {
  Machine machine({"a", "b"}, simulated);
  const auto measure = [](double value) {
    return std::vector<Measure>{{"kernels.saxpy", value, "GB/s", 5, 10}};
  };
  machine.add({"kernels.cuda/Speed.Saxpy", {"a"}, {Outcome::kPass, ""}, measure(first)});
  machine.add({"kernels.cuda/Speed.Saxpy", {"b"}, {Outcome::kPass, ""}, measure(second)});
  return machine;
}

TEST(Acceptance, SpeedBelowBestOfModelIsRejected) {
  EXPECT_THAT(verdicts(with_speeds(2000, 1500, false)), ElementsAre("a passed", "b failed retest"));
  EXPECT_THAT(verdicts(with_speeds(2000, 1810, false)), ElementsAre("a passed", "b passed"));
}

TEST(Acceptance, SimulatedSpeedIsJudgedByFloorOnly) {
  EXPECT_THAT(verdicts(with_speeds(2000, 1, true)), ElementsAre("a passed", "b passed"));
  AcceptQuestion question = at_level(2);
  question.expected = ExpectedMachine{
      .file = "machine.toml",
      .models = {{.name = "H100", .count = 2, .uuids = {}, .facts = {}, .floors = {{"kernels.saxpy", 100}}}}};
  EXPECT_THAT(verdicts(with_speeds(2000, 1, true), question), ElementsAre("a passed", "b failed retest"));
}

TEST(Acceptance, UnexpectedDevicesAreListedAsGap) {
  AcceptQuestion question = at_level(2);
  question.expected = ExpectedMachine{
      .file = "machine.toml",
      .models = {{.name = "H100", .count = 1, .uuids = {"GPU-a"}, .facts = {}, .floors = {}}}};
  const AcceptReport acceptance = judge_acceptance(Machine({"a", "b"}).run(), question);
  EXPECT_THAT(verdicts(acceptance), ElementsAre("a passed", "b passed"));
  EXPECT_THAT(acceptance.gaps,
              ElementsAre("machine.toml expects 1 of `H100`, and 2 are here; not listed: b"));
  EXPECT_EQ(exit_code_of(acceptance.verdict), 3);
}

TEST(Acceptance, ADeviceThatIsExpectedAndNotHereFails) {
  AcceptQuestion question = at_level(2);
  question.expected = ExpectedMachine{
      .file = "machine.toml",
      .models = {{.name = "H100", .count = 4, .uuids = {"GPU-a", "GPU-x"}, .facts = {}, .floors = {}}}};
  EXPECT_THAT(
      verdicts(Machine({"a", "b"}), question),
      ElementsAre("a passed", "b passed", "missing:GPU-x failed reseat", "missing:H100:4 failed reseat"));
}

TEST(Acceptance, FactsAreComparedWithExpectedAndEarlier) {
  AcceptQuestion question = at_level(2);
  question.expected = ExpectedMachine{.file = "machine.toml",
                                      .models = {{.name = "H100",
                                                  .count = 3,
                                                  .uuids = {},
                                                  .facts = {{"pcie_width", 16}, {"ecc", true}},
                                                  .floors = {}}}};
  const auto reported = [](int width, int errors) {
    return CardFacts{.values = {{"pcie_width", width}, {"ecc", true}, {"errors_uncorrected", errors}},
                     .missing = {}};
  };
  question.before = {{"a", reported(16, 0)}, {"b", reported(8, 0)}, {"c", reported(16, 4)}};
  question.after = {{"a", reported(16, 0)}, {"b", reported(8, 0)}, {"c", reported(16, 5)}};
  EXPECT_THAT(verdicts(Machine({"a", "b", "c"}), question),
              ElementsAre("a passed", "b failed reseat", "c failed reset"));
  question.after["a"].values.erase("ecc");
  question.before["a"].values.erase("ecc");
  EXPECT_THAT(verdicts(Machine({"a", "b", "c"}), question)[0], "a incomplete");
}

TEST(Acceptance, UnexpectedModelIsIncomplete) {
  AcceptQuestion question = at_level(2);
  question.expected = ExpectedMachine{.file = "machine.toml", .models = {{.name = "H100", .count = 1}}};
  question.expected->models.front().name = "B200";
  EXPECT_THAT(verdicts(Machine({"a"}), question),
              ElementsAre("a incomplete", "missing:B200:1 failed reseat"));
}

TEST(Acceptance, InventoryWarningRejectsDevice) {
  Machine machine({"a", "b"});
  machine.add({"management.cuda/PcieLink.WidthIsMaximal", {"a"}});
  machine.add(
      {"management.cuda/PcieLink.WidthIsMaximal", {"b"}, {Outcome::kPass, ""}, {}, {}, {Mark::kWarn}});
  const Warning warning{WarningCode::kCaseWarning, "management.cuda/PcieLink.WidthIsMaximal: 8 lanes of 16"};
  const AcceptReport acceptance = judge_acceptance(machine.run(warning), at_level(2));
  EXPECT_THAT(verdicts(acceptance), ElementsAre("a passed", "b failed reseat"));
  EXPECT_THAT(acceptance.devices[1].reason(), HasSubstr("8 lanes"));
}

TEST(Acceptance, LostDeviceIsRejectedWithReset) {
  Machine machine({"a", "b"});
  machine.add({"memory.cuda/Copy.DestinationHasSourceBytes", {"a"}});
  machine.add({"memory.cuda/Copy.DestinationHasSourceBytes", {"b"}, {Outcome::kDeviceLost, ""}});
  EXPECT_THAT(verdicts(machine), ElementsAre("a passed", "b failed reset"));
}

TEST(Acceptance, ARunThatWasCutShortIsInterrupted) {
  const ResolvedRun run =
      Machine({"a"}).run(StopRequested{.signal = 2, .reason = StopCause::kSignal, .at_ms = 1});
  EXPECT_EQ(judge_acceptance(run, at_level(2)).verdict, RunVerdict::kInterrupted);
}

TEST(Acceptance, RunWithoutDevicesIsIncomplete) {
  EXPECT_EQ(judge_acceptance(Machine({}).run(), at_level(1)).verdict, RunVerdict::kIncomplete);
}

TEST(Acceptance, JsonHasTheVerdictOfEachDevice) {
  Machine machine({"a", "b"});
  machine.add({"memory.cuda/Copy.DestinationHasSourceBytes", {"b"}, kFailed});
  const AcceptReport acceptance = judge_acceptance(machine.run(), at_level(2));
  const auto json = parse_json(accept_json(acceptance));
  EXPECT_EQ(json.at("verdict"), "failed");
  EXPECT_EQ(json.at("devices").at(1).at("action"), "replace");
  EXPECT_EQ(json.at("devices").at(0).at("action"), nullptr);
  EXPECT_EQ(json.at("devices").at(0).at("steps").at(0).at("state"), "proven");
}

TEST(AcceptSteps, CaseBelongsToMostSpecificStep) {
  EXPECT_EQ(step_of("memory.xpu/Contents.MostMemoryKeepsPattern/noise")->name, "memory patterns");
  EXPECT_EQ(step_of("memory.xpu/Contents.KeepsItsWord")->name, "memory");
  EXPECT_EQ(step_of("collectives.cuda/AllReduce.Sum"), nullptr);
}

std::string why_refused(const std::string& text) {
  const auto read = parse_expected(text, "m.toml");
  return read ? "" : read.error().message() + ". " + read.error().hint;
}

TEST(ExpectedMachine, RoundTripsThroughFile) {
  const std::vector<PlannedDevice> devices = {
      {.id = "a", .backend = "cuda", .name = "H100", .uuid = "GPU-a"},
      {.id = "b", .backend = "cuda", .name = "H100", .uuid = "GPU-b"}};
  const FactsOfCards facts = {
      {"a", {.values = {{"pcie_width", 16}, {"firmware", "96.0"}, {"ecc", true}}, .missing = {}}},
      {"b", {.values = {{"pcie_width", 16}, {"firmware", "97.0"}, {"ecc", true}}, .missing = {}}}};
  const auto machine = parse_expected(write_expected(devices, facts), "m.toml");
  ASSERT_TRUE(machine) << machine.error().message();
  ASSERT_EQ(machine->models.size(), 1u);
  const ExpectedModel& run = machine->models.front();
  EXPECT_EQ(run.count, 2);
  EXPECT_THAT(run.uuids, ElementsAre("GPU-a", "GPU-b"));
  EXPECT_EQ(run.facts.at("pcie_width"), 16);
  EXPECT_EQ(run.facts.at("ecc"), true);
  EXPECT_FALSE(run.facts.contains("firmware")) << "they differ";
}

TEST(ExpectedMachine, ErrorsNameFileAndLine) {
  EXPECT_THAT(why_refused(""), HasSubstr("expects no device"));
  EXPECT_THAT(why_refused("[[model]]\nname = \"A\"\ncount = 1\nuuids = [\"x\", \"y\"]\n"),
              HasSubstr("m.toml:4"));
  EXPECT_THAT(why_refused("[[model]]\nname = \"A\"\ncount = 2\nuuids = [\"x\", \"x\"]\n"),
              HasSubstr("named twice"));
  EXPECT_THAT(why_refused("[[model]]\nname = \"A\"\ncount = 2\n[[model]]\nname = \"A\"\ncount = 1\n"),
              HasSubstr("a second table"));
  EXPECT_THAT(why_refused("[[model]]\nname = \"A\"\ncount = 1\npcie_widht = 8\n"), HasSubstr("pcie_width"));
  EXPECT_THAT(why_refused("[[model]]\nname = \"A\"\ncount = 1\necc = 1\n"), HasSubstr("true or false"));
  EXPECT_THAT(why_refused("[[model]]\nname = \"A\"\ncount = 1\n[model.floor]\nx = -1\n"),
              HasSubstr("above 0"));
}

}  // namespace
}  // namespace proctor
