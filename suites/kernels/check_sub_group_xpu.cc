// Checks of sub-groups with a size that the kernel requires, and of functions of sub-groups and groups that only
// OpenCL has.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>

#include "suites/accel/check_fixture.h"
#include "suites/kernels/numeric.h"
#include "suites/kernels/sub_groups.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

using suite::kGate;
using suite::step;

constexpr const char* kNonUniform =
    "OpenCL Extension specification, cl_khr_subgroup_non_uniform_vote, _non_uniform_arithmetic, _ballot, "
    "_shuffle, "
    "_shuffle_relative, _clustered_reduce";
constexpr const char* kWorkGroup = "OpenCL C specification, work-group collective functions";

}  // namespace

PROCTOR_CHECK(SubGroup, RequiredSizeIsUsed, "K37", "Level Zero specification, ze_device_compute_properties_t",
              kGate, {"kernel.sub_group_size_wrong"}) {
  const auto context = leased();
  const auto& sizes = context.device().properties().sub_group_sizes;
  Queue queue(context);
  const auto out = device_copy(queue, context, std::vector<std::uint32_t>(128));
  int tried = 0;
  for (const std::uint32_t size : {8u, 16u, 32u}) {
    if (std::find(sizes.begin(), sizes.end(), size) == sizes.end()) {
      suite::record("left_out." + std::to_string(size), "unsupported:sub_group_size_" + std::to_string(size));
      continue;
    }
    ++tried;
    step("given a kernel that requires sub-groups of " + std::to_string(size));
    const std::string name = "sub_group_" + std::to_string(size);
    const Module module = Module::load(context, name);
    queue.launch(Kernel(module, name), groups_of(2, 64), arguments(out));
    queue.synchronize();
    expect_words("size of the sub-group", std::vector<std::uint32_t>(128, size),
                 read_as<std::uint32_t>(queue, context, out), context.device());
  }
  need(tried != 0, "needs:sub_group_size=8|16|32");
}

// ---- elections, masks, and lanes by their numbers ----

PROCTOR_CHECK(SubGroup, ElectionsAndMasksAreCorrect, "K37", kNonUniform, kGate,
              {"kernel.wrong_result:kernel=elections,arg=1,at=4"}) {
  for_each_size(leased(), "collectives_", [](SubGroups& sub_groups) {
    const auto in = lane_values<std::uint32_t>(sub_groups.items());
    const auto got = sub_groups.run<std::uint32_t>("elections", 10, in);
    sub_groups.expect("elections", got, [&](std::uint32_t k, std::uint32_t i) -> std::uint32_t {
      const Place place = sub_groups.place(i);
      const std::uint32_t group = sub_groups.items() / kGroupsOfLanes;
      const std::uint32_t self = 1u << place.lane, below = self - 1;
      const auto there = static_cast<std::uint32_t>((std::uint64_t{1} << place.size) - 1);
      const std::uint32_t what_it_says = got[k * sub_groups.items() + i];
      // Bits of lanes that do not exist are not compared.
      const auto mask = [&](std::uint32_t bits) { return (bits & there) | (what_it_says & ~there); };
      const std::uint32_t number_of_sub_groups = (group + sub_groups.lanes() - 1) / sub_groups.lanes();
      switch (k) {
        case 0:
          return place.lane == 0 ? 1 : 0;
        case 1:
          return in[place.first];
        case 2:
          return mask(self);
        case 3:
          return mask(~below);
        case 4:
          return mask(~below & ~self);
        case 5:
          return mask(below | self);
        case 6:
          return mask(below);
        case 9:
          return group < sub_groups.lanes() ? what_it_says : sub_groups.lanes();
        default:
          return number_of_sub_groups;
      }
    });
  });
}

PROCTOR_CHECK(SubGroup, ExtensionFunctionsReadEveryLane, "K37", kNonUniform, kGate,
              {"kernel.swap_shuffled_lanes:kernel=lane_by_lane",
               "kernel.omit_last_lane:kernel=lane_by_lane"}) {
  for_each_size(leased(), "collectives_", [](SubGroups& sub_groups) {
    const auto in = lane_values<std::uint32_t>(sub_groups.items());
    const auto got = sub_groups.run<std::uint32_t>("lane_by_lane", 8 * sub_groups.lanes(), in);
    sub_groups.expect("lane_by_lane", got, [&](std::uint32_t k, std::uint32_t i) -> std::uint32_t {
      const Place place = sub_groups.place(i);
      const std::uint32_t odd = k / 8;
      // The value of a lane that does not exist is not compared.
      const auto of_lane = [&](std::uint32_t lane) {
        return lane < place.size ? in[place.first + lane] : got[k * sub_groups.items() + i];
      };
      switch (k % 8) {
        case 0:
          return odd >= place.size || place.size == 1 ? 1 : 0;
        case 1:
          return odd < place.size ? in[place.first + odd] & 1 : 0;
        case 2:
          return of_lane(odd < place.size ? odd : 0);
        case 3:
          return of_lane(odd);
        case 4:
          return of_lane(place.lane ^ odd);
        case 5:
          return of_lane(place.lane >= odd ? place.lane - odd : ~0u);
        case 6:
          return of_lane(place.lane + odd);
        default:
          return (odd < place.size ? 1 : 0) | (odd < place.size ? 0 : 2);
      }
    });
  });
}

