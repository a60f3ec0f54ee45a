#include "reports/gate/policy.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace proctor {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kCell = "[[cell]]\nsuite = \"memory\"\nbackend = \"xpu\"\n";

GatePolicy policy(const std::string& text) {
  const auto read = parse_gate_policy(text, "gate.toml");
  EXPECT_TRUE(read) << (read ? "" : read.error().what);
  return read ? *read : GatePolicy{};
}

// Returns the message and its hint.
std::string refusal(const std::string& text) {
  const auto read = parse_gate_policy(text, "gate.toml");
  EXPECT_FALSE(read) << text;
  if (read) return "";
  EXPECT_EQ(read.error().kind, ErrorKind::kUsage);
  return read.error().what + " | " + read.error().hint;
}

TEST(GatePolicy, DefaultsAreStrict) {
  const GatePolicy strict = policy(kCell);
  EXPECT_THAT(strict.subject, testing::ElementsAre("commit"));
  EXPECT_TRUE(strict.clean);
  EXPECT_EQ(strict.max_age, std::chrono::hours(72));
  EXPECT_EQ(strict.known_failures, "");
  EXPECT_EQ(strict.flaky_percent, 0);
  EXPECT_THAT(strict.skips, IsEmpty());
  EXPECT_THAT(strict.relaxations, IsEmpty());
  ASSERT_EQ(strict.cells.size(), 1u);
  EXPECT_TRUE(strict.cells.front().hardware);
  EXPECT_EQ(strict.cells.front().devices, 1);
  EXPECT_FALSE(strict.cells.front().min_executed);
  EXPECT_EQ(strict.cells.front().name, "memory.xpu");
}

TEST(GatePolicy, AllowsVariablesByExactName) {
  const GatePolicy weak =
      policy("[gate]\nvariables = [\"LD_LIBRARY_PATH\", \"BASH_FUNC_module%%\"]\n" + kCell);
  EXPECT_THAT(weak.variables, testing::ElementsAre("LD_LIBRARY_PATH", "BASH_FUNC_module%%"));
  EXPECT_EQ(weak.relaxations.front().key, "gate.variables");
  EXPECT_THAT(policy("[gate]\nvariables = []\n" + kCell).relaxations, IsEmpty());
  EXPECT_THAT(refusal("[gate]\nvariables = [\"PYTEST_ADOPTS\"]\n" + kCell),
              AllOf(HasSubstr("gate.toml:2"), HasSubstr("contains \"PYTEST_ADOPTS\", which no rule refuses"),
                    HasSubstr("PYTEST_ADDOPTS")));
  EXPECT_THAT(refusal("[gate]\nvariables = [\"*\"]\n" + kCell), HasSubstr("which no rule refuses"));
  EXPECT_THAT(refusal("[gate]\nvariables = \"LD_PRELOAD\"\n" + kCell), HasSubstr("gate.toml:2"));
}

TEST(GatePolicy, ListsEachRelaxation) {
  const GatePolicy weak = policy(
      "version = 1\n[gate]\nsubject = [\"branch\"]\nclean = false\nmax_age = \"100h\"\nhardware = false\n"
      "known_failures = \"k.toml\"\nmax_known_failures = 11\n[gate.flaky]\npercent = 0.5\n[skips]\n\"a:*\" = "
      "\"b\"\n" +
      kCell + "min_executed = 3\nsoak = { device_hours = 1.5, resets = 1 }\n");
  std::vector<std::string> said;
  for (const GateRelaxation& w : weak.relaxations) said.push_back(std::to_string(w.line) + " " + w.key);
  EXPECT_THAT(said, testing::ElementsAre("3 gate.subject", "4 gate.clean", "5 gate.max_age",
                                         "6 gate.hardware", "7 gate.known_failures",
                                         "8 gate.max_known_failures", "10 gate.flaky.percent",
                                         "12 skips.\"a:*\"", "16 cell.min_executed", "17 cell.soak.resets"));
  EXPECT_EQ(weak.cells.front().soak->device_hours, 1.5);
}

TEST(GatePolicy, StricterValuesAreNotRelaxations) {
  EXPECT_THAT(policy("[gate]\nmax_age = \"1h\"\nclean = true\nsubject = [\"commit\", \"branch\"]\n" + kCell +
                     "hardware = true\ndevices = 4\n")
                  .relaxations,
              IsEmpty());
}

