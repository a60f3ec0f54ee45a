#include "harness/frameworks/gtest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>

#include "harness/base/read_file.h"
#include "harness/base/temp_dir.h"
#include "harness/base/text.h"

namespace proctor {
namespace {

std::vector<std::string> names_of(std::string_view text) {
  const Result<std::vector<GtestName>> names = parse_gtest_list(text);
  if (!names) return {"error: " + names.error().what};
  std::vector<std::string> result;
  for (const GtestName& name : *names)
    result.push_back((name.disabled ? "!" : "") + name.group + "." + name.name);
  return result;
}

using testing::ElementsAre;

TEST(GtestList, ParsesGroupsAndComments) {
  EXPECT_THAT(
      names_of(
          "Running main() from main.cc\nA.\n  One\n  Two  # GetParam() = 4 # x\nB/0.  # TypeParam = int\n"
          "  One\r\n"),
      ElementsAre("A.One", "A.Two", "B/0.One"));
}

TEST(GtestList, OtherOutputKeepsCurrentGroup) {
  EXPECT_THAT(names_of("Driver loaded.\nA.\n  One\nwarning: slow\nAll is well.\n  Two\ndone"),
              ElementsAre("A.One", "A.Two"));
}

TEST(GtestList, TypedSuitesMayHaveBlanks) {
  EXPECT_THAT(names_of("T/unsigned int.  # TypeParam = unsigned int\n  One\n"),
              ElementsAre("T/unsigned int.One"));
  EXPECT_THAT(names_of("A.\nT/unsigned int.\n  One\n"), ElementsAre("A.One"));
}

// GoogleTest's rule: DISABLED_ at the beginning of either name, or after a '/'.
TEST(GtestList, MarksDisabledTests) {
  EXPECT_THAT(names_of("DISABLED_A.\n  X\nP/DISABLED_B.\n  X/0\nC.\n  DISABLED_X\n  X_DISABLED_Y\n"),
              ElementsAre("!DISABLED_A.X", "!P/DISABLED_B.X/0", "!C.DISABLED_X", "C.X_DISABLED_Y"));
}

TEST(GtestList, RejectsLinesWithoutTestOrSuite) {
  EXPECT_THAT(names_of("A.\n  One Two\n"), ElementsAre("error: line 2 is not a test name:   One Two"));
  EXPECT_THAT(names_of("\n  One\n"), ElementsAre("error: line 2 is a test without a test suite:   One"));
  EXPECT_THAT(names_of("A.\n  \n"), ElementsAre("error: line 2 is not a test name:   "));
}

TEST(GtestList, EmptyOutputListsNoTest) { EXPECT_TRUE(names_of("").empty()); }

TEST(GtestFilter, KeepsPlainNames) { EXPECT_EQ(*gtest_filter_for("A/0.B_1", {"A/0.B_1"}), "A/0.B_1"); }

TEST(GtestFilter, SpecialCharactersBecomeQuestionMarks) {
  EXPECT_EQ(*gtest_filter_for("T/a::b - c*.X", {"T/a::b - c*.X", "T/short.X"}), "T/a??b ? c?.X");
}

TEST(GtestFilter, RejectsAmbiguousFilter) {
  const Result<std::string> filter = gtest_filter_for("T/a:b.X", {"T/a:b.X", "T/a-b.X"});
  ASSERT_FALSE(filter);
  EXPECT_EQ(filter.error().what, "GoogleTest cannot distinguish `T/a:b.X` from `T/a-b.X` in a filter");
}

// Tests every set of two names of three characters. A filter selects its own name and no other, or is
// refused.
TEST(GtestFilter, SelectsExactlyOneTest) {
  const std::string alphabet = "a:-*?";
  std::vector<std::string> words;
  for (char a : alphabet) {
    for (char b : alphabet) words.push_back({'G', '.', a, b});
  }
  for (const std::string& name : words) {
    for (const std::string& other : words) {
      const Result<std::string> filter = gtest_filter_for(name, {name, other});
      if (!filter) continue;
      ASSERT_EQ(filter->find_first_of(":-*"), std::string::npos);
      ASSERT_TRUE(glob_match(*filter, name));
      ASSERT_TRUE(other == name || !glob_match(*filter, other)) << *filter << " selects " << other;
    }
  }
}

// ---- a batch ----

TEST(GtestBatch, RecognisesListenerAnnouncement) {
  const std::string announcement = R"({"v":1,"event":"listener","name":"gtest"})";
  EXPECT_TRUE(announces_gtest_listener({announcement}));
  EXPECT_TRUE(announces_gtest_listener({"noise", announcement}));
  for (const char* other :
       {"", "[]", "noise", R"({"v":1,"event":"case","case":"listener"})", R"({"v":1,"event":"listener"})",
        R"({"v":1,"event":"listener","name":"other"})", R"({"v":1,"event":7,"name":"gtest"})"}) {
    EXPECT_FALSE(announces_gtest_listener({other})) << other;
  }
  EXPECT_FALSE(announces_gtest_listener({}));
}

Case case_with(std::vector<std::string> argv) {
  Case test;
  test.argv = std::move(argv);
  return test;
}

TEST(GtestBatch, CommandNamesFlagFileInsteadOfCase) {
  const auto command = [](std::vector<std::string> argv) {
    const Case test = case_with(std::move(argv));
    return gtest_kind().batch_command({&test}, "/f");
  };
  EXPECT_THAT(command({"./t", "--own", "--gtest_filter=A.*", "--gtest_filter=A.B"}),
              ElementsAre("./t", "--own", "--gtest_filter=A.*", "--gtest_flagfile=/f"));
  EXPECT_THAT(command({"./t", "--gtest_fail_fast", "--gtest_filter=A.B"}),
              ElementsAre("./t", "--gtest_flagfile=/f"));
}

TEST(GtestBatch, FlagFileHasFiltersOnOneLine) {
  const Case one = case_with({"./t", "--gtest_filter=A.B"});
  const Case two = case_with({"./t", "--gtest_filter=Of/C.D?/1"});
  EXPECT_EQ(gtest_kind().batch_file({&one, &two}),
            "--gtest_filter=A.B:Of/C.D?/1\n--gtest_repeat=1\n--gtest_output=\n");
}

// ---- the result file ----

// Returns the report of a process for the test `name`.
ChildReport read_gtest(const std::string& text, const std::string& name = "G.N") {
  ChildReport report(name);
  for (const auto& line : gtest_kind().translator({}, {})->translate(text)) report.add_line(line);
  EXPECT_EQ(report.violations(), 0);
  return report;
}

Verdict verdict_of(const std::string& text, const std::string& name = "G.N", int exit_code = 0) {
  const ChildReport report = read_gtest(text, name);
  return gtest_kind().judge({.child = report, .exit_code = exit_code});
}

// Returns a report of one test in the form of GoogleTest 1.12.
std::string result_file(const std::string& test) {
  return R"({"tests":1,"failures":0,"testsuites":[{"name":"G","testsuite":[)" + test + "]}]}";
}

TEST(GtestResult, Passed) {
  const auto report = read_gtest(result_file(R"({"name":"N","status":"RUN","result":"COMPLETED"})"));
  EXPECT_EQ(report.result(), ChildResult::kPass);
  EXPECT_TRUE(report.failures().empty());
}

TEST(GtestResult, ReadsRecordedProperties) {
  const auto report = read_gtest(result_file(
      R"({"name":"N","file":"a.cc","line":3,"status":"RUN","result":"COMPLETED","time":"0.1s","bandwidth":"42.5",)"
      R"("mode":"fast","nan":"nan"})"));
  EXPECT_EQ(report.result(), ChildResult::kPass);
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"bandwidth", "42.5"}, {"mode", "fast"}, {"nan", "nan"}};
  EXPECT_EQ(report.properties(), expected);
  ASSERT_EQ(report.measures().size(), 1u);
  EXPECT_EQ(report.measures()[0].value, 42.5);
}

