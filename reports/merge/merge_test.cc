#include "reports/merge/merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/base/digest.h"
#include "harness/journal/machine_facts.h"
#include "reports/resolve/resolved_run.h"
#include "reports/resolve/test_journal.h"

namespace proctor {
namespace {

using namespace testing_support;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

const std::vector<std::string> kIds = {"s/a", "s/b", "s/c"};

// Shard `index` of three has one case, which passes unless `events` contain another outcome.
struct Part {
  RunPlanned plan;
  std::vector<Event> events;
};

Part part(int index) {
  const std::string id = kIds[static_cast<std::size_t>(index - 1)];
  Part one{plan_of({planned(id)}), {started(id), ended(id, {Outcome::kPass, ""})}};
  one.plan.run_id = "run" + std::to_string(index);
  one.plan.hostname = "host" + std::to_string(index);
  one.plan.plan_digest = sha256_hex("s/a\ns/b\ns/c\n");
  one.plan.shard = PlannedShard{index, 3, 3, "p1"};
  one.plan.fingerprint = {{"host.kernel", "6.1", "/proc", ""},
                          {"kmd.xe", std::nullopt, "/sys", "not loaded"}};
  one.events.emplace_back(RunEnded{"2026-01-31T12:00:0" + std::to_string(index) + "Z", index * 100});
  return one;
}

std::vector<Part> all() { return {part(1), part(2), part(3)}; }

class Collected : public EventSink {
 public:
  void on(const Event& event) override { events.push_back(event); }
  std::vector<Event> events{};
};

Result<std::vector<Event>> merged(const std::vector<Part>& parts) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < parts.size(); ++i) names.push_back("dir" + std::to_string(i));
  const auto load = [&parts](const std::string& name) -> Result<ResolvedRun> {
    const Part& one = parts[std::stoul(name.substr(3))];
    std::vector<Event> events = {one.plan};
    events.insert(events.end(), one.events.begin(), one.events.end());
    return resolved_of(events);
  };
  auto read = read_parts(names, load);
  if (!read) return read.error();
  Collected whole;
  merge_parts(*std::move(read), whole);
  return whole.events;
}

std::string refusal(const std::vector<Part>& parts) {
  const auto events = merged(parts);
  EXPECT_TRUE(!events && events.error().kind == ErrorKind::kUsage);
  return events ? "" : events.error().what;
}

ResolvedRun whole(const std::vector<Part>& parts) {
  const auto events = merged(parts);
  EXPECT_TRUE(events) << (events ? "" : events.error().what);
  return events ? resolved_of(*events) : ResolvedRun();
}

TEST(Merge, RunIdDependsOnShards) {
  const std::string id = whole(all()).plan.run_id;
  EXPECT_EQ(id.substr(0, 5), "run1+");
  EXPECT_EQ(whole({part(3), part(1), part(2)}).plan.run_id, id);
  std::vector<Part> repeated = all();
  repeated[2].plan.run_id = "run4";
  EXPECT_NE(whole(repeated).plan.run_id, id);
}

TEST(Merge, MergedRunHasCasesOfAllShards) {
  const ResolvedRun run = whole({part(3), part(1), part(2)});
  EXPECT_EQ(run.exit_code, 0);
  ASSERT_EQ(run.cases.size(), 3u);
  EXPECT_EQ(run.cases[1].planned.id, "s/b");
  EXPECT_EQ(run.cases[1].attempts[0].start.log, "shard-2/logs/0123456789abcdef.1.log");
  EXPECT_EQ(run.cases[1].attempts[0].start.devices[0], "host2/xpu:0000:03:00.0");
  EXPECT_EQ(run.plan.devices.size(), 3u);
  EXPECT_EQ(run.plan.hostname, "host1, host2, host3");
  EXPECT_EQ(run.ended->finished, "2026-01-31T12:00:03Z");
  EXPECT_EQ(run.elapsed_ms, 1350);
  EXPECT_FALSE(run.plan.shard);
  EXPECT_FALSE(run.simulated);
}

