#include "harness/cli/known_failures_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/plan/known_failures_check.h"
#include "reports/resolve/resolved_run.h"
#include "reports/resolve/run_resolver.h"

namespace proctor::cli {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr Day kToday = 2026y / 11 / 23;

struct Ended {
  std::string name;
  Verdict verdict;
  std::string device = "xpu:0";
  std::string suite = "memory";
};

ResolvedRun resolved_of(const std::vector<Ended>& cases) {
  RunPlanned plan;
  plan.run_id = "run1";
  plan.devices = {{"xpu:0", "xpu", "Arc B580"}, {"xpu:1", "xpu", "Arc A770"}};
  std::vector<Event> events;
  for (const Ended& one : cases) {
    const std::string id = one.suite + ".xpu/" + one.name;
    plan.cases.push_back(
        {.id = id, .suite = one.suite, .backend = "xpu", .kind = "proctor", .classname = "", .name = ""});
    AttemptEnded attempt;
    attempt.case_id = id;
    attempt.verdict = one.verdict;
    if (one.verdict.outcome != Outcome::kNotrun) {
      events.emplace_back(AttemptStarted{.case_id = id, .devices = {one.device}, .log = ""});
      events.emplace_back(attempt);
    }
    events.emplace_back(CaseEnded{id, one.verdict, {}, "", ""});
  }
  RunResolver run;
  run.on(plan);
  for (const Event& event : events) run.on(event);
  return run.take();
}

SuggestedFailures suggested(const std::vector<Ended>& cases) {
  return suggest_known_failures(resolved_of(cases),
                                {.owner = "us", .issue = "i/1", .added = kToday, .days = 30});
}

std::vector<KnownFailure> entries(const std::string& toml) {
  const auto list = parse_known_failures(toml, "known.toml");
  EXPECT_TRUE(list) << list.error().what << '\n' << toml;
  return list ? list->entries() : std::vector<KnownFailure>();
}

const Verdict kPass{Outcome::kPass, ""};
const Verdict kExit{Outcome::kFail, {Reason::kExit, 3}};
const Verdict kCrash{Outcome::kCrash, {Reason::kSignal, 11}};

TEST(SuggestKnownFailures, WritesOneEntryPerCause) {
  const auto found = suggested({{"A", kExit}, {"B", kCrash}, {"C", kPass}, {"D", kExit}});
  const auto list = entries(found.toml);
  ASSERT_EQ(list.size(), 2u) << found.toml;
  EXPECT_THAT(list[0].cases, ElementsAre("memory.xpu/A", "memory.xpu/D"));
  EXPECT_EQ(list[0].outcome, Outcome::kFail);
  EXPECT_EQ(list[0].reason_glob, "exit:3");
  EXPECT_EQ(list[0].backend, "xpu");
  EXPECT_EQ(list[0].device, "Arc B580");
  EXPECT_EQ(list[0].owner, "us");
  EXPECT_EQ(list[0].issue, "i/1");
  EXPECT_EQ(list[0].added, kToday);
  EXPECT_EQ(list[0].expires, 2026y / 12 / 23);
  EXPECT_FALSE(list[0].broad);
  EXPECT_EQ(list[1].outcome, Outcome::kCrash);
  EXPECT_THAT(found.notes, IsEmpty());
}

TEST(SuggestKnownFailures, OmitsDeviceForCauseOnTwoModels) {
  const auto list = entries(suggested({{"A", kExit, "xpu:0"}, {"B", kExit, "xpu:1"}}).toml);
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0].device, "");
}

TEST(SuggestKnownFailures, LargeEntryIsBroadAndValid) {
  std::vector<Ended> cases;
  for (const char* name : {"A", "B", "C", "D", "E", "F"}) cases.push_back({name, kExit});
  const std::string toml = suggested(cases).toml;
  const auto list = parse_known_failures(toml, "known.toml");
  ASSERT_TRUE(list) << list.error().what;
  EXPECT_TRUE(list->entries().at(0).broad);
  std::vector<PlannedId> ids;
  for (const Ended& one : cases) ids.push_back({"memory.xpu/" + one.name, "memory", "xpu"});
  EXPECT_THAT(check_known_failures(*list, {.at = std::chrono::sys_days(kToday), .planned = ids}), IsEmpty());
}

TEST(SuggestKnownFailures, SpecialCharactersSurviveRoundTrip) {
  const std::string name = R"(A["x"] \ ')"
                           "\t\xc3\xa4";
  const auto list =
      entries(suggested({{name, {Outcome::kFail, reason_in_words("a \"reason\"")}}, {"B", kPass}}).toml);
  ASSERT_EQ(list.size(), 1u);
  EXPECT_THAT(list[0].cases, ElementsAre("memory.xpu/" + name));
  EXPECT_EQ(list[0].reason_glob, "a \"reason\"");
}

TEST(SuggestKnownFailures, NotesEntryThatCheckWouldReject) {
  const auto found = suggested({{"*", kExit}, {"B", kPass}});
  EXPECT_EQ(found.toml, "");
  EXPECT_THAT(found.notes,
              ElementsAre(HasSubstr("no entry for memory.xpu/*: known failure `memory.xpu/*` would cover")));
}

TEST(SuggestKnownFailures, NotesNotrunAndXpassCases) {
  const auto found =
      suggested({{"A", {Outcome::kNotrun, Reason::kRunLimit}}, {"B", {Outcome::kXpass, ""}}, {"C", kPass}});
  EXPECT_EQ(found.toml, "");
  EXPECT_THAT(found.notes, ElementsAre("1 case passed, although a list expects a failure: remove the entry",
                                       "1 case not run, without a known result"));
}

}  // namespace

}  // namespace proctor::cli