PROCTOR_CHECK(SubGroup, ClusteredReductionsAreExact, "K37", kNonUniform, kGate,
              {"kernel.omit_last_lane:kernel=clusters"}) {
  for_each_size(leased(), "collectives_", [](SubGroups& sub_groups) {
    const auto in = lane_values<std::uint32_t>(sub_groups.items());
    const auto got = sub_groups.run<std::uint32_t>("clusters", 8, in);
    sub_groups.expect("clusters", got, [&](std::uint32_t k, std::uint32_t i) {
      const Place place = sub_groups.place(i);
      const std::uint32_t cluster = 1u << k / 2, first = place.lane / cluster * cluster;
      if (cluster > place.size) return got[k * sub_groups.items() + i];
      const auto begin = in.begin() + place.first + first;
      const auto end = begin + std::min(cluster, place.size - first);
      return k % 2 == 0 ? std::accumulate(begin, end, 0u) : *std::max_element(begin, end);
    });
  });
}

PROCTOR_CHECK(SubGroup, InactiveLanesAreExcluded, "K37", kNonUniform, kGate,
              {"kernel.omit_last_lane:kernel=some_lanes",
               "kernel.wrong_result:kernel=some_lanes,arg=1,at=4"}) {
  for_each_size(leased(), "collectives_", [](SubGroups& sub_groups) {
    const auto in = lane_values<std::uint32_t>(sub_groups.items());
    const auto got = sub_groups.run<std::uint32_t>("some_lanes", 9, in);
    sub_groups.expect("some_lanes", got, [&](std::uint32_t k, std::uint32_t i) -> std::uint32_t {
      const Place place = sub_groups.place(i);
      if (place.lane % 5 == 4) return 0;  // This lane has left the kernel.
      const bool sums = place.lane % 3 == 1;
      std::uint32_t all = 0, before = 0, lanes = 0, first = ~0u;
      bool zeros = false, twos = false;
      for (std::uint32_t lane = 0; lane < place.size; ++lane) {
        if (lane % 5 == 4 || (lane % 3 == 1) != sums) continue;
        const std::uint32_t value = in[place.first + lane];
        if (lane < place.lane) before = sums ? before + value : std::max(before, value);
        all = sums ? all + value : std::max(all, value);
        lanes |= 1u << lane;
        first = std::min(first, lane);
        zeros = zeros || lane % 3 == 0;
        twos = twos || lane % 3 == 2;
      }
      const std::uint32_t own = in[i];
      switch (k) {
        case 0:
          return all;
        case 1:
          return sums ? before + own : std::max(before, own);
        case 2:
          return before;
        case 3:
          return place.lane == first ? 1 : 0;
        case 4:
          return in[place.first + first];
        case 5:
          return lanes;
        case 6:
          return sums || !twos ? 1 : 0;
        case 7:
          return twos ? 1 : 0;
        default:
          return zeros && twos ? 0 : 1;
      }
    });
  });
}

namespace {

// A half, as 16 bits on the host.
using HalfWord = std::uint16_t;
template <typename Combine>
HalfWord of_halves(HalfWord a, HalfWord b, Combine combine) {
  return kernels::half_from_float(combine(kernels::float_from_half(a), kernels::float_from_half(b)));
}
const LaneOperation<HalfWord> kHalfSum = {
    0, [](HalfWord a, HalfWord b) { return of_halves(a, b, std::plus<float>()); }};
const LaneOperation<HalfWord> kHalfProduct = {
    0x3c00, [](HalfWord a, HalfWord b) { return of_halves(a, b, std::multiplies<float>()); }};
const LaneOperation<HalfWord> kHalfLeast = {
    0x7c00,
    [](HalfWord a, HalfWord b) { return of_halves(a, b, [](float x, float y) { return std::min(x, y); }); }};
const LaneOperation<HalfWord> kHalfGreatest = {
    0xfc00,
    [](HalfWord a, HalfWord b) { return of_halves(a, b, [](float x, float y) { return std::max(x, y); }); }};

std::vector<HalfWord> half_operands(std::size_t count) {
  std::vector<HalfWord> result;
  for (const float value : lane_operands<float>(count)) result.push_back(kernels::half_from_float(value));
  return result;
}

}  // namespace

