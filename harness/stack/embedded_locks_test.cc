// What the program carries of docker/stacks is what is there.
#include "harness/stack/embedded_locks.h"

#include <gtest/gtest.h>

namespace proctor {
namespace {

TEST(EmbeddedLocks, AreThoseOfTheTree) {
  const std::string directory = std::string(PROCTOR_SOURCE_DIR) + "/docker/stacks";
  const auto names = stack_names(directory);
  ASSERT_TRUE(names);
  ASSERT_EQ(embedded_locks().size(), names->size())
      << "harness/stack/CMakeLists.txt and embedded_locks.cc name them";
  for (std::size_t i = 0; i < names->size(); ++i) {
    const auto lock = read_stack_lock(directory, (*names)[i]);
    ASSERT_TRUE(lock);
    EXPECT_EQ(embedded_locks()[i].name, lock->name);
    EXPECT_EQ(embedded_locks()[i].digest, lock->digest);
  }
}

}  // namespace
}  // namespace proctor
