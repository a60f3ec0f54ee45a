// Groups that come and go: made again and again without leaving anything behind, and made anew
// without a rank that died, which is what fault-tolerant training does: nobody waits for the dead rank, and
// messages that were on their way are gone.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>
#include <vector>

#include "suites/collectives/failing_group.h"
#include "suites/collectives/names.h"
#include "suites/main/check.h"
#include "suites/main/helper.h"

namespace proctor::collectives {
namespace {

namespace fs = std::filesystem;
using suite::kGate;
using suite::sized;
using suite::step;

constexpr const char* kFaultTolerance = "torchft, process_group.py (configure) and manager.py (quorum)";
// What a process holds of the system.
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

// What a library keeps once for all groups is its own matter, and so is memory, which its allocator may keep.
void expect_none_of_each(const std::string& what, std::size_t before, std::size_t after) {
  suite::expect_true(
      after < before + kGroups / 2,
      fmt::format("{}: {} before {} groups, {} after: none is kept of each", what, before, kGroups, after));
}

}  // namespace

// Hundred groups one after the other; the first few fill the caches of the library and of the allocator.
PROCTOR_CHECK(
    Again, AHundredGroupsLeaveNothingBehind, "C24",
    "NCCL user guide, ncclCommDestroy: \"frees the local resources that are allocated to the communicator\"",
    kGate, .faults = {"collective.leaked_group"}, .devices = devices_of_a_rank(), .ranks = 2) {
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

// ---- a member that may die, in a process of its own ----

// Orders: "join EPOCH RANK SIZE STORE", "reduce ROUND"; the answer to each is how it ended.
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
      group.reset();  // of the epoch before
      group = std::make_unique<FailingGroup>(spec);
      answer = group->join();
    } else if (group) {
      int round = 0;
      order >> round;
      answer = group->all_reduce(round);
      if (!answer.ok()) group.reset();  // so that whoever waits for this member does not wait for its limit
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

// Who takes part in an epoch: every rank says whether it does, and all count alike.
std::vector<int> quorum(const RankFacts& facts, int epoch, bool present) {
  const auto mark = [epoch](bool is) { return fmt::format("{}.{}", is ? "present" : "absent", epoch); };
  tell(facts.store, mark(present), facts.rank);
  std::vector<int> members;
  for (int rank = 0; rank < facts.size; ++rank) {
    while (!is_told(facts.store, mark(true), rank) && !is_told(facts.store, mark(false), rank))
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (is_told(facts.store, mark(true), rank)) members.push_back(rank);
  }
  return members;
}

// Joins the epoch with whoever is there, and works: the numbers are those of this epoch.
void work_in(Member& member, const RankFacts& facts, int epoch) {
  const std::vector<int> members = quorum(facts, epoch, true);
  const auto position = std::find(members.begin(), members.end(), facts.rank) - members.begin();
  step(fmt::format("epoch {}: {} members", epoch, members.size()));
  expect_ok("joining",
            member.join(epoch, static_cast<int>(position), static_cast<int>(members.size()), facts.store));
  for (int round = 0; round < 3; ++round) expect_ok("all_reduce", member.reduce(100 * epoch + round));
}

}  // namespace

// One of four dies; three go on under a new epoch with the right results; it comes back, and four go on.
PROCTOR_CHECK(Reconfigure, WithoutTheLostAndWithItAgain, "S1.23", kFaultTolerance, kGate,
              .faults = {"collective.swallowed_error", "collective.stale_buffer:api=all_reduce"},
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
    tell(facts.store, worked, facts.rank);
    wait_for(facts.store, worked, facts.size);
    step(fmt::format("given that rank {} is killed", victim));
    ++epoch;
    if (facts.rank == victim) {
      member->kill();
      tell(facts.store, killed, 0);
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