TEST(GatePolicy, ErrorsHaveLineAndSuggestion) {
  EXPECT_THAT(refusal("[gate]\nmax_agee = \"1h\"\n" + kCell),
              AllOf(HasSubstr("gate.toml:2"), HasSubstr("Did you mean `max_age`?")));
  EXPECT_THAT(refusal("[gate]\npercent = 1\n" + kCell), HasSubstr("`percent` is a key of [gate.flaky]."));
  EXPECT_THAT(refusal("[gate]\nsuite = \"a\"\n" + kCell), HasSubstr("`suite` is a key of [[cell]]."));
  EXPECT_THAT(refusal(kCell + "clean = false\n"),
              HasSubstr("gate.toml:4: unknown key `clean` in [[cell]] | `clean` is a key of [gate]."));
  EXPECT_THAT(refusal("hardware = false\n" + kCell), HasSubstr("gate.toml:1"));
  EXPECT_THAT(refusal("[gate]\nsubject = [\"comit\"]\n" + kCell), HasSubstr("Did you mean `commit`?"));
  EXPECT_THAT(refusal("[[cell]]\nsuite = \"a\"\n"), HasSubstr("[[cell]] needs the key `backend`"));
  EXPECT_THAT(refusal("[[cell]]\nsuite = \"a\"\nbackend = \"xpo\"\n"), HasSubstr("Did you mean `xpu`?"));
  EXPECT_THAT(refusal("cell = []\n"), HasSubstr("an array of tables, [[cell]]"));
  EXPECT_THAT(refusal("[cell]\nsuite = \"a\"\n"), HasSubstr("an array of tables, [[cell]]"));
  EXPECT_THAT(refusal("[gate]\nmax_age = 72\n" + kCell), HasSubstr("a duration with a unit"));
  EXPECT_THAT(refusal("[gate]\nbaseline = \"requierd\"\n" + kCell), HasSubstr("Did you mean `required`?"));
  EXPECT_THAT(refusal(kCell + "program = \"abc\"\n"), HasSubstr("64 hexadecimal digits"));
  EXPECT_THAT(refusal(kCell + "plan = \"\"\n"), HasSubstr("`plan` names no file"));
  for (const char* key : {"device", "name", "stack"}) {
    EXPECT_THAT(refusal(kCell + key + " = \"\"\n"),
                HasSubstr(fmt::format("`{}` in [[cell]] is empty | Leave it out, or give it a value.", key)));
  }
  EXPECT_THAT(refusal("[[cell]]\nsuite = \"\"\nbackend = \"xpu\"\n"),
              HasSubstr("`suite` in [[cell]] is empty"));
  EXPECT_THAT(refusal(kCell + "soak = { device_hour = 1 }\n"), HasSubstr("Did you mean `device_hours`?"));
  EXPECT_THAT(refusal(kCell + "device = \"*\"\n"), HasSubstr("covers every model"));
}

TEST(GatePolicy, RejectsContradictoryKeys) {
  EXPECT_THAT(refusal("[gate.flaky]\npercent = 1\n" + kCell),
              HasSubstr("`percent` without `known_failures`"));
  EXPECT_THAT(refusal("[gate]\nmax_known_failures = 3\n" + kCell), HasSubstr("without `known_failures`"));
  EXPECT_THAT(refusal("[[cell]]\nsuite = \"a\"\nbackend = \"none\"\n"), HasSubstr("no evidence of hardware"));
  EXPECT_THAT(refusal("[[cell]]\nsuite = \"a\"\nbackend = \"none\"\nhardware = false\ndevices = 1\n"),
              HasSubstr("whose cases get no device"));
  EXPECT_THAT(refusal("[skips]\n\"a\" = \"\"\n" + kCell), HasSubstr("has no reason"));
}

TEST(GatePolicy, RejectsDuplicateCells) {
  const GatePolicy two = policy(kCell + "device = \"*B580*\"\n" + kCell + "device = \"*B570*\"\n");
  EXPECT_EQ(two.cells[1].name, "memory.xpu on *B570*");
  EXPECT_THAT(refusal(kCell + "name = \"x\"\n" + kCell + "name = \"x\"\ndevice = \"a\"\n"),
              HasSubstr("repeats the cell `x` of line 1"));
}

}  // namespace
}  // namespace proctor