TEST(GtestResult, ReadsSkippedAndNotRun) {
  EXPECT_EQ(read_gtest(result_file(R"({"name":"N","status":"RUN","result":"SKIPPED"})")).result(),
            ChildResult::kSkip);
  EXPECT_EQ(verdict_of(result_file(R"({"name":"N","status":"NOTRUN","result":"SUPPRESSED"})")),
            (Verdict{Outcome::kError, Reason::kResultMismatch}));
}

constexpr const char* kN = R"({"name":"N","status":"RUN","result":"COMPLETED"})";
constexpr const char* kOther = R"({"name":"Other","status":"RUN","result":"COMPLETED"})";
constexpr const char* kFailedOther =
    R"({"name":"Other","status":"RUN","result":"COMPLETED","failures":[{"failure":"x","type":""}]})";

// The main() of a program may change the filter.
TEST(GtestResult, PassRequiresExactlyRequestedCase) {
  const Verdict mismatch{Outcome::kError, Reason::kResultMismatch};
  const auto both = [](const std::string& one, const std::string& other) { return one + "," + other; };
  EXPECT_EQ(verdict_of(result_file(kN)), (Verdict{Outcome::kPass, {}}));
  EXPECT_EQ(verdict_of(result_file(kOther)), mismatch) << "another one ran";
  EXPECT_EQ(verdict_of(result_file(both(kN, kOther))), mismatch) << "another one ran too";
  EXPECT_EQ(verdict_of(result_file(both(kOther, kN))), mismatch) << "another one ran before";
  EXPECT_EQ(verdict_of(result_file(both(kN, kN))), mismatch) << "it ran twice";
  EXPECT_EQ(verdict_of(result_file(both(kN, kFailedOther)), "G.N", 1), mismatch) << "another one failed";
  EXPECT_EQ(verdict_of(result_file(kN), "H.N"), mismatch) << "the name of its group is another one";
  EXPECT_EQ(verdict_of(R"({"tests":0,"testsuites":[]})"), mismatch) << "none ran";
  EXPECT_EQ(read_gtest(result_file(both(kN, kOther))).also_ran(), "G.Other");
}

