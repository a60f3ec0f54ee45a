// Checks groups: of one rank, of some ranks, and two groups of the same ranks. It also checks barriers,
// abort, and groups that are created repeatedly.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>
#include <vector>

#include "harness/base/temp_dir.h"
#include "suites/collectives/failing_group.h"
#include "suites/collectives/rule.h"
#include "suites/collectives/world.h"
#include "suites/main/check.h"
#include "suites/main/helper.h"
#include "suites/main/stopwatch.h"

namespace proctor::collectives {
namespace {

namespace fs = std::filesystem;
using suite::kGate;
using suite::step;

// Returns the specification of this rank's group `name`.
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

// Waits until all other ranks are about to enter the barrier, and 10 ms longer. The delay makes it more
// likely that a rank which leaves too early is detected.
void await_others(World& world, int round) {
  while (marks(world.store(), "comes", round, world.size()) < world.size() - 1) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

}  // namespace

// In a group of one rank, each operation returns its input.
PROCTOR_CHECK(SingleRank, EveryOperationReturnsInput, "C01", kNcclTests, kGate,
              .faults = {"collective.truncated_message"}, .devices = devices_of_a_rank()) {
  const TempDir store;
  World world(part_of("alone", 0, 1, store.string()));
  for (const auto& name : exercised_operation_names()) {
    for (const Type type : {Type::kF32, Type::kI64}) {
      const Exercise exercise{
          .operation = operation_named(name), .type = type, .count = 100, .counts = {100}};
      const Bytes result = world.verify(exercise);
      if (!world.supports(exercise.operation, type)) continue;  // verify() has checked that it was refused
      expect_elements(name + " of one rank", type, input_of(exercise, 0, 1), result);
    }
  }
  if (world.supports(Operation::kBarrier, Type::kU8)) expect_ok("a barrier of one rank", world.barrier());
}

// Both halves of the ranks work independently at the same time, and the whole group continues to work
// (nccl-tests: NCCL_TESTS_SPLIT).
PROCTOR_CHECK(ConcurrentGroups, SubgroupsAndParentDoNotMix, "C23", kNcclTests, kGate,
              .faults = {"collective.return_previous_result:api=all_reduce"}, .devices = devices_of_a_rank(),
              .ranks = 4) {
  World world;
  const bool odd = world.rank() % 2 == 1;
  World half(part_of(odd ? "odd" : "even", world.rank() / 2, world.size() / 2, world.store()));
  for (int round = 0; round < 3; ++round) {
    half.verify({.type = Type::kF32, .count = odd ? 101u : 51u, .round = 2 * round + (odd ? 1 : 0)});
    world.verify({.type = Type::kF32, .count = 64, .round = round});
  }
}

// Two groups contain the same ranks. A message of one group must not arrive in the other.
PROCTOR_CHECK(ConcurrentGroups, SameRankGroupsDoNotMix, "C23", kNcclTests, kGate,
              .faults = {"collective.dropped_contribution:api=reduce"}, .devices = devices_of_a_rank(),
              .ranks = 2) {
  World first;
  World second(part_of("second", first.rank(), first.size(), first.store()));
  for (int round = 0; round < 4; ++round) {
    first.verify({.operation = Operation::kReduce, .count = 40, .root = round % 2, .round = round});
    second.verify({.operation = Operation::kReduce, .count = 40, .root = round % 2, .round = round + 10});
  }
}

// No rank may leave a barrier before the last rank has entered. Each rank is the last one once.
PROCTOR_CHECK(Barrier, NoRankLeavesBeforeLastEnters, "C40", "Gloo, gloo/test/barrier_test.cc", kGate,
              .faults = {"collective.skip_barrier"}, .devices = devices_of_a_rank(), .ranks = 4) {
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

// An operation within its time limit must succeed, even if the limit is short: no rank may be reported as
// late that is in time. The duration of the first barriers determines a limit that suits a busy machine.
PROCTOR_CHECK(Barrier, RanksWithinTimeoutSucceed, "C29", "Gloo, gloo/test/barrier_test.cc", kGate,
              .faults = {"collective.skip_barrier", "collective.late_rank:dev=1,after=4,us=9000000,times=1"},
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
    step(fmt::format("given ranks that join in time, round {}", round));
    if (world.rank() == round % world.size()) await_others(world, round);
    mark(world.store(), "comes", round, world.rank());
    expect_ok("barrier", world.barrier());
    suite::expect_same("ranks that had entered when one left", "2",
                       std::to_string(marks(world.store(), "comes", round, world.size())));
  }
  world.set_timeout(kGroupTimeout);
}

// After an abort, every operation ends immediately as aborted. A second abort has no effect.
PROCTOR_CHECK(Abort, LaterOperationsReturnAborted, "C25", "project rule: An aborted group stays aborted.",
              suite::kWarn, .faults = {"collective.abort_ignored"}, .devices = devices_of_a_rank(),
              .ranks = 2) {
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

// Groups are created repeatedly without leaks. They are also created without a rank that died, as
// fault-tolerant training does. No rank waits for the dead rank, and its pending messages are lost.

namespace {

namespace fs = std::filesystem;
using suite::kGate;
using suite::sized;
using suite::step;

constexpr const char* kFaultTolerance = "torchft, process_group.py (configure) and manager.py (quorum)";
// The system resources of a process.
struct Holdings {
  std::size_t descriptors = 0;
  std::size_t threads = 0;
  std::size_t shared_segments = 0;  // mappings of /dev/shm
};

std::size_t entries(const char* directory) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(directory), fs::directory_iterator()));
}

Holdings holdings() {
  Holdings found{.descriptors = entries("/proc/self/fd"), .threads = entries("/proc/self/task")};
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    found.shared_segments += line.find("/dev/shm/") != line.npos;
  return found;
}

constexpr int kGroups = 100;

// Resources that a library holds once for all groups are allowed. Memory is not compared, because an
// allocator may keep it.
void expect_none_of_each(const std::string& what, std::size_t before, std::size_t after) {
  suite::expect_true(after < before + kGroups / 2,
                     fmt::format("{}: {} before {} groups and {} after, so no group keeps one", what, before,
                                 kGroups, after));
}

}  // namespace

