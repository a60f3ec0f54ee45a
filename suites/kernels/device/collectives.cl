// Collective functions that only OpenCL has: of the lanes of a sub-group of LANES, of the active lanes, and of all
// work-items of a group. Result k of work-item i is out[k * n + i], for n work-items.
#include "suites/kernels/device/portable.h"

#pragma OPENCL EXTENSION cl_khr_subgroups : enable
#define LANES_REQUIRED __attribute__((intel_reqd_sub_group_size(LANES)))
#define RESULT(k, value) out[(k) * n + i] = (value);
#define YES(condition) ((condition) ? 1u : 0u)

// The elected lane, its value, and masks of the lanes relative to each lane.
KERNEL LANES_REQUIRED elections(GLOBAL const uint* in, GLOBAL uint* out, uint n) {
  const uint i = GLOBAL_ID(0);
  RESULT(0u, YES(sub_group_elect()))
  RESULT(1u, sub_group_broadcast_first(in[i]))
  RESULT(2u, get_sub_group_eq_mask().x)
  RESULT(3u, get_sub_group_ge_mask().x)
  RESULT(4u, get_sub_group_gt_mask().x)
  RESULT(5u, get_sub_group_le_mask().x)
  RESULT(6u, get_sub_group_lt_mask().x)
  RESULT(7u, get_num_sub_groups())
  RESULT(8u, get_enqueued_num_sub_groups())
  RESULT(9u, get_max_sub_group_size())
}

// Results for each lane `odd`: whether all values are equal if the value of only this lane differs (in the highest
// byte), its vote, and its value.
KERNEL LANES_REQUIRED lane_by_lane(GLOBAL const uint* in, GLOBAL uint* out, uint n) {
  const uint i = GLOBAL_ID(0);
  const uint lane = get_sub_group_local_id();
  const uint4 voted = sub_group_ballot((int)(in[i] & 1u));
  for (uint odd = 0u; odd < LANES; ++odd) {
    RESULT(8u * odd, YES(sub_group_non_uniform_all_equal(lane == odd ? 0x01000000u : 0u)))
    RESULT(8u * odd + 1u, YES(sub_group_ballot_bit_extract(voted, odd)))
    RESULT(8u * odd + 2u, sub_group_broadcast(in[i], odd < get_sub_group_size() ? odd : 0u))
    RESULT(8u * odd + 3u, sub_group_shuffle(in[i], odd))
    RESULT(8u * odd + 4u, sub_group_shuffle_xor(in[i], odd))
    RESULT(8u * odd + 5u, sub_group_shuffle_up(in[i], odd))
    RESULT(8u * odd + 6u, sub_group_shuffle_down(in[i], odd))
    RESULT(8u * odd + 7u, YES(sub_group_non_uniform_any(lane == odd)) | YES(sub_group_non_uniform_all(lane != odd)) << 1)
  }
}

// Sums and maxima in clusters of 1, 2, 4 and 8 lanes.
#define CLUSTERS(k, size)                                                \
  RESULT(2u * k, sub_group_clustered_reduce_add(in[i], size))            \
  RESULT(2u * k + 1u, sub_group_clustered_reduce_max(in[i], size))
KERNEL LANES_REQUIRED clusters(GLOBAL const uint* in, GLOBAL uint* out, uint n) {
  const uint i = GLOBAL_ID(0);
  CLUSTERS(0u, 1u)
  CLUSTERS(1u, 2u)
  CLUSTERS(2u, 4u)
  CLUSTERS(3u, 8u)
}

// One of three lanes takes one branch, the others take another, and one of five lanes has left before. The
// branches end with different calls, because the optimizer would merge equal ones.
KERNEL LANES_REQUIRED some_lanes(GLOBAL const uint* in, GLOBAL uint* out, uint n) {
  const uint i = GLOBAL_ID(0);
  const uint lane = get_sub_group_local_id();
  if (lane % 5u == 4u) return;
  if (lane % 3u == 1u) {
    RESULT(0u, sub_group_non_uniform_reduce_add(in[i]))
    RESULT(1u, sub_group_non_uniform_scan_inclusive_add(in[i]))
    RESULT(2u, sub_group_non_uniform_scan_exclusive_add(in[i]))
    RESULT(3u, YES(sub_group_elect()))
    RESULT(4u, sub_group_broadcast_first(in[i]))
    RESULT(5u, sub_group_ballot(1).x)
    RESULT(6u, YES(sub_group_non_uniform_all(lane % 3u == 1u)))
    RESULT(7u, YES(sub_group_non_uniform_any(lane % 3u != 1u)))
    RESULT(8u, YES(sub_group_non_uniform_all_equal(lane % 3u)))
  } else {
    RESULT(1u, sub_group_non_uniform_scan_inclusive_max(in[i]))
    RESULT(2u, sub_group_non_uniform_scan_exclusive_max(in[i]))
    RESULT(3u, YES(sub_group_elect()))
    RESULT(4u, sub_group_broadcast_first(in[i]))
    RESULT(5u, sub_group_ballot(1).x)
    RESULT(6u, YES(sub_group_non_uniform_all(lane % 3u == 0u)))
    RESULT(7u, YES(sub_group_non_uniform_any(lane % 3u == 2u)))
    RESULT(8u, YES(sub_group_non_uniform_all_equal(lane % 3u)))
    RESULT(0u, sub_group_non_uniform_reduce_max(in[i]))
  }
}

// Results for each work-item `odd` of the group: any and all for a condition that only this work-item meets, and
// for one that only this work-item does not meet.
KERNEL LANES_REQUIRED group_votes(GLOBAL uint* out, uint n) {
  const uint i = GLOBAL_ID(0);
  for (uint odd = 0u; odd < GROUP_SIZE(0); ++odd) {
    const int alone = LOCAL_ID(0) == odd;
    RESULT(2u * odd, YES(work_group_any(alone)) | YES(work_group_all(alone)) << 1)
    RESULT(2u * odd + 1u, YES(work_group_any(!alone)) | YES(work_group_all(!alone)) << 1)
  }
}

// The value of the work-item at (x, y, z), for groups of one, two and three dimensions.
KERNEL LANES_REQUIRED group_broadcasts(GLOBAL const ulong* in, GLOBAL ulong* out, uint dimensions, uint x, uint y, uint z) {
  const size_t i = get_global_linear_id();
  out[i] = dimensions == 1u   ? work_group_broadcast(in[i], x)
           : dimensions == 2u ? work_group_broadcast(in[i], x, y)
                              : work_group_broadcast(in[i], x, y, z);
}
