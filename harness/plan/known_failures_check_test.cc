#include "harness/plan/known_failures_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

namespace proctor {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr auto kNow = std::chrono::sys_seconds(std::chrono::sys_days(2026y / 11 / 23)) + 12h;

KnownFailures list_in(const std::string& text) {
  const Result<KnownFailures> list = parse_known_failures(text, "known.toml");
  EXPECT_TRUE(list) << list.error().what;
  return *list;
}

// Returns a valid entry, in which one line is replaced.
std::string entry(const std::string& key = {}, const std::string& value = {}) {
  std::vector<std::pair<std::string, std::string>> lines = {
      {"case", R"("memory.xpu/Copy.A")"}, {"reason", R"("M-1")"},  {"owner", R"("us")"},
      {"issue", R"("https://bugs/1")"},   {"added", "2026-11-01"}, {"expires", "2026-12-24"}};
  std::string text = "[[known_failure]]\n";
  for (const auto& [name, default_value] : lines) {
    const std::string& used = name == key ? value : default_value;
    if (!used.empty()) text += name + " = " + used + "\n";
  }
  return text;
}

std::vector<PlannedId> planned() {
  std::vector<PlannedId> ids;
  for (const char* name : {"Copy.A", "Copy.B", "Copy.C", "Copy.D", "Copy.E", "Copy.F", "Fill.A"})
    ids.push_back({std::string("memory.xpu/") + name, "memory", "xpu"});
  ids.push_back({"app/tests/a.py::test", "app", "none"});
  return ids;
}

std::vector<std::string> texts(const std::vector<KnownFailureFinding>& findings) {
  std::vector<std::string> all;
  for (const auto& finding : findings)
    all.push_back(finding.place + ": " + finding.code + ": " + finding.text);
  return all;
}

std::vector<std::string> findings(const std::string& list, KnownFailureCheck check = {}) {
  check.at = kNow;
  return texts(check_known_failures(list_in(list), check));
}

TEST(KnownFailuresCheck, AGoodListHasNoFindings) {
  EXPECT_THAT(findings(""), IsEmpty());
  EXPECT_THAT(findings(entry(), {.max = 1, .planned = planned()}), IsEmpty());
}

struct Row {
  const char* name;
  const char* key;
  const char* value;
  const char* finding;  // text after "known.toml:1: "
};

class KnownFailuresCheckTest : public testing::TestWithParam<Row> {};

TEST_P(KnownFailuresCheckTest, ReportsBadEntry) {
  const Row& row = GetParam();
  EXPECT_THAT(findings(entry(row.key, row.value), {.planned = planned()}),
              ElementsAre("known.toml:1: " + std::string(row.finding)));
}

INSTANTIATE_TEST_SUITE_P(
    Rows, KnownFailuresCheckTest,
    testing::Values(
        Row{"Expired", "expires", "2026-11-22",
            "expired: known failure `memory.xpu/Copy.A` expired on 2026-11-22, 1 day ago"},
        Row{"TooLong", "expires", "2027-01-31",
            "too_long: known failure `memory.xpu/Copy.A` covers 91 days, from 2026-11-01 to "
            "2027-01-31; "
            "at most 90 are allowed"},
        Row{"NotAdded", "added", "",
            "no_added: known failure `memory.xpu/Copy.A` has no date `added`; write added = YYYY-MM-DD, at "
            "most 90 days before `expires`"},
        Row{"AddedLater", "added", "2026-11-24",
            "added_later: known failure `memory.xpu/Copy.A` was added on 2026-11-24, which is after "
            "2026-11-23"},
        Row{"NoOwner", "owner", "",
            "no_owner: known failure `memory.xpu/Copy.A` has no owner; write owner = "
            "\"NAME\""},
        Row{"BlankOwner", "owner", "\" \\t \"",
            "no_owner: known failure `memory.xpu/Copy.A` has no owner; write owner = "
            "\"NAME\""},
        Row{"BlankIssue", "issue", "\"  \"\nsource = \"seen\"",
            "no_issue: known failure `memory.xpu/Copy.A` has no issue; write issue = "
            "\"https://...\""},
        Row{"NoIssue", "issue", "\"\"\nsource = \"seen\"",
            "no_issue: known failure `memory.xpu/Copy.A` has no issue; write issue = "
            "\"https://...\""},
        Row{"Unused", "case", "\"memory.xpu/Copy.Q\"",
            "unused: known failure `memory.xpu/Copy.Q` matches no planned case; did you mean "
            "`memory.xpu/Copy.A`?"},
        Row{"OtherBackend", "case", "\"memory.xpu/Copy.A\"\nbackend = \"cuda\"",
            "unused: known failure `memory.xpu/Copy.A` matches no planned case: `memory.xpu/Copy.A` is of "
            "the backend xpu, and the entry of cuda"},
        Row{"TooBroad", "case", "\"memory.xpu/Copy.*\"",
            "too_broad: known failure `memory.xpu/Copy.*` matches 6 planned cases; more than 5 need broad = "
            "true"},
        Row{"WholeSuite", "case", "\"memory.xpu/?*\"\nbroad = true",
            "whole_suite: known failure `memory.xpu/?*` would cover a whole suite by `memory.xpu/?*`; name "
            "its "
            "cases"},
        Row{"WholeSuiteInTruth", "case", "\"memory.xpu/*.?\"\nbroad = true",
            "whole_suite: known failure `memory.xpu/*.?` would cover the whole suite memory.xpu, all 7 cases "
            "of "
            "it, by `memory.xpu/*.?`; name its cases"}),
    [](const auto& row) { return row.param.name; });

TEST(KnownFailuresCheck, AcceptsLastDayAndNinetiethDay) {
  EXPECT_THAT(findings(entry("expires", "2026-11-23")), IsEmpty());
  EXPECT_THAT(findings(entry("expires", "2027-01-30")), IsEmpty());
  EXPECT_THAT(findings(entry("added", "2026-11-23")), IsEmpty());
}

TEST(KnownFailuresCheck, ABroadEntryMayMatchMany) {
  const std::string broad = entry("case", "\"memory.xpu/Copy.*\"\nbroad = true");
  EXPECT_THAT(findings(broad, {.planned = planned()}), IsEmpty());
  EXPECT_THAT(findings(entry("case", "\"memory.xpu/Copy.*\"")), IsEmpty()) << "nobody knows how many";
}

TEST(KnownFailuresCheck, RejectsSuiteWidePatternWithoutPlan) {
  for (const char* glob : {"*", "memory*", "memory.*", "memory.xpu/*", "*/*", "*.xpu/*", "memory.xpu/**"})
    EXPECT_EQ(findings(entry("case", "\"" + std::string(glob) + "\"")).size(), 1u) << glob;
  for (const char* glob : {"memory.xpu/Copy.*", "*Copy*", "app/tests/*", "*::test", "memory", "memory.xpu/"})
    EXPECT_THAT(findings(entry("case", "\"" + std::string(glob) + "\"")), IsEmpty()) << glob;
}

TEST(KnownFailuresCheck, AcceptsOnlyCaseOfSuite) {
  EXPECT_THAT(findings(entry("case", "\"app/*::test\""), {.planned = planned()}), IsEmpty());
}

TEST(KnownFailuresCheck, NamesFirstEntryOverLimit) {
  EXPECT_THAT(findings(entry() + entry() + entry(), {.max = 1}),
              ElementsAre("known.toml:8: over_cap: the list has 3 known failures, at most 1 are allowed"));
  EXPECT_THAT(findings(entry(), {.max = 0}),
              ElementsAre("known.toml:1: over_cap: the list has 1 known failures, at most 0 are allowed"));
  EXPECT_THAT(findings("", {.max = 0}), IsEmpty());
}

PastEnd past(Outcome outcome, const std::string& reason, int days_ago, const std::string& where = "") {
  return {.id = "memory.xpu/Copy.A",
          .backend = "xpu",
          .where = where,
          .when = kNow - std::chrono::days(days_ago),
          .verdict = {outcome, reason_in_words(reason)}};
}

TEST(KnownFailuresCheck, ReportsEntryWithoutRecentHit) {
  const std::string old = entry("added", "2026-10-01");
  const std::string stale =
      "known.toml:1: not_hit: known failure `memory.xpu/Copy.A` matched no failure in the 14 days before "
      "2026-11-23";
  const auto with = [](std::vector<PastEnd> ends) {
    return KnownFailureCheck{.remembered = std::move(ends)};
  };
  EXPECT_THAT(findings(old, with({past(Outcome::kXfail, "M-1", 14)})), IsEmpty());
  EXPECT_THAT(findings(old, with({past(Outcome::kFail, "M-1", 3)})), IsEmpty()) << "not yet expected then";
  EXPECT_THAT(findings(old, with({})), ElementsAre(stale));
  EXPECT_THAT(findings(old, with({past(Outcome::kXfail, "M-1", 15)})), ElementsAre(stale));
  EXPECT_THAT(findings(old, with({past(Outcome::kXfail, "M-2", 1)})), ElementsAre(stale));
  EXPECT_THAT(findings(old, with({past(Outcome::kPass, "", 1)})), ElementsAre(stale));
  EXPECT_THAT(findings(old, with({past(Outcome::kXfail, "M-1", -1)})), ElementsAre(stale))
      << "after the moment";
  EXPECT_THAT(findings(entry("added", "2026-11-10"), with({})), IsEmpty()) << "it had no time to be hit";
}

TEST(KnownFailuresCheck, PredictedFailureNeedsNoHit) {
  const std::string predicted = entry("added", "2026-10-01") + "predicted = true\n";
  EXPECT_THAT(findings(predicted, {.remembered = std::vector<PastEnd>()}), IsEmpty());
  EXPECT_THAT(findings(predicted, {.ends = {past(Outcome::kXpass, "", 2)}}), IsEmpty());
  EXPECT_EQ(findings(entry("owner", "") + "predicted = true\n").size(), 1u) << "all else is asked";
}

TEST(KnownFailuresCheck, ReportsEntryThatPassed) {
  const std::string passed =
      "known.toml:1: passed: known failure `memory.xpu/Copy.A` passed: memory.xpu/Copy.A did on 2026-11-21; "
      "remove "
      "the entry, or narrow it";
  const auto xpass = [](int days_ago) { return past(Outcome::kXpass, "", days_ago); };
  const auto xfail = [](int days_ago) { return past(Outcome::kXfail, "M-1", days_ago); };
  EXPECT_THAT(findings(entry(), {.ends = {xpass(2)}}), ElementsAre(passed));
  EXPECT_THAT(findings(entry(), {.remembered = {{xfail(3), xpass(2)}}}), ElementsAre(passed));
  EXPECT_THAT(findings(entry(), {.remembered = {{xpass(2), xfail(3)}}}), ElementsAre(passed));
  EXPECT_THAT(findings(entry(), {.remembered = {{xpass(3), xfail(2)}}}), IsEmpty()) << "it failed since";
  EXPECT_THAT(findings(entry(), {.ends = {xfail(2), xpass(2)}}), ElementsAre(passed));
  EXPECT_THAT(findings(entry(), {.ends = {xpass(2), xfail(2)}}), ElementsAre(passed));
  EXPECT_EQ(findings(entry(), {.ends = {past(Outcome::kXpass, "", 2, "B580"),
                                        past(Outcome::kXfail, "M-1", 1, "A770")}})
                .size(),
            1u)
      << "one place says nothing about another";
}

TEST(KnownFailuresCheck, IgnoresPassOnOtherModel) {
  const std::string list = entry("case", "\"memory.xpu/Copy.A\"\ndevice = \"*B580*\"");
  PastEnd end = past(Outcome::kXpass, "", 1);
  end.models = {"Arc A770"};
  EXPECT_THAT(findings(list, {.ends = {end}}), IsEmpty());
  end.models = {"Arc A770", "Arc B580"};
  EXPECT_EQ(findings(list, {.ends = {end}}).size(), 1u);
}

// The lists are checked for the day on which their newest entry was added.
TEST(KnownFailuresCheck, ShippedListsHaveNoFindings) {
  int lists = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(PROCTOR_SOURCE_DIR "/suites")) {
    const std::string name = file.path().filename().string();
    if (!name.starts_with("known_failures") || !name.ends_with(".toml")) continue;
    ++lists;
    const auto list = load_known_failures(file.path().string());
    ASSERT_TRUE(list) << list.error().what;
    Day newest{};
    for (const KnownFailure& known : list->entries()) newest = std::max(newest, known.added.value_or(newest));
    EXPECT_THAT(texts(check_known_failures(*list, {.at = std::chrono::sys_days(newest)})), IsEmpty()) << name;
  }
  EXPECT_EQ(lists, 2);
}

TEST(KnownFailuresCheck, FormatsDaysLeft) {
  const KnownFailure known = list_in(entry()).entries().at(0);
  EXPECT_EQ(days_left_text(known, 2026y / 11 / 23), "31 days left");
  EXPECT_EQ(days_left_text(known, 2026y / 12 / 23), "1 day left");
  EXPECT_EQ(days_left_text(known, 2026y / 12 / 24), "today is the last day");
  EXPECT_EQ(days_left_text(known, 2026y / 12 / 26), "expired 2 days ago");
}

}  // namespace
}  // namespace proctor