// Creates a hundred groups one after another. The first few fill the caches of the library and of the
// allocator.
PROCTOR_CHECK(
    GroupCleanup, HundredGroupsLeakNoResources, "C24",
    "NCCL user guide, ncclCommDestroy: \"frees the local resources that are allocated to the communicator\"",
    kGate, .faults = {"collective.leak_group_resources"}, .devices = devices_of_a_rank(), .ranks = 2) {
  constexpr int kWarm = 10;
  Holdings before;
  for (int round = 0; round < kGroups + kWarm; ++round) {
    if (round % 25 == 0) step(fmt::format("given group {}", round));
    if (round == kWarm) before = holdings();
    FailingGroup group(fmt::format("again.{}", round));
    expect_ok("joining", group.join());
    expect_ok("all_reduce", group.all_reduce(round));
  }
  const Holdings after = holdings();
  expect_none_of_each("descriptors", before.descriptors, after.descriptors);
  expect_none_of_each("threads", before.threads, after.threads);
  expect_none_of_each("shared segments", before.shared_segments, after.shared_segments);
}

// ---- A member that may die, in a separate process ----

// The input lines are "join EPOCH RANK SIZE STORE" and "reduce ROUND". The response to each is the end of the
// operation.
PROCTOR_HELPER(member) {
  std::unique_ptr<FailingGroup> group;
  for (std::string line = suite::wait_for_input(); !line.empty(); line = suite::wait_for_input()) {
    std::istringstream order(line);
    std::string what, epoch;
    order >> what;
    Answer answer{Ended::kRefused, "no group"};
    if (what == "join") {
      GroupSpec spec;
      spec.timeout = kGroupTimeout;
      order >> epoch >> spec.rank >> spec.size >> spec.store;
      spec.name = "epoch." + epoch;
      group.reset();  // the group of the previous epoch
      group = std::make_unique<FailingGroup>(spec);
      answer = group->join();
    } else if (group) {
      int round = 0;
      order >> round;
      answer = group->all_reduce(round);
      if (!answer.ok()) group.reset();  // ranks that wait for this member then fail before their limit
    }
    suite::answer({{"ended", to_string(answer.ended)}, {"text", answer.text}});
  }
}

