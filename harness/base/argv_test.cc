#include "harness/base/argv.h"

#include <gmock/gmock.h>

namespace proctor {
namespace {

using testing::ElementsAre;

TEST(EnvironmentList, SetsAndUnsetsExactVariableName) {
  std::vector<std::string> environment = {"A=1", "AB=2", "A=3", "B=A=4"};
  set_variable(environment, "A", "5=6");
  EXPECT_THAT(environment, ElementsAre("AB=2", "B=A=4", "A=5=6"));
  unset_variable(environment, "B");
  unset_variable(environment, "C");
  EXPECT_THAT(environment, ElementsAre("AB=2", "A=5=6"));
}

}  // namespace
}  // namespace proctor