TEST(Merge, KeepsOptionsOfEveryShard) {
  std::vector<Part> parts = all();
  const NarrowingVariable variable{"s", "none", "GTEST_FILTER", "A*", "caller", ""};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    parts[i].plan.restrictions = {
        {{"--plan", "plan.json", "plan"}, {"--shard", std::to_string(i + 1) + "/3", "rule"}}, {variable}};
  }
  const auto events = merged(parts);
  ASSERT_TRUE(events) << events.error().what;
  const auto& narrowed = std::get<RunPlanned>(events->front()).restrictions;
  EXPECT_EQ(narrowed.options.size(), 4U);
  EXPECT_EQ(narrowed.variables.size(), 1U);
}

TEST(Merge, ListsDevicesOfOneHostOnce) {
  auto parts = all();
  for (Part& one : parts) one.plan.hostname = "host";
  EXPECT_EQ(whole(parts).plan.devices.size(), 1u);
  EXPECT_EQ(whole(parts).cases[2].attempts[0].start.devices[0], "xpu:0000:03:00.0");
}

TEST(Merge, ExitCodeFollowsRunRules) {
  const auto code = [](int index, std::vector<Event> events) {
    auto parts = all();
    parts[static_cast<std::size_t>(index - 1)].events = std::move(events);
    return whole(parts).exit_code;
  };
  EXPECT_EQ(code(2, {started("s/b"), ended("s/b", {Outcome::kFail, ""}), RunEnded{"x", 1}}), 1);
  EXPECT_EQ(code(2, {started("s/b"), ended("s/b", {Outcome::kDeviceLost, ""}), RunEnded{"x", 1}}), 75);
  EXPECT_EQ(code(2, {started("s/b"), ended("s/b", {Outcome::kPass, ""}),
                     Warning{WarningCode::kStackChanged, "kernel"}, RunEnded{"x", 1}}),
            75);
  EXPECT_EQ(code(3, {StopRequested{15, StopCause::kSignal, 1}, RunEnded{"x", 1}}), 3);
  EXPECT_EQ(code(3, {started("s/c")}), 3);  // killed
  EXPECT_EQ(code(3, {StopRequested{0, StopCause::kDeadline, 1}, RunEnded{"x", 1}}), 3);
  auto none = all();
  none[0].plan.missing_backend = "cuda";
  EXPECT_EQ(whole(none).exit_code, 3);
  auto few = all();
  few[1].plan.rules.min_executed = 4;
  EXPECT_EQ(whole(few).exit_code, 3);
}

// --allow-no-device applies to each shard: one shard without devices and without this option fails the merged run.
TEST(Merge, MissingDeviceRuleAppliesPerShard) {
  const auto lacks = [](Part& one, bool allowed) {
    one.plan.missing_backend = "cuda";
    one.plan.rules.allow_no_device = allowed;
    const std::string& id = one.plan.cases[0].id;
    one.events = {ended(id, {Outcome::kSkip, {Reason::kNeeds, "device"}}), RunEnded{"x", 1}};
  };
  auto parts = all();
  lacks(parts[0], true);
  EXPECT_EQ(whole(parts).exit_code, 0);
  lacks(parts[1], false);
  EXPECT_EQ(whole(parts).exit_code, 3);
  lacks(parts[1], true);
  lacks(parts[2], true);
  EXPECT_EQ(whole(parts).exit_code, 0);
  parts[2].plan.missing_backend = "";  // it has devices, but executed nothing
  parts[2].plan.rules.allow_no_device = false;
  EXPECT_EQ(whole(parts).exit_code, 3);
  EXPECT_EQ(whole({parts[2], parts[1], parts[0]}).exit_code, 3);
}

