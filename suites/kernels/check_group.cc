// Checks of work-items that communicate: in a group, in a launch, and in a sub-group.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "suites/accel/check_fixture.h"
#include "suites/kernels/sub_groups.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

using suite::expect_same;
using suite::expect_true;
using suite::kGate;
using suite::kWarn;
using suite::step;

constexpr const char* kBarrier =
    by_vendor("SPIR-V specification, OpControlBarrier; OpenCL-CTS, basic/test_barrier",
              "CUDA Programming Guide, Synchronization Functions");
constexpr std::uint32_t kGroupItems = 64;
constexpr std::uint32_t kGroups = 32;
constexpr std::uint32_t kAllItems = kGroupItems * kGroups;

// Runs a kernel of the form name(in, out) over kItems words. Each work-item writes `words_each` words.
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

PROCTOR_CHECK(WorkGroup, BarrierMakesWritesVisible, "K36", kBarrier, kGate, {"kernel.drop_barrier"}) {
  const auto context = leased();
  const auto in = noise_words(kAllItems, 1);
  step("given work-items that read what their mirror image wrote");
  expect_words("mirror", mirrored(in, kGroupItems),
               run_groups(context, "group", "mirror", in, 1, kGroupItems), context.device());
}

PROCTOR_CHECK(WorkGroup, TreeReductionIsExact, "K36", kBarrier, kGate,
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

PROCTOR_CHECK(WorkGroup, LocalArraysDoNotOverlap, "K14", kBarrier, kGate, {"kernel.drop_barrier"}) {
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
  expect_words("words in the two buffers", expected, read_as<std::uint32_t>(queue, context, out),
               context.device());
}

namespace {

// All powers of two up to the largest group, sizes beside some of them, and sizes without a large common factor.
std::vector<std::uint32_t> group_sizes(const Device& device) {
  const auto& properties = device.properties();
  const std::uint32_t largest = std::min(properties.largest_group, properties.group_limit[0]);
  std::vector<std::uint32_t> sizes = {3, 7, 31, 33, 100, 255, 257, 511, 513, 769, largest - 1, largest};
  for (std::uint32_t size = 1; size < largest; size *= 2) sizes.push_back(size);
  std::erase_if(sizes, [&](std::uint32_t size) { return size > largest; });
  return sizes;
}

}  // namespace

PROCTOR_CHECK(WorkGroup, LocalArgumentHoldsWordPerItem, "K14", kBarrier, kGate, {"kernel.drop_barrier"}) {
  const auto context = leased();
  Queue queue(context);
  const Module module = Module::load(context, "group_local");
  const Kernel reverse(module, "reverse_local");
  std::vector<std::array<std::uint32_t, 3>> shapes = {{1, 64, 1}, {1, 1, 64},  {8, 4, 2},
                                                      {5, 3, 7},  {16, 16, 1}, {2, 2, 64}};
  for (const std::uint32_t size : group_sizes(context.device())) shapes.push_back({size, 1, 1});
  for (const auto& shape : shapes) {
    const std::uint32_t items = shape[0] * shape[1] * shape[2];
    const auto& properties = context.device().properties();
    if (items > properties.largest_group || shape[2] > properties.group_limit[2]) continue;
    const std::string what = fmt::format("groups of {}", fmt::join(shape, " x "));
    step("given local memory whose size the launch sets, in " + what);
    const auto in = noise_words(4 * items, items);
    const auto from = device_copy(queue, context, in);
    const Buffer to = device_memory(context, from.bytes());
    queue.launch(reverse, {.groups = {2, 1, 2}, .group = shape}, arguments(from, to, LocalMemory{items * 4}));
    queue.synchronize();
    expect_words("reversed " + what, mirrored(in, items), read_as<std::uint32_t>(queue, context, to),
                 context.device());
  }
}

PROCTOR_CHECK(WorkGroup, LocalArraysAndArgumentsAreSeparate, "K14", kBarrier, kGate,
              {"kernel.drop_barrier", "kernel.wrong_result:kernel=all_locals,at=8"}) {
  const auto context = leased();
  Queue queue(context);
  const Module module = Module::load(context, "group_local");
  const Kernel kernel(module, "all_locals");
  for (const std::uint32_t group : group_sizes(context.device())) {
    if (group > 1024) continue;  // The kernel has this many elements of local memory.
    step("given arrays of a kernel and local memory of the launch, in groups of " + std::to_string(group));
    const auto out = device_copy(queue, context, std::vector<std::uint32_t>(2 * 5 * group));
    queue.launch(kernel, groups_of(2, group),
                 arguments(out, LocalMemory{group}, LocalMemory{2 * group}, LocalMemory{4 * group}));
    queue.synchronize();
    std::vector<std::uint32_t> expected;
    for (std::uint32_t i = 0; i < 2 * group; ++i) {
      const std::uint32_t other = group - 1 - i % group;
      expected.insert(expected.end(), {0x10000 + other, (other + 1) & 0xff, (other + 2) & 0xff, other + 0x300,
                                       0x40000 + other});
    }
    expect_words("two arrays and three arguments in groups of " + std::to_string(group), expected,
                 read_as<std::uint32_t>(queue, context, out), context.device());
  }
}

PROCTOR_CHECK(WorkGroup, LocalMemoryHidesEarlierData, "K14",
              "project rule: A group must not read data that an earlier group left in local memory.", kWarn,
              {"kernel.stale_local_memory", "kernel.stale_local_memory:core=9"}) {
  const auto context = leased();
  Queue queue(context);
  const Module module = Module::load(context, "group_local");
  const Kernel kernel(module, "leave_secret");
  const std::uint32_t groups = std::max(kGroups, context.device().properties().cores);
  const auto found = device_copy(queue, context, std::vector<std::uint32_t>(groups));
  step("given groups on each core that leave a pattern in local memory and look for it");
  for (int i = 0; i < 2; ++i) {
    queue.launch(kernel, groups_of(groups, kGroupItems), arguments(found, LocalMemory{kGroupItems * 4}));
  }
  queue.synchronize();
  const auto seen = read_as<std::uint32_t>(queue, context, found);
  // On an H100, shared memory still contains the previous data.
  if (kVendor == Vendor::kNvidia && !suite::on_simgpu())
    return suite::observe("shared memory of an earlier group", "found", seen[0], "work-items");
  expect_words("work-items that found it", std::vector<std::uint32_t>(groups), seen, context.device());
}

PROCTOR_CHECK(CooperativeLaunch, GridBarrierSynchronizesAllGroups, "K18",
              by_vendor("Level Zero specification, zeCommandListAppendLaunchCooperativeKernel",
                        "CUDA Programming Guide, Cooperative Groups"),
              kGate, {"kernel.serialize_cooperative_groups"}) {
  const auto context = leased();
  Queue queue(context);
  const Module module = Module::load(context, "litmus");
  constexpr std::uint32_t kMeeting = 4;
  constexpr std::uint32_t kRounds = 5;
  Kernel kernel(module, "grid_barrier");
  need(kernel.cooperative_groups(8) >= kMeeting, "needs:cooperative_groups>=4");
  step("given four groups that wait for each other five times: in a row, and in a plane with depth");
  for (const Launch& launch : {Launch{.groups = {kMeeting, 1, 1}, .group = {8, 1, 1}, .cooperative = true},
                               Launch{.groups = {2, 1, 2}, .group = {8, 1, 1}, .cooperative = true}}) {
    const auto arrived = device_copy(queue, context, std::vector<std::uint32_t>(1));
    const auto out = device_copy(queue, context, std::vector<std::uint32_t>(kMeeting));
    queue.launch(kernel, launch, arguments(arrived, out, kRounds, 200000u));
    queue.synchronize();
    for (const std::uint32_t seen : read_as<std::uint32_t>(queue, context, out)) {
      expect_true(seen == kMeeting * kRounds, "every group sees all " + std::to_string(kMeeting * kRounds) +
                                                  " arrivals in the end, one saw " + std::to_string(seen));
    }
  }
}

// Checks of sub-groups: every size of sub-group that the device supports, every distance, lane, operation and
// type. Also in groups whose last sub-group is not full.

namespace {

using suite::kGate;

constexpr const char* kSubGroup =
    by_vendor("OpenCL-CTS, subgroups", "CUDA Programming Guide, Warp Shuffle and Vote Functions");
constexpr const char* kScans =
    by_vendor("OpenCL Extension specification, cl_khr_subgroups, cl_khr_subgroup_non_uniform_arithmetic",
              "CUDA Programming Guide, Warp Shuffle Functions");
// ---- shuffles ----

// The results are in the order of shuffles.cl. Values of lanes that do not exist are not compared.
template <typename T>
void expect_shuffles(SubGroups& sub_groups, const std::string& type) {
  const auto in = lane_values<T>(sub_groups.items());
  const std::uint32_t lanes = sub_groups.lanes();
  const auto got = sub_groups.run<T>("shuffles_" + type, 5 * lanes, in);
  sub_groups.expect("shuffles_" + type, got, [&](std::uint32_t k, std::uint32_t i) {
    const Place place = sub_groups.place(i);
    const std::uint32_t by = k / 5;
    const auto value_of = [&](std::uint32_t lane) {
      return lane < place.size ? in[place.first + lane] : got[k * sub_groups.items() + i];
    };
    const auto beyond = [&](std::uint32_t lane) {
      return place.size == lanes ? static_cast<T>(~in[place.first + lane]) : got[k * sub_groups.items() + i];
    };
    switch (k % 5) {
      case 0:
        return value_of(by);
      case 1:
        return value_of((place.lane + by) % lanes);
      case 2:
        return value_of(place.lane ^ by);
      case 3:
        return place.lane >= by ? value_of(place.lane - by) : beyond(place.lane + lanes - by);
      default:
        return place.lane + by < lanes ? value_of(place.lane + by) : beyond(place.lane + by - lanes);
    }
  });
}

}  // namespace

PROCTOR_CHECK(SubGroup, LaneIdsAndSizesAreCorrect, "K37", kSubGroup, kGate,
              {"kernel.wrong_result:kernel=places,arg=0,at=4"}) {
  for_each_size(leased(), "shuffles_", [](SubGroups& sub_groups) {
    const auto got = sub_groups.run<std::uint32_t>("places", 3);
    sub_groups.expect("places", got, [&](std::uint32_t k, std::uint32_t i) {
      const Place place = sub_groups.place(i);
      const bool always_full = kVendor == Vendor::kNvidia;  // A warp always has its full size.
      return k == 0 ? place.lane : k == 2 ? place.number : always_full ? sub_groups.lanes() : place.size;
    });
  });
}

PROCTOR_CHECK(SubGroup, ShuffleReadsSelectedLane, "K37", kSubGroup, kGate, {"kernel.swap_shuffled_lanes"}) {
  for_each_size(leased(), "shuffles_", [](SubGroups& sub_groups) {
    expect_shuffles<std::uint8_t>(sub_groups, "u8");
    expect_shuffles<std::uint16_t>(sub_groups, "u16");
    expect_shuffles<std::uint32_t>(sub_groups, "u32");
    expect_shuffles<std::uint64_t>(sub_groups, "u64");
  });
}

PROCTOR_CHECK(SubGroup, VotesIncludeEveryLane, "K37", kSubGroup, kGate, {"kernel.omit_last_lane"}) {
  for_each_size(leased(), "shuffles_", [](SubGroups& sub_groups) {
    const auto got = sub_groups.run<std::uint32_t>("votes", 2 * sub_groups.lanes());
    sub_groups.expect("votes", got, [&](std::uint32_t k, std::uint32_t i) -> std::uint32_t {
      const std::uint32_t size = sub_groups.place(i).size;
      const std::uint32_t yes = k / 2 < size ? 1 : 0;  // number of work-items that vote yes
      const std::uint32_t votes = k % 2 == 0 ? yes : size - yes;
      return (votes > 0 ? 1 : 0) | (votes == size ? 2 : 0);
    });
  });
}

PROCTOR_CHECK(SubGroup, BallotFunctionsAreExact, "K37", kSubGroup, kGate,
              {"kernel.omit_last_lane:kernel=ballots", "kernel.wrong_result:kernel=ballots,arg=1,at=4"}) {
  for_each_size(leased(), "shuffles_", [](SubGroups& sub_groups) {
    const auto in = lane_values<std::uint32_t>(sub_groups.items());
    const auto got = sub_groups.run<std::uint32_t>("ballots", 2 * sub_groups.lanes() + 7, in);
    sub_groups.expect("ballots", got, [&](std::uint32_t k, std::uint32_t i) -> std::uint32_t {
      const Place place = sub_groups.place(i);
      const auto all = static_cast<std::uint32_t>((std::uint64_t{1} << place.size) - 1);
      if (k < 2 * sub_groups.lanes()) return (k % 2 == 0 ? 1u << k / 2 : ~(1u << k / 2)) & all;
      std::uint32_t voted = 0;
      for (std::uint32_t lane = 0; lane < place.size; ++lane) voted |= (in[place.first + lane] & 1) << lane;
      const auto below = static_cast<std::uint32_t>((std::uint64_t{1} << place.lane) - 1);
      switch (k - 2 * sub_groups.lanes()) {
        case 0:
          return voted;
        case 1:
          return static_cast<std::uint32_t>(std::popcount(voted));
        case 2:
          return static_cast<std::uint32_t>(std::popcount(voted & (2 * below + 1)));
        case 3:
          return static_cast<std::uint32_t>(std::popcount(voted & below));
        case 4:  // Without a vote, the first voter is undefined.
          return voted == 0 ? got[k * sub_groups.items() + i]
                            : static_cast<std::uint32_t>(std::countr_zero(voted));
        case 5:
          return voted == 0 ? got[k * sub_groups.items() + i]
                            : static_cast<std::uint32_t>(std::bit_width(voted) - 1);
        default:
          return voted >> place.lane & 1;
      }
    });
  });
}

PROCTOR_CHECK(SubGroup, ReductionsAndScansMatchHost, "K37", kScans, kGate,
              {"kernel.omit_last_lane:kernel=scans_*", "kernel.wrong_result:kernel=scans_u64,arg=1,at=8"}) {
  for_each_size(leased(), "scans_", [](SubGroups& sub_groups) {
    expect_scans(sub_groups, "i8", lane_operations<std::int8_t>());
    expect_scans(sub_groups, "u8", lane_operations<std::uint8_t>());
    expect_scans(sub_groups, "i16", lane_operations<std::int16_t>());
    expect_scans(sub_groups, "u16", lane_operations<std::uint16_t>());
    expect_scans(sub_groups, "i32", lane_operations<std::int32_t>());
    expect_scans(sub_groups, "u32", lane_operations<std::uint32_t>());
    expect_scans(sub_groups, "i64", lane_operations<std::int64_t>());
    expect_scans(sub_groups, "u64", lane_operations<std::uint64_t>());
    expect_scans(sub_groups, "f32", lane_operations<float>());
    if (kVendor == Vendor::kNvidia) return;  // Only OpenCL has the older functions.
    expect_scans(sub_groups, "uniform_i32", kUniform<std::int32_t>);
    expect_scans(sub_groups, "uniform_u32", kUniform<std::uint32_t>);
    expect_scans(sub_groups, "uniform_i64", kUniform<std::int64_t>);
    expect_scans(sub_groups, "uniform_u64", kUniform<std::uint64_t>);
    expect_scans(sub_groups, "uniform_f32", kUniform<float>);
  });
}

PROCTOR_CHECK(SubGroup, DoubleReductionsAndScansMatchHost, "K37", kScans, kGate,
              .faults = {"kernel.wrong_result:kernel=scans_f64,arg=1,at=6"}, .needs = {"fp64"}) {
  const auto context = leased();
  need(context.device().properties().fp64, "unsupported:fp64");
  for_each_size(context, "scans_f64_", [](SubGroups& sub_groups) {
    expect_scans(sub_groups, "f64", lane_operations<double>());
    if (kVendor == Vendor::kIntel) expect_scans(sub_groups, "uniform_f64", kUniform<double>);
  });
}

}  // namespace proctor::accel
