// Launches of kernels whose work-items communicate in sub-groups, for every size of sub-group that the device
// supports.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "suites/accel/check_fixture.h"
#include "suites/main/check.h"

namespace proctor::accel {

constexpr std::uint32_t kGroupsOfLanes = 2;

// The sizes of sub-groups that the device supports and for which modules exist.
inline std::vector<std::uint32_t> sub_group_sizes(const Device& device) {
  const auto& sizes = device.properties().sub_group_sizes;
  std::vector<std::uint32_t> result;
  for (const std::uint32_t size : by_vendor<std::vector<std::uint32_t>>({8, 16, 32}, {32})) {
    if (std::find(sizes.begin(), sizes.end(), size) != sizes.end()) result.push_back(size);
  }
  need(!result.empty(), by_vendor("needs:sub_group_size=8|16|32", "needs:sub_group_size=32"));
  return result;
}

// Sizes of groups with several whole sub-groups, and with last sub-groups of every kind. CUDA does not define the
// behaviour of missing lanes.
inline std::vector<std::uint32_t> lane_group_sizes(std::uint32_t lanes) {
  return by_vendor<std::vector<std::uint32_t>>({2 * lanes, 1, lanes - 1, lanes + 1, 3 * lanes - 3},
                                               {2 * lanes, lanes});
}

// The position of a work-item in its sub-group.
struct Place {
  Place(std::uint32_t item, std::uint32_t group, std::uint32_t lanes)
      : number(item % group / lanes),
        lane(item % group % lanes),
        first(item - lane),
        size(std::min(lanes, group - number * lanes)) {}
  std::uint32_t number, lane, first, size;
};

// Runs the kernels of one module in groups of one size.
class SubGroups {
 public:
  SubGroups(const Context& context, const Module& module, std::uint32_t lanes, std::uint32_t group)
      : context_(context), queue_(context), module_(module), lanes_(lanes), group_(group) {}

  std::uint32_t items() const { return kGroupsOfLanes * group_; }
  std::uint32_t lanes() const { return lanes_; }
  Place place(std::uint32_t item) const { return {item, group_, lanes_}; }
  Place place_in_group(std::uint32_t item) const { return {item, group_, group_}; }

  // Runs a kernel. Each work-item writes `results` results; result k of all work-items is plane k.
  template <typename Out, typename... In>
  std::vector<Out> run(const std::string& kernel, std::uint32_t results, const In&... in) {
    std::vector<Buffer> buffers;
    (buffers.push_back(device_copy(queue_, context_, in)), ...);
    buffers.push_back(device_copy(queue_, context_, std::vector<Out>(results * items())));
    Arguments all;
    for (const Buffer& buffer : buffers) all.push_back(argument(buffer));
    all.push_back(argument(items()));
    suite::step("given " + kernel + what());
    queue_.launch(Kernel(module_, kernel), groups_of(kGroupsOfLanes, group_), all);
    queue_.synchronize();
    return read_as<Out>(queue_, context_, buffers.back());
  }

  // Requires expected(k, i) as result k of work-item i.
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
  const Module& module_;
  std::uint32_t lanes_, group_;
};

// Calls check(sub_groups) with the kernels of a module, for each size of sub-group and each size of group.
template <typename Check>
void for_each_size(const Context& context, const std::string& module, Check check) {
  for (const std::uint32_t lanes : sub_group_sizes(context.device())) {
    const Module loaded = Module::load(context, module + std::to_string(lanes));
    for (const std::uint32_t group : lane_group_sizes(lanes)) {
      SubGroups sub_groups(context, loaded, lanes, group);
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

// Operands. Floats are chosen so that their sums and products are exact in every order.
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

// The work-items over which values are reduced and scanned.
enum class Reach { kSubGroup, kGroup };

// Verifies reductions and scans. Operation k has planes 3 k, 3 k + 1 and 3 k + 2: the reduction, the inclusive
// scan and the exclusive scan.
template <typename T>
void expect_scans_of(SubGroups& sub_groups, const std::string& type, const std::vector<T>& in,
                     const std::vector<LaneOperation<T>>& operations, Reach reach = Reach::kSubGroup) {
  const auto got = sub_groups.run<T>("scans_" + type, static_cast<std::uint32_t>(3 * operations.size()), in);
  sub_groups.expect("scans_" + type, got, [&](std::uint32_t k, std::uint32_t i) {
    const Place place = reach == Reach::kGroup ? sub_groups.place_in_group(i) : sub_groups.place(i);
    const auto first = in.begin() + place.first;
    const std::uint32_t counted[] = {place.size, place.lane + 1, place.lane};
    return std::accumulate(first, first + counted[k % 3], operations[k / 3].identity,
                           operations[k / 3].combine);
  });
}

template <typename T>
void expect_scans(SubGroups& sub_groups, const std::string& type,
                  const std::vector<LaneOperation<T>>& operations) {
  expect_scans_of(sub_groups, type, lane_operands<T>(sub_groups.items()), operations);
}

}  // namespace proctor::accel
