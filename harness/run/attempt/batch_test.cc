#include "harness/run/attempt/batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace proctor {
namespace {

using testing::ElementsAre;

Suite suite_of(SuiteKind kind) {
  Suite suite;
  suite.kind = kind;
  return suite;
}

Case case_of(const std::string& id, const std::string& name, std::vector<std::string> argv) {
  Case test;
  test.id = id;
  test.name = name;
  test.argv = std::move(argv);
  return test;
}

TEST(Batch, AForeignFrameworkCallsItsCasesByItsOwnIds) {
  const Case test = case_of("s/Of/Group.Name/0", "Name/0", {});
  EXPECT_EQ(name_for_child(suite_of(SuiteKind::kGtest), test), "Of/Group.Name/0");
  EXPECT_EQ(name_for_child(suite_of(SuiteKind::kPytest), test), "Of/Group.Name/0");
  EXPECT_EQ(name_for_child(suite_of(SuiteKind::kProctor), test), "Name/0");
}

TEST(Batch, EachFrameworkIsToldInItsOwnWay) {
  const Case one = case_of("s/A.B", "B", {"./t", "--gtest_filter=A.B"});
  const Case two = case_of("s/A.C", "C", {"./t", "--gtest_filter=A.C"});
  const Suite gtest = suite_of(SuiteKind::kGtest);
  EXPECT_EQ(batch_file(gtest, {&one, &two}).substr(0, 24), "--gtest_filter=A.B:A.C\n-");
  EXPECT_THAT(batch_command(gtest, one, "/f"), ElementsAre("./t", "--gtest_flagfile=/f"));

  const Case py = case_of("s/t.py::f[\"]", "f", {"pytest", "-p", "proctor_pytest", "--proctor-case=t.py::f"});
  const Suite pytest = suite_of(SuiteKind::kPytest);
  EXPECT_EQ(batch_file(pytest, {&py}), R"(["t.py::f[\"]"])");
  EXPECT_THAT(batch_command(pytest, py, "/f"),
              ElementsAre("pytest", "-p", "proctor_pytest", "--proctor-cases=/f"));
}

}  // namespace
}  // namespace proctor
