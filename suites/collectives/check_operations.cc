// What all operations have in common: each over every type, count, place and root.
#include "suites/collectives/names.h"
#include "suites/collectives/world.h"
#include "suites/main/check.h"

namespace proctor::collectives {
namespace {

using suite::kGate;

Operation operation() { return operation_named(suite::parameter()); }

// How much each of `size` ranks gives where that is not the same for all: none of the second.
std::vector<std::size_t> uneven(int size, std::size_t count) {
  if (operation() != Operation::kAllGatherv && operation() != Operation::kAllToAllv) return {};
  std::vector<std::size_t> counts;
  for (int rank = 0; rank < size; ++rank) {
    counts.push_back(rank == 1 ? 0 : count + static_cast<std::size_t>(rank));
  }
  return counts;
}

std::vector<std::string> operations_in_place() {
  return {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "gather", "scatter"};
}

std::vector<std::string> rooted_operations() { return {"broadcast", "reduce", "gather", "scatter"}; }

}  // namespace

// Every operation moves every type, bit for bit; those that reduce, where the library does.
PROCTOR_CHECK_EACH(exercised_operation_names(), Operations, TakeEveryType, "C07", kNcclTests, kGate,
                   .faults = {"collective.swapped_ranks:api=all_gather",
                              "collective.dropped_contribution:api=reduce*"},
                   .devices = devices_of_a_rank(), .ranks = 4) {
  World world;
  for (const auto& type : type_names()) {
    world.verify({.operation = operation(),
                  .type = type_named(type),
                  .count = 17,
                  .counts = uneven(world.size(), 17)});
  }
}

// None, one, fewer than ranks, primes, around powers of two; three ranks, which divide none of them evenly.
PROCTOR_CHECK_EACH(exercised_operation_names(), Operations, TakeEveryCount, "C09", kGlooTests, kGate,
                   .faults = {"collective.truncated_message:api=broadcast"}, .devices = devices_of_a_rank(),
                   .ranks = 3) {
  World world;
  for (const std::size_t count : kCounts) {
    world.verify({.operation = operation(), .count = count, .counts = uneven(world.size(), count)});
  }
}

// In place is out of place, bit for bit, and neither writes beside its buffer.
PROCTOR_CHECK_EACH(operations_in_place(), Operations, WorkInPlace, "C08", kNcclTests, kGate,
                   .faults = {"collective.stale_buffer:api=all_gather"}, .devices = devices_of_a_rank(),
                   .ranks = 4) {
  World world;
  for (int round = 0; round < 3; ++round) {
    for (const bool in_place : {false, true}) {
      world.verify(
          {.operation = operation(), .type = Type::kF64, .count = 33, .round = round, .in_place = in_place});
    }
  }
}

// nccl-tests -u: buffers that begin one element behind an aligned address, and three.
PROCTOR_CHECK_EACH(exercised_operation_names(), Operations, TakeUnalignedBuffers, "C09", kNcclTests, kGate,
                   .faults = {"collective.truncated_message:api=all_to_all"}, .devices = devices_of_a_rank(),
                   .ranks = 2) {
  World world;
  for (const Type type : {Type::kU8, Type::kF16, Type::kF32, Type::kI64}) {
    for (const std::size_t offset : std::initializer_list<std::size_t>{1, 3}) {
      world.verify({.operation = operation(),
                    .type = type,
                    .count = 61,
                    .counts = uneven(world.size(), 61),
                    .offset = offset});
    }
  }
}

// nccl-tests -r all: each rank is the root once, and once more with other numbers.
PROCTOR_CHECK_EACH(rooted_operations(), Operations, TakeEveryRoot, "C11", kNcclTests, kGate,
                   .faults = {"collective.wrong_root:api=broadcast", "collective.wrong_root:api=scatter"},
                   .devices = devices_of_a_rank(), .ranks = 4) {
  World world;
  for (int round = 0; round < 2; ++round) {
    for (int root = 0; root < world.size(); ++root) {
      world.verify({.operation = operation(), .count = 50, .root = root, .round = round});
    }
  }
}

// Many rounds with other numbers each: what is left of the round before shows.
PROCTOR_CHECK_EACH(exercised_operation_names(), Operations, ForgetTheRoundBefore, "C10", kNcclTests, kGate,
                   .faults = {"collective.stale_buffer:api=reduce_scatter",
                              "collective.stale_buffer:api=all_to_allv"},
                   .devices = devices_of_a_rank(), .ranks = 2) {
  World world;
  for (int round = 0; round < 20; ++round) {
    world.verify({.operation = operation(), .count = 8, .round = round, .counts = uneven(world.size(), 8)});
  }
}

// Ranks that give and get nothing: the first, the last, all but one, all.
PROCTOR_CHECK(Uneven, GatheringTakesRanksWithNothing, "C12", kGlooTests, kGate,
              .faults = {"collective.swapped_ranks:api=all_gatherv"}, .devices = devices_of_a_rank(),
              .ranks = 4) {
  World world;
  int round = 0;
  for (const std::vector<std::size_t>& counts :
       {std::vector<std::size_t>{5, 6, 7, 8}, {0, 3, 4, 5}, {3, 4, 5, 0}, {0, 0, 9, 0}, {0, 0, 0, 0}}) {
    world.verify({.operation = Operation::kAllGatherv, .round = ++round, .counts = counts});
  }
}

PROCTOR_CHECK(Uneven, ExchangeTakesRanksWithNothing, "C12", kOneCclTests, kGate,
              .faults = {"collective.swapped_ranks:api=all_to_allv"}, .devices = devices_of_a_rank(),
              .ranks = 4) {
  World world;
  int round = 0;
  for (const std::vector<std::size_t>& counts :
       {std::vector<std::size_t>{5, 6, 7, 8}, {0, 3, 4, 5}, {3, 4, 5, 0}, {0, 0, 9, 0}, {0, 0, 0, 0}}) {
    world.verify({.operation = Operation::kAllToAllv, .round = ++round, .counts = counts});
  }
}

}  // namespace proctor::collectives
