#include "reports/accept/judge_acceptance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/core/json.h"
#include "reports/accept/accept_json.h"
#include "reports/accept/accept_table.h"
#include "reports/model/test_journal.h"

namespace proctor {
namespace {

using namespace testing_support;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// One of each required step of level 2.
const std::vector<std::string> kGoodCases = {
    "visibility.cuda/Enumerate.LeaseIsThere", "memory.cuda/Copy.OddAddressesAreByteExact",
    "kernels.cuda/Launch.EveryGroupRunsOnce", "memory.cuda/Fill.Is", "kernels.cuda/Matmul.Is"};

struct Ran {
  std::string case_id;
  std::vector<std::string> devices;
  Verdict verdict{Outcome::kPass, ""};
  std::vector<Measure> measures{};
  std::vector<std::pair<std::string, std::string>> properties{};
  Marks marks{};
};

// A machine with these devices of one model, on each of which all good cases passed, and what else ran there.
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

  RunModel model() const {
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
      events.push_back(start);
      events.push_back(end);
    }
    RunPlanned plan = plan_of(std::move(cases));
    plan.each_device = true;
    plan.devices.clear();
    for (const std::string& id : devices_) {
      plan.devices.push_back(
          {.id = id, .backend = "cuda", .name = "H100", .simulated = simulated_, .uuid = "GPU-" + id});
    }
    events.insert(events.begin(), plan);
    events.insert(events.end(), health_.begin(), health_.end());
    events.push_back(RunEnded{});
    return model_of(events);
  }

 private:
  std::vector<std::string> devices_;
  std::vector<DeviceHealth> health_;
  bool simulated_;
  std::vector<Ran> ran_;
  std::vector<std::string> without_;
};

AcceptQuestion at_level(int level) { return {.level = level, .steps = choose_steps(level, 0)}; }

// "a accepted", "b rejected replace".
std::vector<std::string> verdicts(const Acceptance& acceptance) {
  std::vector<std::string> texts;
  for (const AcceptedDevice& device : acceptance.devices) {
    std::string text = device.id + " " + std::string(to_string(device.verdict));
    if (!device.findings.empty()) text += " " + std::string(to_string(device.findings.front().rule.action));
    texts.push_back(text);
  }
  return texts;
}

std::vector<std::string> verdicts(const Machine& machine, const AcceptQuestion& question = at_level(2)) {
  return verdicts(judge_acceptance(machine.model(), question));
}

const Verdict kFailed{Outcome::kFail, ""};

TEST(Acceptance, GoodDevicesAreAccepted) {
  EXPECT_THAT(verdicts(Machine({"a", "b"})), ElementsAre("a accepted", "b accepted"));
}

TEST(Acceptance, OnlyTheDeviceThatFailedIsRejected) {
  Machine machine({"a", "b"});
  machine.add({"memory.cuda/Copy.IsByteExact", {"a"}});
  machine.add({"memory.cuda/Copy.IsByteExact", {"b"}, kFailed});
  const Acceptance acceptance = judge_acceptance(machine.model(), at_level(2));
  EXPECT_THAT(verdicts(acceptance), ElementsAre("a accepted", "b rejected replace"));
  EXPECT_EQ(exit_code(acceptance.verdict), 1);
  EXPECT_THAT(acceptance.devices[1].reason(), HasSubstr("memory.cuda/Copy.IsByteExact"));
}

TEST(Acceptance, WhatFailsOnAllDevicesIsTheSoftware) {
  Machine machine({"a", "b"});
  machine.add({"memory.cuda/Copy.IsByteExact", {"a"}, kFailed});
  machine.add({"memory.cuda/Copy.IsByteExact", {"b"}, kFailed});
  EXPECT_THAT(verdicts(machine), ElementsAre("a rejected fix software", "b rejected fix software"));
}

