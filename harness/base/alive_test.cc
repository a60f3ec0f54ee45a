#include "harness/base/alive.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>

namespace proctor {
namespace {

TEST(Alive, IgnoresCallbackAfterOwnerIsDestroyed) {
  int calls = 0;
  auto alive = std::make_optional<Alive>();
  const std::function<void(int)> add = alive->guard([&](int value) { calls += value; });
  add(2);
  alive.reset();
  add(40);
  EXPECT_EQ(calls, 2);
}

TEST(Alive, RenewInvalidatesEarlierCallbacksOnly) {
  int calls = 0;
  Alive alive;
  const std::function<void()> before = alive.guard([&] { ++calls; });
  alive.renew();
  const std::function<void()> after = alive.guard([&] { calls += 10; });
  before();
  after();
  EXPECT_EQ(calls, 10);
  alive.end();
  after();
  alive.guard([&] { ++calls; })();
  EXPECT_EQ(calls, 10);
}

TEST(Alive, CallbackMayDestroyOwner) {
  auto alive = std::make_unique<Alive>();
  int calls = 0;
  const std::function<void()> last = alive->guard([&] {
    ++calls;
    alive.reset();
  });
  last();
  last();
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace proctor
