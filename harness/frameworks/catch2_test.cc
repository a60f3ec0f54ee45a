#include "harness/frameworks/catch2.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/frameworks/kind_fixture.h"

namespace proctor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Catch2Test : public KindTest {
 protected:
  Catch2Test() : KindTest(catch2_kind()) {}

  // Returns a program that behaves like Catch2 2: `text` is its list for people.
  Suite version2(const std::string& text, const std::string& names, int code) {
    return suite({scratch_.write_script(
        "old", "cd " + scratch_.path() + "\ncase \"$*\" in *--list-tests*) cat " +
                   scratch_.write("text", text) + " ;; *) cat " + scratch_.write("names", names) +
                   " ;; esac\nexit " + std::to_string(code))});
  }
  Suite version3(const std::string& xml) {
    return suite({scratch_.write_script("new", "cat " + scratch_.write("xml", xml))});
  }
  static std::vector<std::string> names_of(const Result<std::vector<Case>>& cases) {
    std::vector<std::string> names;
    if (!cases) return {cases.error().what};
    for (const Case& test : *cases) names.push_back(test.name);
    return names;
  }
};

constexpr const char* kText =
    "banner\nAll available test cases:\n  one\n      [a][b]\n  a long name that is broken at the end of its "
    "line\n"
    "    and goes on here\n  # odd\n3 test cases\n\n";

TEST_F(Catch2Test, Version2CombinesTextListAndNames) {
  const auto cases = list(version2(
      kText, "banner\none\na long name that is broken at the end of its line and goes on here\n\"# odd\"\n",
      3));
  ASSERT_TRUE(cases) << cases.error().what;
  EXPECT_THAT(
      names_of(cases),
      ElementsAre("one", "a long name that is broken at the end of its line and goes on here", "# odd"));
  EXPECT_THAT(cases->at(0).tags, ElementsAre("a", "b"));
  EXPECT_THAT(cases->at(1).tags, testing::IsEmpty());
}

// The lists below are those of Catch2 2.13.10.
TEST_F(Catch2Test, Version2ListsNamesWithLeadingBlanks) {
  const auto cases =
      list(version2("All available test cases:\n   leading blank\n      [a]\n      three\n  plain\n      "
                    "[b][c]\n4 test cases\n\n",
                    " leading blank\n    three\nplain\n", 3));
  EXPECT_THAT(names_of(cases), ElementsAre(HasSubstr("listed 4 tests, then 3 names")));
  const auto three =
      list(version2("All available test cases:\n   leading blank\n      [a]\n      three\n  plain\n      "
                    "[b][c]\n3 test cases\n\n",
                    " leading blank\n    three\nplain\n", 3));
  ASSERT_TRUE(three) << three.error().what;
  EXPECT_THAT(names_of(three), ElementsAre("leading blank", "three", "plain"));
  EXPECT_THAT(three->at(0).tags, ElementsAre("a"));
  EXPECT_THAT(three->at(1).tags, testing::IsEmpty());
  EXPECT_THAT(three->at(2).tags, ElementsAre("b", "c"));
}

TEST_F(Catch2Test, Version2ParsesDetailsAndLocalisedCounts) {
  std::string text = "Matching test cases:\n  one\n    one.cc:3\n    (NO DESCRIPTION)\n      [a]\n";
  std::string names = "one\n";
  for (int i = 0; i < 1203; ++i) {
    text += fmt::format("  test {}\n", i);
    names += fmt::format("test {}\n", i);
  }
  const auto cases = list(version2(text + "1.204 matching test cases\n\n", names, 255));
  ASSERT_TRUE(cases) << cases.error().what;
  EXPECT_EQ(cases->size(), 1204u);
  EXPECT_THAT(cases->at(0).tags, ElementsAre("a"));
}

TEST_F(Catch2Test, Version2ExitsWithAtMost255) {
  std::string text = "All available test cases:\n";
  std::string names;
  for (int i = 0; i < 300; ++i) {
    text += "  test " + std::to_string(i) + "\n";
    names += "test " + std::to_string(i) + " \n";  // the report lacks this blank
  }
  const auto cases = list(version2(text + "300 test cases\n\n", names, 255));
  ASSERT_TRUE(cases) << cases.error().what;
  EXPECT_EQ(cases->size(), 300u);
  EXPECT_EQ(cases->at(299).name, "test 299");
}

TEST_F(Catch2Test, ListsThatDoNotAgreeAreRefused) {
  EXPECT_THAT(refusal(version2(kText, "one\n", 1)),
              HasSubstr("listed 3 tests, then 1 names, and exited with 1"));
  EXPECT_THAT(refusal(version2(kText, "one\nother\n# odd\n", 3)),
              HasSubstr("whose name is not the line `other`"));
  EXPECT_THAT(refusal(version2("nothing\n", "", 0)),
              HasSubstr("did not print a Catch2 test list (exit code 0)"));
  EXPECT_THAT(refusal(version3("<MatchingTests></MatchingTests>")), HasSubstr("listed no case"));
}

