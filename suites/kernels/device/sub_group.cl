// A kernel that requires a size of its sub-groups, LANES. Each is a module of its own: a compiler refuses the
// whole of one that requires what its device has not. Level Zero only.
#include "suites/kernels/device/portable.h"

#pragma OPENCL EXTENSION cl_khr_subgroups : enable

#define NAMED(lanes) sub_group_##lanes
#define NAME_OF(lanes) NAMED(lanes)

KERNEL __attribute__((intel_reqd_sub_group_size(LANES))) NAME_OF(LANES)(GLOBAL uint* out) {
  out[GLOBAL_ID(0)] = get_sub_group_size();
}
