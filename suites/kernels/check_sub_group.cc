// What the lanes of a sub-group do together: for every size of sub-groups that the device has, every distance, every lane, every
// operation and type; and in groups whose last sub-group is not full.
#include <bit>

#include "suites/accel/check_fixture.h"
#include "suites/kernels/sub_groups.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

using suite::kGate;

constexpr const char* kSubGroup =
    by_vendor("OpenCL-CTS, subgroups", "CUDA Programming Guide, Warp Shuffle and Vote Functions");
constexpr const char* kScans =
    by_vendor("OpenCL Extension specification, cl_khr_subgroups, cl_khr_subgroup_non_uniform_arithmetic",
              "CUDA Programming Guide, Warp Shuffle Functions");
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
