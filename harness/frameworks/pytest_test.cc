#include "harness/frameworks/pytest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace proctor {
namespace {

using testing::ElementsAre;
using testing::Pair;
using testing::UnorderedElementsAre;

TEST(PytestListTest, ReadsOneTest) {
  const auto test =
      parse_pytest_test(R"({"v":1,"event":"case","case":"t/test_a.py::C::f[fp16-128]","file":"t/test_a.py",)"
                        R"("classname":"t.test_a.C","name":"f[fp16-128]",)"
                        R"("markers":{"gpus":[2],"slow":[],"skipif":[null],"big":[99999999999]}})");
  ASSERT_TRUE(test) << test.error().what;
  EXPECT_EQ(test->nodeid, "t/test_a.py::C::f[fp16-128]");
  EXPECT_EQ(test->file, "t/test_a.py");
  EXPECT_EQ(test->classname, "t.test_a.C");
  EXPECT_EQ(test->name, "f[fp16-128]");
  EXPECT_THAT(test->markers, UnorderedElementsAre(Pair("gpus", 2), Pair("slow", std::nullopt),
                                                  Pair("skipif", std::nullopt), Pair("big", std::nullopt)));
}

TEST(PytestListTest, ReportsReasonForInvalidLine) {
  const auto wrong = [](const std::string& line) { return parse_pytest_test(line).error().what; };
  EXPECT_EQ(wrong("nonsense"), "is not an event of type \"case\", version 1");
  EXPECT_EQ(wrong("[1]"), "is not an event of type \"case\", version 1");
  EXPECT_EQ(wrong(R"({"v":2,"event":"case","case":"a","name":"a","markers":{}})"),
            "is not an event of type \"case\", version 1");
  EXPECT_EQ(wrong(R"({"v":1,"event":"fail","message":"a"})"), "is not an event of type \"case\", version 1");
  EXPECT_EQ(wrong(R"({"v":1,"event":"case","case":"a\u0001","name":"a","markers":{}})"),
            "has no readable name in \"case\"");
  EXPECT_EQ(wrong(R"({"v":1,"event":"case","case":"a","markers":{}})"), "has no \"name\"");
  EXPECT_EQ(wrong(R"({"v":1,"event":"case","case":"a","name":"a"})"), "has no object in \"markers\"");
}

TEST(PytestListTest, ReportsCollectionFailures) {
  const auto problem = [](std::vector<std::string> lines) {
    ListOutput out;
    out.event_lines = std::move(lines);
    std::string said;
    return pytest_kind().list_problem(out, said) + said;
  };
  EXPECT_EQ(problem({"nonsense", R"({"v":1,"event":"case","case":"a"})",
                     R"({"v":1,"event":"fail","message":": no module named x"})"}),
            "could not collect 1 test files: no module named x");
  EXPECT_EQ(problem({}), "");
}

TEST(PytestListTest, BatchCommandReplacesLastArgument) {
  Suite suite;
  suite.command = {"loader", "pytest", "t"};
  EXPECT_THAT(pytest_kind().list_command(suite),
              ElementsAre("loader", "pytest", "t", "-p", "proctor_pytest", "--proctor-list"));
  Case test;
  test.id = "s/t.py::f[\"]";
  test.argv = {"loader", "pytest", "t", "-p", "proctor_pytest", "--proctor-case=t.py::f"};
  EXPECT_THAT(pytest_kind().batch_command({&test}, "/f"),
              ElementsAre("loader", "pytest", "t", "-p", "proctor_pytest", "--proctor-cases=/f"));
  EXPECT_EQ(pytest_kind().batch_file({&test}), R"(["t.py::f[\"]"])");
}

}  // namespace
}  // namespace proctor
