// Kernels that require a group size or contain a hint about it. Level Zero only.
#include "suites/kernels/device/portable.h"

KERNEL __attribute__((reqd_work_group_size(8, 4, 2))) group_8_4_2(GLOBAL uint* out) {
  if (LOCAL_ID(0) + LOCAL_ID(1) + LOCAL_ID(2) == 0u) out[GROUP_ID(0)] = GROUP_SIZE(0) + 100u * GROUP_SIZE(1) + 10000u * GROUP_SIZE(2);
}

// Hints, which a driver reports and may ignore.
KERNEL __attribute__((work_group_size_hint(8, 2, 1))) __attribute__((vec_type_hint(float2))) hinted_8_2_1(GLOBAL uint* out) {
  out[GLOBAL_ID(0)] = 1u;
}

KERNEL __attribute__((vec_type_hint(long))) hinted_long(GLOBAL uint* out) { out[GLOBAL_ID(0)] = 2u; }
