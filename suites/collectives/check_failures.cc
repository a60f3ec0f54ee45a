// Checks with a rank that is missing, dead, stopped or late, or that disagrees with the others. Every other
// rank must end with an error within its time limit, and none with a result. The runner guarantees that every
// rank ends, even if the library hangs.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <thread>

#include "suites/collectives/failing_group.h"
#include "suites/collectives/rule.h"
#include "suites/main/check.h"
#include "suites/main/stopwatch.h"

namespace proctor::collectives {
namespace {

using suite::kGate;
using suite::kWarn;
using suite::leave;
using suite::step;

constexpr const char* kIoErrors = "Gloo, gloo/test/transport_test.cc IoErrors and IoTimeouts";
constexpr const char* kConnect = "Gloo, gloo/test/tcp_test.cc ConnectTimeout";
constexpr const char* kDisagree = "project rule: Ranks with different calls end and do not hang.";

constexpr const char* kOfAllRanks =
    "oneCCL specification, allreduce: \"the global reduction operation on values from all ranks\"";

// Time limit of operations that must fail. Operations that must succeed before have kGroupTimeout, because a
// busy machine can delay a rank.
constexpr std::chrono::milliseconds kLimit{1500};
constexpr int kBusyMachine = 10;  // factor for a limit after which a wait has ended on any machine
constexpr int kLost = 1;          // the rank with the failure

[[noreturn]] void die(int signal) {
  leave(fmt::format("signal:{}", signal));
  ::raise(signal);
  for (;;) ::pause();
}

// Waits until the runner ends this rank, after the other ranks have finished.
[[noreturn]] void stay_away() {
  leave("ended");
  for (;;) ::pause();
}

// Repeats the operation until it fails, and returns the failure. The number of rounds is bounded, so that a
// library that never detects the failure fails the check.
Answer last_of_many(FailingGroup& group) {
  constexpr int kMost = 20'000;
  for (int round = 0; round < kMost; ++round) {
    Answer answer = group.all_reduce(round);
    if (!answer.ok()) return answer;
  }
  return {Ended::kOk, fmt::format("{} rounds, and no error", kMost)};
}

// Waits until all ranks have joined, before a rank is lost. A rank that has joined can be connected earlier
// than the others.
void join_together(FailingGroup& group) {
  expect_ok("joining", group.join());
  announce(group.spec().store, "joined", group.rank());
  wait_for(group.spec().store, "joined", group.size());
}

}  // namespace

PROCTOR_CHECK(LostRank, JoinFailsIfRankIsAbsent, "C28", kConnect, kGate,
              .faults = {"collective.swallowed_error"}, .devices = devices_of_a_rank(), .ranks = 3) {
  FailingGroup group;
  step("given a rank that does not join");
  group.expect_loss(kLimit);
  if (group.rank() == kLost) stay_away();
  expect_failure("joining", group.join());
}

PROCTOR_CHECK(LostRank, JoinFailsIfRankIsKilled, "C28", kConnect, kGate,
              .faults = {"collective.swallowed_error"}, .devices = devices_of_a_rank(), .ranks = 3) {
  FailingGroup group;
  step("given a rank that is killed before it joins");
  group.expect_loss(kLimit);
  if (group.rank() == kLost) die(SIGKILL);
  expect_failure("joining", group.join());
}

// Another thread of the rank kills it while the rank runs one of many operations.
PROCTOR_CHECK(LostRank, RunningOperationFailsAfterKill, "C26", kIoErrors, kGate,
              .faults = {"collective.swallowed_error"}, .devices = devices_of_a_rank(), .ranks = 4) {
  FailingGroup group;
  join_together(group);
  step("given a rank that is killed while it works");
  group.expect_loss(kLimit);
  if (group.rank() == kLost) {
    leave("signal:9");
    std::thread([] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20 + ::getpid() % 10));
      ::kill(::getpid(), SIGKILL);
    }).detach();
  }
  expect_failure("all_reduce", last_of_many(group));
}

PROCTOR_CHECK(LostRank, NextOperationFailsAfterKill, "C26", kIoErrors, kGate,
              .faults = {"collective.swallowed_error"}, .devices = devices_of_a_rank(), .ranks = 4) {
  FailingGroup group;
  expect_ok("joining", group.join());
  expect_ok("all_reduce of all", group.all_reduce());
  announce(group.spec().store, "through", group.rank());
  wait_for(group.spec().store, "through", group.size());
  step("given a rank that is killed after an operation of all ranks");
  group.expect_loss(kLimit);
  if (group.rank() == kLost) die(SIGKILL);
  expect_failure("all_reduce", last_of_many(group));
}

