// Groups: of one rank, of some of them, of the same twice; what a barrier holds, and what abort ends.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "harness/base/temp_dir.h"
#include "suites/collectives/names.h"
#include "suites/collectives/world.h"
#include "suites/main/check.h"
#include "suites/main/stopwatch.h"

namespace proctor::collectives {
namespace {

namespace fs = std::filesystem;
using suite::kGate;
using suite::step;

// This rank's group of those with the same `part`, in the order of ranks.
GroupSpec part_of(const std::string& name, int rank, int size, const std::string& store) {
  return {.rank = rank, .size = size, .store = store, .name = name, .timeout = kGroupTimeout};
}

void mark(const std::string& store, const std::string& what, int round, int rank) {
  std::ofstream(fmt::format("{}/{}.{}.{}", store, what, round, rank)).put('1');
}

int marks(const std::string& store, const std::string& what, int round, int size) {
  int count = 0;
  for (int rank = 0; rank < size; ++rank) {
    count += fs::exists(fmt::format("{}/{}.{}.{}", store, what, round, rank)) ? 1 : 0;
  }
  return count;
}

// Until all others are about to enter the barrier, and a while longer, which makes it likelier that one that leaves too
// early is seen.
void await_others(World& world, int round) {
  while (marks(world.store(), "comes", round, world.size()) < world.size() - 1) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

}  // namespace

// With one rank each operation gives back what it was given.
PROCTOR_CHECK(Alone, EveryOperationIsTheIdentity, "C01", kNcclTests, kGate,
              .faults = {"collective.truncated_message"}, .devices = devices_of_a_rank()) {
  const TempDir store;
  World world(part_of("alone", 0, 1, store.string()));
  for (const auto& name : exercised_operation_names()) {
    for (const Type type : {Type::kF32, Type::kI64}) {
      const Exercise exercise{
          .operation = operation_named(name), .type = type, .count = 100, .counts = {100}};
      const Bytes result = world.verify(exercise);
      if (!world.supports(exercise.operation, type)) continue;  // and was refused
      expect_elements(name + " of one rank", type, input_of(exercise, 0, 1), result);
    }
  }
  if (world.supports(Operation::kBarrier, Type::kU8)) expect_ok("a barrier of one rank", world.barrier());
}

// The halves work at the same time, each for itself, and the whole group goes on as
// before (nccl-tests: NCCL_TESTS_SPLIT).
PROCTOR_CHECK(Groups, HalvesWorkSideBySide, "C23", kNcclTests, kGate,
              .faults = {"collective.stale_buffer:api=all_reduce"}, .devices = devices_of_a_rank(),
              .ranks = 4) {
  World world;
  const bool odd = world.rank() % 2 == 1;
  World half(part_of(odd ? "odd" : "even", world.rank() / 2, world.size() / 2, world.store()));
  for (int round = 0; round < 3; ++round) {
    half.verify({.type = Type::kF32, .count = odd ? 101u : 51u, .round = 2 * round + (odd ? 1 : 0)});
    world.verify({.type = Type::kF32, .count = 64, .round = round});
  }
}

// The same ranks twice: what belongs to one group does not arrive in the other.
PROCTOR_CHECK(Groups, TwoOfTheSameRanksDoNotMix, "C23", kNcclTests, kGate,
              .faults = {"collective.dropped_contribution:api=reduce"}, .devices = devices_of_a_rank(),
              .ranks = 2) {
  World first;
  World second(part_of("second", first.rank(), first.size(), first.store()));
  for (int round = 0; round < 4; ++round) {
    first.verify({.operation = Operation::kReduce, .count = 40, .root = round % 2, .round = round});
    second.verify({.operation = Operation::kReduce, .count = 40, .root = round % 2, .round = round + 10});
  }
}

// No rank leaves a barrier before the last has entered. Each is the last once.
PROCTOR_CHECK(Barrier, NobodyLeavesBeforeTheLastEnters, "C40", "Gloo, gloo/test/barrier_test.cc", kGate,
              .faults = {"collective.lying_barrier"}, .devices = devices_of_a_rank(), .ranks = 4) {
  World world;
  world.need(Operation::kBarrier, Type::kU8);
  for (int last = 0; last < world.size(); ++last) {
    step(fmt::format("given rank {} as the last", last));
    if (world.rank() == last) await_others(world, last);
    mark(world.store(), "comes", last, world.rank());
    expect_ok("barrier", world.barrier());
    suite::expect_same("ranks that had entered when one left", std::to_string(world.size()),
                       std::to_string(marks(world.store(), "comes", last, world.size())));
    expect_ok("barrier", world.barrier());
  }
}

// What comes in time is served, however short the limit that the group has: nobody reports a rank as late
// that is not. What is in time on a busy machine, its first barriers show.
PROCTOR_CHECK(Barrier, EndsForRanksThatComeInTime, "C29", "Gloo, gloo/test/barrier_test.cc", kGate,
              .faults = {"collective.lying_barrier", "collective.late_rank:dev=1,after=4,us=9000000,times=1"},
              .devices = devices_of_a_rank(), .ranks = 2) {
  const RankFacts facts = rank_facts();
  World world(part_of("quick", facts.rank, facts.size, facts.store));
  world.need(Operation::kBarrier, Type::kU8);
  std::chrono::nanoseconds slowest{0};
  for (int round = 0; round < 3; ++round) {
    const suite::Stopwatch watch;
    expect_ok("barrier", world.barrier());
    slowest = std::max(slowest, watch.by_clock());
  }
  constexpr std::chrono::milliseconds kShort{2500};
  const auto limit =
      std::clamp(std::chrono::ceil<std::chrono::milliseconds>(50 * slowest), kShort, kGroupTimeout);
  world.set_timeout(limit);
  for (int round = 0; round < 10; ++round) {
    step(fmt::format("given ranks that come in time, round {}", round));
    if (world.rank() == round % world.size()) await_others(world, round);
    mark(world.store(), "comes", round, world.rank());
    expect_ok("barrier", world.barrier());
    suite::expect_same("ranks that had entered when one left", "2",
                       std::to_string(marks(world.store(), "comes", round, world.size())));
  }
  world.set_timeout(kGroupTimeout);
}

// After abort everything ends at once as aborted, and to abort again does nothing.
PROCTOR_CHECK(Abort, EndsEverythingThatComesLater, "C25", "ours: what was aborted stays so", suite::kWarn,
              .faults = {"collective.abort_ignored"}, .devices = devices_of_a_rank(), .ranks = 2) {
  World world;
  world.verify({.type = Type::kF32, .count = 10});
  std::vector<std::uint64_t> ranks;
  expect_ok("all_gather of all", world.gather_everywhere(1, ranks));
  for (const char* const time : {"once", "again"}) {
    step(std::string("given abort, ") + time);
    expect_ok("abort", world.abort());
    expect_ended("all_gather after abort", Ended::kAborted, world.gather_everywhere(1, ranks));
  }
}

}  // namespace proctor::collectives
