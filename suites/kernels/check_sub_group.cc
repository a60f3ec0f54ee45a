// What the lanes of a sub-group do together: for every size of sub-groups that the device has, every distance, every lane, every
// operation and type; and in groups whose last sub-group is not full.
#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstring>
#include <limits>
#include <numeric>

#include "suites/accel/check_fixture.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

using suite::kGate;
using suite::step;

constexpr const char* kSubGroup =
    by_vendor("OpenCL-CTS subgroups", "CUDA C++ Programming Guide, Warp Shuffle and Vote Functions");
constexpr const char* kScans =
    by_vendor("OpenCL Extension specification, cl_khr_subgroups, cl_khr_subgroup_non_uniform_arithmetic",
              "CUDA C++ Programming Guide, Warp Shuffle Functions");
constexpr std::uint32_t kGroupsOfLanes = 2;

// Those for which there are modules.
std::vector<std::uint32_t> sub_group_sizes(const Device& device) {
  const auto& sizes = device.properties().sub_group_sizes;
  std::vector<std::uint32_t> result;
  for (const std::uint32_t size : by_vendor<std::vector<std::uint32_t>>({8, 16, 32}, {32})) {
    if (std::find(sizes.begin(), sizes.end(), size) != sizes.end()) result.push_back(size);
  }
  need(!result.empty(), by_vendor("needs:sub_group_size=8|16|32", "needs:sub_group_size=32"));
  return result;
}

// Sizes of groups: several whole sub-groups, and last ones of every kind. CUDA leaves open what lanes do that are not there.
std::vector<std::uint32_t> lane_group_sizes(std::uint32_t lanes) {
  return by_vendor<std::vector<std::uint32_t>>({2 * lanes, 1, lanes - 1, lanes + 1, 3 * lanes - 3},
                                               {2 * lanes, lanes});
}

// A work-item among those of its sub-group.
struct Place {
  Place(std::uint32_t item, std::uint32_t group, std::uint32_t lanes)
      : number(item % group / lanes),
        lane(item % group % lanes),
        first(item - lane),
        size(std::min(lanes, group - number * lanes)) {}
  std::uint32_t number, lane, first, size;
};

// Launches of the kernels of one module in groups of one size.
class SubGroups {
 public:
  SubGroups(const Context& context, const std::string& module, std::uint32_t lanes, std::uint32_t group)
      : context_(context),
        queue_(context),
        module_(Module::load(context, module + std::to_string(lanes))),
        lanes_(lanes),
        group_(group) {}

  std::uint32_t items() const { return kGroupsOfLanes * group_; }
  std::uint32_t lanes() const { return lanes_; }
  Place place(std::uint32_t item) const { return {item, group_, lanes_}; }

  // `results` planes of a result for each work-item.
  template <typename Out, typename... In>
  std::vector<Out> run(const std::string& kernel, std::uint32_t results, const In&... in) {
    std::vector<Buffer> buffers;
    (buffers.push_back(device_copy(queue_, context_, in)), ...);
    buffers.push_back(device_copy(queue_, context_, std::vector<Out>(results * items())));
    Arguments all;
    for (const Buffer& buffer : buffers) all.push_back(argument(buffer));
    all.push_back(argument(items()));
    step("given " + kernel + what());
    queue_.launch(Kernel(module_, kernel), groups_of(kGroupsOfLanes, group_), all);
    queue_.synchronize();
    return read_as<Out>(queue_, context_, buffers.back());
  }

  // Plane k of item i is expected(k, i).
  template <typename Out, typename Expected>
  void expect(const std::string& kernel, const std::vector<Out>& got, Expected expected) {
    std::vector<Out> wanted;
    for (std::uint32_t k = 0; k < got.size() / items(); ++k) {
      for (std::uint32_t i = 0; i < items(); ++i) wanted.push_back(expected(k, i));
    }
    expect_values(kernel + what(), wanted, got, context_.device());
  }