// GoogleTest reports a failure outside of all tests in a separate group, as a test without a name.
TEST(GtestResult, EnvironmentFailureFailsCaseWithMessage) {
  const std::string outside =
      R"(]},{"name":"NonTestSuiteFailure","testsuite":[{"name":"","status":"RUN","result":"COMPLETED","failures":[
         {"failure":"/src/a.cc:7\nno licence","type":""}]})";
  constexpr const char* kSkipped = R"({"name":"N","status":"RUN","result":"SKIPPED"})";
  constexpr const char* kNotRun = R"({"name":"N","status":"NOTRUN","result":"SUPPRESSED"})";
  for (const char* own : {kN, kSkipped, kNotRun}) {
    const std::string text = result_file(own + outside);
    EXPECT_EQ(verdict_of(text, "G.N", 1), (Verdict{Outcome::kFail, {}})) << own;
    ASSERT_EQ(read_gtest(text).failures().size(), 1u) << own;
    EXPECT_EQ(read_gtest(text).failures()[0].message, "no licence");
    EXPECT_EQ(read_gtest(text).failures()[0].line, 7);
  }
  EXPECT_EQ(verdict_of(result_file(kOther + outside), "G.N", 1),
            (Verdict{Outcome::kError, Reason::kResultMismatch}));
}

