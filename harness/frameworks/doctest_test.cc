#include "harness/frameworks/doctest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "harness/frameworks/kind_fixture.h"

namespace proctor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class DoctestTest : public KindTest {
 protected:
  DoctestTest() : KindTest(doctest_kind()) {}

  Suite listing(const std::string& tests) {
    return suite({scratch_.write_script(
        "program",
        "cat " + scratch_.write("xml", "banner\n<?xml version=\"1.0\"?>\n<doctest binary=\"x\">\n" + tests +
                                           "</doctest>\nbye <now>\n"))});
  }
  static std::string test_element(const std::string& name, const std::string& of_suite = "") {
    return "<TestCase name=\"" + name + "\"" + (of_suite.empty() ? "" : " testsuite=\"" + of_suite + "\"") +
           " skipped=\"false\"/>\n";
  }
};

TEST_F(DoctestTest, NamesAndTagsIncludeTestSuite) {
  const auto cases = list(listing(test_element("  Scenario: a, b\\c") + test_element("two", "math")));
  ASSERT_TRUE(cases) << cases.error().what;
  EXPECT_EQ(cases->at(0).id, "s/Scenario: a, b\\c");
  EXPECT_EQ(cases->at(0).argv.back(), "-tc=  Scenario: a\\, b\\\\c");
  EXPECT_EQ(cases->at(1).id, "s/math/two");
  EXPECT_EQ(cases->at(1).classname, "math");
  EXPECT_THAT(cases->at(1).tags, ElementsAre("math"));
  EXPECT_THAT(cases->at(1).argv, testing::IsSupersetOf({"-ts=math", "-tc=two"}));
}

TEST_F(DoctestTest, CommandReplacesFiltersAndReporter) {
  Suite made = listing(test_element("x"));
  for (const char* word :
       {"--test-case=m*", "-ts=m", "--dt-reporters=junit", "-o=f", "-nc", "--abort-after=1", "own"})
    made.command.emplace_back(word);
  const auto cases = list(made);
  ASSERT_TRUE(cases) << cases.error().what;
  EXPECT_THAT(cases->at(0).argv, ElementsAre(made.command[0], "--abort-after=1", "own", "-r=xml", "-nss=true",
                                             "-nc=false", "-cs=true", "-ns=true", "-tc=x"));
  EXPECT_THAT(doctest_kind().list_command(made),
              testing::IsSupersetOf({"--test-case=m*", "-ts=m", "--list-test-cases"}));
}

TEST_F(DoctestTest, RejectsNamesThatFilterCannotDistinguish) {
  const std::string twice = test_element("x", "a") + test_element("x", "b");
  EXPECT_EQ(refusal(listing(twice)), "accepted");
  Suite together = listing(twice);
  together.process = "suite";
  EXPECT_EQ(refusal(together), "accepted");
  EXPECT_EQ(refusal(listing(test_element("x") + test_element("x", "b"))), "accepted");
  EXPECT_THAT(refusal(listing(test_element("x*") + test_element("xy"))), HasSubstr("would run `xy` too"));
  EXPECT_EQ(refusal(listing(test_element("push") + test_element("vector/push"))), "accepted");
  EXPECT_THAT(refusal(listing("<TestCase name=\"x\"/>")), HasSubstr("build it with 2.4.7 or later"));
  EXPECT_THAT(refusal(listing("")), HasSubstr("listed no case"));
  EXPECT_THAT(refusal(suite({"/bin/echo", "hello"})), HasSubstr("did not print a doctest test list"));
}

TEST_F(DoctestTest, SelectsEqualNamesBySuite) {
  Suite made = listing(test_element("x") + test_element("x", "b") + test_element("y"));
  made.process = "suite";
  const auto cases = list(made);
  ASSERT_TRUE(cases) << cases.error().what;
  EXPECT_THAT(cases->at(0).argv, testing::IsSupersetOf({"-tse=?*", "-tc=x"}));
  EXPECT_THAT(cases->at(1).argv, testing::IsSupersetOf({"-ts=b", "-tc=x"}));
  EXPECT_EQ(cases->at(0).group, "");
  EXPECT_EQ(cases->at(1).group, "");
  EXPECT_NE(cases->at(2).group, "");
}

std::string doctest_result(const std::string& name, const std::string& success) {
  return "<TestCase name=\"" + name + "\"><OverallResultsAsserts test_case_success=\"" + success +
         "\"/></TestCase>\n";
}