PROCTOR_CHECK(LostRank, RunningOperationFailsAfterCrash, "C26", kIoErrors, kGate,
              .faults = {"collective.swallowed_error"}, .devices = devices_of_a_rank(), .ranks = 3) {
  FailingGroup group;
  join_together(group);
  step("given a rank that crashes");
  group.expect_loss(kLimit);
  if (group.rank() == kLost) {
    leave("signal:11");
    std::signal(SIGSEGV, SIG_DFL);  // the handler of oneCCL would call exit(1)
    std::thread([] { ::raise(SIGSEGV); }).detach();
  }
  expect_failure("all_reduce", last_of_many(group));
}

PROCTOR_CHECK(LostRank, OperationFailsIfRankIsSuspended, "C27", kIoErrors, kGate,
              .faults = {"collective.swallowed_error"}, .devices = devices_of_a_rank(), .ranks = 3) {
  FailingGroup group;
  join_together(group);
  step("given a rank that is stopped (SIGSTOP)");
  group.expect_loss(kLimit);
  if (group.rank() == kLost) {
    leave("ended");
    ::raise(SIGSTOP);
  }
  expect_failure("all_reduce", last_of_many(group));
}

// Tests the time limit itself: the rank is alive, but comes only after the others have failed.
PROCTOR_CHECK(LateRank, OtherRanksFailAtTimeout, "C29", kIoErrors, kGate,
              .faults = {"collective.swallowed_error", "collective.delay_failure:api=all_reduce,us=14000000"},
              .devices = devices_of_a_rank(), .ranks = 3) {
  FailingGroup group;
  need_feature(group.features().time_limit, "time_limit");
  expect_ok("joining", group.join());
  step("given a rank that joins after the limit of the others");
  if (group.rank() == kLost) return wait_for(group.spec().store, "gave up", group.size(), kLost);
  group.expect_loss(kLimit);
  const suite::Stopwatch watch;
  const Answer answer = group.all_reduce();
  const std::chrono::duration<double> waited = watch.of_thread();
  announce(group.spec().store, "gave up", group.rank());
  expect_failure("all_reduce", answer);
  suite::measure("waited", waited.count(), "s");
  suite::expect_true(
      waited < kBusyMachine * kLimit,
      fmt::format("all_reduce ends by its limit of {} ms: it took {:.1f} s", kLimit.count(), waited.count()));
}

PROCTOR_CHECK(LateRank, LateOperationFails, "C29", kIoErrors, kGate, .faults = {"collective.swallowed_error"},
              .devices = devices_of_a_rank(), .ranks = 2) {
  FailingGroup group;
  need_feature(group.features().time_limit, "time_limit");
  expect_ok("joining", group.join());
  step("given a rank that calls after the other has left");
  group.expect_loss(kLimit);
  if (group.rank() == kLost) {
    wait_for(group.spec().store, "left", group.size(), kLost);
    return expect_failure("all_reduce of the late rank", group.all_reduce());
  }
  const Answer answer = group.all_reduce();
  group.leave();
  announce(group.spec().store, "left", group.rank());
  expect_failure("all_reduce", answer);
}

PROCTOR_CHECK(RankMismatch, JoinFailsIfGroupNamesDiffer, "C21", kConnect, kGate,
              .faults = {"collective.swallowed_error"}, .devices = devices_of_a_rank(), .ranks = 3) {
  const bool other = rank_facts().rank == kLost;
  FailingGroup group(other ? "another" : "one");
  step(fmt::format("given that rank {} joins another group", kLost));
  group.expect_loss(kLimit);
  expect_failure("joining", group.join());
}

// One rank reduces half as many elements as the others. Gloo detects in its own thread that a message is
// longer than the waiting buffer. The check cannot catch that exception: the rank ends with SIGABRT, and the
// others lose it.
PROCTOR_CHECK(RankMismatch, OperationFailsIfCountsDiffer, "C21", kDisagree, kWarn,
              .faults = {"collective.swallowed_error"}, .devices = devices_of_a_rank(), .ranks = 3) {
  FailingGroup group;
  join_together(group);
  step(fmt::format("given that rank {} reduces another number of elements", kLost));
  group.expect_loss(kLimit);
  if (group.rank() == kLost) leave("signal:6");
  const Answer answer = group.all_reduce(0, group.rank() == kLost ? 1024 : 2048);
  if (group.rank() == kLost) leave("");  // the rank did not end
  expect_failure("all_reduce", answer);
}

