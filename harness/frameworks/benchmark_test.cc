#include "harness/frameworks/benchmark.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <regex.h>

#include <algorithm>
#include <cmath>
#include <regex>

#include "harness/base/read_file.h"
#include "harness/frameworks/command.h"
#include "harness/frameworks/kind_fixture.h"
#include "harness/plan/recognise.h"
#include "harness/plan/test_support.h"

namespace proctor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing_support::run_listing;
using testing_support::sample_benchmark;
using testing_support::ScratchDirectory;

// ---- the list of a program ----

TEST(BenchmarkList, ParsesOneNamePerLine) {
  const BenchmarkList list = parse_benchmark_list(
      "BM_copy\nsized/8/real_time\nthreads/threads:4\nr/repeats:3\nBM_two<unsigned int, char>/8\nf(a b)\n"
      "capture/\"a b\"\n{lvl:device,algo:reduce}\ncaf\xc3\xa9\n");
  EXPECT_THAT(list.names, ElementsAre("BM_copy", "sized/8/real_time", "threads/threads:4", "r/repeats:3",
                                      "BM_two<unsigned int, char>/8", "f(a b)", "capture/\"a b\"",
                                      "{lvl:device,algo:reduce}", "caf\xc3\xa9"));
  EXPECT_THAT(list.chatter, IsEmpty());
}

TEST(BenchmarkList, SeparatesNamesFromOtherOutput) {
  const BenchmarkList list = parse_benchmark_list(
      "Device 0: a card\n-----\n\nBM_a\n\x1b[32mgreen\x1b[0m\ntwo words\n\nBM_b\nDone (in 1 s).\n");
  EXPECT_THAT(list.names, ElementsAre("BM_a", "two words", "BM_b"));
  EXPECT_THAT(list.chatter,
              ElementsAre("Device 0: a card", "-----", "\x1b[32mgreen\x1b[0m", "Done (in 1 s)."));
}

TEST(BenchmarkList, IsEmptyWithoutPlainName) {
  for (const char* text : {"", "\n\n", "all is well\n", "-----\n", " indented\n", "one line, no end"})
    EXPECT_THAT(parse_benchmark_list(text).names, IsEmpty()) << text;
}

// The output of a program that ignores the options and runs its benchmarks.
TEST(BenchmarkList, IgnoresTableOfResults) {
  const char* table =
      "-----------------------------------------------------\n"
      "Benchmark           Time             CPU   Iterations\n"
      "-----------------------------------------------------\n"
      "BM_copy          1.02 ns         1.01 ns    688203812\n";
  EXPECT_THAT(parse_benchmark_list(table).names, IsEmpty());
}

// ---- the filter ----

bool matches_as_posix(const std::string& pattern, const std::string& text) {
  regex_t compiled;
  if (regcomp(&compiled, pattern.c_str(), REG_EXTENDED | REG_NOSUB) != 0) return false;
  const bool found = regexec(&compiled, text.c_str(), 0, nullptr, 0) == 0;
  regfree(&compiled);
  return found;
}

bool matches_as_std(const std::string& pattern, const std::string& text) {
  return std::regex_search(text, std::regex(pattern, std::regex_constants::extended));
}

// Tests all pairs of two-character names of characters that are special in some grammar.
TEST(BenchmarkFilter, MatchesExactlyOneName) {
  const std::string alphabet = "a.[]()*+?{}|^$\\/-\" ";
  std::vector<std::string> names{"a", "aaa", "aa/8"};
  for (const char one : alphabet) {
    for (const char other : alphabet) names.push_back({one, other});
  }
  for (const std::string& name : names) {
    const std::string filter = benchmark_filter_for(name);
    const std::regex compiled(filter, std::regex_constants::extended);
    for (const std::string& other : names) {
      ASSERT_EQ(std::regex_search(other, compiled), other == name) << filter << " and " << other;
    }
    ASSERT_TRUE(matches_as_posix(filter, name)) << filter;
    ASSERT_FALSE(matches_as_posix(filter, name + "a")) << filter;
  }
  EXPECT_TRUE(matches_as_std(benchmark_filter_for("caf\xc3\xa9"), "caf\xc3\xa9"));
}

