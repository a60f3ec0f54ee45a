#include "reports/compare/diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/base/json.h"
#include "harness/base/temp_dir.h"
#include "harness/base/words.h"
#include "reports/resolve/test_journal.h"

namespace proctor {
namespace {

using namespace testing_support;
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Two runs in which the first case passes and then fails with `message`.
struct Runs {
  RunResults before, after;
  Comparison comparison;

  explicit Runs(const std::string& message, const std::string& id = "memory.xpu/Copy.A") {
    before = results_of(resolved_of(
        {plan_of({planned(id), planned("memory.xpu/Gone")}), started(id), ended(id, {Outcome::kPass, ""})}));
    AttemptEnded bad = ended(id, {Outcome::kFail, ""});
    bad.failures = {{"M22", message, "", 0, "", "", ""}};
    after = results_of(resolved_of({plan_of({planned(id)}), started(id), bad}));
    before.place = "old";
    after.place = "new";
    before.stack = {{"kmd.xe", "1.2"}};
    after.stack = {{"kmd.xe", "1.3"}};
    before.complete = after.complete = true;
    before.verdict = RunVerdict::kPassed;
    after.verdict = RunVerdict::kFailed;
    before.programs = {{"memory", "xpu", std::string(64, 'a')}};
    after.programs = {{"memory", "xpu", std::string(64, 'b')}};
    comparison = compare(before, after);
  }
  Diff diff() const { return {before, after, comparison}; }
};

std::string json_of(const Diff& diff) {
  return text_of([&](TextOutput& output) { write_diff_json(diff, output); });
}

std::string schema_complaint(const std::string& text) {
  const TempDir dir;
  write_file(dir.path() / "diff.json", text);
  return complaint_of({"/usr/bin/python3", "-W", "ignore", "-B", our_schema("validate_diff.py").string(),
                       (dir.path() / "diff.json").string()});
}

TEST(DiffTest, BeginsWithChangedFactsAndPrograms) {
  const Runs runs("expected 4096 bytes");
  EXPECT_THAT(diff_text(runs.diff(), 20),
              StartsWith("stack: kmd.xe 1.2, then 1.3\n"
                         "programs: memory.xpu aaaaaaaaaaaa, then bbbbbbbbbbbb\n"
                         "cases: 1 regression, 1 disappeared; 1 compared, 0 unchanged\n"
                         "regression: 1\n"
                         "  memory.xpu/Copy.A  fail: expected 4096 bytes\n"
                         "disappeared: 1\n"));
}

TEST(DiffTest, CasesOfOneCauseKeepTheirMessages) {
  RunResults before, after;
  before.variants = after.variants = {Variant{"m", "xpu", "", "", false}};
  after.causes = {{"wrong at #", "wrong at 137"}};
  for (const char* number : {"137", "637"}) {
    const std::string id = std::string("m/") + number;
    before.cases.push_back({.id = id, .result_class = ResultClass::kPassing});
    after.cases.push_back({.id = id, .verdict = {Outcome::kFail, ""}, .result_class = ResultClass::kFailing});
    set_cause(after, 0, std::string("wrong at ") + number, after.cases.back());
  }
  const Comparison comparison = compare(before, after);
  const Diff diff{before, after, comparison};
  EXPECT_THAT(diff_text(diff, 5), HasSubstr("  m/137  fail: wrong at 137\n  m/637  fail: wrong at 637\n"));
  EXPECT_THAT(json_of(diff), HasSubstr("wrong at 637"));
}

TEST(DiffTest, MarksUnknownStackAndPrograms) {
  Runs runs("x");
  runs.before.stack.clear();
  runs.before.programs.clear();
  runs.comparison = compare(runs.before, runs.after);
  EXPECT_THAT(diff_text(runs.diff(), 20),
              StartsWith("stack: not known of old\nprograms: not known of old\n"));
}

TEST(DiffTest, TruncatesLargeClassesWithCount) {
  RunResults before, after;
  before.variants = after.variants = {Variant{"m", "xpu", "", "", false}};
  for (int i = 0; i < 30; ++i)
    after.cases.push_back({.id = "m/" + std::to_string(i), .result_class = ResultClass::kPassing});
  const Comparison comparison = compare(before, after);
  const std::string text = diff_text({before, after, comparison}, 5);
  EXPECT_THAT(text, HasSubstr("new_passing: 30\n"));
  EXPECT_THAT(text, HasSubstr("  and 25 more\n"));
  EXPECT_THAT(text, Not(HasSubstr("m/5 ")));
}

TEST(DiffTest, ListsVariantsWithoutCounterpart) {
  Runs runs("x");
  runs.after.variants[0].simulated = true;
  runs.comparison = compare(runs.before, runs.after);
  const std::string text = diff_text(runs.diff(), 20);
  EXPECT_THAT(text, HasSubstr("nothing is compared"));
  EXPECT_THAT(text, HasSubstr("only before: memory.xpu on Card (2 cases)\n"));
  EXPECT_THAT(text, HasSubstr("only after: memory.xpu on Card, simulated (1 cases)\n"));
}

TEST(DiffTest, ReportsIncompleteRuns) {
  Runs runs("x");
  EXPECT_THAT(diff_text(runs.diff(), 20), Not(HasSubstr("incomplete")));
  EXPECT_THAT(diff_markdown(runs.diff()), Not(HasSubstr("incomplete")));
  EXPECT_EQ(why_unjudged(runs.diff()), "");
  runs.before.verdict = RunVerdict::kInterrupted;
  EXPECT_THAT(diff_text(runs.diff(), 20),
              HasSubstr("\nA is incomplete: it was stopped before its end\ncases: "));
  EXPECT_EQ(why_unjudged(runs.diff()), "");
  runs.after.complete = false;
  EXPECT_THAT(diff_text(runs.diff(), 20),
              HasSubstr("\nB is incomplete: its runner was killed, or still runs\ncases: "));
  EXPECT_THAT(diff_markdown(runs.diff()),
              HasSubstr("\n**`new` is incomplete: its runner was killed, or still runs.**\n"));
  EXPECT_THAT(why_unjudged(runs.diff()), HasSubstr("B is incomplete"));
}

TEST(DiffTest, RunsWithoutCommonCasesAreUnjudged) {
  Runs runs("x");
  runs.after.variants[0].simulated = true;
  runs.comparison = compare(runs.before, runs.after);
  EXPECT_THAT(why_unjudged(runs.diff()), HasSubstr("nothing is compared"));
}

TEST(DiffTest, EscapesTestOutputInMarkdown) {
  const Runs runs("</details> `x` [a](b) <script>\n::error::obeyed | \xe2\x80\xae", "memory.xpu/``\n# title");
  const std::string text = diff_markdown(runs.diff());
  EXPECT_THAT(text, Not(HasSubstr("<script>")));
  EXPECT_THAT(text, Not(HasSubstr("\n::error::")));
  EXPECT_THAT(text, Not(HasSubstr("\n# title")));
  EXPECT_THAT(text, Not(HasSubstr("\xe2\x80\xae")));
  EXPECT_THAT(text, HasSubstr("\\<script\\>"));
}

TEST(DiffTest, JobSummaryFitsLimitWithCount) {
  RunResults before, after;
  before.variants = after.variants = {Variant{"m", "xpu", "", "", false}};
  for (int i = 0; i < 1000; ++i) after.cases.push_back({.id = "m/" + std::to_string(i)});
  const Comparison comparison = compare(before, after);
  const std::string text = diff_markdown({before, after, comparison}, 4000);
  EXPECT_LE(text.size(), 4000);
  const std::size_t shown = static_cast<std::size_t>(std::ranges::count(
      split(text, '\n'), true, [](std::string_view line) { return line.starts_with("- `m/"); }));
  EXPECT_THAT(text, HasSubstr(std::to_string(1000 - shown) + " entries did not fit"));
}

TEST(DiffTest, JsonMatchesSchema) {
  Runs runs(awkward_text(), "memory.xpu/" + awkward_text());
  EXPECT_EQ(schema_complaint(json_of(runs.diff())), "");
  const json read = json::parse(json_of(runs.diff()));
  EXPECT_EQ(read["counts"]["regression"], 1);
  EXPECT_EQ(read["changes"][0]["after"]["outcome"], "fail");
  EXPECT_EQ(read["changes"][1]["after"], nullptr);
  json broken = read;
  broken["changes"][0]["class"] = "exploded";
  EXPECT_NE(schema_complaint(broken.dump()), "");
}

TEST(DiffTest, JsonOfRichRunsMatchesSchema) {
  const RunResults rich = results_of(resolved_of(rich_journal()));
  RunResults measured = rich;
  for (CaseResult& result : measured.cases) {
    result.flaky = !result.flaky;
    result.measures = {{"speed", 2, "GB/s", 9, 0}};
  }
  RunResults slow = measured;
  for (CaseResult& result : slow.cases) result.measures[0].value = 1;
  for (const auto& [a, b] :
       {std::pair(rich, measured), {measured, slow}, {slow, measured}, {rich, RunResults()}}) {
    const Comparison comparison = compare(a, b);
    EXPECT_EQ(schema_complaint(json_of({a, b, comparison})), "");
    EXPECT_EQ(json_of({a, b, comparison}), json_of({a, b, comparison}));
  }
}

}  // namespace
}  // namespace proctor