 private:
  std::string what() const {
    return " in sub-groups of " + std::to_string(lanes_) + ", groups of " + std::to_string(group_);
  }

  Context context_;
  Queue queue_;
  Module module_;
  std::uint32_t lanes_, group_;
};

// Calls check(sub-groups) for each size of sub-groups, and each size of groups with it.
template <typename Check>
void for_each_size(const Context& context, const std::string& module, Check check) {
  for (const std::uint32_t lanes : sub_group_sizes(context.device())) {
    for (const std::uint32_t group : lane_group_sizes(lanes)) {
      SubGroups sub_groups(context, module, lanes, group);
      check(sub_groups);
    }
  }
}

template <typename T>
std::vector<T> lane_values(std::size_t count) {
  const auto bytes = noise(count * sizeof(T), count);
  std::vector<T> result(count);
  std::memcpy(result.data(), bytes.data(), bytes.size());
  return result;
}

// ---- shuffles ----

// In the order of shuffles.cl. What a lane that is not there would have is not looked at.
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

// ---- reductions and scans ----

template <typename T>
struct LaneOperation {
  T identity;
  T (*combine)(T a, T b);
};

template <typename T>
T lane_product(T a, T b) {
  if constexpr (std::integral<T>) {
    return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  } else {
    return a * b;
  }
}
template <typename T>
T lane_sum(T a, T b) {
  if constexpr (std::integral<T>) {
    return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  } else {
    return a + b;
  }
}
template <typename T>
constexpr T kLeast = std::integral<T> ? std::numeric_limits<T>::min() : -std::numeric_limits<T>::infinity();
template <typename T>
constexpr T kGreatest = std::integral<T> ? std::numeric_limits<T>::max() : std::numeric_limits<T>::infinity();

template <typename T>
const std::vector<LaneOperation<T>> kUniform = {{0, &lane_sum<T>},
                                                {kGreatest<T>, [](T a, T b) { return std::min(a, b); }},
                                                {kLeast<T>, [](T a, T b) { return std::max(a, b); }}};
template <typename T>
std::vector<LaneOperation<T>> lane_operations() {
  std::vector<LaneOperation<T>> result = {
      kUniform<T>[0], { 1, &lane_product<T> }, kUniform<T>[1], kUniform<T>[2]};
  if constexpr (std::integral<T>) {
    result.push_back({static_cast<T>(-1), [](T a, T b) { return static_cast<T>(a & b); }});
    result.push_back({0, [](T a, T b) { return static_cast<T>(a | b); }});
    result.push_back({0, [](T a, T b) { return static_cast<T>(a ^ b); }});
  }
  return result;
}

// Of floats only such whose sums and products are exact in every order.
template <typename T>
std::vector<T> lane_operands(std::size_t count) {
  if constexpr (std::integral<T>) {
    return lane_values<T>(count);
  } else {
    std::vector<T> result;
    for (const std::uint32_t word : noise_words(count, 7)) {
      result.push_back((word % 2 == 0 ? T{1} : T{-1}) * std::ldexp(T{1}, static_cast<int>(word / 2 % 3) - 1));
    }
    return result;
  }
}

template <typename T>
void expect_scans(SubGroups& sub_groups, const std::string& type,
                  const std::vector<LaneOperation<T>>& operations) {
  const auto in = lane_operands<T>(sub_groups.items());
  const auto results = static_cast<std::uint32_t>(3 * operations.size());
  const auto got = sub_groups.run<T>("scans_" + type, results, in);
  sub_groups.expect("scans_" + type, got, [&](std::uint32_t k, std::uint32_t i) {
    const Place place = sub_groups.place(i);
    const auto first = in.begin() + place.first;
    const std::uint32_t counted[] = {place.size, place.lane + 1,
                                     place.lane};  // reduced, with the own value, without it
    return std::accumulate(first, first + counted[k % 3], operations[k / 3].identity,
                           operations[k / 3].combine);
  });
}

}  // namespace

