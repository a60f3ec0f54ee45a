#include "suites/collectives/rule.h"

#include <gtest/gtest.h>

#include <cmath>

namespace proctor::collectives {
namespace {

std::vector<double> numbers(Type type, const Bytes& bytes) {
  std::vector<double> result;
  for (std::size_t at = 0; at < bytes.size(); at += bytes_of(type))
    result.push_back(real_of(type, &bytes[at]));
  return result;
}

// Returns the largest number up to which the type represents every integer.
double exact_up_to(Type type) { return std::ldexp(1.0, facts_of(type).digits); }

TEST(Rule, NumbersDifferByRankAndByRound) {
  for (const auto& facts : kTypes) {
    const Type type = type_named(facts.name);
    for (int round = 0; round < 8; ++round) {
      for (int rank = 0; rank < 4; ++rank) {
        for (std::size_t i = 0; i < 50; ++i) {
          const auto here = element({.type = type, .round = round}, rank, 4, i);
          EXPECT_NE(here, element({.type = type, .round = round + 1}, rank, 4, i)) << facts.name;
          EXPECT_NE(here, element({.type = type, .round = round}, (rank + 1) % 4, 4, i)) << facts.name;
          EXPECT_NE(here, element({.type = type, .round = round}, rank, 4, i + 1)) << facts.name;
        }
      }
    }
  }
}

// In any order, no partial result exceeds the exact range of the type. Each round has a different result.
TEST(Rule, ReductionsAreExactAndDifferByRound) {
  for (const auto& facts : kTypes) {
    const Type type = type_named(facts.name);
    for (const Reduction reduction : {Reduction::kSum, Reduction::kProduct, Reduction::kAverage}) {
      for (int size = 2; size <= 4; ++size) {
        for (std::size_t i = 0; i < 100; ++i) {
          double reach = reduction == Reduction::kProduct ? 1 : 0;
          const Exercise exercise{.type = type, .reduction = reduction, .count = 1};
          for (int rank = 0; rank < size; ++rank) {
            const double value = std::abs(static_cast<double>(element(exercise, rank, size, i)));
            reach = reduction == Reduction::kProduct ? reach * value : reach + value;
          }
          EXPECT_LE(reach, exact_up_to(type)) << facts.name << " " << to_string(reduction) << " of " << size;
        }
        if (reduction == Reduction::kAverage) continue;
        const Exercise first{.type = type, .reduction = reduction, .count = 4};
        Exercise second = first;
        second.round = 1;
        EXPECT_NE(expected(first, 0, size), expected(second, 0, size)) << facts.name << " " << size;
      }
    }
  }
}

// The expected values are computed by hand from the input of each rank.
TEST(Rule, MatchesResultsComputedByHand) {
  const auto inputs_of = [](Operation operation, int rank, std::vector<std::size_t> counts = {}) {
    return numbers(
        Type::kI32,
        input_of({.operation = operation, .count = 2, .root = 1, .counts = std::move(counts)}, rank, 3));
  };
  const auto got_by = [](Operation operation, int rank, std::vector<std::size_t> counts = {}) {
    return numbers(
        Type::kI32,
        expected({.operation = operation, .count = 2, .root = 1, .counts = std::move(counts)}, rank, 3));
  };
  const auto one = inputs_of(Operation::kAllReduce, 0), two = inputs_of(Operation::kAllReduce, 1),
             three = inputs_of(Operation::kAllReduce, 2);
  EXPECT_EQ(got_by(Operation::kAllReduce, 2),
            (std::vector{one[0] + two[0] + three[0], one[1] + two[1] + three[1]}));
  EXPECT_EQ(got_by(Operation::kReduce, 1), got_by(Operation::kAllReduce, 0));
  EXPECT_TRUE(got_by(Operation::kReduce, 0).empty());
  EXPECT_EQ(got_by(Operation::kBroadcast, 2), two);
  EXPECT_TRUE(inputs_of(Operation::kBroadcast, 2).empty());
  EXPECT_EQ(got_by(Operation::kAllGather, 0),
            (std::vector{one[0], one[1], two[0], two[1], three[0], three[1]}));
  EXPECT_EQ(got_by(Operation::kGather, 1), got_by(Operation::kAllGather, 0));

  const auto parts = inputs_of(Operation::kScatter, 1);
  EXPECT_EQ(got_by(Operation::kScatter, 2), (std::vector{parts[4], parts[5]}));
  const auto a = inputs_of(Operation::kAllToAll, 0), b = inputs_of(Operation::kAllToAll, 1),
             c = inputs_of(Operation::kAllToAll, 2);
  EXPECT_EQ(got_by(Operation::kAllToAll, 1), (std::vector{a[2], a[3], b[2], b[3], c[2], c[3]}));
  EXPECT_EQ(got_by(Operation::kReduceScatter, 1), (std::vector{a[2] + b[2] + c[2], a[3] + b[3] + c[3]}));

  // Ranks 0, 1 and 2 send 1, 0 and 2 elements to rank 0: the first elements of their input.
  const std::vector<std::size_t> counts{1, 0, 2};
  const auto x = inputs_of(Operation::kAllToAllv, 0, counts), z = inputs_of(Operation::kAllToAllv, 2, counts);
  EXPECT_EQ(got_by(Operation::kAllToAllv, 0, counts), (std::vector{x[0], z[0], z[1]}));
  EXPECT_EQ(got_by(Operation::kAllGatherv, 1, counts).size(), 3u);
}

TEST(Numbers, SurvivePutAndRead) {
  std::byte at[8];
  for (const auto& facts : kTypes) {
    const Type type = type_named(facts.name);
    put(type, at, 100);
    EXPECT_EQ(real_of(type, at), 100) << facts.name;
    EXPECT_EQ(text_of(type, at), "100") << facts.name;
  }
  put(Type::kU8, at, 256 + 7);
  EXPECT_EQ(real_of(Type::kU8, at), 7);
  put_real(Type::kBf16, at, 1.0 / 3);
  EXPECT_EQ(real_of(Type::kBf16, at), 0.333984375);
}

// A write before or after the memory is detected. Writes between belong to the operation.
TEST(Frame, DetectsWritesBeforeAndAfterMemory) {
  for (const std::ptrdiff_t at : {std::ptrdiff_t{-1}, std::ptrdiff_t{10}}) {
    MemorySpace space;
    Frame frame(10, 3);
    frame.lend(space, Memory::kHost);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(frame.address()) % 64, 3u);
    frame.address()[0] = frame.address()[9] = std::byte{1};
    frame.take_back();
    EXPECT_TRUE(frame.margins_are_untouched());
    frame.lend(space, Memory::kHost);
    frame.address()[at] = std::byte{1};
    frame.take_back();
    EXPECT_FALSE(frame.margins_are_untouched()) << at;
  }
}

TEST(Frame, InPlaceBufferIsPartOfRank) {
  const Exercise gather{.operation = Operation::kAllGather, .type = Type::kU8, .count = 4, .in_place = true};
  MemorySpace space;
  Frames gathered(gather, 2, 12, Bytes(4, std::byte{7}));
  gathered.lend(space, Memory::kHost);
  EXPECT_EQ(gathered.in(), gathered.out() + 8);
  EXPECT_EQ(gathered.result()[8], std::byte{7});

  const Exercise scatter{
      .operation = Operation::kReduceScatter, .type = Type::kU8, .count = 4, .in_place = true};
  Frames scattered(scatter, 1, 4, Bytes(12, std::byte{7}));
  scattered.lend(space, Memory::kHost);
  EXPECT_EQ(scattered.out(), scattered.in() + 4);

  const Exercise apart{.operation = Operation::kAllReduce, .type = Type::kU8, .count = 4};
  Frames both(apart, 0, 4, Bytes(4, std::byte{7}));
  both.lend(space, Memory::kHost);
  EXPECT_NE(both.in(), both.out());
}

}  // namespace
}  // namespace proctor::collectives