// The text has the form of GoogleTest 1.12.
TEST(GtestResult, ToleratesMissingCommaBeforeEnvironmentFailure) {
  const std::string text =
      "{\n  \"testsuites\": [\n    {\n      \"name\": \"G\",\n      \"testsuite\": [\n"
      "        {\n          \"name\": \"N\", \"status\": \"RUN\", \"result\": \"SKIPPED\"\n        }\n      "
      "]\n"
      "    }    {\n      \"name\": \"NonTestSuiteFailure\",\n      \"testsuite\": [\n"
      "        {\"name\": \"\", \"status\": \"RUN\", \"failures\": [{\"failure\": \"/a.cc:7\\nno "
      "licence\"}]}\n"
      "      ]\n    }\n  ]\n}\n";
  EXPECT_EQ(verdict_of(text, "G.N", 1), (Verdict{Outcome::kFail, {}}));
  EXPECT_EQ(read_gtest(text).failures().at(0).message, "no licence");
}

// The same through Proctor's listener in a process for one case.
TEST(GtestResult, ListenerPassRequiresExactlyRequestedCase) {
  const auto verdict = [](const std::vector<std::string>& names) {
    ChildReport report("G.N");
    report.add_line(event_line("listener", {{"name", "gtest"}}));
    for (const auto& name : names) {
      report.add_line(event_line("start", {{"case", name}, {"t_ns", 1}}));
      report.add_line(event_line("end", {{"case", name}, {"result", "pass"}}));
    }
    return gtest_kind().judge({.child = report});
  };
  const Verdict mismatch{Outcome::kError, Reason::kResultMismatch};
  EXPECT_EQ(verdict({"G.N"}), (Verdict{Outcome::kPass, {}}));
  EXPECT_EQ(verdict({"G.Other"}), mismatch);
  EXPECT_EQ(verdict({"G.Other", "G.N"}), mismatch);
  EXPECT_EQ(verdict({"G.N", "G.Other"}), mismatch);
  EXPECT_EQ(verdict({"G.N", "G.N"}), mismatch);
  EXPECT_EQ(verdict({}), (Verdict{Outcome::kError, Reason::kNoResult}));
}

// GoogleTest 1.12 writes this when an environment's SetUp() calls GTEST_SKIP.
TEST(GtestResult, TestThatNeverBeganIsSkipped) {
  const auto of = [&](const std::string& start, const std::string& result) {
    return read_gtest(result_file(R"({"name":"N","status":"RUN","result":")" + result + R"(","timestamp":")" +
                                  start + R"(","time":"0s"})"))
        .result();
  };
  EXPECT_EQ(of("1970-01-01T00:00:00Z", "COMPLETED"), ChildResult::kSkip);
  EXPECT_EQ(of("1969-12-31T19:00:00Z", "COMPLETED"), ChildResult::kSkip) << "local time";
  EXPECT_EQ(of("2026-01-01T00:00:00Z", "COMPLETED"), ChildResult::kPass);
  EXPECT_EQ(of("1970-01-01T00:00:00Z", "SKIPPED"), ChildResult::kSkip)
      << "its group's set-up failed or was skipped";
}

// Returns the reason of a skip as a run would report it.
std::string skip_reason(const std::string& test, const std::string& printed) {
  const auto translator = gtest_kind().translator({}, {});
  translator->on_line(printed);
  ChildReport report("G.N");
  for (const auto& line : translator->translate(result_file(test))) report.add_line(line);
  return gtest_kind().judge({.child = report}).reason.text();
}

// GoogleTest 1.12 only prints this failure. Its file reports a test that was skipped and never began.
TEST(GtestResult, SuiteSetupFailureHasMessageAndLocation) {
  const auto translator = gtest_kind().translator({}, {});
  translator->on_line(
      "[----------] 1 test from G\na.cc:7: Failure\nExpected equality of these values:\n  1\n  2\nset up\n"
      "unknown file: Failure\nC++ exception with description \"no\" thrown in SetUpTestSuite().\n"
      "[ RUN      ] G.N\na.cc:9: Skipped\n\n[  SKIPPED ] G.N (0 ms)\n[----------] 1 test from G (0 ms "
      "total)\n"
      "[  FAILED  ] G: SetUpTestSuite or TearDownTestSuite\n");
  ChildReport report("G.N");
  for (const auto& line : translator->translate(result_file(
           R"({"name":"N","status":"RUN","result":"SKIPPED","timestamp":"1970-01-01T00:00:00Z"})")))
    report.add_line(line);
  EXPECT_EQ(to_string(gtest_kind().judge({.child = report, .exit_code = 1})), "fail(exit:1)");
  ASSERT_EQ(report.failures().size(), 2u);
  EXPECT_EQ(report.failures()[0].file, "a.cc");
  EXPECT_EQ(report.failures()[0].line, 7);
  EXPECT_EQ(report.failures()[0].message, "Expected equality of these values:\n  1\n  2\nset up");
  EXPECT_EQ(report.failures()[1].message,
            "C++ exception with description \"no\" thrown in SetUpTestSuite().");
}