namespace {

class Member {
 public:
  Member() : helper_("member") {}
  Answer join(int epoch, int rank, int size, const std::string& store) {
    return ask(fmt::format("join {} {} {} {}", epoch, rank, size, store));
  }
  Answer reduce(int round) { return ask(fmt::format("reduce {}", round)); }
  void kill() {
    helper_.kill();
    helper_.finish();
  }

 private:
  Answer ask(const std::string& order) {
    helper_.order(order);
    const auto said = helper_.answer();
    return {named_end(said["ended"]), said["text"]};
  }
  static Ended named_end(const std::string& name) {
    for (const Ended ended :
         {Ended::kOk, Ended::kPeerLost, Ended::kTimeout, Ended::kAborted, Ended::kRefused}) {
      if (name == to_string(ended)) return ended;
    }
    return Ended::kOther;
  }

  suite::Helper helper_;
};

// Returns the members of an epoch. Every rank announces whether it takes part, so all ranks compute the same
// list.
std::vector<int> quorum(const RankFacts& facts, int epoch, bool present) {
  const auto mark = [epoch](bool is) { return fmt::format("{}.{}", is ? "present" : "absent", epoch); };
  announce(facts.store, mark(present), facts.rank);
  std::vector<int> members;
  for (int rank = 0; rank < facts.size; ++rank) {
    while (!is_reported(facts.store, mark(true), rank) && !is_reported(facts.store, mark(false), rank))
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (is_reported(facts.store, mark(true), rank)) members.push_back(rank);
  }
  return members;
}

// Joins the epoch with the ranks that are present, and reduces the numbers of this epoch.
void work_in(Member& member, const RankFacts& facts, int epoch) {
  const std::vector<int> members = quorum(facts, epoch, true);
  const auto position = std::find(members.begin(), members.end(), facts.rank) - members.begin();
  step(fmt::format("epoch {}: {} members", epoch, members.size()));
  expect_ok("joining",
            member.join(epoch, static_cast<int>(position), static_cast<int>(members.size()), facts.store));
  for (int round = 0; round < 3; ++round) expect_ok("all_reduce", member.reduce(100 * epoch + round));
}

}  // namespace

// One of four members dies. Three continue in a new epoch with correct results. Then it rejoins, and four
// continue.
PROCTOR_CHECK(Reconfiguration, SurvivorsContinueAndRankRejoins, "S1.23", kFaultTolerance, kGate,
              .faults = {"collective.swallowed_error", "collective.return_previous_result:api=all_reduce"},
              .devices = devices_of_a_rank(), .ranks = 4,
              .sizes = {.smoke = 1, .ci = 5, .full = 20, .unit = "rounds"}) {
  const RankFacts facts = rank_facts();
  need_feature(FailingGroup().features().time_limit, "time_limit");
  auto member = std::make_unique<Member>();
  int epoch = 0;
  work_in(*member, facts, epoch);
  for (int round = 0; round < sized(); ++round) {
    const int victim = round % facts.size;
    const std::string worked = fmt::format("worked.{}", epoch), killed = fmt::format("killed.{}", epoch);
    announce(facts.store, worked, facts.rank);
    wait_for(facts.store, worked, facts.size);
    step(fmt::format("given that rank {} is killed", victim));
    ++epoch;
    if (facts.rank == victim) {
      member->kill();
      announce(facts.store, killed, 0);
      quorum(facts, epoch, false);
      member = std::make_unique<Member>();
    } else {
      wait_for(facts.store, killed, 1);
      expect_failure("all_reduce of the old epoch", member->reduce(-1));
      work_in(*member, facts, epoch);
    }
    work_in(*member, facts, ++epoch);
  }
}

}  // namespace proctor::collectives
