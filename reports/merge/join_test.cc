#include "reports/merge/join.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "reports/resolve/rerun.h"
#include "reports/resolve/resolved_run.h"
#include "reports/resolve/run_results.h"
#include "reports/resolve/test_journal.h"

namespace proctor {
namespace {

using namespace testing_support;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A part with one case, which ends with `verdict`.
struct Joined {
  RunPlanned plan;
  std::vector<Event> events;
};

Joined one_of(const std::string& id, Verdict verdict = {Outcome::kPass, ""},
              const std::string& second = "00") {
  Joined made{plan_of({planned(id)}),
              {started(id), ended(id, verdict), RunEnded{"2026-01-31T12:00:" + second + "Z", 100}}};
  made.plan.started = "2026-01-31T12:00:" + second + "Z";
  made.plan.directory = "/build";
  made.plan.cases[0].suite = id.substr(0, id.find('/'));
  made.plan.command_line = {
      "/bin/proctor",      "run", made.plan.cases[0].suite, "--config", "/a.toml", "--case", id, "--join",
      "/build/proctor-out"};
  return made;
}

ResolvedRun join_all(const std::vector<Joined>& parts, std::vector<Warning> warnings = {}) {
  JoinRequest request{
      .run_id = "r", .command_line = {"ctest", "-j8"}, .parts = {}, .warnings = std::move(warnings)};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::vector<Event> events = {parts[i].plan};
    events.insert(events.end(), parts[i].events.begin(), parts[i].events.end());
    request.parts.push_back({"parts/" + std::to_string(i + 1), resolved_of(events)});
  }
  return resolved_of(join_runs(request));
}

TEST(Join, JoinedRunHasCasesOfAllParts) {
  const ResolvedRun run = join_all({one_of("a/one"), one_of("b/two", {Outcome::kFail, ""}, "02")});
  ASSERT_EQ(run.cases.size(), 2u);
  EXPECT_EQ(run.cases[1].attempts[0].start.log, "parts/2/logs/0123456789abcdef.1.log");
  EXPECT_EQ(run.cases[1].verdict.outcome, Outcome::kFail);
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_EQ(run.plan.run_id, "r");
  EXPECT_THAT(run.plan.command_line, ElementsAre("ctest", "-j8"));
  EXPECT_EQ(run.ended->finished, "2026-01-31T12:00:02Z");
  EXPECT_TRUE(run.warnings.empty());
}

TEST(Join, TimesAreRelativeToEarliestPart) {
  const ResolvedRun run =
      join_all({one_of("b/two", {Outcome::kPass, ""}, "07"), one_of("a/one", {Outcome::kPass, ""}, "02")});
  const auto at = [&](const char* id) { return run.find(id)->attempts[0].start.at_ms; };
  EXPECT_EQ(at("b/two") - at("a/one"), 5000);
  EXPECT_EQ(run.plan.started, "2026-01-31T12:00:02Z");
}

TEST(Join, UsesFileTimesForSubSecondOrder) {
  constexpr std::int64_t kNoon = 1769860800'000;  // 2026-01-31T12:00:00Z
  JoinRequest request{.run_id = "r", .command_line = {}, .parts = {}};
  for (const std::int64_t ended : {kNoon + 450, kNoon + 700, kNoon + 999'000}) {
    const Joined one = one_of("a/x" + std::to_string(ended));
    std::vector<Event> events = {one.plan};
    events.insert(events.end(), one.events.begin(), one.events.end());
    request.parts.push_back({"parts/1", resolved_of(events), ended});
  }
  const ResolvedRun run = resolved_of(join_runs(request));
  const auto at = [&](std::size_t i) { return run.cases[i].attempts[0].start.at_ms; };
  EXPECT_EQ(at(1) - at(0), 250);
  EXPECT_LT(at(2) - at(0), 1000) << "it was copied later";
}

TEST(Join, RepeatedCaseHasAllAttempts) {
  const ResolvedRun run =
      join_all({one_of("a/x", {Outcome::kFail, ""}), one_of("a/x", {Outcome::kFail, ""}), one_of("a/x")});
  ASSERT_EQ(run.cases.size(), 1u);
  ASSERT_EQ(run.cases[0].attempts.size(), 3u);
  EXPECT_EQ(run.cases[0].attempts[2].start.attempt, 3);
  EXPECT_THAT(run.cases[0].attempts[2].start.log, HasSubstr("parts/3/"));
  EXPECT_EQ(run.cases[0].verdict.outcome, Outcome::kPass);
  EXPECT_TRUE(has_mark(run.cases[0].marks, Mark::kFlaky));
  EXPECT_EQ(run.exit_code, 0) << "whoever repeated it has said that this is good enough";
}

TEST(Join, LastRepeatDeterminesOutcome) {
  const ResolvedRun run = join_all({one_of("a/x"), one_of("a/x", {Outcome::kCrash, {Reason::kSignal, 11}})});
  EXPECT_EQ(run.cases[0].verdict.outcome, Outcome::kCrash);
  EXPECT_FALSE(has_mark(run.cases[0].marks, Mark::kFlaky));
  EXPECT_EQ(run.exit_code, 1);
}

TEST(Join, FlakyCaseFailsRunLikePart) {
  Joined flaky = one_of("a/x");
  flaky.events = {started("a/x", 1),
                  ended("a/x", {Outcome::kFail, ""}, 1),
                  started("a/x", 2),
                  ended("a/x", {Outcome::kPass, ""}, 2),
                  concluded("a/x", {Outcome::kPass, ""}, {Mark::kFlaky}),
                  RunEnded{"2026-01-31T12:00:00Z", 100}};
  EXPECT_EQ(join_all({flaky, one_of("a/y")}).exit_code, 1);
  flaky.plan.flaky_passes = true;
  flaky.plan.max_flaky_percent = 100;
  EXPECT_EQ(join_all({flaky, one_of("a/y")}).exit_code, 0);
}

TEST(Join, CasesOfKilledPartAreNotRun) {
  Joined killed = one_of("a/x");
  killed.events = {started("a/x")};
  const ResolvedRun run = join_all({killed, one_of("a/y")});
  EXPECT_EQ(run.cases[0].verdict.reason, Reason::kInterrupted);
  EXPECT_TRUE(run.warned_of(WarningCode::kPartIncomplete));
  EXPECT_EQ(run.exit_code, 3);
}

TEST(Join, PartWithoutJournalIsMachineError) {
  const ResolvedRun run =
      join_all({one_of("a/x")}, {{WarningCode::kReportNotWritten, "parts/2 was refused"}});
  EXPECT_EQ(run.exit_code, 75);
}

TEST(Join, PartWithDevicesMustExecuteCase) {
  Joined without = one_of("a/one", {Outcome::kSkip, {Reason::kNeeds, "device"}});
  without.plan.missing_backend = "cuda";
  without.plan.rules.allow_no_device = true;
  EXPECT_EQ(join_all({without}).exit_code, 0);
  EXPECT_EQ(join_all({without, one_of("b/two", {Outcome::kSkip, {Reason::kNeeds, "fp64"}})}).exit_code, 3);
}

TEST(Join, CommonWarningsAreListedOnce) {
  auto one = one_of("a/x");
  auto two = one_of("a/y");
  for (Joined* each : {&one, &two}) each->events.emplace_back(Warning{WarningWord::in_text("w"), "the same"});
  two.events.emplace_back(Warning{WarningWord::in_text("v"), "only here"});
  const ResolvedRun run = join_all({one, two});
  ASSERT_EQ(run.warnings.size(), 2u);
  EXPECT_EQ(run.warnings[0].text, "the same");
  EXPECT_EQ(run.warnings[1].text, "parts/2: only here");
}

TEST(Join, PartsOnDifferentDevicesStaySeparate) {
  auto real = one_of("a/x");
  auto simulated = one_of("a/y");
  real.plan.sim.reset();
  real.plan.devices = {{"xpu:1", "xpu", "Card", false}};
  std::get<AttemptStarted>(real.events[0]).devices = {"xpu:1"};
  simulated.plan.sim = SimInfo{"xpu:2x1", "simgpu"};
  simulated.plan.devices = {{"xpu_sim:1", "xpu", "Sim", true}};
  std::get<AttemptStarted>(simulated.events[0]).devices = {"xpu_sim:1"};
  real.plan.stack = {{"xpu.driver", "1"}};
  simulated.plan.stack = {{"xpu.driver", "2"}};
  const ResolvedRun run = join_all({real, simulated});
  EXPECT_TRUE(run.simulated);
  EXPECT_FALSE(run.cases[0].simulated);
  EXPECT_TRUE(run.cases[1].simulated);
  ASSERT_TRUE(run.warned_of(WarningCode::kPartMismatch));
  EXPECT_EQ(run.warnings[0].text, "xpu.driver is 1 in parts/1, but 2 in parts/2");
}

TEST(Join, KeepsOptionsCommonToAllParts) {
  auto one = one_of("a/x");
  auto two = one_of("a/y");
  for (Joined* each : {&one, &two}) {
    each->plan.known_failures = KnownFailuresFile{"/known.toml", "aa"};
    each->plan.size = "ci";
    each->plan.profile = "full";
  }
  const ResolvedRun same = join_all({one, two});
  EXPECT_EQ(same.plan.known_failures->sha256, "aa");
  EXPECT_EQ(same.plan.size, "ci");
  EXPECT_EQ(same.plan.profile, "full");
  EXPECT_FALSE(same.warned_of(WarningCode::kPartMismatch));
  two.plan.size = "stress";
  const ResolvedRun other = join_all({one, two});
  EXPECT_EQ(other.plan.size, "");
  EXPECT_TRUE(other.warned_of(WarningCode::kPartMismatch));
}

TEST(Join, CombinesFaultsOfSimulatedParts) {
  const auto faults_of = [](const std::vector<Joined>& parts) {
    const RunResults results = results_of(join_all(parts));
    const auto fact = std::ranges::find(results.stack, "sim.faults", &StackFact::name);
    return fact == results.stack.end() ? "unknown" : fact->value.value_or("none");
  };
  auto one = one_of("a/x");
  auto two = one_of("b/y");
  const auto real = one_of("c/z");
  EXPECT_EQ(faults_of({one, two}), "unknown");
  one.plan.sim = two.plan.sim = SimInfo{"xpu:2x2", "simgpu"};
  EXPECT_EQ(faults_of({one, two, real}), "none");
  one.plan.stack.emplace_back(kSimFaultsEntry, "copy.short");
  EXPECT_EQ(faults_of({one, two, real}), "copy.short + none");
  two.plan.stack.emplace_back(kSimFaultsEntry, "copy.short");
  EXPECT_EQ(faults_of({one, two, real}), "copy.short");
}

TEST(Join, RerunUsesCommandOfPart) {
  auto other = one_of("b/y");
  other.plan.directory = "/other place";
  other.plan.stack = {{kSimFaultsEntry, "copy.x;y"}};
  const ResolvedRun run = join_all({one_of("a/x"), one_of("a/z"), other});
  EXPECT_EQ(run.cases[0].rerun_command(),
            "/bin/proctor run a --config /a.toml --devices xpu:0000:03:00.0 --case a/x");
  EXPECT_EQ(run.cases[2].rerun_command(),
            "cd '/other place' && PROCTOR_SIM_FAULTS='copy.x;y' /bin/proctor run b --config /a.toml "
            "--devices xpu:0000:03:00.0 --case b/y");
  const RerunCommand both = rerun_of(run, {"a/x", "a/z"});
  EXPECT_THAT(both.words, ElementsAre("/bin/proctor", "run", "a", "--config", "/a.toml", "--devices",
                                      "xpu:0000:03:00.0", "--case", "a/x", "--case", "a/z"));
  EXPECT_EQ(both.directory, "/build");
  EXPECT_THAT(rerun_of(run, {"b/y"}).environment, ElementsAre("PROCTOR_SIM_FAULTS=copy.x;y"));
  EXPECT_EQ(rerun_of(run, {"b/y"}).directory, "/other place");
  EXPECT_TRUE(rerun_of(run, {"a/x", "b/y"}).words.empty());
  EXPECT_TRUE(rerun_of(run, {}).words.empty());
}

}  // namespace
}  // namespace proctor