TEST(GtestResult, ReadsReasonOfSkip) {
  const std::string skipped = R"({"name":"N","status":"RUN","result":"SKIPPED"})";
  const std::string run = "[ RUN      ] G.N\na.cc:3: Skipped\n";
  const std::string end = "[  SKIPPED ] G.N (0 ms)\n[----------]\n";
  EXPECT_EQ(skip_reason(skipped, run + "no such card\nTearDown: done\n" + end), "no such card");
  EXPECT_EQ(skip_reason(skipped,
                        "\x1b[0;32m[ RUN      ] \x1b[mG.N\na.cc:3: Skipped\nred\n\x1b[0;32m[  SKIPPED ] "
                        "\x1b[mG.N (0 ms)\n"),
            "red");
  EXPECT_EQ(skip_reason(skipped, "a.cc:3: Skipped\nits begin is lost\n" + end), "its begin is lost");
  EXPECT_EQ(skip_reason(skipped, run + "\n" + end), "framework") << "it said nothing";
  EXPECT_EQ(skip_reason(skipped, ""), "framework") << "--no-capture";
  EXPECT_EQ(skip_reason(skipped,
                        "[ RUN      ] G.Other\na.cc:3: Skipped\nnot this one\n[  SKIPPED ] G.Other (0 ms)\n"),
            "framework");
  EXPECT_EQ(
      skip_reason(skipped, "a.cc:3: Skipped\nno card at all\nno card at all\n[==========] 0 tests ran.\n"),
      "no card at all");
  // Later versions have the reasons in their file.
  EXPECT_EQ(
      skip_reason(
          R"({"name":"N","status":"RUN","result":"SKIPPED","skipped":[{"message":"a.cc:3\nin the file"}]})",
          run + "printed\n" + end),
      "in the file");
  EXPECT_EQ(skip_reason(skipped, run + std::string(199, 'x') + "\xc3\xa9 long\n" + end),
            std::string(199, 'x'))
      << "no half of a character";
}

TEST(GtestResult, IgnoresSkipReasonsOfOtherTests) {
  const std::string skipped = R"({"name":"N","status":"RUN","result":"SKIPPED"})";
  const auto skip_of = [](const std::string& name, const std::string& words, const std::string& after) {
    return "[ RUN      ] " + name + "\na.cc:3: Skipped\n" + words + "\n[  SKIPPED ] " + name + after + "\n";
  };
  const std::string own = "a.cc:3: Skipped\nno such card\n[  SKIPPED ] G.N";
  // The test runs another GoogleTest program, whose output comes first. One of these programs ends in the
  // middle of a test.
  for (const char* other : {"H.Inner", "G.N"}) {
    EXPECT_EQ(skip_reason(skipped,
                          "[ RUN      ] G.N\n" + skip_of(other, "of another", " (0 ms)") + own + " (1 ms)\n"),
              "no such card")
        << other;
  }
  EXPECT_EQ(skip_reason(skipped, skip_of("H.Inner", "of another", " (0 ms)") + own + " (1 ms)\n"),
            "no such card");
  EXPECT_EQ(skip_reason(skipped, "[ RUN      ] G.N\n[ RUN      ] H.Died\na.cc:3: Skipped\nof another\n" +
                                     own + " (1 ms)\n"),
            "no such card");
  EXPECT_EQ(skip_reason(skipped, "[ RUN      ] G.N\n" + skip_of("H.Inner", "of another", " (0 ms)") +
                                     "[  SKIPPED ] G.N (1 ms)\n"),
            "framework")
      << "it said nothing itself";
  // The output has GTEST_PRINT_TIME=0. A later test skips too, and the list at the end names both.
  EXPECT_EQ(
      skip_reason(skipped, "[ RUN      ] G.N\n" + own + "\n" + skip_of("G.Z", "another", "") +
                               "[  SKIPPED ] 2 tests, listed below:\n[  SKIPPED ] G.N\n[  SKIPPED ] G.Z\n"),
      "no such card");
  EXPECT_EQ(
      skip_reason(skipped,
                  "[ RUN      ] G.N\na.cc:3: Skipped\nno such card\nno end of line[  SKIPPED ] G.N (0 ms)\n"),
      "no such card");
}