std::string test_element(const std::string& name, const std::string& tags = "") {
  return "<TestCase><Name>" + name + "</Name><ClassName/><Tags>" + tags + "</Tags></TestCase>";
}

std::string xml_list(const std::string& tests) {
  return "banner\n<?xml version=\"1.0\"?>\n<MatchingTests>" + tests + "</MatchingTests>\nbye <now>\n";
}

TEST_F(Catch2Test, Version3ParsesXmlList) {
  const auto cases =
      list(version3(xml_list(test_element("a &lt;b>, [c]", "[x][y z]") + test_element("two"))));
  EXPECT_THAT(names_of(cases), ElementsAre("a <b>, [c]", "two"));
  EXPECT_THAT(cases->at(0).tags, ElementsAre("x", "y z"));
  EXPECT_EQ(cases->at(0).argv.back(), "\"a <b>\\, \\[c]\"");
  const auto exclude = list(version3(xml_list(test_element("exclude:x"))));
  ASSERT_TRUE(exclude) << exclude.error().what;
  EXPECT_EQ(exclude->at(0).argv.back(), "\"*xclude:x\"") << "`exclude:x` is all tests but x";
}

TEST_F(Catch2Test, RejectsNamesThatFilterCannotDistinguish) {
  EXPECT_THAT(refusal(version3(xml_list(test_element("ab*") + test_element("abc")))),
              HasSubstr("would run `abc` too"));
  EXPECT_EQ(refusal(version3(xml_list(test_element("ab*") + test_element("xab")))), "accepted");
  EXPECT_EQ(refusal(version3(xml_list(test_element("is it?") + test_element("is it!")))), "accepted");
  EXPECT_EQ(refusal(version3(xml_list(test_element("a * b") + test_element("a x b")))), "accepted");
  EXPECT_THAT(refusal(version3(xml_list(test_element("a\nb")))), HasSubstr("its name cannot be shown"));
}

std::string result_element(const std::string& name, bool passes) {
  return "<TestCase name=\"" + name + "\">" +
         (passes ? "" : "<Failure filename=\"f.cc\" line=\"1.204\">no luck</Failure>") +
         "<OverallResult success=\"" + (passes ? "true" : "false") + "\"/></TestCase>\n";
}

// Catch2 ignores case, and allows equal names with different tags.
TEST_F(Catch2Test, MergesEqualNames) {
  const auto cases = list(version3(xml_list(test_element("Same") + test_element("other") +
                                            test_element("same") + test_element("same", "[x]"))));
  EXPECT_THAT(names_of(cases), ElementsAre("Same", "other"));
  EXPECT_EQ(cases->at(0).argv.back(), "\"Same\",\"Same\",\"Same\"");
  EXPECT_THAT(cases->at(0).tags, ElementsAre("x"));
  const Case& same = cases->at(0);
  const auto all =
      said(same, result_element("Same", true) + result_element("same", false) + result_element("same", true));
  EXPECT_EQ(all.result(), ChildResult::kFail);
  EXPECT_EQ(all.failures().at(0).line, 1204);
  EXPECT_EQ(all.violations(), 0);
  EXPECT_EQ(all.also_ran(), "");
  EXPECT_EQ(said(same, result_element("Same", true) + result_element("same", false)).result(), std::nullopt)
      << "the last one did not end";
  EXPECT_EQ(said(cases->at(1), result_element("other", true) + result_element("other", true)).also_ran(),
            "other");
}

// The XML has four characters for ESC. A name can also contain these characters.
TEST_F(Catch2Test, SelectsBothSpellingsOfAName) {
  const auto cases = list(version3(xml_list(test_element("a\\x1Bb") + test_element("\\x41\\xf6"))));
  ASSERT_TRUE(cases) << cases.error().what;
  EXPECT_EQ(cases->at(0).argv.back(),
            "\"a\\\\x1Bb\",\"a\x1B"
            "b\"");
  EXPECT_EQ(cases->at(1).argv.back(), "\"\\\\x41\\\\xf6\"") << "no report contains these escapes";
}

TEST_F(Catch2Test, ReportsThatNoTestRan) {
  const auto cases = list(version3(xml_list(test_element("x"))));
  const auto none =
      said(cases->at(0), "<Catch2TestRun>\n<OverallResults successes=\"0\"/>\n<OverallResultsCases/>\n");
  EXPECT_EQ(none.result(), ChildResult::kError);
  EXPECT_EQ(none.failures().at(0).message, "no test ran: the framework found none of this name");
  EXPECT_EQ(none.violations(), 0);
}

