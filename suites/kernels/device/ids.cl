// The ids of each work-item.
#include "suites/kernels/device/portable.h"

// Writes eight words per work-item, at its linear index without the offset: global id x y z, local id as one
// number, group id as one number, and the sizes of the group, of the launch in groups, and of the launch in
// work-items.
KERNEL ids(GLOBAL uint* out) {
  const uint gx = GLOBAL_ID(0) - GLOBAL_OFFSET(0);
  const uint gy = GLOBAL_ID(1) - GLOBAL_OFFSET(1);
  const uint gz = GLOBAL_ID(2) - GLOBAL_OFFSET(2);
  const uint sx = GLOBAL_SIZE(0), sy = GLOBAL_SIZE(1);
  GLOBAL uint* mine = out + 8u * (gx + sx * (gy + sy * gz));
  mine[0] = GLOBAL_ID(0);
  mine[1] = GLOBAL_ID(1);
  mine[2] = GLOBAL_ID(2);
  mine[3] = LOCAL_ID(0) + GROUP_SIZE(0) * (LOCAL_ID(1) + GROUP_SIZE(1) * LOCAL_ID(2));
  mine[4] = GROUP_ID(0) + GROUPS(0) * (GROUP_ID(1) + GROUPS(1) * GROUP_ID(2));
  mine[5] = GROUP_SIZE(0) * GROUP_SIZE(1) * GROUP_SIZE(2);
  mine[6] = GROUPS(0) * GROUPS(1) * GROUPS(2);
  mine[7] = sx * sy * GLOBAL_SIZE(2);
}

#ifndef __CUDACC__
// Writes two words per work-item, at the same index: the linear ids of the device.
KERNEL linear_ids(GLOBAL uint* out) {
  const uint gx = GLOBAL_ID(0) - GLOBAL_OFFSET(0);
  const uint gy = GLOBAL_ID(1) - GLOBAL_OFFSET(1);
  const uint gz = GLOBAL_ID(2) - GLOBAL_OFFSET(2);
  GLOBAL uint* mine = out + 2u * (gx + GLOBAL_SIZE(0) * (gy + GLOBAL_SIZE(1) * gz));
  mine[0] = (uint)get_global_linear_id();
  mine[1] = (uint)get_local_linear_id();
}
#endif

// Counts each group once. A group that runs twice or never is thereby detected.
KERNEL count_groups(GLOBAL uint* counts) {
  if (LOCAL_ID(0) == 0) ATOMIC_ADD(counts + GROUP_ID(0), 1u);
}