PROCTOR_CHECK(SubGroup, HalfReductionsAndScansMatchHost, "K37", kNonUniform, kGate,
              .faults = {"kernel.wrong_result:kernel=scans_f16,arg=1,at=6"}, .needs = {"fp16"}) {
  const auto context = leased();
  need_exact_halves(context.device());
  for_each_size(context, "scans_f16_", [](SubGroups& sub_groups) {
    const auto in = half_operands(sub_groups.items());
    expect_scans_of(sub_groups, "f16", in, {kHalfSum, kHalfProduct, kHalfLeast, kHalfGreatest});
    expect_scans_of(sub_groups, "uniform_f16", in, {kHalfSum, kHalfLeast, kHalfGreatest});
    expect_scans_of(sub_groups, "work_f16", in, {kHalfSum, kHalfLeast, kHalfGreatest}, Reach::kGroup);
  });
}

// ---- groups ----

PROCTOR_CHECK(WorkGroup, ReductionsAndScansMatchHost, "K78", kWorkGroup, kGate,
              {"kernel.omit_last_lane:kernel=scans_work_i32",
               "kernel.wrong_result:kernel=scans_work_u64,arg=1,at=8"}) {
  for_each_size(leased(), "scans_", [](SubGroups& sub_groups) {
    const auto expect = [&]<typename T>(const std::string& type, T) {
      expect_scans_of(sub_groups, "work_" + type, lane_operands<T>(sub_groups.items()), kUniform<T>,
                      Reach::kGroup);
    };
    expect("i32", std::int32_t{});
    expect("u32", std::uint32_t{});
    expect("i64", std::int64_t{});
    expect("u64", std::uint64_t{});
    expect("f32", float{});
  });
}

PROCTOR_CHECK(WorkGroup, DoubleReductionsAndScansMatchHost, "K78", kWorkGroup, kGate,
              .faults = {"kernel.wrong_result:kernel=scans_work_f64,arg=1,at=6"}, .needs = {"fp64"}) {
  const auto context = leased();
  need(context.device().properties().fp64, "unsupported:fp64");
  for_each_size(context, "scans_f64_", [](SubGroups& sub_groups) {
    expect_scans_of(sub_groups, "work_f64", lane_operands<double>(sub_groups.items()), kUniform<double>,
                    Reach::kGroup);
  });
}

PROCTOR_CHECK(WorkGroup, VotesIncludeEveryItem, "K78", kWorkGroup, kGate,
              {"kernel.omit_last_lane:kernel=group_votes"}) {
  for_each_size(leased(), "collectives_", [](SubGroups& sub_groups) {
    const std::uint32_t group = sub_groups.items() / kGroupsOfLanes;
    const auto got = sub_groups.run<std::uint32_t>("group_votes", 2 * group);
    sub_groups.expect("group_votes", got, [&](std::uint32_t k, std::uint32_t) {
      const std::uint32_t yes = k % 2 == 0 ? 1 : group - 1;
      return (yes > 0 ? 1u : 0u) | (yes == group ? 2u : 0u);
    });
  });
}

PROCTOR_CHECK(WorkGroup, BroadcastReadsEveryItem, "K78", kWorkGroup, kGate,
              {"kernel.wrong_result:kernel=group_broadcasts,arg=1,at=9"}) {
  const auto context = leased();
  const std::uint32_t lanes = sub_group_sizes(context.device()).front();
  Queue queue(context);
  const Module module = Module::load(context, "collectives_" + std::to_string(lanes));
  constexpr std::array<std::array<std::uint32_t, 3>, 3> kShapes = {{{24, 1, 1}, {6, 4, 1}, {4, 3, 2}}};
  constexpr std::uint32_t kItemsOfAll = 48;
  const auto in = lane_values<std::uint64_t>(kItemsOfAll);
  const auto from = device_copy(queue, context, in);
  const Buffer to = device_memory(context, kItemsOfAll * sizeof(std::uint64_t));
  for (std::uint32_t dimensions = 1; dimensions <= 3; ++dimensions) {
    const auto& shape = kShapes[dimensions - 1];
    for (std::uint32_t wanted = 0; wanted < 24; ++wanted) {
      const std::uint32_t x = wanted % shape[0], y = wanted / shape[0] % shape[1],
                          z = wanted / shape[0] / shape[1];
      step(fmt::format("given two groups of {} whose item {}, {}, {} is read", fmt::join(shape, " x "), x, y,
                       z));
      queue.launch(Kernel(module, "group_broadcasts"), {.groups = {2, 1, 1}, .group = shape},
                   arguments(from, to, dimensions, x, y, z));
      queue.synchronize();
      std::vector<std::uint64_t> expected;
      for (std::uint32_t i = 0; i < kItemsOfAll; ++i) {
        const std::uint32_t row = 2 * shape[0], group = i % row / shape[0];
        expected.push_back(in[group * shape[0] + x + row * (y + shape[1] * z)]);
      }
      expect_values("values that each item reads", expected, read_as<std::uint64_t>(queue, context, to),
                    context.device());
    }
  }
}

}  // namespace proctor::accel