TEST(Acceptance, TheCauseThatSaysMostIsTheReason) {
  Machine machine({"a", "b"});
  for (const char* id :
       {"memory.cuda/Copy.IsByteExact", "management.cuda/Inventory.NoRowIsWaitingToBeRemapped"})
    machine.add({id, {"a"}});
  machine.add({"memory.cuda/Copy.IsByteExact", {"b"}, kFailed});
  machine.add({"management.cuda/Inventory.NoRowIsWaitingToBeRemapped", {"b"}, kFailed});
  EXPECT_THAT(verdicts(machine), ElementsAre("a accepted", "b rejected reset"));
}

TEST(Acceptance, ARequiredStepWithoutAPassIsIncomplete) {
  EXPECT_THAT(verdicts(Machine({"a"}), at_level(3)), ElementsAre("a incomplete"));
}

TEST(Acceptance, AnErrorOfTheMachineIsIncompleteAndNoRejection) {
  Machine machine({"a"});
  machine.add({"memory.cuda/Copy.IsByteExact", {"a"}, {Outcome::kError, Reason::kForeignHolder}});
  EXPECT_THAT(verdicts(machine), ElementsAre("a incomplete"));
}

TEST(Acceptance, AnErrorInTheKernelLogRejectsTheDevice) {
  Machine machine({"a", "b"});
  machine.find(
      {"a", HealthFact::kKernelLog, kGoodCases[1], 5, 0, 0, "xid:48: NVRM: Xid (PCI:0000:03:00): 48, DBE"});
  EXPECT_THAT(verdicts(machine), ElementsAre("a rejected reset", "b accepted"));
  const Acceptance acceptance = judge_acceptance(machine.model(), at_level(2));
  EXPECT_EQ(acceptance.devices[0].findings[0].code, "xid:48");
  EXPECT_THAT(acceptance.devices[0].findings[0].words, HasSubstr("48, DBE"));
}

TEST(Acceptance, ACaseOfSeveralDevicesCountsAgainstTheOneThatFailsAlone) {
  Machine machine({"a", "b", "c"});
  machine.add({"memory.cuda/Peer.CopiesAreByteExact", {"a", "c"}, kFailed});
  EXPECT_THAT(verdicts(machine), ElementsAre("a incomplete", "b accepted", "c incomplete"));
  machine.add({"memory.cuda/Copy.IsByteExact", {"a"}});
  machine.add({"memory.cuda/Copy.IsByteExact", {"b"}});
  machine.add({"memory.cuda/Copy.IsByteExact", {"c"}, kFailed});
  EXPECT_THAT(verdicts(machine), ElementsAre("a accepted", "b accepted", "c rejected replace"));
}

TEST(Acceptance, AResultThatIsNotThatOfTheMajorityIsWrong) {
  Machine machine({"a", "b", "c"});
  for (const char* device : {"a", "b", "c"}) {
    machine.add({"kernels.cuda/Integers.Mix",
                 {device},
                 {Outcome::kPass, ""},
                 {},
                 {{"same.mix", *device == 'b' ? "1" : "2"}}});
  }
  EXPECT_THAT(verdicts(machine), ElementsAre("a accepted", "b rejected replace", "c accepted"));
}