// ---- the result file of a program ----

ChildReport read(const std::string& text, const std::string& name = "BM_a") {
  ChildReport report(name);
  for (const auto& line : benchmark_kind().translator({}, {})->translate(text)) report.add_line(line);
  return report;
}

// Returns a row in the form of version 1.7.1: each member is on its own line.
std::string row(const std::string& members, const std::string& name = "BM_a") {
  return "{\n\"run_name\": \"" + name + "\",\n" + members + "\n}";
}
std::string repetition(const std::string& members) {
  return row("\"run_type\": \"iteration\",\n\"repetition_index\": 0,\n" + members);
}
std::string aggregate(const std::string& kind, const std::string& members) {
  return row("\"run_type\": \"aggregate\",\n\"aggregate_name\": \"" + kind + "\",\n" + members);
}
std::string file_of(const std::string& rows) {
  return "{\n\"context\": {\n\"executable\": \"x: NaN\"\n},\n\"benchmarks\": [\n" + rows + "\n]\n}\n";
}
const std::string kMeasured = "\"iterations\": 8,\n\"real_time\": 2.5e+00,\n\"time_unit\": \"us\"";

const Measure* find(const ChildReport& report, const std::string& name) {
  for (const Measure& measure : report.measures()) {
    if (measure.name == name) return &measure;
  }
  return nullptr;
}

TEST(BenchmarkResult, ReadsFiguresOfOneRun) {
  const auto report =
      read(file_of(repetition(kMeasured + ",\n\"threads\": 4,\n\"mine\": 7,\n\"label\": \"l\"")));
  EXPECT_EQ(report.result(), ChildResult::kPass);
  EXPECT_THAT(report.measures(), SizeIs(3)) << "iterations, mine, real_time";
  const Measure* time = find(report, "real_time");
  ASSERT_NE(time, nullptr);
  EXPECT_EQ(time->value, 2.5);
  EXPECT_EQ(time->unit, "us");
  EXPECT_EQ(time->n, 1);
  EXPECT_EQ(time->spread, 0);
  ASSERT_NE(find(report, "mine"), nullptr);
  EXPECT_EQ(find(report, "mine")->unit, "");
}

TEST(BenchmarkResult, RepetitionsGiveTheirMeanAndDeviation) {
  const auto of = [](const char* value) {
    return repetition("\"iterations\": 8,\n\"mine\": " + std::string(value));
  };
  const auto report = read(file_of(of("1") + ",\n" + of("2") + ",\n" + of("6") + ",\n" +
                                   aggregate("mean", "\"iterations\": 3,\n\"mine\": 100")));
  EXPECT_EQ(report.result(), ChildResult::kPass);
  ASSERT_NE(find(report, "mine"), nullptr);
  EXPECT_EQ(find(report, "mine")->value, 3);
  EXPECT_EQ(find(report, "mine")->n, 3);
  EXPECT_DOUBLE_EQ(find(report, "mine")->spread, std::sqrt(7.0));  // (4 + 1 + 9) / 2
  EXPECT_EQ(find(report, "iterations")->value, 8);
}

TEST(BenchmarkResult, AcceptsAggregatesWithoutRepetitions) {
  const auto report = read(file_of(aggregate("mean", "\"iterations\": 4,\n\"mine\": 2.5") + ",\n" +
                                   aggregate("median", "\"iterations\": 4,\n\"mine\": 9") + ",\n" +
                                   aggregate("stddev", "\"iterations\": 4,\n\"mine\": 1.25") + ",\n" +
                                   aggregate("cv", "\"iterations\": 4,\n\"mine\": NaN")));
  EXPECT_EQ(report.result(), ChildResult::kPass);
  ASSERT_THAT(report.measures(), SizeIs(1));
  EXPECT_EQ(report.measures()[0].value, 2.5);
  EXPECT_EQ(report.measures()[0].n, 4);
  EXPECT_EQ(report.measures()[0].spread, 1.25);
}

