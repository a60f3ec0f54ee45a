// oneCCL: the rules that the other checks test with the chosen library, but in few checks that each do much,
// because oneCCL needs 1 s to connect two ranks and 1.5 s for four, whatever they do then (docs/reference/oneccl.md).
#include <array>

#include "suites/collectives/rule.h"
#include "suites/collectives/world.h"
#include "suites/main/check.h"

namespace proctor::collectives {
namespace {

using suite::kGate;

constexpr const char* kSource = "oneCCL specification, Collective Operations; tests/functional";

// Of the operations that oneCCL's C interface has.
constexpr std::array kMoving{Operation::kAllGather, Operation::kBroadcast, Operation::kScatter,
                             Operation::kAllToAll, Operation::kAllToAllv};
constexpr std::array kReducing{Operation::kAllReduce, Operation::kReduce, Operation::kReduceScatter};
constexpr std::array kRooted{Operation::kBroadcast, Operation::kReduce, Operation::kScatter};
constexpr std::array kInPlace{Operation::kAllReduce, Operation::kAllGather,     Operation::kBroadcast,
                              Operation::kReduce,    Operation::kReduceScatter, Operation::kScatter};

constexpr std::array kReductionsOfAll{Reduction::kSum, Reduction::kProduct, Reduction::kMin, Reduction::kMax,
                                      Reduction::kAverage};

// How much each rank gives to an all_to_allv: the second nothing.
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

// Every type by every reduction; what the library does not have (average) is refused.
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

// Bit for bit.
PROCTOR_CHECK(OneCcl, EveryTypeArrivesUnchanged, "C07", kSource, kGate,
              .faults = {"collective.swapped_ranks:api=all_gather"}, .devices = devices_of_a_rank(),
              .ranks = 2) {
  World world("oneccl");
  for (const auto& type : type_names()) verify_each(world, kMoving, {.type = type_named(type), .count = 17});
}

// None, one, primes, around powers of two, by three ranks, which divide none of them
// evenly; each rank as the root.
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

// In place is out of place, bit for bit; buffers that begin off an aligned address, and elsewhere each round.
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

// One behind the other, none twice and none left out.
PROCTOR_CHECK(OneCcl, MessagesArriveInOrder, "C39", kSource, kGate,
              .faults = {"collective.duplicated_message"}, .devices = devices_of_a_rank(), .ranks = 2) {
  World world("oneccl");
  for (int number = 0; number < 20; ++number) {
    suite::step("given message " + std::to_string(number));
    const Bytes sent(4099, static_cast<std::byte>(number + 1));
    if (world.rank() == number / 10) {  // ten one way, then ten the other
      expect_ok("send", world.send(1 - world.rank(), sent));
    } else {
      Bytes got(sent.size());
      expect_ok("receive", world.receive(1 - world.rank(), got));
      expect_elements("message " + std::to_string(number), Type::kU8, sent, got);
    }
  }
}

// The same numbers give the same bits, on every rank, however often.
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