// Catch2 3 writes these with std::locale::global(std::locale("de_DE.UTF-8")).
TEST_F(Catch2Test, ParsesFiguresInLocaleOfProgram) {
  const auto cases = list(version3(xml_list(test_element("x"))));
  const auto measured = [&](const std::string& mean, const std::string& bound) {
    return said(cases->at(0),
                "<TestCase name=\"x\"><BenchmarkResults name=\"b\" samples=\"1.000\"><mean value=\"" + mean +
                    "\" lowerBound=\"" + bound + "\"/><standardDeviation value=\"0,5\"/>" +
                    "</BenchmarkResults><OverallResult success=\"true\"/></TestCase>\n");
  };
  const auto german = measured("1.234", "17,6");
  ASSERT_EQ(german.measures().size(), 1u);
  EXPECT_EQ(german.measures()[0].value, 1234);
  EXPECT_EQ(german.measures()[0].n, 1000);
  EXPECT_EQ(german.measures()[0].spread, 0.5);
  const auto unclear = measured("1.234", "17.6");  // in one report with 0,5
  EXPECT_TRUE(unclear.measures().empty());
  EXPECT_THAT(unclear.warnings(), ElementsAre(HasSubstr("benchmark `b` has no figure: its mean `1.234`")));
  EXPECT_EQ(unclear.result(), ChildResult::kPass);
}

TEST_F(Catch2Test, CommandReplacesSpecificationAndReporter) {
  Suite made = version3(xml_list(test_element("x")));
  const std::string program = made.command[0];
  made.command = {program,         "-s", "[fast]", "-r", "junit",      "--shard-count=2",
                  "--shard-index", "1",  "--own",  "3",  "other test", "--order",
                  "rand",          "-o", "file"};
  const auto cases = list(made);
  ASSERT_TRUE(cases) << cases.error().what;
  EXPECT_THAT(cases->at(0).argv,
              ElementsAre(program, "-s", "--own", "3", "--order", "rand", "--reporter", "xml", "\"x\""));
  Case other;
  other.argv = {program, "--reporter", "xml", "\"y\""};
  EXPECT_EQ(catch2_kind().batch_file({&cases->at(0), &other}), "\"x\"\n\"y\"\n");
  EXPECT_THAT(catch2_kind().batch_command({&other, &cases->at(0)}, "/f"),
              ElementsAre(program, "--reporter", "xml", "--input-file", "/f"));
}

// ---- the installed version of Catch2 ----

class RealCatch2Test : public Catch2Test {
 protected:
  void SetUp() override {
    if (std::string(PLAN_SAMPLE_CATCH2).empty()) GTEST_SKIP() << "Catch2 is not installed";
  }
};

TEST_F(RealCatch2Test, EachListedTestRunsAloneWithVerdict) {
  auto cases = list(suite({PLAN_SAMPLE_CATCH2}));
  ASSERT_TRUE(cases) << cases.error().what;
  std::erase_if(*cases, [](const Case& test) { return test.tags == std::vector<std::string>{"bad"}; });
  auto reports = expect_verdicts(*cases, {{"fails at a place", "fail"},
                                          {"throws", "fail"},
                                          {"says fail", "fail"},
                                          {"sections", "fail"},
                                          {"generators", "fail"},
                                          {"may fail", "xfail([!mayfail])"},
                                          {"should fail", "xfail([!shouldfail])"},
                                          {"should fail and passes", "fail([!shouldfail])"},
                                          {"skips", "skip(no such device)"}});
  EXPECT_FALSE(reports.contains("hidden"));
  EXPECT_GE(reports.size(), 16u);

  const Failure failure = reports["fails at a place"].failures().at(0);
  EXPECT_THAT(failure.file, testing::EndsWith("sample_catch2.cc"));
  EXPECT_GT(failure.line, 0);
  EXPECT_EQ(failure.message, "CHECK( 1 + 1 == 3 )\nwith expansion: 2 == 3\nwhile adding");
  EXPECT_EQ(reports["fails at a place"].output(), "said before it failed\n");
  EXPECT_EQ(reports["throws"].failures().at(0).message, "unexpected exception: broken <&> \"here\"");
  EXPECT_EQ(reports["sections"].last_step(), "second");
  ASSERT_EQ(reports["measures"].measures().size(), 1u);
  EXPECT_EQ(reports["measures"].measures()[0].name, "addition");
  EXPECT_EQ(reports["measures"].measures()[0].unit, "ns");
}

TEST_F(RealCatch2Test, TheSpecificationOfTheCommandIsHonoured) {
  EXPECT_THAT(names_of(list(suite({PLAN_SAMPLE_CATCH2, "-r", "junit", "[math]", "-o", "unwritten"}))),
              ElementsAre("passes", "templates - int", "templates - std::string"));
}

}  // namespace
}  // namespace proctor