TEST(BenchmarkResult, IgnoresComplexityRows) {
  const std::string big_o = row("\"run_type\": \"aggregate\",\n\"aggregate_name\": \"BigO\"", "BM");
  const std::string rms = row("\"run_type\": \"aggregate\",\n\"aggregate_name\": \"RMS\"", "BM");
  EXPECT_EQ(read(file_of(repetition(kMeasured) + ",\n" + big_o + ",\n" + rms)).result(), ChildResult::kPass);
  EXPECT_EQ(read(file_of(big_o)).result(), std::nullopt);
}

TEST(BenchmarkResult, OneErrorFailsAllRepetitions) {
  const auto report = read(file_of(
      repetition(kMeasured) + ",\n" +
      repetition("\"error_occurred\": true,\n\"error_message\": \"no \\\"card\\\"\",\n" + kMeasured)));
  EXPECT_EQ(report.result(), ChildResult::kFail);
  ASSERT_THAT(report.failures(), SizeIs(1));
  EXPECT_EQ(report.failures()[0].message, "no \"card\"");
  EXPECT_THAT(find(report, "real_time")->n, 1) << "a repetition that failed has no figures";
}

// The form of version 1.8 and later.
TEST(BenchmarkResult, ReportsSkippedBenchmark) {
  const std::string skipped =
      repetition("\"skipped\": true,\n\"skip_message\": \"no card\",\n\"iterations\": 0");
  const auto report = read(file_of(skipped));
  EXPECT_EQ(report.result(), ChildResult::kSkip);
  EXPECT_EQ(report.reason().text(), "no card");
  EXPECT_THAT(report.measures(), IsEmpty());
  EXPECT_EQ(read(file_of(repetition(kMeasured) + ",\n" + skipped)).result(), ChildResult::kPass);
}

TEST(BenchmarkResult, FailsWithoutIterations) {
  for (const char* members : {"\"iterations\": 0,\n\"real_time\": 1", "\"real_time\": 1"}) {
    const auto report = read(file_of(repetition(members)));
    EXPECT_EQ(report.result(), ChildResult::kFail) << members;
    ASSERT_THAT(report.failures(), SizeIs(1));
    EXPECT_EQ(report.failures()[0].message, "it ran no iteration");
  }
}

TEST(BenchmarkResult, FailsOnFigureThatIsNotFinite) {
  for (const char* word : {"NaN", "-NaN", "Infinity", "-Infinity"}) {
    for (const char* rest : {"", ",\n\"other\": 3"}) {
      const auto report = read(file_of(repetition(kMeasured + ",\n\"mine\": " + word + rest)));
      EXPECT_EQ(report.result(), ChildResult::kFail) << word << rest;
      ASSERT_THAT(report.failures(), SizeIs(1));
      EXPECT_EQ(report.failures()[0].message, "`mine` is not a finite number");
      EXPECT_EQ(find(report, "mine"), nullptr);
      EXPECT_NE(find(report, "real_time"), nullptr);
    }
  }
  EXPECT_EQ(read(file_of(repetition(kMeasured + ",\n\"label\": \"x: NaN\""))).result(), ChildResult::kPass);
}

