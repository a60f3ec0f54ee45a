// Tests Gloo as a provider. Both ranks are threads of this process.
#include "suites/collectives/provider.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <thread>

#include "harness/base/temp_dir.h"
#include "suites/collectives/library.h"
#include "suites/main/skipped.h"

namespace proctor::collectives {
namespace {

class Gloo : public testing::Test {
 protected:
  void SetUp() override {
    try {
      provider_ = &load_provider("gloo");
    } catch (const suite::Skipped& skipped) {
      GTEST_SKIP() << skipped.reason();
    }
  }

  GroupSpec spec(int rank, const std::string& name = "group", int timeout_ms = 10'000) const {
    return {.rank = rank,
            .size = 2,
            .store = store_.string(),
            .name = name,
            .timeout = std::chrono::milliseconds(timeout_ms)};
  }

  // Each rank makes the group and calls `act` after all ranks are connected.
  void with_two_ranks(const std::function<void(int rank, Group&)>& act) {
    const auto live = [&](int rank) {
      std::unique_ptr<Group> group;
      const Answer answer = provider_->make_group(spec(rank), group);
      ASSERT_TRUE(answer.ok()) << answer.text;
      EXPECT_TRUE(group->run({.operation = Operation::kBarrier}).ok());
      act(rank, *group);
    };
    std::thread other(live, 1);
    live(0);
    other.join();
  }

  Provider* provider_ = nullptr;
  const TempDir store_;
};

TEST_F(Gloo, ReportsIdentity) {
  const Identity identity = provider_->identity();
  EXPECT_EQ(identity.name, "gloo");
  EXPECT_NE(identity.file.find("libgloo.so"), std::string::npos) << identity.file;
  EXPECT_GT(identity.number, 0);
  EXPECT_EQ(provider_->memory(), Memory::kHost);
}

TEST_F(Gloo, WorksBetweenTwoRanks) {
  with_two_ranks([](int rank, Group& group) {
    const float in = rank == 0 ? 1.5f : 2;
    float out = 0;
    EXPECT_TRUE(group.run({.operation = Operation::kAllReduce, .in = &in, .out = &out, .count = 1}).ok());
    EXPECT_EQ(out, 3.5f);
  });
}

TEST_F(Gloo, RejectsUnsupportedOperations) {
  EXPECT_FALSE(provider_->supports(Operation::kAllReduce, Type::kBf16, Reduction::kSum));
  EXPECT_FALSE(provider_->supports(Operation::kReduce, Type::kF32, Reduction::kAverage));
  EXPECT_TRUE(provider_->supports(Operation::kBroadcast, Type::kBf16, Reduction::kSum));
  with_two_ranks([](int, Group& group) {
    std::array<std::uint16_t, 1> number{};
    const Answer answer = group.run({.operation = Operation::kAllReduce,
                                     .type = Type::kBf16,
                                     .in = number.data(),
                                     .out = number.data(),
                                     .count = 1});
    EXPECT_EQ(answer.ended, Ended::kRefused);
    EXPECT_NE(answer.text.find("bf16"), std::string::npos) << answer.text;
  });
}

// The store has keys of an earlier run under the same name.
TEST_F(Gloo, RejectsKeysOfEarlierRun) {
  with_two_ranks([](int, Group&) {});
  std::unique_ptr<Group> group;
  const Answer answer = provider_->make_group(spec(0), group);
  EXPECT_EQ(answer.ended, Ended::kRefused) << answer.text;
  EXPECT_NE(answer.text.find("already exists"), std::string::npos) << answer.text;
  EXPECT_EQ(group, nullptr);
}

TEST_F(Gloo, TimesOutWhenRankIsMissing) {
  std::unique_ptr<Group> group;
  const Answer answer = provider_->make_group(spec(0, "alone", 100), group);
  EXPECT_EQ(answer.ended, Ended::kTimeout) << answer.text;
}

// Both ranks wait for each other, and neither sends.
TEST_F(Gloo, AppliesTimeoutSetAfterCreation) {
  with_two_ranks([](int rank, Group& group) {
    group.set_timeout(std::chrono::milliseconds(200));
    char none = 0;
    const Answer answer = group.run(
        {.operation = Operation::kReceive, .type = Type::kU8, .out = &none, .count = 1, .root = 1 - rank});
    EXPECT_TRUE(answer.ended == Ended::kTimeout || answer.ended == Ended::kPeerLost) << answer.text;
  });
}

TEST_F(Gloo, AbortedGroupRejectsOperations) {
  with_two_ranks([](int, Group& group) {
    EXPECT_TRUE(group.abort().ok());
    EXPECT_TRUE(group.abort().ok());
    EXPECT_EQ(group.run({.operation = Operation::kBarrier}).ended, Ended::kAborted);
  });
}

// Another thread ends an operation that already waits.
TEST_F(Gloo, AbortEndsPendingOperation) {
  std::array<Ended, 2> ended{Ended::kOk, Ended::kOk};
  with_two_ranks([&](int rank, Group& group) {
    if (rank == 1) {  // never sends; ends when the other rank ends
      char none = 0;
      ended[1] =
          group.run({.operation = Operation::kReceive, .type = Type::kU8, .out = &none, .count = 1}).ended;
      return;
    }
    std::thread aborts([&] { EXPECT_TRUE(group.abort().ok()); });
    char none = 0;
    ended[0] =
        group.run({.operation = Operation::kReceive, .type = Type::kU8, .out = &none, .count = 1, .root = 1})
            .ended;
    aborts.join();
  });
  EXPECT_EQ(ended[0], Ended::kAborted);
  EXPECT_EQ(ended[1], Ended::kPeerLost);
}

// A signal would end the process of an aborted group, because Gloo can still be writing.
TEST_F(Gloo, WriteToClosedPeerRaisesNoSignal) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  ::close(ends[0]);
  EXPECT_EQ(::write(ends[1], "", 1), -1);
  EXPECT_EQ(errno, EPIPE);
  ::close(ends[1]);
}

}  // namespace
}  // namespace proctor::collectives
