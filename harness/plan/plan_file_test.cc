#include "harness/plan/plan_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/frameworks/pytest.h"

namespace proctor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const PlanDirectories kPlanHere{
    .start = "/home/u/repo", .programs = "/opt/proctor/bin", .shared = "/opt/proctor/share/proctor"};
const PlanDirectories kThere{.start = "/ci/work", .programs = "/ci/work/bin", .shared = "/usr/share/proctor"};

// Every member has a value that is not its default.
PlanFile full() {
  PlanFile file{.extent = {.size = "full", .seed = 7, .point = ""}};
  file.run.schedule.max_machine_failures = 3;
  file.run.devices = {.device_in_use = "other", .reset = "unhealthy", .telemetry = 7};
  file.run.verdicts.flaky = "pass:4%";
  Suite suite;
  suite.name = "attention";
  suite.kind = &pytest_kind();
  suite.kind_reason = "config";
  suite.command = {"/opt/proctor/bin/memory_xpu", "--data=/home/u/repo/data", "/home/u/repository"};
  suite.directory = "/home/u/repo";
  suite.backend = Backend::kCuda;
  suite.devices = 2;
  suite.ranks = 2;
  suite.devices_marker = "gpus";
  suite.process = "file";
  suite.listener = true;
  suite.mask = "index";
  suite.policy = {std::nullopt, Milliseconds(3), Milliseconds(2), 4};
  suite.policy.startup = Milliseconds(5);
  suite.env = {{"PYTHONPATH", "/opt/proctor/share/proctor/pytest:/x:/home/u/repo"}};
  suite.hierarchy = "flat";
  suite.mem_cap = 3u << 30;
  suite.host_pids = true;
  suite.skip_code = 77;
  suite.filters = {{"PYTEST_ADDOPTS", "-k fast"}};
  suite.labels = {"slow"};
  suite.origin = "proctor.toml:3";
  Case test;
  test.id = "attention/tests/a.py::b[é \"x\"]";
  test.suite = 1;
  test.name = "b";
  test.classname = "tests.a";
  test.argv = suite.command;
  test.group = "tests/a.py";
  test.devices = 2;
  test.ranks = 2;
  test.policy = {Milliseconds(5), std::nullopt, Milliseconds(6), 8};
  test.disabled = true;
  test.expected_failures = 2;
  test.rule = "M-1";
  test.source = "s";
  test.severity = SeverityWord::in_text("must");
  test.needs = {"tiles>=2"};
  test.sizes = {{"ci", 1 << 20}};
  test.sizes_unit = "bytes";
  test.faults = {"memory.corrupt_copy"};
  test.expects = "hang";
  test.shard = 3;
  file.plan = {.suites = {suite, suite}, .cases = {test}, .shards = 4};
  file.rest =
      PlannedRest{.runs = {"run1", "run2"}, .plan_digest = "aa", .plan = "bb", .planned = 9, .shards = 4};
  return file;
}

std::string text_of(const PlanFile& file, const PlanDirectories& directories = kPlanHere) {
  const auto text = plan_file_text(file, directories);
  EXPECT_TRUE(text) << (text ? "" : text.error().what);
  return text ? *text : "";
}

std::string refusal(const std::string& text) {
  const auto file = parse_plan_file(text, "plan.json", kPlanHere);
  EXPECT_TRUE(!file && file.error().kind == ErrorKind::kUsage);
  return file ? "" : file.error().what;
}

std::string with(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, text.npos) << from;
  return at == text.npos ? text : text.replace(at, from.size(), to);
}