TEST(Merge, NotRunReasonComesFromShard) {
  auto parts = all();
  parts[0].events = {StopRequested{0, StopCause::kDeadline, 1}, RunEnded{"x", 1}};
  parts[1].events = {started("s/b")};
  const ResolvedRun run = whole(parts);
  EXPECT_EQ(run.cases[0].verdict.reason, Reason::kRunLimit);
  EXPECT_EQ(run.cases[1].verdict.reason, Reason::kInterrupted);
  EXPECT_EQ(run.cases[2].verdict.outcome, Outcome::kPass);
  EXPECT_TRUE(run.warned_of(WarningCode::kPartIncomplete));
}

// All its cases passed, but the end record of its runner is missing.
TEST(Merge, ShardWithoutEndRecordIsIncomplete) {
  auto parts = all();
  EXPECT_EQ(whole(parts).exit_code, 0);
  std::erase_if(parts[1].events, [](const Event& event) { return std::holds_alternative<RunEnded>(event); });
  const ResolvedRun run = whole(parts);
  EXPECT_EQ(run.cases[1].verdict.outcome, Outcome::kPass);
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_EQ(run.verdict, RunVerdict::kIncomplete);
}

TEST(Merge, ErrorNamesMissingShard) {
  EXPECT_THAT(refusal({part(1), part(3)}), HasSubstr("shard 2/3 is missing"));
  EXPECT_THAT(refusal({part(2)}), HasSubstr("shard 1/3, 3/3 is missing"));
  EXPECT_THAT(refusal({}), HasSubstr("there are none"));
}

