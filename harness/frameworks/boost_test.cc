#include "harness/frameworks/boost.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "harness/base/text.h"
#include "harness/frameworks/kind_fixture.h"

namespace proctor {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

class BoostTest : public KindTest {
 protected:
  BoostTest() : KindTest(boost_kind()) {}

  static std::string unit(const std::string& id, const std::string& label, const std::string& in = "tu1",
                          bool enabled = true) {
    return id + "[shape=Mrecord,fontname=Helvetica,color=" + (enabled ? "green" : "yellow") + ",label=\"" +
           label + "\"];\n" + in + " -> " + id + ";\n";
  }
  Suite listing(const std::string& units) {
    const std::string graph =
        "digraph G "
        "{rankdir=LR;\ntu1[shape=ellipse,peripheries=2,fontname=Helvetica,color=green,label=\"m\"];\n{\n";
    return suite({scratch_.write_script(
        "program", "cat " + scratch_.write("dot", "a banner\n" + graph + units + "}\n}\nbye\n"))});
  }
  static std::string chosen(const Case& test) {
    for (const std::string& word : test.argv)
      if (word.starts_with("--run_test=")) return word;
    return {};
  }
};

TEST_F(BoostTest, NamesAndLabelsIncludeSuites) {
  const auto cases = list(listing(unit("tu65536", "first|a.cc(3)|timeout=1|expected failures=2|labels: @x") +
                                  unit("tu2", "s|a.cc(4)|labels: @y") + "{\n" +
                                  unit("tu65537", "t<a|b>|a(1).cc(5)|labels: @z", "tu2", false) + "}\n"));
  ASSERT_TRUE(cases) << cases.error().what;
  ASSERT_EQ(cases->size(), 2u);
  EXPECT_EQ(cases->at(0).id, "s/first");
  EXPECT_EQ(cases->at(0).classname, "s");
  EXPECT_THAT(cases->at(0).tags, ElementsAre("x"));
  EXPECT_EQ(cases->at(0).expected_failures, 2);
  EXPECT_EQ(cases->at(1).id, "s/s/t<a|b>");
  EXPECT_EQ(cases->at(1).name, "t<a|b>");
  EXPECT_EQ(cases->at(1).classname, "s");
  EXPECT_THAT(cases->at(1).tags, ElementsAre("y", "z"));
  EXPECT_TRUE(cases->at(1).disabled);
  EXPECT_EQ(cases->at(1).expected_failures, 0);
  EXPECT_EQ(chosen(cases->at(1)), "--run_test=s/t<a|b>");
}

TEST_F(BoostTest, CommandOfCaseIncludesPrerequisites) {
  const std::string dotted = "[color=red,style=dotted,constraint=false];\n";
  const auto cases = list(listing(unit("tu65536", "a|f(1)") + unit("tu65537", "b|f(1)") + "tu65537 -> tu2" +
                                  dotted + unit("tu2", "s|f(1)") + "{\n" + unit("tu65538", "c|f(1)", "tu2") +
                                  unit("tu65539", "d|f(1)", "tu2") + "tu65539 -> tu65536" + dotted + "}\n"));
  ASSERT_TRUE(cases) << cases.error().what;
  ASSERT_EQ(cases->size(), 4u);
  EXPECT_EQ(chosen(cases->at(0)), "--run_test=a");
  EXPECT_EQ(chosen(cases->at(1)), "--run_test=a:s:b") << "the suite, and what a member of it needs";
  EXPECT_EQ(chosen(cases->at(2)), "--run_test=s/c");
  EXPECT_EQ(chosen(cases->at(3)), "--run_test=a:s/d");
}

TEST_F(BoostTest, ProctorOptionsPrecedeProgramArguments) {
  Suite made = listing(unit("tu65536", "a|f(1)"));
  for (const char* word :
       {"--log_le=all", "-f", "HRF", "--random=1", "--catch_system_errors", "--", "--log_sink=own"})
    made.command.emplace_back(word);
  const auto cases = list(made);
  ASSERT_TRUE(cases) << cases.error().what;
  EXPECT_THAT(boost_kind().with_output(cases->at(0).argv, "/f"),
              ElementsAre(made.command[0], "--random=1", "--catch_system_errors=no", "--result_code=yes",
                          "--color_output=no", "--log_format=XML", "--log_level=test_suite", "--run_test=a",
                          "--log_sink=/f", "--", "--log_sink=own"));
}

TEST_F(BoostTest, RejectsCasesThatCannotRunAlone) {
  EXPECT_THAT(refusal(listing(unit("tu65536", "a*|f(1)"))), HasSubstr("cannot be run alone: `a*`"));
  EXPECT_THAT(refusal(listing(unit("tu65536", "a|f(1)") + unit("tu65537", "a|f(1)"))),
              HasSubstr("two cases have the id s/a"));
  EXPECT_THAT(refusal(listing("")), HasSubstr("listed no case"));
  EXPECT_THAT(refusal(suite({"/bin/echo", "hello"})), HasSubstr("did not print a Boost.Test test list"));
  for (const std::vector<std::string>& filter :
       std::vector<std::vector<std::string>>{{"--run_test=a"}, {"--run=a"}, {"-t", "a"}}) {
    Suite chosen = listing(unit("tu65536", "a|f(1)"));
    chosen.command.insert(chosen.command.end(), filter.begin(), filter.end());
    EXPECT_THAT(refusal(chosen), HasSubstr("select them with --filter")) << filter[0];
  }
}

TEST_F(BoostTest, RejectsListWithUnknownLine) {
  const std::string good = unit("tu65536", "a|f(1)");
  const std::string number = "tu65537[shape=Mrecord,fontname=Helvetica,color=green,label=\"";
  for (const std::string name : {"b\nc", "b\n}\n}", "b\n}\n}\nx", "b|f(1)\"];\ntu1 -> tu65537;\n}\n}\nc",
                                 "b|f(1)\"];\ntu1 -> tu65537;\ntu65537[,label=\"c",
                                 "b|f(1)\"];\ntu1 -> tu65537;\ntu7[,label=\"c", "b\n\nc"}) {
    const std::string units = good + number + name + "|f(2)\"];\ntu1 -> tu65537;\n";
    EXPECT_THAT(refusal(listing(units)), HasSubstr("a line that no list of Boost.Test has: line ")) << name;
  }
  for (const char* line : {"some words", "tu65536 -> tu1;", "tu9 -> tu1[color=red];", "{\n{"})
    EXPECT_THAT(refusal(listing(good + line + "\n")), HasSubstr("no list of Boost.Test has")) << line;
  EXPECT_THAT(refusal(listing(good + "tu65536 -> tu9[color=red];\n")), HasSubstr("not in its list: `a`"));
  EXPECT_THAT(refusal(suite({"/bin/echo", "digraph G {rankdir=LR;"})), HasSubstr("without its end"));
}

TEST_F(BoostTest, NamesMayContainListMarkers) {
  const auto cases = list(listing(unit("tu65536", "a|expected failures=9|f(1)") +
                                  unit("tu65537", "b|timeout=x|f(1)|labels: @c")));
  ASSERT_TRUE(cases) << cases.error().what;
  EXPECT_EQ(cases->at(0).name, "a|expected failures=9");
  EXPECT_EQ(cases->at(0).expected_failures, 0);
  EXPECT_EQ(cases->at(1).name, "b|timeout=x");
  EXPECT_THAT(cases->at(1).tags, ElementsAre("c"));
  EXPECT_THAT(refusal(listing(unit("tu65536", "b|labels: x|f(1)|labels: @c"))),
              HasSubstr("cannot be run alone: `b|labels: x`"));
}

// The main() of a program may ignore the result of unit_test_main().
TEST_F(BoostTest, ExpectsOnlyDeclaredNumberOfFailures) {
  const auto verdict = [&](int declared, const std::string& elements, int code) {
    Case test;
    test.id = "s/a";
    test.expected_failures = declared;
    const auto report = said(test, "<TestLog><TestSuite name=\"m\"><TestCase name=\"a\">" + elements +
                                       "</TestCase></TestSuite></TestLog>");
    return to_string(boost_kind().judge({.child = report, .exit_code = code}));
  };
  const std::string error = "<Error file=\"f\" line=\"1\">no</Error>";
  EXPECT_EQ(verdict(0, error, 0), "error(result_mismatch)");
  EXPECT_EQ(verdict(0, error, 201), "fail");
  EXPECT_EQ(verdict(2, error, 0), "xfail(expected_failures)");
  EXPECT_EQ(verdict(2, error + error, 0), "xfail(expected_failures)");
  EXPECT_EQ(verdict(2, error + error + error, 0), "error(result_mismatch)");
  EXPECT_EQ(verdict(2, error + error + error, 200), "fail");
  EXPECT_EQ(verdict(2, "<FatalError file=\"f\" line=\"1\">no</FatalError>", 200), "fail");
  EXPECT_EQ(verdict(2, "<FatalError file=\"f\" line=\"1\">no</FatalError>", 0), "error(result_mismatch)");
  EXPECT_EQ(verdict(2, "<Exception>no</Exception>", 0), "error(result_mismatch)");
  EXPECT_EQ(verdict(2, error, 3), "fail(exit:3)");
  EXPECT_EQ(verdict(2, "", 0), "pass");
  EXPECT_EQ(verdict(-1, error, 0), "error(result_mismatch)");
}

TEST_F(BoostTest, DetectsTestsThatWereNotRequested) {
  Case test;
  test.id = "s/b";
  test.argv = {"x", "--run_test=a:b"};
  const std::string ran =
      "<TestLog><TestSuite name=\"m\"><TestCase name=\"a\"/><TestCase name=\"b\"/></TestSuite></TestLog>";
  const auto verdict = [&](const std::string& text) {
    const auto report = said(test, text);
    return to_string(boost_kind().judge({.child = report}));
  };
  EXPECT_EQ(verdict(ran), "pass");
  test.argv = {"x", "--run_test=b"};
  EXPECT_EQ(verdict(ran), "error(result_mismatch)");
  EXPECT_EQ(verdict("<TestLog></TestLog>"), "error(no_result)");
  EXPECT_EQ(verdict("<TestLog><TestSuite>"), "error(no_result)");
}

// ---- a real program ----

TEST_F(BoostTest, EachListedTestRunsAloneWithVerdict) {
  auto cases = list(suite({PLAN_SAMPLE_BOOST}));
  ASSERT_TRUE(cases) << cases.error().what;
  std::erase_if(*cases, [](const Case& test) { return framework_id(test).starts_with("bad/"); });
  auto reports = expect_verdicts(
      *cases, {{"fails_at_a_place", "fail"},
               {"throws", "fail"},
               {"says_fail", "fail"},
               {"is_disabled", "disabled"},
               {"has_a_condition", "skip(precondition failed: no such device)"},
               {"expects_two_failures", "xfail(expected_failures)"},
               {"expects_one_of_two", "fail"},
               {"math/data/_1", "fail"},
               {"chain/of_a_failure", "skip(dependency test case \"fails_at_a_place\" has failed)"},
               {"chain/of_a_suite", "fail"}});
  EXPECT_EQ(reports.size(), 24u);
  EXPECT_TRUE(reports.contains("math/templates<unsigned char>"));

  const Failure failure = reports["fails_at_a_place"].failures().at(0);
  EXPECT_THAT(failure.file, testing::EndsWith("sample_boost.cc"));
  EXPECT_GT(failure.line, 0);
  EXPECT_EQ(failure.message, "check 1 + 1 == 3 has failed [1 + 1 != 3]\nwhile adding");
  EXPECT_THAT(reports["throws"].failures().at(0).message, HasSubstr("broken <&> \"here\" ]]>"));
  EXPECT_EQ(reports["chain/of_a_suite"].failures().size(), 1u) << "not those of what it needs";
}

TEST_F(BoostTest, FailingGlobalFixtureFailsEveryCase) {
  for (const std::string mode : {"setup", "teardown"}) {
    Suite made = suite({"/usr/bin/env", "SAMPLE_FIXTURE=" + mode, PLAN_SAMPLE_BOOST});
    const auto cases = list(made);
    ASSERT_TRUE(cases) << cases.error().what;
    ChildReport report;
    EXPECT_EQ(to_string(run(cases->at(0), report)), "fail") << mode;
    EXPECT_THAT(report.failures().at(0).message,
                HasSubstr(mode == "setup" ? "no device for any" : "something is left"));
  }
}

TEST_F(BoostTest, DroppedExitCodeHidesNoFailure) {
  const auto cases = list(suite({"/usr/bin/env", "SAMPLE_FIXTURE=drop_code", PLAN_SAMPLE_BOOST}));
  ASSERT_TRUE(cases) << cases.error().what;
  const std::map<std::string, std::string> expected{{"fails_at_a_place", "error(result_mismatch)"},
                                                    {"throws", "error(result_mismatch)"},
                                                    {"expects_two_failures", "xfail(expected_failures)"},
                                                    {"expects_one_of_two", "error(result_mismatch)"}};
  std::size_t found = 0;
  for (const Case& test : *cases) {
    const auto verdict = expected.find(std::string(framework_id(test)));
    if (verdict == expected.end()) continue;
    ChildReport report;
    EXPECT_EQ(to_string(run(test, report)), verdict->second) << test.id;
    ++found;
  }
  EXPECT_EQ(found, expected.size());
}

}  // namespace
}  // namespace proctor