// The example program of doctest has two pairs of tests with equal names.
TEST_F(DoctestTest, MergesEqualNames) {
  Suite made = listing(test_element("x") + test_element("a, b") + test_element("x"));
  made.process = "suite";
  std::vector<Warning> warnings;
  const auto cases = discover(made, 0, {.run = testing_support::run_listing}, std::nullopt, warnings);
  ASSERT_TRUE(cases) << cases.error().what;
  ASSERT_EQ(cases->size(), 2u);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0].text, HasSubstr("2 tests have the name `x`"));
  EXPECT_EQ(cases->at(0).group, "");
  EXPECT_EQ(cases->at(0).argv.back(), "-tc=x,x");
  EXPECT_EQ(cases->at(1).argv.back(), "-tc=a\\, b");
  const auto said = [&](const std::string& xml) { return KindTest::said(cases->at(0), xml); };
  EXPECT_EQ(said(doctest_result("x", "true") + doctest_result("x", "true")).result(), ChildResult::kPass);
  EXPECT_EQ(said(doctest_result("x", "false") + doctest_result("x", "true")).result(), ChildResult::kFail);
  EXPECT_EQ(said(doctest_result("x", "true") + doctest_result("x", "false")).result(), ChildResult::kFail);
  EXPECT_EQ(said(doctest_result("x", "true")).result(), std::nullopt) << "the second one did not end";
  EXPECT_EQ(said(doctest_result("x", "true") + doctest_result("x", "true") + doctest_result("x", "true"))
                .also_ran(),
            "x");
  const auto none = said("<OverallResultsAsserts successes=\"0\"/>\n<OverallResultsTestCases/>\n");
  EXPECT_EQ(none.result(), ChildResult::kError);
  EXPECT_EQ(none.failures().at(0).message, "no test ran: the framework found none of this name");
}

TEST_F(DoctestTest, SplitsBatchesToFitArgumentLimit) {
  std::string tests;
  for (int i = 0; i < 3000; ++i)
    tests += test_element("a name of about sixty bytes that takes its room: " + std::to_string(10000 + i));
  Suite made = listing(tests);
  made.process = "suite";
  const auto cases = list(made);
  ASSERT_TRUE(cases) << cases.error().what;
  std::map<std::string, std::vector<const Case*>> groups;
  for (const Case& test : *cases) groups[test.group].push_back(&test);
  EXPECT_EQ(groups.size(), 2u);
  for (const auto& [name, group] : groups) {
    const auto command = doctest_kind().batch_command(group, "");
    EXPECT_LT(command.back().size(), 128u * 1024);
    EXPECT_EQ(std::count(command.back().begin(), command.back().end(), ','),
              static_cast<std::ptrdiff_t>(group.size()) - 1);
  }
}

// ---- the installed version of doctest ----

class RealDoctestTest : public DoctestTest {
 protected:
  void SetUp() override {
    if (std::string(PLAN_SAMPLE_DOCTEST).empty()) GTEST_SKIP() << "doctest is not installed";
  }
};

TEST_F(RealDoctestTest, EachListedTestRunsAloneWithVerdict) {
  const auto cases = list(suite({PLAN_SAMPLE_DOCTEST, "-tse=bad"}));
  ASSERT_TRUE(cases) << cases.error().what;
  auto reports = expect_verdicts(*cases, {{"fails at a place", "fail"},
                                          {"throws", "fail"},
                                          {"says fail", "fail"},
                                          {"subcases", "fail"},
                                          {"may fail", "xfail(may_fail)"},
                                          {"should fail", "xfail(should_fail)"},
                                          {"should fail and passes", "fail(should_fail)"},
                                          {"expects two failures", "xfail(expected_failures)"},
                                          {"is skipped", "disabled"}});
  EXPECT_EQ(reports.size(), 19u);

  const Failure failure = reports["fails at a place"].failures().at(0);
  EXPECT_THAT(failure.file, testing::EndsWith("sample_doctest.cc"));
  EXPECT_GT(failure.line, 0);
  EXPECT_EQ(failure.message, "CHECK( 1 + 1 == 3 )\nwith expansion: 2 == 3\nwhile adding");
  EXPECT_EQ(reports["throws"].failures().at(0).message, "unexpected exception: broken <&> \"here\"");
  EXPECT_EQ(reports["subcases"].last_step(), "second");
}

TEST_F(RealDoctestTest, TheFiltersOfTheCommandAreHonoured) {
  const auto cases = list(suite({PLAN_SAMPLE_DOCTEST, "-ts=math"}));
  ASSERT_TRUE(cases) << cases.error().what;
  EXPECT_EQ(cases->size(), 2u);
  const auto skipped = list(suite({PLAN_SAMPLE_DOCTEST, "-tc=is skipped", "--no-skip"}));
  ASSERT_TRUE(skipped) << skipped.error().what;
  EXPECT_FALSE(skipped->at(0).disabled);
}

}  // namespace
}  // namespace proctor