PROCTOR_CHECK(SubGroup, LanesKnowTheirPlaces, "K37", kSubGroup, kGate,
              {"kernel.wrong_result:kernel=places,arg=0,at=4"}) {
  for_each_size(leased(), "shuffles_", [](SubGroups& sub_groups) {
    const auto got = sub_groups.run<std::uint32_t>("places", 3);
    sub_groups.expect("places", got, [&](std::uint32_t k, std::uint32_t i) {
      const Place place = sub_groups.place(i);
      const bool always_full = kVendor == Vendor::kNvidia;  // a warp is one, whoever is in it
      return k == 0 ? place.lane : k == 2 ? place.number : always_full ? sub_groups.lanes() : place.size;
    });
  });
}

PROCTOR_CHECK(SubGroup, ShufflesReadTheRightLane, "K37", kSubGroup, kGate, {"kernel.shuffle_wrong"}) {
  for_each_size(leased(), "shuffles_", [](SubGroups& sub_groups) {
    expect_shuffles<std::uint8_t>(sub_groups, "u8");
    expect_shuffles<std::uint16_t>(sub_groups, "u16");
    expect_shuffles<std::uint32_t>(sub_groups, "u32");
    expect_shuffles<std::uint64_t>(sub_groups, "u64");
  });
}

PROCTOR_CHECK(SubGroup, VotesCountEveryLane, "K37", kSubGroup, kGate, {"kernel.vote_wrong"}) {
  for_each_size(leased(), "shuffles_", [](SubGroups& sub_groups) {
    const auto got = sub_groups.run<std::uint32_t>("votes", 2 * sub_groups.lanes());
    sub_groups.expect("votes", got, [&](std::uint32_t k, std::uint32_t i) -> std::uint32_t {
      const std::uint32_t size = sub_groups.place(i).size;
      const std::uint32_t yes = k / 2 < size ? 1 : 0;  // how many vote for the lane
      const std::uint32_t votes = k % 2 == 0 ? yes : size - yes;
      return (votes > 0 ? 1 : 0) | (votes == size ? 2 : 0);
    });
  });
}

PROCTOR_CHECK(SubGroup, BallotsHaveABitForEveryLane, "K37", kSubGroup, kGate,
              {"kernel.vote_wrong:kernel=ballots", "kernel.wrong_result:kernel=ballots,arg=1,at=4"}) {
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
        case 4:  // of no vote there is no first one
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

PROCTOR_CHECK(SubGroup, LanesReduceAndScan, "K37", kScans, kGate,
              {"kernel.vote_wrong:kernel=scans_*", "kernel.wrong_result:kernel=scans_u64,arg=1,at=8"}) {
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
    if (kVendor == Vendor::kNvidia) return;  // the older functions are OpenCL's
    expect_scans(sub_groups, "uniform_i32", kUniform<std::int32_t>);
    expect_scans(sub_groups, "uniform_u32", kUniform<std::uint32_t>);
    expect_scans(sub_groups, "uniform_i64", kUniform<std::int64_t>);
    expect_scans(sub_groups, "uniform_u64", kUniform<std::uint64_t>);
    expect_scans(sub_groups, "uniform_f32", kUniform<float>);
  });
}

PROCTOR_CHECK(SubGroup, LanesReduceAndScanDoubles, "K37", kScans, kGate,
              .faults = {"kernel.wrong_result:kernel=scans_f64,arg=1,at=6"}, .needs = {"fp64"}) {
  const auto context = leased();
  need(context.device().properties().fp64, "unsupported:fp64");
  for_each_size(context, "scans_f64_", [](SubGroups& sub_groups) {
    expect_scans(sub_groups, "f64", lane_operations<double>());
    if (kVendor == Vendor::kIntel) expect_scans(sub_groups, "uniform_f64", kUniform<double>);
  });
}

}  // namespace proctor::accel