TEST(BenchmarkResult, InvalidReportGivesNoResult) {
  for (const char* text : {"", "{", "[]", "{}", "null", "\xff", R"({"benchmarks": 7})",
                           R"({"benchmarks": []})", R"({"benchmarks": {}})", R"({"benchmarks": [7]})",
                           R"({"benchmarks": [[]]})", R"({"benchmarks": [{}]})"})
    EXPECT_EQ(read(text).result(), std::nullopt) << text;
  const std::string deep = std::string(300'000, '[') + std::string(300'000, ']');
  EXPECT_EQ(read(deep).result(), std::nullopt);
  EXPECT_EQ(read(file_of(repetition(kMeasured + ",\n\"mine\": " + deep))).result(), std::nullopt);
  // A process that exits during a benchmark leaves an incomplete file.
  const std::string whole = file_of(repetition(kMeasured));
  EXPECT_EQ(read(whole).result(), ChildResult::kPass);
  for (std::size_t size = 0; size + 2 < whole.size(); ++size)
    ASSERT_EQ(read(whole.substr(0, size)).result(), std::nullopt) << whole.substr(0, size);
}

// Google Benchmark 1.7.1 does not escape these bytes.
TEST(BenchmarkResult, ReadsBytesThatJsonForbids) {
  for (const std::string label : {"\x1b[32mfast\x1b[0m", "5 \xb5s",
                                  "a\x01"
                                  "b",
                                  "tab\tand \\\" \xc3"}) {
    const auto report = read(file_of(repetition(kMeasured + ",\n\"label\": \"" + label + "\"")));
    EXPECT_EQ(report.result(), ChildResult::kPass) << label;
    ASSERT_NE(find(report, "real_time"), nullptr);
    EXPECT_EQ(find(report, "real_time")->value, 2.5);
  }
  const auto failed =
      read(file_of(repetition("\"error_occurred\": true,\n\"error_message\": \"5 \xb5s \x1b\"")));
  EXPECT_EQ(failed.result(), ChildResult::kFail);
  EXPECT_EQ(failed.failures().at(0).message, "5 \\xB5s \\x1B");
}

// Google Benchmark writes these with std::locale::global(std::locale("de_DE.UTF-8")).
TEST(BenchmarkResult, ParsesFiguresInLocaleOfProgram) {
  const auto report = read(file_of(repetition(
      "\"iterations\": 1.000.000,\n\"real_time\": 2,5e+00,\n\"mine\": 1.234,\n\"time_unit\": \"us\"")));
  EXPECT_EQ(report.result(), ChildResult::kPass);
  EXPECT_EQ(find(report, "iterations")->value, 1e6);
  EXPECT_EQ(find(report, "real_time")->value, 2.5);
  EXPECT_EQ(find(report, "mine")->value, 1234);
  const auto unclear =
      read(file_of(repetition("\"iterations\": 8,\n\"real_time\": 2,5e+00,\n\"mine\": 1.5")));
  EXPECT_EQ(unclear.result(), ChildResult::kPass);
  EXPECT_EQ(find(unclear, "mine"), nullptr) << "the number is ambiguous";
}

TEST(BenchmarkResult, OtherBenchmarkNameGivesNoResult) {
  const std::string other = row("\"run_type\": \"iteration\",\n" + kMeasured, "BM_b");
  const auto alone = read(file_of(other));
  EXPECT_EQ(alone.result(), std::nullopt);
  EXPECT_THAT(alone.first_violation(), HasSubstr("BM_b"));
  const auto both = read(file_of(repetition(kMeasured) + ",\n" + other));
  EXPECT_EQ(both.result(), std::nullopt);
  EXPECT_EQ(both.first_violation(), "figures of several benchmarks: BM_a, BM_b");
}

// ---- the verdict ----

Verdict judged(const ChildReport& child, int exit_code) {
  return benchmark_kind().judge({.child = child, .exit_code = exit_code});
}

TEST(BenchmarkVerdict, CombinesFileAndExitCode) {
  const auto of = [](const std::string& members) { return read(file_of(repetition(members))); };
  const auto failed = of("\"error_occurred\": true,\n\"error_message\": \"m\"");
  const auto skipped = of("\"skipped\": true,\n\"skip_message\": \"no card\"");
  const auto is = [](const Verdict& verdict, Outcome outcome, const std::string& reason) {
    EXPECT_EQ(verdict.outcome, outcome);
    EXPECT_EQ(verdict.reason.text(), reason);
  };
  is(judged(of(kMeasured), 0), Outcome::kPass, "");
  is(judged(of(kMeasured), 3), Outcome::kFail, "exit:3");
  is(judged(failed, 0), Outcome::kFail, "");
  is(judged(failed, 1), Outcome::kFail, "");
  is(judged(skipped, 0), Outcome::kSkip, "no card");
  is(judged(skipped, 3), Outcome::kFail, "exit:3");
  is(judged(read(""), 0), Outcome::kError, "no_result");
  is(judged(read(""), 3), Outcome::kError, "no_result");
  is(judged(read(file_of(repetition(kMeasured)), "BM_b"), 0), Outcome::kError, "no_result");
}

// ---- a real program ----

class BenchmarkProgram : public KindTest {
 protected:
  BenchmarkProgram() : KindTest(benchmark_kind()) {}
  void SetUp() override {
    if (sample_benchmark().empty()) GTEST_SKIP() << "needs libbenchmark-dev when Proctor is configured";
  }
  Result<std::vector<Case>> cases() { return discover(suite_, 0, {.run = run_listing}, {}, warnings_); }
  // Returns the framework's names of the listed cases.
  std::vector<std::string> names() {
    const auto found = cases();
    if (!found) return {"error: " + found.error().what};
    std::vector<std::string> names;
    for (const Case& test : *found) names.emplace_back(framework_id(test));
    return names;
  }
  ChildReport run(const Case& test) {
    const std::string file = scratch_.path() + "/result.json";
    std::remove(file.c_str());
    const auto out = run_listing(
        {.argv = kind_.with_output(test.argv, file), .env = suite_.env, .directory = scratch_.path()});
    EXPECT_TRUE(out) << out.error().what;
    return said(test, read_file_or_empty(file));
  }

  Suite suite_ = suite({sample_benchmark()});
  std::vector<Warning> warnings_;
};

// Benchmarks that exit, hang or leak must run in the runner, which contains them. This test runs only the
// others.
bool is_harmless(const Case& test) {
  return test.name.find("crashes") == test.name.npos && test.name.find("hangs") == test.name.npos &&
         test.name.find("lea") == test.name.npos;
}

TEST_F(BenchmarkProgram, EachCaseRunsOnlyOneBenchmark) {
  const auto found = cases();
  ASSERT_TRUE(found) << found.error().what;
  ASSERT_THAT(*found, SizeIs(24));
  ASSERT_THAT(warnings_, SizeIs(1));
  EXPECT_THAT(
      warnings_[0].text,
      HasSubstr("2 lines of the program's list are not benchmark names; the first: Loading the driver."));
  for (const Case& test : *found) {
    EXPECT_EQ(test.classname, "s");
    EXPECT_EQ(test.id, "s/" + test.name);
    if (!is_harmless(test)) continue;
    const bool bad = test.name.starts_with("fails/") || test.name.starts_with("fails_the_second_time_of") ||
                     test.name.starts_with("not_a_number");
    const ChildReport report = run(test);
    EXPECT_EQ(report.result(), bad ? ChildResult::kFail : ChildResult::kPass) << test.id;
    EXPECT_EQ(report.violations(), 0) << report.first_violation();
  }
}

TEST_F(BenchmarkProgram, FilterOfCommandRestrictsList) {
  suite_.command.emplace_back("--benchmark_filter=^sized");
  const auto found = cases();
  ASSERT_TRUE(found) << found.error().what;
  ASSERT_THAT(*found, SizeIs(2));
  EXPECT_EQ(run(found->front()).result(), ChildResult::kPass);
  suite_.command.back() = "--benchmark_filter=-.";
  EXPECT_THAT(names(), ElementsAre(HasSubstr("listed no case")));
}

// The environment of the runner may contain any of these variables.
TEST_F(BenchmarkProgram, EnvironmentChangesNeitherListNorOutputFile) {
  const auto wanted = names();
  const std::string theirs = scratch_.write("theirs", "kept");
  suite_.env = {{"BENCHMARK_FILTER", "sized"},
                {"BENCHMARK_LIST_TESTS", "true"},
                {"BENCHMARK_OUT", theirs},
                {"BENCHMARK_OUT_FORMAT", "csv"},
                {"BENCHMARK_REPORT_AGGREGATES_ONLY", "true"},
                {"BENCHMARK_REPETITIONS", "3"}};
  EXPECT_EQ(names(), wanted);
  const ChildReport report = run(cases()->front());
  EXPECT_EQ(report.result(), ChildResult::kPass);
  ASSERT_NE(find(report, "iterations"), nullptr) << "which aggregates do not have";
  EXPECT_EQ(find(report, "iterations")->n, 3) << "how often, the caller may say";
  EXPECT_EQ(read_file_or_empty(theirs), "kept");
}

TEST_F(BenchmarkProgram, MergesEqualNames) {
  const std::size_t count = names().size();
  suite_.env = {{"SAMPLE_TWICE", "1"}};
  EXPECT_THAT(names(), SizeIs(count));
  EXPECT_THAT(warnings_.back().text, HasSubstr("2 tests have the name `prefix/iterations:10`"));
  const auto found = cases();
  const auto twice =
      std::ranges::find(*found, "prefix/iterations:10", [](const Case& test) { return test.name; });
  const ChildReport both = run(*twice);
  EXPECT_EQ(both.result(), ChildResult::kPass);
  ASSERT_NE(find(both, "real_time"), nullptr);
  EXPECT_EQ(find(both, "real_time")->n, 2);
}

TEST_F(BenchmarkProgram, RejectsPlanWithBadList) {
  suite_.env = {{"SAMPLE_LIST", "none"}};
  EXPECT_THAT(names(), ElementsAre(HasSubstr("listed no case")));
  suite_.env = {{"SAMPLE_LIST", "crash"}};
  EXPECT_THAT(names(), ElementsAre(HasSubstr("was killed by signal 11")));
}

TEST_F(BenchmarkProgram, DamagedFilesGiveNoResult) {
  suite_.command.emplace_back("--benchmark_filter=^prefix/");
  const auto found = cases();
  ASSERT_TRUE(found) << found.error().what;
  for (const char* how : {"none", "empty", "broken", "other"}) {
    suite_.env = {{"SAMPLE_FILE", how}};
    EXPECT_EQ(run(found->front()).result(), std::nullopt) << how;
  }
  suite_.env = {{"SAMPLE_ALL", "1"}};
  EXPECT_EQ(run(found->front()).result(), std::nullopt) << "ran others too";
}

TEST_F(BenchmarkProgram, IsRecognised) {
  std::vector<Warning> warnings;
  const auto found = recognise(suite_, sample_benchmark(), {.run = run_listing}, warnings);
  ASSERT_TRUE(found) << found.error().what;
  EXPECT_EQ(found->kind, &benchmark_kind());
  EXPECT_EQ(found->reason, "lists Google Benchmark's benchmarks");
}

// The library alone does not make a program one of this kind: its main() may do something else.
TEST(BenchmarkRecognition, ProgramWithoutListIsCommand) {
  const ScratchDirectory scratch;
  Suite suite;
  suite.command = {scratch.write("program",
                                 "\x7f"
                                 "ELF libbenchmark.so.1")};
  for (const char* printed : {"", "all is well\n", "-----\nBenchmark   Time\n-----\nBM_copy   2 ns\n"}) {
    ListOutput out;
    out.exit_code = 0;
    out.stdout_text = printed;
    std::vector<Warning> warnings;
    const auto found =
        recognise(suite, suite.command[0],
                  {.run = [&](const ListCommand&) -> Result<ListOutput> { return out; }}, warnings);
    ASSERT_TRUE(found) << found.error().what;
    EXPECT_EQ(found->kind, &command_kind()) << printed;
    EXPECT_EQ(found->reason, "accepts --benchmark_list_tests=true, but prints no list with it");
  }
}

}  // namespace
}  // namespace proctor