PROCTOR_CHECK(RankMismatch, OperationFailsIfCallOrdersDiffer, "C21", kDisagree, kWarn,
              .faults = {"collective.swallowed_error"}, .devices = devices_of_a_rank(), .ranks = 3) {
  FailingGroup group;
  join_together(group);
  step(fmt::format("given that rank {} broadcasts first, and the others reduce", kLost));
  group.expect_loss(kLimit);
  const Answer first = group.rank() == kLost ? group.broadcast() : group.all_reduce();
  if (!first.ok()) return expect_failure("the first operation", first);
  expect_failure("the second operation", group.rank() == kLost ? group.all_reduce() : group.broadcast());
}

// ---- abort ----

PROCTOR_CHECK(Abort, WaitingOperationReturnsAborted, "C25", "NCCL user guide, ncclCommAbort", kGate,
              .faults = {"collective.abort_ignored"}, .devices = devices_of_a_rank(), .ranks = 2) {
  FailingGroup group;
  need_feature(group.features().abort, "abort");
  expect_ok("joining", group.join());
  expect_ok("all_reduce of all", group.all_reduce());
  if (group.rank() == kLost) return wait_for(group.spec().store, "aborted", 1);
  step("given abort by another thread while an operation waits");
  std::thread aborter([&group] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    expect_ok("abort", group.abort());
  });
  const Answer answer = group.all_reduce();
  aborter.join();
  announce(group.spec().store, "aborted", group.rank());
  expect_ended("the operation that waited", Ended::kAborted, answer);
}

// ---- A library that detects no failures ----

namespace {

// The lost rank ends by calling `end`. The other rank may wait until the runner ends it, but must never have
// a result.
void lose_a_rank_of_oneccl(const std::function<void()>& end) {
  FailingGroup group("failing", "oneccl");
  expect_ok("joining", group.join());
  expect_ok("all_reduce of all", group.all_reduce());
  step("given a rank that ends after an operation of all ranks");
  group.expect_loss(kLimit);
  if (group.rank() == kLost) end();
  expect_failure("all_reduce", group.all_reduce(1));
}

}  // namespace

// oneCCL busy-waits for a rank that does not come (docs/reference/oneccl.md).
PROCTOR_CHECK(OneCcl, KilledRankPreventsAllReduceSuccess, "C26", kOfAllRanks, kGate,
              .faults = {"collective.succeed_after_timeout"}, .devices = devices_of_a_rank(), .ranks = 2) {
  lose_a_rank_of_oneccl([] { die(SIGKILL); });
}

PROCTOR_CHECK(OneCcl, SuspendedRankPreventsAllReduceSuccess, "C27", kOfAllRanks, kGate,
              .faults = {"collective.succeed_after_timeout"}, .devices = devices_of_a_rank(), .ranks = 2) {
  lose_a_rank_of_oneccl([] {
    leave("ended");
    ::raise(SIGSTOP);
  });
}

// ---- Leftovers of a crashed run ----

PROCTOR_CHECK(Store, JoinFailsWithStaleKeys, "C38", "Gloo, gloo/rendezvous/file_store.cc", kGate,
              .faults = {"collective.swallowed_error"}, .devices = devices_of_a_rank(), .ranks = 2) {
  const RankFacts facts = rank_facts();
  FailingGroup group("crashed");  // created before any rank waits: all ranks skip if the library is missing
  need_feature(group.features().time_limit, "time_limit");
  group.expect_loss(kLimit);
  step("given the keys of a run that died in the store");
  if (facts.rank == 0) {
    FailingGroup dead({.rank = 0, .size = 2, .store = facts.store, .name = "crashed", .timeout = kLimit});
    expect_failure("joining alone", dead.join());
    announce(facts.store, "died", 0);
  }
  wait_for(facts.store, "died", 1);
  const Answer answer = group.join();
  suite::expect_true(!answer.ok(), "a group over the keys of a dead one is refused or finds no rank");
}

}  // namespace proctor::collectives
