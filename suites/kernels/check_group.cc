// What work-items do together: in a group, in a sub-group, in a whole launch.
#include <algorithm>
#include <numeric>

#include "suites/accel/check_fixture.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

using suite::expect_same;
using suite::expect_true;
using suite::kGate;
using suite::kWarn;
using suite::step;

constexpr const char* kBarrier =
    by_vendor("SPIR-V specification, OpControlBarrier; OpenCL-CTS basic/test_barrier",
              "CUDA C++ Programming Guide, Synchronization Functions");
constexpr const char* kSubGroup =
    by_vendor("OpenCL-CTS subgroups", "CUDA C++ Programming Guide, Warp Shuffle and Vote Functions");
constexpr std::uint32_t kLanes = by_vendor(16u, 32u);  // of the module that shuffles
constexpr std::uint32_t kGroupItems = 64;
constexpr std::uint32_t kGroups = 32;
constexpr std::uint32_t kAllItems = kGroupItems * kGroups;

// Runs a kernel of the form name(in, out) over kItems words, with `words_each` of output a work-item.
std::vector<std::uint32_t> run_groups(const Context& context, const std::string& module_name,
                                      const std::string& name, const std::vector<std::uint32_t>& in,
                                      std::uint32_t words_each, std::uint32_t group) {
  Queue queue(context);
  const Module module = Module::load(context, module_name);
  const auto from = device_copy(queue, context, in);
  const auto to = device_copy(queue, context, std::vector<std::uint32_t>(in.size() * words_each, 0xdead));
  queue.launch(Kernel(module, name), cover(in.size(), group), arguments(from, to));
  queue.synchronize();
  return read_as<std::uint32_t>(queue, context, to);
}

std::vector<std::uint32_t> mirrored(const std::vector<std::uint32_t>& in, std::uint32_t group) {
  std::vector<std::uint32_t> out(in.size());
  for (std::size_t i = 0; i < in.size(); ++i) out[i] = in[i - i % group + group - 1 - i % group];
  return out;
}

}  // namespace

PROCTOR_CHECK(Group, BarrierSeparatesWritesFromReads, "K36", kBarrier, kGate, {"kernel.drop_barrier"}) {
  const auto context = leased();
  const auto in = noise_words(kAllItems, 1);
  step("given work-items that read what their mirror image wrote");
  expect_words("mirror", mirrored(in, kGroupItems),
               run_groups(context, "group", "mirror", in, 1, kGroupItems), context.device());
}

PROCTOR_CHECK(Group, ReductionIsExact, "K36", kBarrier, kGate,
              {"kernel.drop_barrier", "kernel.skip_group:at=3"}) {
  const auto context = leased();
  Queue queue(context);
  const Module module = Module::load(context, "group");
  const std::uint32_t n = 256 * 20 - 3;
  const auto in = noise_words(n, 2);
  const auto from = device_copy(queue, context, in);
  const auto sums = device_copy(queue, context, std::vector<std::uint32_t>(20));
  step("given groups of 256 that sum by halves");
  queue.launch(Kernel(module, "reduce"), cover(n, 256), arguments(from, sums, n));
  queue.synchronize();
  std::vector<std::uint32_t> expected(20);
  for (std::uint32_t i = 0; i < n; ++i) expected[i / 256] += in[i];
  expect_words("sums", expected, read_as<std::uint32_t>(queue, context, sums), context.device());
}

PROCTOR_CHECK(Group, LocalBuffersAreApart, "K14", kBarrier, kGate, {"kernel.drop_barrier"}) {
  const auto context = leased();
  Queue queue(context);
  const Module module = Module::load(context, "group");
  const auto out = device_copy(queue, context, std::vector<std::uint32_t>(2 * kAllItems));
  step("given two buffers of local memory");
  queue.launch(Kernel(module, "two_locals"), groups_of(kGroups, kGroupItems), arguments(out));
  queue.synchronize();
  std::vector<std::uint32_t> expected;
  for (std::uint32_t i = 0; i < kAllItems; ++i) {
    expected.push_back(63 - i % 64);
    expected.push_back(63 - i % 64 + 1000);
  }
  expect_words("what they hold", expected, read_as<std::uint32_t>(queue, context, out), context.device());
}

PROCTOR_CHECK(Group, LocalArgumentHoldsItsGroup, "K14", kBarrier, kGate, {"kernel.drop_barrier"}) {
  const auto context = leased();
  Queue queue(context);
  const Module module = Module::load(context, "group_local");
  const auto in = noise_words(kAllItems, 3);
  const auto from = device_copy(queue, context, in);
  const Buffer to = device_memory(context, from.bytes());
  step("given local memory whose size the launch decides");
  queue.launch(Kernel(module, "reverse_local"), groups_of(kGroups, kGroupItems),
               arguments(from, to, LocalMemory{kGroupItems * 4}));
  queue.synchronize();
  expect_words("reversed groups", mirrored(in, kGroupItems), read_as<std::uint32_t>(queue, context, to),
               context.device());
}

PROCTOR_CHECK(Group, LocalMemoryHidesOtherGroups, "K14",
              "isolation: what one group leaves, the next must not read", kWarn,
              {"kernel.stale_local_memory"}) {
  const auto context = leased();
  Queue queue(context);
  const Module module = Module::load(context, "group_local");
  const Kernel kernel(module, "leave_secret");
  const auto found = device_copy(queue, context, std::vector<std::uint32_t>(kGroups));
  step("given groups that leave a pattern in local memory and look for it");
  for (int i = 0; i < 2; ++i) {
    queue.launch(kernel, groups_of(kGroups, kGroupItems), arguments(found, LocalMemory{kGroupItems * 4}));
  }
  queue.synchronize();
  expect_words("work-items that found it", std::vector<std::uint32_t>(kGroups),
               read_as<std::uint32_t>(queue, context, found), context.device());
}

