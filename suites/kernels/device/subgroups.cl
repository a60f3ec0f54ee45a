// What a sub-group does together. Every result is told lane by lane, because a sum over all
// lanes cannot see lanes that were exchanged.
#include "suites/kernels/device/portable_cuda.h"

#ifndef __CUDACC__
#pragma OPENCL EXTENSION cl_khr_subgroups : enable
#endif

// Eight words a work-item: lane, size of its sub-group, number of the sub-group, sum, inclusive and exclusive
// sums over lower lanes, largest, and what lane 1 (or the only one) has.
KERNEL subgroups(GLOBAL const uint* in, GLOBAL uint* out) {
  const uint i = GLOBAL_ID(0);
  const uint value = in[i];
  GLOBAL uint* mine = out + 8u * i;
  mine[0] = get_sub_group_local_id();
  mine[1] = get_sub_group_size();
  mine[2] = get_sub_group_id();
  mine[3] = sub_group_reduce_add(value);
  mine[4] = sub_group_scan_inclusive_add(value);
  mine[5] = sub_group_scan_exclusive_add(value);
  mine[6] = sub_group_reduce_max(value);
  mine[7] = sub_group_broadcast(value, get_sub_group_size() > 1u ? 1u : 0u);
}

// Bit 0: any, bit 1: all. Lanes vote yes when their value is not 0.
KERNEL votes(GLOBAL const uint* in, GLOBAL uint* out) {
  const uint i = GLOBAL_ID(0);
  const int yes = in[i] != 0u;
  out[i] = (sub_group_any(yes) ? 1u : 0u) | (sub_group_all(yes) ? 2u : 0u);
}
