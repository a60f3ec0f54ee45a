// One kernel for each sub-group size, which it requires. Level Zero only.
#include "suites/kernels/device/portable.h"

#pragma OPENCL EXTENSION cl_khr_subgroups : enable

#define REQUIRES(size)                                                                                     \
  KERNEL __attribute__((intel_reqd_sub_group_size(size))) sub_group_##size(GLOBAL uint* out) {             \
    out[GLOBAL_ID(0)] = get_sub_group_size();                                                              \
  }

REQUIRES(8)
REQUIRES(16)
REQUIRES(32)