PROCTOR_CHECK(Cooperative, GroupsMeet, "K18",
              by_vendor("Level Zero specification, zeCommandListAppendLaunchCooperativeKernel",
                        "CUDA C++ Programming Guide, Cooperative Groups"),
              kGate, {"kernel.grid_barrier_broken"}) {
  const auto context = leased();
  Queue queue(context);
  const Module module = Module::load(context, "litmus");
  constexpr std::uint32_t kMeeting = 4;
  constexpr std::uint32_t kRounds = 5;
  const auto arrived = device_copy(queue, context, std::vector<std::uint32_t>(1));
  const auto out = device_copy(queue, context, std::vector<std::uint32_t>(kMeeting));
  step("given four groups that wait for each other five times");
  queue.launch(Kernel(module, "grid_barrier"),
               {.groups = {kMeeting, 1, 1}, .group = {8, 1, 1}, .cooperative = true},
               arguments(arrived, out, kRounds, 200000u));
  queue.synchronize();
  for (const std::uint32_t seen : read_as<std::uint32_t>(queue, context, out)) {
    expect_true(seen == kMeeting * kRounds, "every group sees all " + std::to_string(kMeeting * kRounds) +
                                                " arrivals in the end, one saw " + std::to_string(seen));
  }
}

// ---- sub-groups ----

PROCTOR_CHECK(SubGroup, LanesReduceAndScan, "K37", kSubGroup, kGate, {"kernel.vote_wrong"}) {
  const auto context = leased();
  std::vector<std::uint32_t> in = noise_words(kAllItems, 4);
  for (auto& word : in) word &= 0xffff;  // sums stay exact
  step("given sums, scans, extremes and broadcasts");
  const auto got = run_groups(context, "subgroups", "subgroups", in, 8, kGroupItems);

  // Which lanes form a sub-group is the device's choice; within what it says, every result is fixed.
  std::vector<std::uint32_t> expected;
  for (std::uint32_t i = 0; i < kAllItems; ++i) {
    const std::uint32_t size = std::clamp(got[8 * i + 1], 1u, kGroupItems);
    const std::uint32_t in_group = i % kGroupItems;
    const std::uint32_t lane = in_group % size;
    const auto first = in.begin() + (i - lane);
    const auto last = first + std::min(size, kGroupItems - (in_group - lane));
    const auto inclusive = std::accumulate(first, first + lane + 1, 0u);
    expected.insert(expected.end(),
                    {lane, got[8 * i + 1], in_group / size, std::accumulate(first, last, 0u), inclusive,
                     inclusive - in[i], *std::max_element(first, last), size > 1 ? first[1] : first[0]});
  }
  expect_words("lane, size, number, sum, scans, largest, broadcast", expected, got, context.device());
}

PROCTOR_CHECK(SubGroup, ShufflesReadTheRightLane, "K37", kSubGroup, kGate, {"kernel.shuffle_wrong"}) {
  const auto context = leased();
  const auto& sizes = context.device().properties().sub_group_sizes;
  need(std::find(sizes.begin(), sizes.end(), kLanes) != sizes.end(),
       "needs:sub_group_size=" + std::to_string(kLanes));
  const auto in = noise_words(kAllItems, 5);
  step("given lanes that read each other");
  const auto got = run_groups(context, "shuffles_" + std::to_string(kLanes), "shuffles", in, 4, kGroupItems);
  std::vector<std::uint32_t> expected;
  for (std::uint32_t i = 0; i < kAllItems; ++i) {
    const std::uint32_t lane = i % kLanes;
    const std::uint32_t first = i - lane;
    expected.insert(expected.end(),
                    {in[first + (lane + 1) % kLanes], in[first + (lane ^ 1u)], in[first], lane});
  }
  expect_words("next lane, neighbour, lane 0, own lane", expected, got, context.device());
}

PROCTOR_CHECK(SubGroup, VotesCountEveryLane, "K37", kSubGroup, kGate, {"kernel.vote_wrong"}) {
  const auto context = leased();
  // One dissenter at a time, in a group that is small enough to be one sub-group: the
  // last lane must count too.
  const auto& sizes = context.device().properties().sub_group_sizes;
  need(!sizes.empty(), "unsupported:subgroups");
  const std::uint32_t lanes = *std::min_element(sizes.begin(), sizes.end());
  std::vector<std::uint32_t> in;
  std::vector<std::uint32_t> expected;
  step("given sub-groups of " + std::to_string(lanes) + " in which one lane votes differently");
  for (std::uint32_t odd = 0; odd < lanes; ++odd) {
    for (const std::uint32_t rest : {0u, 1u}) {
      for (std::uint32_t lane = 0; lane < lanes; ++lane) {
        in.push_back(lane == odd ? 1 - rest : rest);
        expected.push_back(1);  // some do, not all do
      }
    }
  }
  for (const std::uint32_t same : {0u, 1u}) {
    in.insert(in.end(), lanes, same);
    expected.insert(expected.end(), lanes, same == 1 ? 3 : 0);
  }
  expect_words("any (1) and all (2)", expected, run_groups(context, "subgroups", "votes", in, 1, lanes),
               context.device());
}

}  // namespace proctor::accel