// The plan is written again as the same text, so no member was lost. Some members are checked individually.
TEST(PlanFile, SurvivesRoundTrip) {
  const std::string text = text_of(full());
  const auto back = parse_plan_file(text, "plan.json", kPlanHere);
  ASSERT_TRUE(back) << back.error().what;
  EXPECT_EQ(text_of(*back), text);
  EXPECT_EQ(back->plan.cases[0].id, full().plan.cases[0].id);
  EXPECT_EQ(back->plan.cases[0].argv, full().plan.suites[0].command);
  EXPECT_FALSE(back->plan.cases[0].policy.stall);
  EXPECT_EQ(back->plan.suites[0].policy.stall, Milliseconds(3));
  EXPECT_EQ(back->plan.suites[0].policy.startup, Milliseconds(5));
  EXPECT_FALSE(back->plan.suites[0].policy.shutdown);
  EXPECT_EQ(back->run.devices.device_in_use, "other");
  EXPECT_EQ(back->run.verdicts.flaky, "pass:4%");
  EXPECT_EQ(back->extent.size, "full");
  EXPECT_EQ(back->extent.seed, 7U);
  EXPECT_EQ(back->plan.shards, 4);
  EXPECT_EQ(back->plan.suites[0].skip_code, 77);
  EXPECT_EQ(back->plan.cases[0].expected_failures, 2);
  EXPECT_EQ(back->plan.cases[0].shard, 3);
  ASSERT_TRUE(back->rest);
  EXPECT_THAT(back->rest->runs, ElementsAre("run1", "run2"));
  EXPECT_EQ(back->rest->planned, 9);
  // A member that is not written is read as its default. Equal texts would hide such a member.
  for (const char* none : {": \"\"", ": 0", ": []", ": {}"}) EXPECT_THAT(text, Not(HasSubstr(none)));
}

TEST(PlanFile, AdaptsToDirectoriesOfOtherMachine) {
  const std::string text = text_of(full());
  EXPECT_THAT(text, Not(HasSubstr("/opt/proctor")));
  EXPECT_THAT(text, HasSubstr("/home/u/repository"));
  const auto there = parse_plan_file(text, "plan.json", kThere);
  ASSERT_TRUE(there) << there.error().what;
  const Suite& suite = there->plan.suites[0];
  EXPECT_EQ(suite.command, (std::vector<std::string>{"/ci/work/bin/memory_xpu", "--data=/ci/work/data",
                                                     "/home/u/repository"}));
  EXPECT_EQ(suite.env.at("PYTHONPATH"), "/usr/share/proctor/pytest:/x:/ci/work");
  EXPECT_EQ(text_of(*there, kThere), text);
  EXPECT_EQ(*plan_file_digest(*there, kThere), *plan_file_digest(full(), kPlanHere));
}

// A path in the plan can be a directory of the machine that reads it. The digest must stay the same.
TEST(PlanFile, DigestIsIndependentOfReader) {
  const std::string text = text_of(full());
  const PlanDirectories elsewhere{
      .start = "/home/u/repository", .programs = "/x", .shared = "/usr/share/proctor"};
  const auto there = parse_plan_file(text, "plan.json", elsewhere);
  ASSERT_TRUE(there) << there.error().what;
  EXPECT_EQ(there->plan.suites[0].command[2], "/home/u/repository");
  EXPECT_EQ(*plan_file_digest(*there, elsewhere), *plan_file_digest(full(), kPlanHere));

  PlanFile less = *there;
  less.plan.cases.clear();
  EXPECT_NE(*plan_file_digest(less, elsewhere), *plan_file_digest(*there, elsewhere))
      << "a part of it is another";
  PlanFile stricter = *there;
  stricter.run.verdicts.flaky = "fail";
  EXPECT_NE(*plan_file_digest(stricter, elsewhere), *plan_file_digest(*there, elsewhere));
}

// A container job can start in "/". Every path is below it, so only that directory itself has a placeholder.
TEST(PlanFile, AcceptsRootAsStartDirectory) {
  const PlanDirectories root{.start = "/", .programs = "/usr/bin", .shared = "/usr/share/proctor"};
  const auto in_root = parse_plan_file(text_of(full()), "plan.json", root);
  ASSERT_TRUE(in_root) << in_root.error().what;
  EXPECT_EQ(in_root->plan.suites[0].directory, "/");
  EXPECT_EQ(in_root->plan.suites[0].command[1], "--data=/data");
  EXPECT_EQ(*plan_file_digest(*in_root, root), *plan_file_digest(full(), kPlanHere));

  PlanFile made = full();
  made.plan.suites[0].directory = "/";
  made.plan.suites[0].command = {"/bin/ls", "/", "a / b"};
  const auto there = parse_plan_file(text_of(made, root), "plan.json", kThere);
  ASSERT_TRUE(there) << there.error().what;
  EXPECT_EQ(there->plan.suites[0].directory, "/ci/work");
  EXPECT_EQ(there->plan.suites[0].command, made.plan.suites[0].command);
}