// A test can write any number of these entries to the file. The output must still be read only once.
TEST(GtestResult, ManySkipsAreReadInOnePass) {
  std::string tests;
  std::string printed;
  for (int i = 0; i < 30000; ++i) {
    if (i > 0) tests += ",";
    tests += R"({"name":"T)" + std::to_string(i) + R"(","status":"RUN","result":"SKIPPED"})";
  }
  while (printed.size() < 64 * 1024)
    printed += "[ RUN      ] G.T0\na.cc:3: Skipped\nbusy\n[  SKIPPED ] G.T0 (0 ms)\n";
  const auto translator = gtest_kind().translator({}, {});
  translator->on_line(printed);
  const std::clock_t before = std::clock();
  EXPECT_EQ(translator->translate(result_file(tests)).size(), 60000u);
  const double seconds = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
  EXPECT_LT(seconds, 20)
      << "of this process's own time, ten times what it takes; once for each test it is a minute";
}

TEST(GtestResult, ReadsLocationOfFailures) {
  const auto report = read_gtest(result_file(
      R"({"name":"N","status":"RUN","result":"COMPLETED","failures":[
          {"failure":"/src/a_test.cc:12\nExpected equality\n  1\n  2","type":""},
          {"failure":"unknown file\nC++ exception with description \"a: 3\" thrown","type":""}]})"));
  EXPECT_EQ(report.result(), ChildResult::kFail);
  ASSERT_EQ(report.failures().size(), 2u);
  EXPECT_EQ(report.failures()[0].file, "/src/a_test.cc");
  EXPECT_EQ(report.failures()[0].line, 12);
  EXPECT_EQ(report.failures()[0].message, "Expected equality\n  1\n  2");
  EXPECT_EQ(report.failures()[1].file, "");
  EXPECT_EQ(report.failures()[1].message, "C++ exception with description \"a: 3\" thrown");
}

// Returns a result file with each member on its own line.
std::string lines_of_result(const std::string& members) {
  return "{\n  \"tests\": 1,\n  \"testsuites\": [\n    {\n      \"name\": \"G\",\n      \"testsuite\": [\n   "
         "     {\n"
         "          \"name\": \"N\",\n          \"status\": \"RUN\",\n          \"result\": "
         "\"COMPLETED\",\n" +
         members + "\n        }\n      ]\n    }\n  ]\n}\n";
}

std::string failure(const std::string& text) {
  return "          \"failures\": [\n            {\n              \"failure\": \"" + text +
         "\",\n              \"type\": \"\"\n            }\n          ]";
}