TEST(Acceptance, TwoDevicesThatDifferHaveNoMajority) {
  Machine machine({"a", "b"});
  for (const char* device : {"a", "b"})
    machine.add({"kernels.cuda/Integers.Mix", {device}, {Outcome::kPass, ""}, {}, {{"same.mix", device}}});
  EXPECT_THAT(verdicts(machine), ElementsAre("a incomplete", "b incomplete"));
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

TEST(Acceptance, MoreThanATenthBelowTheBestOfItsModelIsRed) {
  EXPECT_THAT(verdicts(with_speeds(2000, 1500, false)), ElementsAre("a accepted", "b rejected retest"));
  EXPECT_THAT(verdicts(with_speeds(2000, 1810, false)), ElementsAre("a accepted", "b accepted"));
}

TEST(Acceptance, ASimulatedSpeedNeedsAFloorOfItsModel) {
  EXPECT_THAT(verdicts(with_speeds(2000, 1, true)), ElementsAre("a accepted", "b accepted"));
  AcceptQuestion question = at_level(2);
  question.expected = ExpectedMachine{
      .file = "machine.toml",
      .models = {{.name = "H100", .count = 2, .uuids = {}, .facts = {}, .floors = {{"kernels.saxpy", 100}}}}};
  EXPECT_THAT(verdicts(with_speeds(2000, 1, true), question), ElementsAre("a accepted", "b rejected retest"));
}

TEST(Acceptance, ADeviceThatIsExpectedAndNotHereIsRejected) {
  AcceptQuestion question = at_level(2);
  question.expected = ExpectedMachine{
      .file = "machine.toml",
      .models = {{.name = "H100", .count = 4, .uuids = {"GPU-a", "GPU-x"}, .facts = {}, .floors = {}}}};
  EXPECT_THAT(verdicts(Machine({"a", "b"}), question),
              ElementsAre("a accepted", "b accepted", "missing:GPU-x rejected reseat",
                          "missing:H100:4 rejected reseat"));
}

TEST(Acceptance, FactsAreComparedWithWhatIsExpectedAndWithBefore) {
  AcceptQuestion question = at_level(2);
  question.expected = ExpectedMachine{.file = "machine.toml",
                                      .models = {{.name = "H100",
                                                  .count = 3,
                                                  .uuids = {},
                                                  .facts = {{"pcie_width", 16}, {"ecc", true}},
                                                  .floors = {}}}};
  const auto told = [](int width, int errors) {
    return CardFacts{.values = {{"pcie_width", width}, {"ecc", true}, {"errors_uncorrected", errors}},
                     .missing = {}};
  };
  question.before = {{"a", told(16, 0)}, {"b", told(8, 0)}, {"c", told(16, 4)}};
  question.after = {{"a", told(16, 0)}, {"b", told(8, 0)}, {"c", told(16, 5)}};
  EXPECT_THAT(verdicts(Machine({"a", "b", "c"}), question),
              ElementsAre("a accepted", "b rejected reseat", "c rejected reset"));
  question.after["a"].values.erase("ecc");
  question.before["a"].values.erase("ecc");
  EXPECT_THAT(verdicts(Machine({"a", "b", "c"}), question)[0], "a incomplete");
}

TEST(Acceptance, AModelThatNobodyExpectedIsIncomplete) {
  AcceptQuestion question = at_level(2);
  question.expected = ExpectedMachine{.file = "machine.toml", .models = {{.name = "H100", .count = 1}}};
  question.expected->models.front().name = "B200";
  EXPECT_THAT(verdicts(Machine({"a"}), question),
              ElementsAre("a incomplete", "missing:B200:1 rejected reseat"));
}

TEST(Acceptance, AWarningAboutTheInventoryIsAsRedAsAFailure) {
  RunModel model = [] {
    Machine machine({"a", "b"});
    machine.add({"management.cuda/Inventory.LinkHasItsWidth", {"a"}});
    machine.add(
        {"management.cuda/Inventory.LinkHasItsWidth", {"b"}, {Outcome::kPass, ""}, {}, {}, {Mark::kWarn}});
    return machine.model();
  }();
  model.on(Warning{WarningCode::kCaseWarning, "management.cuda/Inventory.LinkHasItsWidth: 8 lanes of 16"});
  const Acceptance acceptance = judge_acceptance(model, at_level(2));
  EXPECT_THAT(verdicts(acceptance), ElementsAre("a accepted", "b rejected reseat"));
  EXPECT_THAT(acceptance.devices[1].reason(), HasSubstr("8 lanes"));
}

TEST(Acceptance, ADeviceThatIsLostIsReset) {
  Machine machine({"a", "b"});
  machine.add({"memory.cuda/Copy.IsByteExact", {"a"}});
  machine.add({"memory.cuda/Copy.IsByteExact", {"b"}, {Outcome::kDeviceLost, ""}});
  EXPECT_THAT(verdicts(machine), ElementsAre("a accepted", "b rejected reset"));
}

TEST(Acceptance, ARunThatWasCutShortIsIncomplete) {
  RunModel model = Machine({"a"}).model();
  model.on(StopRequested{.signal = 2, .reason = StopCause::kSignal, .at_ms = 1});
  EXPECT_EQ(judge_acceptance(model, at_level(2)).verdict, AcceptVerdict::kIncomplete);
}

TEST(Acceptance, NoDeviceIsIncomplete) {
  EXPECT_EQ(judge_acceptance(Machine({}).model(), at_level(1)).verdict, AcceptVerdict::kIncomplete);
}

TEST(Acceptance, JsonHasTheVerdictOfEachDevice) {
  Machine machine({"a", "b"});
  machine.add({"memory.cuda/Copy.IsByteExact", {"b"}, kFailed});
  const Acceptance acceptance = judge_acceptance(machine.model(), at_level(2));
  const auto json = parse_json(accept_json(acceptance, at_level(2), "out"));
  EXPECT_EQ(json.at("verdict"), "rejected");
  EXPECT_EQ(json.at("devices").at(1).at("action"), "replace");
  EXPECT_EQ(json.at("devices").at(0).at("action"), nullptr);
  EXPECT_EQ(json.at("devices").at(0).at("steps").size(), choose_steps(2, 0).taken.size());
}

TEST(AcceptSteps, ABudgetTakesTheFirstThatFitAndNamesTheRest) {
  const ChosenSteps steps = choose_steps(2, 60);
  int seconds = 0;
  for (const AcceptStep* step : steps.taken) seconds += step->seconds;
  EXPECT_LE(seconds, 60);
  EXPECT_FALSE(steps.left_out.empty());
  EXPECT_THAT(choose_steps(2, 0).left_out, IsEmpty());
}

TEST(AcceptSteps, ACaseBelongsToItsMostParticularStep) {
  EXPECT_EQ(step_of("memory.xpu/Contents.MostOfTheMemoryKeepsAPattern/noise")->name, "memory patterns");
  EXPECT_EQ(step_of("memory.xpu/Contents.KeepsItsWord")->name, "memory");
  EXPECT_EQ(step_of("collectives.cuda/AllReduce.Sum"), nullptr);
}

std::string why_refused(const std::string& text) {
  const auto read = parse_expected(text, "m.toml");
  return read ? "" : read.error().message() + ". " + read.error().hint;
}

TEST(ExpectedMachine, IsReadAsItIsWritten) {
  const std::vector<PlannedDevice> devices = {
      {.id = "a", .backend = "cuda", .name = "H100", .uuid = "GPU-a"},
      {.id = "b", .backend = "cuda", .name = "H100", .uuid = "GPU-b"}};
  const FactsOfCards facts = {
      {"a", {.values = {{"pcie_width", 16}, {"firmware", "96.0"}, {"ecc", true}}, .missing = {}}},
      {"b", {.values = {{"pcie_width", 16}, {"firmware", "97.0"}, {"ecc", true}}, .missing = {}}}};
  const auto machine = parse_expected(write_expected(devices, facts), "m.toml");
  ASSERT_TRUE(machine) << machine.error().message();
  ASSERT_EQ(machine->models.size(), 1u);
  const ExpectedModel& model = machine->models.front();
  EXPECT_EQ(model.count, 2);
  EXPECT_THAT(model.uuids, ElementsAre("GPU-a", "GPU-b"));
  EXPECT_EQ(model.facts.at("pcie_width"), 16);
  EXPECT_EQ(model.facts.at("ecc"), true);
  EXPECT_FALSE(model.facts.contains("firmware")) << "they differ";
}

TEST(ExpectedMachine, MistakesAreNamedWithTheirPlace) {
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