TEST(PlanFile, ReportsDirectoryMissingOnMachine) {
  PlanDirectories without = kPlanHere;
  without.shared.clear();
  const auto file = parse_plan_file(text_of(full()), "plan.json", without);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().kind, ErrorKind::kUsage);
  EXPECT_THAT(file.error().what, HasSubstr("`${PROCTOR_SHARED}/pytest:/x:"));
}

TEST(PlanFile, RejectsChangedFileOrOtherVersion) {
  const std::string text = text_of(full());
  EXPECT_THAT(refusal(with(text, "\"timeout_ms\": 5", "\"timeout_ms\": 6")),
              HasSubstr("changed after it was made"));
  EXPECT_THAT(refusal(with(text, "\"digest\"", "\"other\"")), HasSubstr("its digest is missing"));
  EXPECT_THAT(refusal(with(text, "\"version\": 3", "\"version\": 4")), HasSubstr("its format is version 4"));
  EXPECT_THAT(refusal(with(text, "\"version\": 3", "\"version\": 2")), HasSubstr("its format is version 2"));
  EXPECT_THAT(refusal(with(text, "\"version\"", "\"v\"")), HasSubstr("version none"));
  for (const std::string& other :
       std::vector<std::string>{"", "{}", "[]", "7", "{\"format\":\"x\"}", text.substr(0, text.size() / 2)})
    EXPECT_THAT(refusal(other), HasSubstr("not a Proctor plan"));
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  for (const std::string& other : {deep, R"({"format":"proctor-plan","version":)" + deep + "}",
                                   with(text, "\"timeout_ms\": 5", "\"timeout_ms\": " + deep)})
    EXPECT_THAT(refusal(other), HasSubstr("not a Proctor plan"));
}

// The configuration refuses the value in the same way, because a driver would silently ignore it.
TEST(PlanFile, RejectsInvalidHierarchy) {
  PlanFile file = full();
  file.plan.suites[0].hierarchy = "flat";
  EXPECT_TRUE(parse_plan_file(text_of(file), "plan.json", kPlanHere));
  file.plan.suites[0].hierarchy = "sideways";
  EXPECT_THAT(refusal(text_of(file)), HasSubstr("sideways"));
}

TEST(PlanFile, KeepsLeakPolicy) {
  PlanFile file = full();
  file.plan.cases[0].policy.leaks_fail = true;
  const auto read = parse_plan_file(text_of(file), "plan.json", kPlanHere);
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_TRUE(read->plan.cases[0].policy.leaks_fail);
  EXPECT_FALSE(read->plan.suites[0].policy.leaks_fail);
}

TEST(PlanFile, DigestIgnoresLayout) {
  std::string text = text_of(full());
  std::erase(text, '\n');
  EXPECT_TRUE(parse_plan_file(text, "plan.json", kPlanHere));
  PlanFile other = full();
  other.plan.cases[0].policy.retries = 9;
  EXPECT_NE(*plan_file_digest(other, kPlanHere), *plan_file_digest(full(), kPlanHere));
}

TEST(PlanFile, RejectsContentThatCannotBeReadBack) {
  PlanFile file = full();
  file.plan.cases[0].argv.emplace_back("\xff");
  EXPECT_FALSE(plan_file_text(file, kPlanHere));
  file = full();
  file.plan.suites[0].env["X"] = "${PROCTOR_START}";
  EXPECT_FALSE(plan_file_text(file, kPlanHere));
}

}  // namespace
}  // namespace proctor