// The loop over missing shards must not run for the largest number that a journal can contain.
TEST(Merge, RejectsInvalidShardNumbers) {
  for (const auto& [index, count] : {std::pair{1, 2147483647}, {1, 10'001}, {0, 3}, {4, 3}, {1, -1}}) {
    Part odd = part(1);
    odd.plan.shard->index = index;
    odd.plan.shard->count = count;
    EXPECT_THAT(refusal({odd}), HasSubstr("is not a valid shard number")) << index << "/" << count;
  }
}

TEST(Merge, ErrorNamesOverlappingShards) {
  EXPECT_THAT(refusal({part(1), part(2), part(3), part(2)}),
              HasSubstr("shard 2/3 is given twice: dir1 and dir3"));
  auto parts = all();
  parts[2].plan.cases = parts[1].plan.cases;
  EXPECT_THAT(refusal(parts), HasSubstr("the case s/b is in both dir1 and dir2"));
  parts = all();
  parts[2].plan.cases = {planned("s/d")};
  EXPECT_THAT(refusal(parts), HasSubstr("the shards have 3 cases, but not the 3 of the plan"));
  parts[2].plan.cases = {};
  EXPECT_THAT(refusal(parts), HasSubstr("the shards have 2 cases, but not the 3 of the plan"));
}

TEST(Merge, RejectsTwoMachinesWithOneHostname) {
  auto parts = all();
  for (Part& one : parts) {
    one.plan.hostname = "node";
    one.plan.devices.front().uuid = "GPU-" + one.plan.run_id;
  }
  EXPECT_THAT(refusal(parts), AllOf(HasSubstr("two machines have the name node"),
                                    HasSubstr("GPU-run1 in dir0, but GPU-run2 in dir1")));
}

TEST(Merge, RejectsShardsOfDifferentPlans) {
  const auto with = [](auto change) {
    auto parts = all();
    change(parts[1].plan);
    return refusal(parts);
  };
  EXPECT_THAT(with([](RunPlanned& p) { p.shard->count = 4; }),
              AllOf(HasSubstr("shard 1/3 in dir0"), HasSubstr("shard 2/4 in dir1")));
  EXPECT_THAT(with([](RunPlanned& p) { p.plan_digest = "other"; }), HasSubstr("3 cases, other in dir1"));
  EXPECT_THAT(with([](RunPlanned& p) { p.shard->plan = "p2"; }), HasSubstr("p1 in dir0, but p2 in dir1"));
  EXPECT_THAT(with([](RunPlanned& p) { p.rules.strict = true; }),
              HasSubstr("--strict: no in dir0, but yes in dir1"));
  EXPECT_THAT(with([](RunPlanned& p) { p.shard.reset(); }), HasSubstr("dir1 is not a shard of a plan"));
}

TEST(Merge, RejectsDifferentCommits) {
  auto parts = all();
  for (Part& one : parts) {
    one.plan.subject.commit = {"0123abc", "GITHUB_SHA", ""};
    one.plan.subject.dirty = {"false", "git status", ""};
    one.plan.subject.branch = {"main", ".git", ""};
    one.plan.suites = {{"s", "xpu", "gtest", {"b/s"}, "/b/s", 7, ""}};
    one.events.emplace_back(ProgramRead{"/b/s", "aa", ""});
  }
  const ResolvedRun same = whole(parts);
  EXPECT_EQ(same.plan.subject.commit.value, "0123abc");
  EXPECT_EQ(same.plan.subject.dirty.value, "false");
  ASSERT_EQ(same.plan.suites.size(), 1u);
  EXPECT_EQ(same.program_read(same.plan.suites[0]).sha256, "aa");

  parts[2].plan.subject.branch.value = "side";
  parts[1].plan.subject.dirty.value = "true";
  std::get<ProgramRead>(parts[0].events.back()).sha256 = "bb";
  const ResolvedRun other = whole(parts);
  EXPECT_EQ(other.plan.subject.branch.value, std::nullopt);
  EXPECT_EQ(other.plan.subject.branch.reason, "it is main in shard 1/3, but side in shard 3/3");
  EXPECT_EQ(other.plan.subject.dirty.value, "true");
  EXPECT_EQ(other.program_read(other.plan.suites[0]).sha256, "");
  EXPECT_THAT(other.program_read(other.plan.suites[0]).reason, HasSubstr("bb in shard 1/3"));
  EXPECT_TRUE(other.warned_of(WarningCode::kPartMismatch));

  parts[1].plan.subject.commit = {{}, "", "no checkout"};
  EXPECT_EQ(whole(parts).plan.subject.commit.value, "0123abc");
  parts[1].plan.subject.commit = {"4567def", "GITHUB_SHA", ""};
  EXPECT_EQ(refusal(parts), "merge the reports: different commits: 0123abc in dir0, but 4567def in dir1");
}

// Shard i has the i-th suite and the i-th digest of its program.
std::vector<Part> with_programs(const std::vector<PlannedSuite>& suites,
                                const std::vector<ProgramRead>& reads) {
  auto parts = all();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    parts[i].plan.suites = {suites[i]};
    parts[i].events.emplace_back(reads[i]);
  }
  return parts;
}

PlannedSuite suite_of(const std::string& name, const std::string& program) {
  return {name, "xpu", "pytest", {"pytest"}, program, 7, ""};
}

TEST(Merge, KeepsProgramDigestCommonToShards) {
  const std::string pytest = "/usr/bin/pytest";
  const std::vector<PlannedSuite> suites = {suite_of("a", pytest), suite_of("b", pytest),
                                            suite_of("c", "/usr/bin/c")};
  const ProgramRead c{"/usr/bin/c", "cc", ""};
  const ResolvedRun same = whole(with_programs(suites, {{pytest, "aa", ""}, {pytest, "aa", ""}, c}));
  for (const PlannedSuite& suite : same.plan.suites)
    EXPECT_EQ(same.program_read(suite).sha256, suite.name == "c" ? "cc" : "aa");
  EXPECT_FALSE(same.warned_of(WarningCode::kPartMismatch));

  const ResolvedRun other = whole(with_programs(suites, {{pytest, "aa", ""}, {pytest, "bb", ""}, c}));
  ASSERT_EQ(other.plan.suites.size(), 3u);
  for (std::size_t i = 0; i < 2; ++i) {
    const ProgramRead read = other.program_read(other.plan.suites[i]);
    EXPECT_EQ(read.sha256, "");
    EXPECT_EQ(read.reason, "its SHA-256 is aa in shard 1/3, but bb in shard 2/3");
  }
  EXPECT_EQ(other.program_read(other.plan.suites[2]).sha256, "cc");
  EXPECT_TRUE(other.warned_of(WarningCode::kPartMismatch));
}

// Returns a run of the case `id` that `run2` left, with this outcome.
Part rest(const std::string& id, Outcome outcome, std::vector<std::string> runs = {"run2"}) {
  Part one = part(2);
  one.plan.run_id = "again" + id;
  one.plan.started = "2026-01-31T13:00:00Z";
  one.plan.cases = {planned(id)};
  one.plan.rest = PlannedRest{
      .runs = std::move(runs), .plan_digest = one.plan.plan_digest, .plan = "p1", .planned = 3, .shards = 3};
  one.events = {started(id), ended(id, {outcome, ""}), RunEnded{"2026-01-31T13:00:01Z", 5}};
  return one;
}

std::vector<Part> with_a_lost_shard() {
  auto parts = all();
  parts[1].events = {started("s/b")};
  return parts;
}

TEST(Merge, ResumedRunCompletesLostShard) {
  auto parts = with_a_lost_shard();
  parts.push_back(rest("s/b", Outcome::kPass));
  const ResolvedRun run = whole(parts);
  EXPECT_EQ(run.exit_code, 0);
  ASSERT_EQ(run.cases.size(), 3u);
  ASSERT_EQ(run.find("s/b")->attempts.size(), 1u);
  EXPECT_EQ(run.find("s/b")->attempts[0].start.log, "remaining-1/logs/0123456789abcdef.1.log");
  EXPECT_FALSE(run.warned_of(WarningCode::kPartIncomplete));
  EXPECT_THAT(run.plan.stack,
              Contains(Pair("shard.remaining.1", HasSubstr("run agains/b on host2, 1 cases left by run2"))));
  parts.back() = rest("s/b", Outcome::kFail);
  EXPECT_EQ(whole(parts).exit_code, 1);
}

TEST(Merge, ResumeOfResumedRunCompletesShard) {
  auto parts = with_a_lost_shard();
  parts.push_back(rest("s/b", Outcome::kPass));
  parts.back().events = {started("s/b")};  // this case is lost as well
  EXPECT_EQ(whole(parts).exit_code, 3);
  parts.push_back(rest("s/b", Outcome::kPass, {"run2", "agains/b"}));
  parts.back().plan.run_id = "third";
  parts.back().plan.started = "2026-01-31T14:00:00Z";
  EXPECT_EQ(whole(parts).exit_code, 0);
}

TEST(Merge, RejectsResumedCaseThatHasResult) {
  auto parts = all();
  parts.push_back(rest("s/b", Outcome::kPass));
  EXPECT_THAT(refusal(parts), HasSubstr("the case s/b is in both dir1 and dir3"));
  parts = with_a_lost_shard();
  parts.push_back(rest("s/c", Outcome::kPass));
  EXPECT_THAT(refusal(parts), HasSubstr("the case s/c is in both dir2 and dir3"));
}

TEST(Merge, ResumedRunRequiresOriginalRuns) {
  auto parts = with_a_lost_shard();
  parts.push_back(rest("s/b", Outcome::kPass, {"gone"}));
  EXPECT_THAT(refusal(parts), HasSubstr("dir3 has what run gone left, and that run is not given"));
  parts.back() = rest("s/b", Outcome::kPass);
  parts.back().plan.rest->plan = "p2";
  EXPECT_THAT(refusal(parts), HasSubstr("p1 in dir0, but p2 in dir3"));
  EXPECT_THAT(refusal({rest("s/b", Outcome::kPass)}), HasSubstr("there is no shard of the whole plan"));
  parts = with_a_lost_shard();
  parts.erase(parts.begin());
  parts.push_back(rest("s/b", Outcome::kPass));
  EXPECT_THAT(refusal(parts), HasSubstr("shard 1/3 is missing"));
}

// The plan of remaining cases may be sharded again.
TEST(Merge, RejectsMissingShardOfResumedRun) {
  auto parts = with_a_lost_shard();
  parts[2].events = {started("s/c")};
  const auto half = [](const std::string& id, int index) {
    Part one = rest(id, Outcome::kPass, {"run2", "run3"});
    one.plan.shard = PlannedShard{index, 2, 2, "r1"};
    one.plan.plan_digest = sha256_hex("s/b\ns/c\n");
    return one;
  };
  parts.push_back(half("s/b", 1));
  EXPECT_THAT(refusal(parts), HasSubstr("shard 2/2 is missing"));
  parts.push_back(half("s/c", 2));
  EXPECT_EQ(whole(parts).exit_code, 0);
}

// `run --resume` of a run without a plan file.
TEST(Merge, MergesRunWithResumedRun) {
  Part lost = part(1);
  lost.plan.shard.reset();
  lost.plan.cases = {planned("s/a"), planned("s/b"), planned("s/c")};
  lost.events = {started("s/a"), ended("s/a", {Outcome::kPass, ""}), started("s/b")};
  Part again = lost;
  again.plan.run_id = "again";
  again.plan.cases = {planned("s/b"), planned("s/c")};
  again.plan.rest = PlannedRest{
      .runs = {"run1"}, .plan_digest = again.plan.plan_digest, .plan = "", .planned = 3, .shards = 1};
  again.events = {started("s/b"), ended("s/b", {Outcome::kPass, ""}), started("s/c"),
                  ended("s/c", {Outcome::kFail, ""}), RunEnded{"x", 1}};
  const ResolvedRun run = whole({lost, again});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_EQ(run.cases.size(), 3u);
  EXPECT_THAT(refusal({lost}), HasSubstr("dir0 is not a shard of a plan"));
}

TEST(Merge, UnreadProgramOfShardHasNoDigest) {
  const std::string pytest = "/usr/bin/pytest";
  const std::vector<PlannedSuite> suites(3, suite_of("a", pytest));
  auto parts = with_programs(
      suites, {{pytest, "", "it was changed during the run"}, {pytest, "aa", ""}, {pytest, "aa", ""}});
  const auto read = [&parts] {
    const ResolvedRun run = whole(parts);
    return run.program_read(run.plan.suites.front());
  };
  EXPECT_EQ(read().sha256, "");
  EXPECT_EQ(read().reason, "shard 1/3: it was changed during the run");
  parts[0].events.pop_back();  // its runner was killed
  EXPECT_EQ(read().sha256, "");
  EXPECT_EQ(read().reason, "shard 1/3: the run ended before it was read");
}

// Each machine may have the checkout in another directory.
TEST(Merge, EqualDigestMatchesProgramsAtDifferentPaths) {
  const std::vector<PlannedSuite> suites = {suite_of("a", "/one/t"), suite_of("a", "/two/t"),
                                            suite_of("a", "/one/t")};
  const auto sha256 = [&suites](const std::string& second) {
    const ResolvedRun run =
        whole(with_programs(suites, {{"/one/t", "aa", ""}, {"/two/t", second, ""}, {"/one/t", "aa", ""}}));
    return run.program_read(run.plan.suites.front()).sha256;
  };
  EXPECT_EQ(sha256("aa"), "aa");
  EXPECT_EQ(sha256("bb"), "");
}

TEST(Merge, DifferingOptionsAreUnknown) {
  auto parts = all();
  for (Part& one : parts) {
    one.plan.known_failures = KnownFailuresFile{"/" + one.plan.hostname + "/known.toml", "aa"};
    one.plan.size = "ci";
    one.plan.profile = "full";
  }
  const ResolvedRun same = whole(parts);
  EXPECT_EQ(same.plan.known_failures->file, "/host1/known.toml");
  EXPECT_EQ(same.plan.size, "ci");
  EXPECT_EQ(same.plan.profile, "full");
  EXPECT_FALSE(same.warned_of(WarningCode::kPartMismatch));

  parts[1].plan.known_failures.reset();
  parts[1].plan.size = "stress";
  parts[2].plan.profile = "";
  const ResolvedRun other = whole(parts);
  EXPECT_FALSE(other.plan.known_failures);
  EXPECT_EQ(other.plan.size, "");
  EXPECT_EQ(other.plan.profile, "");
  std::vector<std::string> said;
  for (const Warning& warning : other.warnings) said.push_back(warning.text);
  EXPECT_THAT(said,
              ElementsAre("the SHA-256 of --known-failures is aa in shard 1/3, but not given in shard 2/3",
                          "--suite-arg size is ci in shard 1/3, but stress in shard 2/3",
                          "--profile is full in shard 1/3, but not given in shard 3/3"));
}

TEST(Merge, TimesAreRelativeToEarliestShard) {
  auto parts = all();
  parts[0].plan.started = "2026-01-31T12:00:07Z";
  parts[2].plan.started = "2026-01-31T12:00:05Z";
  parts[2].events.emplace_back(DeviceHealth{"xpu:0", HealthFact::kDrained, "", 20, 0, 0, ""});
  parts[2].events.emplace_back(HardwareEvidence{.id = "xpu:0", .when = "end", .at_ms = 30});
  const ResolvedRun run = whole(parts);
  const auto at = [&run](const char* id) { return run.find(id)->attempts[0].start.at_ms; };
  EXPECT_EQ(run.plan.started, "2026-01-31T12:00:00Z");
  EXPECT_EQ(at("s/a"), 7100);
  EXPECT_EQ(at("s/b"), 100);
  EXPECT_EQ(at("s/c"), 5100);
  EXPECT_EQ(run.find("s/a")->attempts[0].end->at_ms, 8350);
  EXPECT_EQ(run.health[0].at_ms, 5020);
  ASSERT_EQ(run.hardware.size(), 1u);
  EXPECT_EQ(run.hardware[0].at_ms, 5030);
  EXPECT_EQ(run.ended->at_ms, 8350);
}

TEST(Merge, MissingDriverVersionIsNotDifference) {
  auto parts = all();
  parts[2].plan.fingerprint.push_back(
      {"cuda.driver", std::nullopt, std::string(kDriverSource), "no case needs it", false});
  EXPECT_TRUE(merged(parts));
}

TEST(Merge, RejectsDifferentStacks) {
  const auto with = [](auto change) {
    auto parts = all();
    change(parts[2].plan);
    return refusal(parts);
  };
  EXPECT_THAT(with([](RunPlanned& p) { p.fingerprint[0].value = "6.2"; }),
              HasSubstr("different stacks: host.kernel: 6.1 in dir0, but 6.2 in dir2"));
  EXPECT_THAT(with([](RunPlanned& p) { p.fingerprint[1].value = "1"; }),
              HasSubstr("kmd.xe: unknown (not loaded) in dir0, but 1 in dir2"));
  EXPECT_THAT(with([](RunPlanned& p) { p.fingerprint.pop_back(); }), HasSubstr("kmd.xe"));
  EXPECT_THAT(with([](RunPlanned& p) {
                p.fingerprint.push_back({"image.lock", "x", "", ""});
              }),
              HasSubstr("image.lock: nothing in dir0, but x in dir2"));
  EXPECT_THAT(with([](RunPlanned& p) { p.stack = {{"xpu.driver", "23"}}; }), HasSubstr("xpu.driver: 22.43"));
  EXPECT_THAT(with([](RunPlanned& p) {
                p.sim = SimInfo{"xpu:2x2", "simgpu"};
              }),
              HasSubstr("xpu:2x2 by simgpu"));
  EXPECT_THAT(with([](RunPlanned& p) { p.proctor_version = "9"; }), HasSubstr("versions of Proctor"));
  auto parts = all();
  parts[2].plan.stack = {{"leases", "/elsewhere"}, {"xpu.caller_mask", "0"}, {"cuda.driver", "580"}};
  EXPECT_EQ(whole(parts).exit_code, 0);
}

}  // namespace
}  // namespace proctor