// If char is signed, GoogleTest 1.12 to 1.17 write \u00C3\u00B6 for the two bytes of "ö".
TEST(GtestResult, RestoresUtf8) {
  const auto report = read_gtest(
      lines_of_result("          \"ort\": \"Gr\\u00C3\\u00B6\\u00C3\\u009Fe \\u00E4\\u00B8\\u00AD\",\n" +
                      failure("gr\\u00C3\\u00B6\\u00C3\\u009Fe/a.cc:12\\nMa\\u00C3\\u009F 5 "
                              "\\u00C2\\u00B5m \\\\u00C3\\u00B6 \\u000A\\u0041")));
  EXPECT_EQ(report.properties().at(0).second, "Größe 中");
  EXPECT_EQ(report.failures().at(0).file, "größe/a.cc");
  EXPECT_EQ(report.failures().at(0).message, "Maß 5 µm \\u00C3¶ \nA");
  const auto latin1 = read_gtest(lines_of_result(failure("a.cc:1\\n5 \\u00B5m")));
  EXPECT_EQ(latin1.failures().at(0).message, "5 µm") << "its bytes are not UTF-8";
}

// If char is unsigned, and from 1.18 on, GoogleTest writes the bytes without escapes.
TEST(GtestResult, ReadsBytesThatJsonForbids) {
  const auto report =
      read_gtest(lines_of_result("          \"k\": \"Ã¶\",\n" + failure("a.cc:1\\n5 \xb5m \x1b[31mred\x01")));
  EXPECT_EQ(report.result(), ChildResult::kFail);
  EXPECT_EQ(report.properties().at(0).second, "Ã¶");
  EXPECT_EQ(report.failures().at(0).message, "5 \\xB5m red\\x01");
}

// RecordProperty() does not escape keys.
TEST(GtestResult, ReadsAQuoteInAKey) {
  const auto report =
      read_gtest(lines_of_result("          \"a\"b\": \"x \\\"quoted\\\": \\\"y\",\n          \"c\": \"\""));
  EXPECT_EQ(report.result(), ChildResult::kPass);
  const std::vector<std::pair<std::string, std::string>> expected = {{"a\"b", "x \"quoted\": \"y"},
                                                                     {"c", ""}};
  EXPECT_EQ(report.properties(), expected);
}

// GoogleTest writes these with std::locale::global(std::locale("de_DE.UTF-8")).
TEST(GtestResult, ParsesNumbersInLocaleOfProgram) {
  const auto report = read_gtest(lines_of_result(
      "          \"line\": 1.204.000,\n          \"time\": \"0,25s\",\n" + failure("a.cc:1.204\\nno luck")));
  EXPECT_EQ(report.failures().at(0).line, 1204);
  EXPECT_EQ(report.failures().at(0).file, "a.cc");
  EXPECT_EQ(report.took(), Milliseconds(250));
  const auto named = read_gtest(lines_of_result(failure("a.cc:1.2\\nno luck")));
  EXPECT_EQ(named.failures().at(0).message, "a.cc:1.2\nno luck") << "1.2 is not a line number";
}

TEST(GtestResult, InvalidReportGivesNoResult) {
  for (const char* text : {"", "{", "[]", "{}", "null", "\xff", R"({"testsuites":7})"})
    EXPECT_EQ(read_gtest(text).result(), std::nullopt) << text;
  const std::string deep = std::string(300'000, '[') + std::string(300'000, ']');
  EXPECT_EQ(read_gtest(deep).result(), std::nullopt);
  EXPECT_EQ(read_gtest(R"({"testsuites":)" + deep + "}").result(), std::nullopt);
  EXPECT_EQ(read_gtest(result_file(R"({"name":"N","status":"RUN","x":)" + deep + "}")).result(),
            std::nullopt);
}

// Runs this program itself for the test above.
TEST(GtestResult, ReadsResultOfInstalledGoogleTest) {
  const TempDir scratch;
  const std::string path = scratch.string() + "/real.json";
  const std::string command = "/proc/" + std::to_string(::getpid()) +
                              "/exe --gtest_filter=GtestResult.Passed --gtest_output=json:" + path +
                              " >/dev/null 2>&1";
  ASSERT_EQ(std::system(command.c_str()), 0);
  const auto text = read_file(path);
  ASSERT_TRUE(text);
  EXPECT_EQ(read_gtest(*text, "GtestResult.Passed").result(), ChildResult::kPass);
}

}  // namespace
}  // namespace proctor
