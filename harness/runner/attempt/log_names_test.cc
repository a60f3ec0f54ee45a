#include "harness/runner/attempt/log_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace proctor {
namespace {

using testing::StartsWith;

LogNames names_of(const std::vector<std::string>& ids) {
  Plan plan;
  for (const std::string& id : ids) {
    plan.cases.emplace_back();
    plan.cases.back().id = id;
  }
  return LogNames(plan);
}

TEST(LogNames, AreReadable) {
  const std::vector<std::string> ids = {"memory.xpu/Copy.Odd", "tests/t/test_a.py::test_add[fp16-128]",
                                        "mine/In/Group.Name/0"};
  const LogNames names = names_of(ids);
  EXPECT_EQ(names.stem(ids[0]), "memory.xpu/Copy.Odd");
  EXPECT_EQ(names.stem(ids[1]), "tests/t-test_a.py-test_add-fp16-128");
  EXPECT_EQ(names.stem(ids[2]), "mine/In-Group.Name-0");
}

TEST(LogNames, AddHashOnlyToEqualNames) {
  const LogNames names = names_of({"s/a b", "s/a:b", "s/c"});
  EXPECT_THAT(names.stem("s/a b"), StartsWith("s/a-b-"));
  EXPECT_THAT(names.stem("s/a:b"), StartsWith("s/a-b-"));
  EXPECT_NE(names.stem("s/a b"), names.stem("s/a:b"));
  EXPECT_EQ(names.stem("s/c"), "s/c");
}

TEST(LogNames, AreUniqueDespiteHashLikeIds) {
  const std::string first = names_of({"s/a b", "s/a-b"}).stem("s/a b");
  const std::string second = names_of({"s/a b", "s/a-b"}).stem("s/a-b");
  const std::vector<std::string> ids = {"s/a b", "s/a-b", first, second, first + "-2", "s/" + first};
  for (const bool backwards : {false, true}) {
    const auto names = names_of(backwards ? std::vector(ids.rbegin(), ids.rend()) : ids);
    std::set<std::string> stems;
    for (const std::string& id : ids) EXPECT_TRUE(stems.insert(names.stem(id)).second) << names.stem(id);
  }
}

TEST(LogNames, StayInsideLogDirectory) {
  const LogNames names = names_of({"../../etc/passwd", "s/../../x", "s/.hidden", "s/-rf", "s/\xff\n/"});
  EXPECT_EQ(names.stem("../../etc/passwd"), "_./_.-etc-passwd");
  EXPECT_EQ(names.stem("s/../../x"), "s/_.-..-x");
  EXPECT_EQ(names.stem("s/.hidden"), "s/_hidden");
  EXPECT_EQ(names.stem("s/-rf"), "s/rf");
  EXPECT_EQ(names.stem("s/\xff\n/"), "s/case");
}

TEST(LogNames, LimitNameLength) {
  const std::string one = "s/" + std::string(300, 'x') + "1";
  const std::string other = "s/" + std::string(300, 'x') + "2";
  const LogNames names = names_of({one, other});
  EXPECT_NE(names.stem(one), names.stem(other));
  EXPECT_LE(names.stem(one).size(), 160u);
}

}  // namespace
}  // namespace proctor
