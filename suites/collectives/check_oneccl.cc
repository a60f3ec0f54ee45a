// Checks of oneCCL. The rules are those that other checks test with the chosen library. Here a few checks
// cover many cases each, because oneCCL needs 1 s to connect two ranks and 1.5 s for four, whatever they do
// afterwards (docs/reference/oneccl.md).
#include <array>

#include "suites/collectives/rule.h"
#include "suites/collectives/world.h"
#include "suites/main/check.h"

namespace proctor::collectives {
namespace {

using suite::kGate;

constexpr const char* kSource = "oneCCL specification, Collective Operations; tests/functional";

// The operations of oneCCL's C interface, by group.
constexpr std::array kMoving{Operation::kAllGather, Operation::kBroadcast, Operation::kScatter,
                             Operation::kAllToAll, Operation::kAllToAllv};
constexpr std::array kReducing{Operation::kAllReduce, Operation::kReduce, Operation::kReduceScatter};
constexpr std::array kRooted{Operation::kBroadcast, Operation::kReduce, Operation::kScatter};
constexpr std::array kInPlace{Operation::kAllReduce, Operation::kAllGather,     Operation::kBroadcast,
                              Operation::kReduce,    Operation::kReduceScatter, Operation::kScatter};

constexpr std::array kReductionsOfAll{Reduction::kSum, Reduction::kProduct, Reduction::kMin, Reduction::kMax,
                                      Reduction::kAverage};

// Returns how many elements each rank passes to an all_to_allv. The second rank passes none.
std::vector<std::size_t> uneven_counts(Operation operation, int size, std::size_t count) {
  if (operation != Operation::kAllToAllv) return {};
  std::vector<std::size_t> counts(static_cast<std::size_t>(size), count);
  if (size > 1) counts[1] = 0;
  return counts;
}

template <typename Operations>
void verify_each(World& world, const Operations& operations, Exercise exercise) {
  for (const Operation operation : operations) {
    exercise.operation = operation;
    exercise.counts = uneven_counts(operation, world.size(), exercise.count);
    world.verify(exercise);
  }
}

}  // namespace

// Tests every type with every reduction. A reduction that the library lacks (average) must be refused.
PROCTOR_CHECK(OneCcl, EveryTypeAndReductionIsExact, "C06", kSource, kGate,
              .faults = {"collective.dropped_contribution:api=reduce*"}, .devices = devices_of_a_rank(),
              .ranks = 2) {
  World world("oneccl");
  for (const auto& type : type_names()) {
    for (const Reduction reduction : kReductionsOfAll) {
      verify_each(world, kReducing, {.type = type_named(type), .reduction = reduction, .count = 257});
    }
  }
}

// Compares the bytes.
PROCTOR_CHECK(OneCcl, EveryTypeArrivesUnchanged, "C07", kSource, kGate,
              .faults = {"collective.swapped_ranks:api=all_gather"}, .devices = devices_of_a_rank(),
              .ranks = 2) {
  World world("oneccl");
  for (const auto& type : type_names()) verify_each(world, kMoving, {.type = type_named(type), .count = 17});
}

// The counts are zero, one, primes, and numbers around powers of two. They are not multiples of the three
// ranks. Each rank is the root once.
PROCTOR_CHECK(OneCcl, EveryCountAndRootIsExact, "C09", kSource, kGate,
              .faults = {"collective.truncated_message:api=broadcast", "collective.wrong_root:api=scatter"},
              .devices = devices_of_a_rank(), .ranks = 3) {
  World world("oneccl");
  for (const std::size_t count : kCounts) {
    verify_each(world, kReducing, {.count = count});
    verify_each(world, kMoving, {.count = count});
  }
  for (const std::size_t count : std::initializer_list<std::size_t>{65535, 65536})
    world.verify({.type = Type::kF32, .count = count});
  for (int root = 1; root < world.size(); ++root) verify_each(world, kRooted, {.count = 50, .root = root});
}

// In-place results must have the same bits as out-of-place results. Buffers begin at unaligned addresses,
// which change in each round.
PROCTOR_CHECK(OneCcl, InPlaceUnalignedResultsAreExact, "C08", kSource, kGate,
              .faults = {"collective.return_previous_result:api=all_gather"}, .devices = devices_of_a_rank(),
              .ranks = 2) {
  World world("oneccl");
  for (int round = 0; round < 6; ++round) {
    verify_each(world, kInPlace,
                {.count = 61,
                 .round = round,
                 .in_place = round % 2 == 0,
                 .offset = static_cast<std::size_t>(round * 7 % 16)});
  }
}

// Each message must arrive once, in order.
PROCTOR_CHECK(OneCcl, MessagesArriveInOrder, "C39", kSource, kGate,
              .faults = {"collective.duplicated_message"}, .devices = devices_of_a_rank(), .ranks = 2) {
  World world("oneccl");
  for (int number = 0; number < 20; ++number) {
    suite::step("given message " + std::to_string(number));
    const Bytes sent(4099, static_cast<std::byte>(number + 1));
    if (world.rank() == number / 10) {  // ten messages in one direction, then ten in the other
      expect_ok("send", world.send(1 - world.rank(), sent));
    } else {
      Bytes got(sent.size());
      expect_ok("receive", world.receive(1 - world.rank(), got));
      expect_elements("message " + std::to_string(number), Type::kU8, sent, got);
    }
  }
}

// The same numbers must have a sum with the same bits, on every rank and in every repetition.
PROCTOR_CHECK(OneCcl, RepeatedSumIsBitIdentical, "C13", kSource, kGate,
              .faults = {"collective.wrong_rounding:api=all_reduce"}, .devices = devices_of_a_rank(),
              .ranks = 4) {
  World world("oneccl");
  Bytes first;
  for (int turn = 0; turn < 5; ++turn) {
    const Bytes sum = world.verify({.type = Type::kF32, .count = 1021});
    if (turn == 0) first = sum;
    expect_elements("the same sum again", Type::kF32, first, sum);
    world.expect_same_everywhere("the sum", sum);
  }
}

}  // namespace proctor::collectives
