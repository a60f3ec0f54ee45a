// all_reduce: every rank gets the reduction of what all ranks gave, exactly, because the numbers are such
// that no order of adding them up rounds.
#include "suites/collectives/names.h"
#include "suites/collectives/world.h"
#include "suites/main/check.h"

namespace proctor::collectives {
namespace {

using suite::kGate;

constexpr std::array kAllReductions{Reduction::kSum, Reduction::kProduct, Reduction::kMin, Reduction::kMax,
                                    Reduction::kAverage};
constexpr std::array kFloats{Type::kF16, Type::kBf16, Type::kF32, Type::kF64};

}  // namespace

// Every type by every reduction (nccl-tests: -d all -o all), as far as the library has it.
PROCTOR_CHECK_EACH(type_names(), AllReduce, IsExactByEveryReduction, "C06", kNcclTests, kGate,
                   .faults = {"collective.dropped_contribution:api=all_reduce",
                              "collective.truncated_message:api=all_reduce"},
                   .devices = devices_of_a_rank(), .ranks = 4) {
  World world;
  const Type type = type_named(suite::parameter());
  world.need_any(Operation::kAllReduce, type);
  int round = 0;
  for (const Reduction reduction : kAllReductions) {
    if (world.supports(Operation::kAllReduce, type, reduction)) {
      world.verify({.type = type, .reduction = reduction, .count = 257, .round = ++round});
    }
  }
}

// A library has not all of them, and says so instead of giving something else for a result.
PROCTOR_CHECK(AllReduce, WhatTheLibraryLacksIsRefused, "C06", "ours: what a library lacks, it says",
              suite::kWarn, .faults = {"collective.swallowed_error:api=all_reduce"},
              .devices = devices_of_a_rank(), .ranks = 2) {
  World world;
  std::size_t lacking = 0;
  for (const std::string& name : type_names()) {
    const Type type = type_named(name);
    for (const Reduction reduction : kAllReductions) {
      if (world.supports(Operation::kAllReduce, type, reduction)) continue;
      ++lacking;
      world.verify({.type = type, .reduction = reduction, .count = 257});
    }
  }
  if (lacking == 0) world.skip("needs:a_reduction_that_the_library_lacks");
}

// Closed forms, 2 ranks: sums of integers as wide as their type allows.
PROCTOR_CHECK(AllReduce, SumsOfTwoRanksAreExact, "C02", kGlooTests, kGate,
              .faults = {"collective.dropped_contribution:api=all_reduce,dev=1,kernel=u64"},
              .devices = devices_of_a_rank(), .ranks = 2) {
  World world;
  for (const Type type : {Type::kI8, Type::kU8, Type::kI32, Type::kU32, Type::kI64, Type::kU64}) {
    world.verify({.type = type, .count = 1021});
  }
}

// Sums that have all digits of their type and yet need no rounding: tolerance 0.
PROCTOR_CHECK(AllReduce, FloatsAreExactByCraftedNumbers, "C03", kNcclTests, kGate,
              .faults = {"collective.wrong_rounding:api=all_reduce"}, .devices = devices_of_a_rank(),
              .ranks = 4) {
  World world;
  for (const Type type : kFloats) {
    for (const Reduction reduction : {Reduction::kSum, Reduction::kProduct}) {
      world.verify({.type = type, .reduction = reduction, .count = 1021});
    }
  }
}

// nccl-tests rotate where buffers begin from iteration to iteration: a pointer or a result that is left from
// the round before would show (stale buffers of a group that was torn down have been seen).
PROCTOR_CHECK(AllReduce, BuffersMoveFromRoundToRound, "C10", kNcclTests, kGate,
              .faults = {"collective.stale_buffer:api=all_reduce"}, .devices = devices_of_a_rank(),
              .ranks = 4) {
  World world;
  for (int round = 0; round < 12; ++round) {
    world.verify({.type = Type::kF32,
                  .count = 129,
                  .round = round,
                  .in_place = round % 3 == 0,
                  .offset = static_cast<std::size_t>(round * 7 % 16)});
  }
}

// As many elements as a rank's chunk divides evenly, one less and one more, up to a quarter of a MiB; a MiB
// at size full.
PROCTOR_CHECK(AllReduce, LargeCountsAreWhole, "C09", kGlooTests, kGate,
              .faults = {"collective.truncated_message:api=all_reduce,min=4096"},
              .devices = devices_of_a_rank(), .ranks = 2,
              .sizes = {.smoke = 4096, .ci = 65536, .full = 262144, .unit = "elements"}) {
  World world;
  const auto most = static_cast<std::size_t>(suite::sized());
  for (const std::size_t count : {std::size_t{4095}, std::size_t{4096}, std::size_t{4097}, most - 1, most}) {
    world.verify({.type = Type::kF32, .count = count});
  }
}

// The numbers of the ranks change places, so that each is added by another rank in another order.
PROCTOR_CHECK(
    AllReduce, PlacesOfRanksDoNotMatter, "C45",
    "NCCL user guide, ncclAllReduce: \"Reduces data arrays of length count in sendbuff using op operation\"",
    kGate, .faults = {"collective.dropped_contribution:api=all_reduce,dev=2"}, .devices = devices_of_a_rank(),
    .ranks = 4) {
  World world;
  Bytes first;
  for (int turn = 0; turn < world.size(); ++turn) {
    const Bytes sum = world.verify({.type = Type::kI64, .count = 100, .turn = turn});
    if (turn == 0) first = sum;
    expect_elements("the sum of the same numbers in other places", Type::kI64, first, sum);
  }
}

}  // namespace proctor::collectives
