// A kernel that requires the sub-group size LANES. Each size is a separate module, because a compiler refuses a
// whole module that requires an unsupported size. Level Zero only.
#include "suites/kernels/device/portable.h"

#pragma OPENCL EXTENSION cl_khr_subgroups : enable

#define NAMED(lanes) sub_group_##lanes
#define NAME_OF(lanes) NAMED(lanes)

KERNEL __attribute__((intel_reqd_sub_group_size(LANES))) NAME_OF(LANES)(GLOBAL uint* out) {
  out[GLOBAL_ID(0)] = get_sub_group_size();
}
