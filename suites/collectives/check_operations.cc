// Checks operations with every type, count, buffer position and root. It also checks the reductions of
// all_reduce and the order of messages.
#include <fmt/format.h>

#include "suites/collectives/rule.h"
#include "suites/collectives/world.h"
#include "suites/main/check.h"

namespace proctor::collectives {

namespace {

using suite::kGate;

Operation operation() { return operation_named(suite::parameter()); }

// Returns how many elements each of `size` ranks passes to an operation with uneven counts. The second rank
// passes none.
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

// Every operation must transfer every type without changing a bit. Reductions are tested as far as the
// library supports them.
PROCTOR_CHECK_EACH(exercised_operation_names(), Collective, EveryTypeGivesExactResult, "C07", kNcclTests,
                   kGate,
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

// The counts are zero, one, less than the number of ranks, primes, and numbers around powers of two. They are
// not multiples of the three ranks.
PROCTOR_CHECK_EACH(exercised_operation_names(), Collective, EveryCountGivesExactResult, "C09", kGlooTests,
                   kGate, .faults = {"collective.truncated_message:api=broadcast"},
                   .devices = devices_of_a_rank(), .ranks = 3) {
  World world;
  for (const std::size_t count : kCounts) {
    world.verify({.operation = operation(), .count = count, .counts = uneven(world.size(), count)});
  }
}

// In-place results must have the same bits as out-of-place results. Neither variant may write outside its
// buffer.
PROCTOR_CHECK_EACH(operations_in_place(), Collective, InPlaceMatchesOutOfPlace, "C08", kNcclTests, kGate,
                   .faults = {"collective.return_previous_result:api=all_gather"},
                   .devices = devices_of_a_rank(), .ranks = 4) {
  World world;
  for (int round = 0; round < 3; ++round) {
    for (const bool in_place : {false, true}) {
      world.verify(
          {.operation = operation(), .type = Type::kF64, .count = 33, .round = round, .in_place = in_place});
    }
  }
}

// Like nccl-tests -u: the buffers begin one element, and three elements, after an aligned address.
PROCTOR_CHECK_EACH(exercised_operation_names(), Collective, UnalignedBuffersGiveExactResult, "C09",
                   kNcclTests, kGate, .faults = {"collective.truncated_message:api=all_to_all"},
                   .devices = devices_of_a_rank(), .ranks = 2) {
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

// Like nccl-tests -r all: each rank is the root once, and a second time with other numbers.
PROCTOR_CHECK_EACH(rooted_operations(), Collective, EveryRootGivesExactResult, "C11", kNcclTests, kGate,
                   .faults = {"collective.wrong_root:api=broadcast", "collective.wrong_root:api=scatter"},
                   .devices = devices_of_a_rank(), .ranks = 4) {
  World world;
  for (int round = 0; round < 2; ++round) {
    for (int root = 0; root < world.size(); ++root) {
      world.verify({.operation = operation(), .count = 50, .root = root, .round = round});
    }
  }
}

// Each of many rounds has other numbers, so that data of the previous round would be detected.
PROCTOR_CHECK_EACH(exercised_operation_names(), Collective, RepeatedRoundsHaveNoStaleData, "C10", kNcclTests,
                   kGate,
                   .faults = {"collective.return_previous_result:api=reduce_scatter",
                              "collective.return_previous_result:api=all_to_allv"},
                   .devices = devices_of_a_rank(), .ranks = 2) {
  World world;
  for (int round = 0; round < 20; ++round) {
    world.verify({.operation = operation(), .count = 8, .round = round, .counts = uneven(world.size(), 8)});
  }
}

// Some ranks send and receive nothing: the first, the last, all but one, all.
PROCTOR_CHECK(UnevenCounts, AllGathervAcceptsEmptyRanks, "C12", kGlooTests, kGate,
              .faults = {"collective.swapped_ranks:api=all_gatherv"}, .devices = devices_of_a_rank(),
              .ranks = 4) {
  World world;
  int round = 0;
  for (const std::vector<std::size_t>& counts :
       {std::vector<std::size_t>{5, 6, 7, 8}, {0, 3, 4, 5}, {3, 4, 5, 0}, {0, 0, 9, 0}, {0, 0, 0, 0}}) {
    world.verify({.operation = Operation::kAllGatherv, .round = ++round, .counts = counts});
  }
}

PROCTOR_CHECK(UnevenCounts, AllToAllvAcceptsEmptyRanks, "C12", kOneCclTests, kGate,
              .faults = {"collective.swapped_ranks:api=all_to_allv"}, .devices = devices_of_a_rank(),
              .ranks = 4) {
  World world;
  int round = 0;
  for (const std::vector<std::size_t>& counts :
       {std::vector<std::size_t>{5, 6, 7, 8}, {0, 3, 4, 5}, {3, 4, 5, 0}, {0, 0, 9, 0}, {0, 0, 0, 0}}) {
    world.verify({.operation = Operation::kAllToAllv, .round = ++round, .counts = counts});
  }
}

// ---- all_reduce ---- Every rank must have the exact reduction of the input of all ranks. The numbers are
// chosen so that no order of adding them needs rounding.

namespace {

using suite::kGate;

constexpr std::array kAllReductions{Reduction::kSum, Reduction::kProduct, Reduction::kMin, Reduction::kMax,
                                    Reduction::kAverage};
constexpr std::array kFloats{Type::kF16, Type::kBf16, Type::kF32, Type::kF64};

}  // namespace

// Tests every type with every reduction that the library supports (nccl-tests: -d all -o all).
PROCTOR_CHECK_EACH(type_names(), AllReduce, EveryReductionIsExact, "C06", kNcclTests, kGate,
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

// A library need not support all of them, but must refuse the others instead of returning a wrong result.
PROCTOR_CHECK(AllReduce, UnsupportedTypeOrReductionIsRejected, "C06",
              "project rule: A library refuses a type or reduction that it lacks.", suite::kWarn,
              .faults = {"collective.swallowed_error:api=all_reduce"}, .devices = devices_of_a_rank(),
              .ranks = 2) {
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

// Two ranks; the expected sums are closed formulas. The integers use the full width of their type.
PROCTOR_CHECK(AllReduce, IntegerSumsAreExact, "C02", kGlooTests, kGate,
              .faults = {"collective.dropped_contribution:api=all_reduce,dev=1,kernel=u64"},
              .devices = devices_of_a_rank(), .ranks = 2) {
  World world;
  for (const Type type : {Type::kI8, Type::kU8, Type::kI32, Type::kU32, Type::kI64, Type::kU64}) {
    world.verify({.type = type, .count = 1021});
  }
}

// The sums use all digits of their type and still need no rounding, so the tolerance is 0.
PROCTOR_CHECK(AllReduce, FloatsWithoutRoundingAreExact, "C03", kNcclTests, kGate,
              .faults = {"collective.wrong_rounding:api=all_reduce"}, .devices = devices_of_a_rank(),
              .ranks = 4) {
  World world;
  for (const Type type : kFloats) {
    for (const Reduction reduction : {Reduction::kSum, Reduction::kProduct}) {
      world.verify({.type = type, .reduction = reduction, .count = 1021});
    }
  }
}

// Like nccl-tests, the buffers begin at a different position in each iteration. A pointer or result of the
// previous round would be detected. Stale buffers of a destroyed group have occurred in practice.
PROCTOR_CHECK(AllReduce, ChangedBufferAddressesGiveExactResult, "C10", kNcclTests, kGate,
              .faults = {"collective.return_previous_result:api=all_reduce"}, .devices = devices_of_a_rank(),
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

// The counts are multiples of a rank's chunk, one less and one more, up to a quarter of a MiB (one MiB at
// size full).
PROCTOR_CHECK(AllReduce, LargeCountsGiveExactResult, "C09", kGlooTests, kGate,
              .faults = {"collective.truncated_message:api=all_reduce,min=4096"},
              .devices = devices_of_a_rank(), .ranks = 2,
              .sizes = {.smoke = 4096, .ci = 65536, .full = 262144, .unit = "elements"}) {
  World world;
  const auto most = static_cast<std::size_t>(suite::sized());
  for (const std::size_t count : {std::size_t{4095}, std::size_t{4096}, std::size_t{4097}, most - 1, most}) {
    world.verify({.type = Type::kF32, .count = count});
  }
}

// The ranks exchange their numbers, so that each number is added by another rank in another order.
PROCTOR_CHECK(
    AllReduce, PermutedRankInputsKeepIntegerSum, "C45",
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

// ---- send and receive ----

namespace {

using suite::kGate;
using suite::step;

// Returns a message of `bytes` bytes, different for each sender and number.
Bytes message(int from, int number, std::size_t bytes) {
  Bytes result(bytes);
  for (std::size_t i = 0; i < bytes; ++i) {
    result[i] = static_cast<std::byte>(i * 7 + static_cast<std::size_t>(from * 50 + number * 11 + 1));
  }
  return result;
}

void expect_message(World& world, int from, int number, std::size_t bytes, std::uint32_t tag = 0) {
  Bytes got(bytes);
  expect_ok("receive", world.receive(from, got, tag));
  expect_elements(fmt::format("message {} of rank {}", number, from), Type::kU8, message(from, number, bytes),
                  got);
}

void send_message(World& world, int to, int number, std::size_t bytes, std::uint32_t tag = 0) {
  expect_ok("send", world.send(to, message(world.rank(), number, bytes), tag));
}

}  // namespace

// Each rank sends to the next one in a ring. Even ranks send first, which prevents a deadlock.
PROCTOR_CHECK(PointToPoint, MessagesArriveUnchanged, "C39", "Gloo, gloo/test/send_recv_test.cc", kGate,
              .faults = {"collective.truncated_message:api=receive"}, .devices = devices_of_a_rank(),
              .ranks = 4) {
  World world;
  const int next = (world.rank() + 1) % world.size();
  const int last = (world.rank() + world.size() - 1) % world.size();
  int number = 0;
  for (const std::size_t bytes : std::initializer_list<std::size_t>{1, 31, 4096, 65537}) {
    step(fmt::format("given messages of {} bytes to the next rank", bytes));
    ++number;
    if (world.rank() % 2 == 0) send_message(world, next, number, bytes);
    expect_message(world, last, number, bytes);
    if (world.rank() % 2 == 1) send_message(world, next, number, bytes);
  }
}

// Each message must arrive once, in order.
PROCTOR_CHECK(PointToPoint, MessagesArriveOnceInOrder, "C39", "Gloo, gloo/test/send_recv_test.cc", kGate,
              .faults = {"collective.duplicated_message", "collective.return_previous_result:api=receive"},
              .devices = devices_of_a_rank(), .ranks = 2) {
  World world;
  step("given thirty messages, one behind the other");
  for (int number = 0; number < 30; ++number) {
    if (world.rank() == 0) {
      send_message(world, 1, number, 100);
    } else {
      expect_message(world, 0, number, 100);
    }
  }
}

// A message of zero bytes must be delivered, and the next one must be complete.
PROCTOR_CHECK(PointToPoint, EmptyMessagesAreDelivered, "C39", "Gloo, gloo/test/send_recv_test.cc", kGate,
              .faults = {"collective.truncated_message:api=receive,min=8"}, .devices = devices_of_a_rank(),
              .ranks = 2) {
  World world;
  int number = 0;
  for (const std::size_t bytes : std::initializer_list<std::size_t>{0, 8, 0, 0, 513}) {
    step(fmt::format("given a message of {} bytes", bytes));
    if (world.rank() == 0) {
      send_message(world, 1, number++, bytes);
    } else {
      expect_message(world, 0, number++, bytes);
    }
  }
}

// Receives from any rank: one message of each other rank. The receiver must be given the sender's rank.
PROCTOR_CHECK(PointToPoint, AnySourceReceiveReportsSender, "C39", "Gloo, gloo/test/send_recv_test.cc", kGate,
              .faults = {"collective.swapped_ranks:api=receive"}, .devices = devices_of_a_rank(),
              .ranks = 4) {
  World world;
  if (!world.features().any_source) world.skip("unsupported:any_source");
  step("given one message from each of the other ranks");
  if (world.rank() != 0) return send_message(world, 0, 1, 64);
  std::vector<int> came(static_cast<std::size_t>(world.size()));
  for (int other = 1; other < world.size(); ++other) {
    Bytes got(64);
    int from = kAnyRank;
    expect_ok("receive", world.receive(kAnyRank, got, 0, &from));
    expect_elements(fmt::format("the message of rank {}", from), Type::kU8, message(from, 1, 64), got);
    ++came.at(static_cast<std::size_t>(from));
  }
  suite::expect_same("messages from each rank", "0 1 1 1", fmt::format("{}", fmt::join(came, " ")));
}

// Messages with two tags are two independent streams. Each stream keeps its own order.
PROCTOR_CHECK(PointToPoint, TagsSeparateMessages, "C39", "Gloo, docs of transport: slots", kGate,
              .faults = {"collective.duplicated_message"}, .devices = devices_of_a_rank(), .ranks = 2) {
  World world;
  if (!world.features().tags) world.skip("unsupported:tags");
  step("given messages under two tags, one after the other");
  for (int number = 0; number < 10; ++number) {
    const std::uint32_t tag = number % 2 == 0 ? 7 : 8;
    if (world.rank() == 0) {
      send_message(world, 1, number, 40, tag);
    } else {
      expect_message(world, 0, number, 40, tag);
    }
  }
}

}  // namespace proctor::collectives
