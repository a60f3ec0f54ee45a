#include "harness/plan/written_off.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/plan/config_fixture.h"
#include "harness/plan/plan_file.h"

namespace proctor {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr Day kDayOfSkips = 2026y / 11 / 30;

WrittenOff skip_of(const std::string& cases, const std::string& reason, Day expires = kDayOfSkips) {
  return {.cases = cases, .reason = reason, .owner = "jane", .expires = expires, .origin = reason + ":1"};
}

std::vector<Case> cases_named(const std::vector<std::string>& ids) {
  std::vector<Case> cases;
  for (const std::string& id : ids) cases.emplace_back().id = id;
  return cases;
}

// Returns "ID: reason" for each skipped case.
std::vector<std::string> reasons_of(const std::vector<Case>& cases) {
  std::vector<std::string> reasons;
  for (const Case& test : cases) {
    if (test.config_skip) reasons.push_back(test.id + ": " + test.config_skip->reason);
  }
  return reasons;
}

TEST(WrittenOff, FirstValidEntryIsShown) {
  auto cases = cases_named({"a/One", "a/Two", "b/One"});
  const auto warnings = write_off({skip_of("a/Two", "first"), skip_of("a/*", "second")}, kDayOfSkips, cases);
  EXPECT_TRUE(warnings.empty());
  EXPECT_THAT(reasons_of(cases), ElementsAre("a/One: second", "a/Two: first"));
  EXPECT_EQ(cases[0].config_skip->text(), "second (jane, until 2026-11-30)");
}

TEST(WrittenOff, ExpiredEntryWarns) {
  auto cases = cases_named({"a/One", "a/Two"});
  const auto warnings =
      write_off({skip_of("a/*", "old", 2026y / 11 / 29), skip_of("a/Two", "new")}, kDayOfSkips, cases);
  EXPECT_THAT(reasons_of(cases), ElementsAre("a/Two: new"));
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(warnings[0].code, WarningCode::kSkipExpired);
  EXPECT_EQ(warnings[0].text, "old:1: skip of `a/*` (old, jane) expired on 2026-11-29; its cases run");
}

TEST(WrittenOff, DoesNotWarnAboutOtherSuites) {
  auto cases = cases_named({"b/One"});
  EXPECT_TRUE(write_off({skip_of("a/*", "old", 2026y / 11 / 29)}, kDayOfSkips, cases).empty());
}

// The case of an unlisted suite stays a failure, because the cases of the suite are unknown.
TEST(WrittenOff, UnlistedSuiteIsKept) {
  auto cases = cases_named({"a"});
  cases[0].unlisted = "exited with 3";
  write_off({skip_of("a*", "reason")}, kDayOfSkips, cases);
  EXPECT_EQ(cases[0].config_skip, nullptr);
}

TEST(WrittenOff, RevokesEntriesExpiredSincePlan) {
  auto cases = cases_named({"a/One", "a/Two", "b/One"});
  write_off({skip_of("a/*", "a"), skip_of("b/*", "b", 2026y / 12 / 1)}, kDayOfSkips, cases);
  EXPECT_TRUE(take_back_expired(kDayOfSkips, cases).empty());
  const auto warnings = take_back_expired(2026y / 12 / 1, cases);
  EXPECT_THAT(reasons_of(cases), ElementsAre("b/One: b"));
  ASSERT_EQ(warnings.size(), 1U) << "one for each entry";
  EXPECT_THAT(warnings[0].text, HasSubstr("a:1: skip of `a/*` (a, jane) expired on 2026-11-30"));
}

TEST(WrittenOff, EntryIsRecordedOnce) {
  auto cases = cases_named({"a/One", "a/Two", "b/One"});
  write_off({skip_of("a/*", "a"), skip_of("c/*", "c")}, kDayOfSkips, cases);
  const auto options = narrowing_of_skips(cases);
  ASSERT_EQ(options.size(), 1U);
  EXPECT_EQ(options[0].option + " " + options[0].value + " " + options[0].covered_by, "[[skip]] a/* rule");
}

TEST(WrittenOff, PlanFileKeepsEntries) {
  PlanFile file{.extent = {}};
  file.plan.suites = {Suite{}};
  file.plan.cases = cases_named({"a/One", "a/Two"});
  const PlanDirectories here{"/home/u", "/opt/bin", ""};
  const auto without = plan_file_digest(file, here);
  write_off({skip_of("a/Two", "waits for /home/u/driver")}, kDayOfSkips, file.plan.cases);
  const auto text = plan_file_text(file, here);
  ASSERT_TRUE(text) << text.error().what;
  EXPECT_NE(*plan_file_digest(file, here), *without) << "another plan";
  const auto back = parse_plan_file(*text, "plan.json", here);
  ASSERT_TRUE(back) << back.error().what;
  EXPECT_EQ(back->plan.cases[0].config_skip, nullptr);
  ASSERT_NE(back->plan.cases[1].config_skip, nullptr);
  EXPECT_EQ(to_members(*back->plan.cases[1].config_skip), to_members(*file.plan.cases[1].config_skip));
}

TEST(WrittenOff, IncompleteMembersAreRefused) {
  const auto members = to_members(skip_of("a/*", "reason"));
  ASSERT_TRUE(written_off_of(members));
  for (const char* name : {"reason", "owner", "expires"}) {
    auto less = members;
    less.erase(name);
    EXPECT_FALSE(written_off_of(less)) << name;
  }
}

// ---- proctor.toml ----

const std::string kEntry = "[[skip]]\ncase = \"a/*\"\nreason = \"why\"\nowner = \"jane\"\n";

TEST_F(ConfigTest, SkipHasFileAndLine) {
  const auto config = load("[suite.a]\ncommand = [\"x\"]\n" + kEntry + "expires = 2027-03-01\n");
  ASSERT_TRUE(config) << config.error().what;
  ASSERT_EQ(config->skips.size(), 1U);
  EXPECT_EQ(config->skips[0].text(), "why (jane, until 2027-03-01)");
  EXPECT_EQ(config->skips[0].cases, "a/*");
  EXPECT_EQ(config->skips[0].origin, "proctor.toml:3");
}

TEST_F(ConfigTest, SkipInUserFileIsRefused) {
  const auto config = load("", "[run]\nkeep = 1\n\n" + kEntry + "expires = 2027-03-01\n");
  ASSERT_FALSE(config);
  EXPECT_THAT(config.error().what,
              HasSubstr("home/proctor.toml:4: [[skip]] is not allowed in the user's own file"));
  EXPECT_EQ(config.error().hint,
            "Write it in the proctor.toml of the project, where all users of its tests see it.");
}

struct BadSkip {
  const char* text;
  const char* what;
  const char* hint;
};

TEST_F(ConfigTest, RejectsBadSkips) {
  const char* needed =
      "An entry needs case = \"attention/Moe*\", reason = \"waits for driver 580\", owner = \"jane\" and "
      "expires = 2027-03-01.";
  for (const BadSkip& row : {
           BadSkip{"[[skip]]\ncase = \"a\"\nexpires = 2027-03-01\n",
                   "proctor.toml:1: [[skip]] needs the keys `reason`, `owner`", needed},
           BadSkip{"[[skip]]\ncase = \"a\"\nreason = \"b\"\nowner = \"c\"\n",
                   "proctor.toml:1: [[skip]] needs the key `expires`", needed},
           BadSkip{"[[skip]]\ncase = \"a\"\nreason = \" \"\nowner = \"c\"\nexpires = 2027-03-01\n",
                   "proctor.toml:3: `reason` in [[skip]] is empty", needed},
           BadSkip{"[[skip]]\ncase = \"a\"\nreason = \"b\"\nowner = \"\"\nexpires = 2027-03-01\n",
                   "proctor.toml:4: `owner` in [[skip]] is empty", needed},
           BadSkip{"[[skip]]\ncase = \"a\"\nreason = \"b\"\nowner = \"c\"\nexpires = \"2027-03-01\"\n",
                   "proctor.toml:5: `expires` in [[skip]] is \"2027-03-01\", but must be a date",
                   "Write expires = 2027-06-30, without quotes."},
           BadSkip{"[[skip]]\ncase = [\"a\"]\nreason = \"b\"\nowner = \"c\"\nexpires = 2027-03-01\n",
                   "proctor.toml:2: `case` in [[skip]] is an array, but must be a string in quotes", ""},
           BadSkip{"[[skip]]\ncase = \"a\"\nreson = \"b\"\n",
                   "proctor.toml:3: unknown key `reson` in [[skip]]", "Did you mean `reason`?"},
           BadSkip{
               "[skip]\ncase = \"a\"\n",
               "proctor.toml:1: `skip` in the top level is a table, but must be an array of tables, [[skip]]",
               ""},
           BadSkip{"[[skips]]\ncase = \"a\"\n", "proctor.toml:1: unknown key `skips` in the top level",
                   "Did you mean `skip`?"},
       }) {
    const auto config = load(row.text);
    ASSERT_FALSE(config) << row.text;
    EXPECT_EQ(config.error().kind, ErrorKind::kUsage);
    EXPECT_EQ(config.error().what, row.what);
    EXPECT_EQ(config.error().hint, row.hint);
  }
}

}  // namespace
}  // namespace proctor
