// Flags, which OpenCL has and CUDA has not.
#include "suites/kernels/device/portable.h"

// Each work-item by itself, in the order of out[k * n + i]: was its flag set, and was it then, and after it was cleared; in the end it
// is set for each other work-item. Of all work-items that take the one flag behind theirs the first finds it clear.
KERNEL take_flags(volatile GLOBAL atomic_flag* flags, GLOBAL uint* out, uint n) {
  const uint i = GLOBAL_ID(0);
  volatile GLOBAL atomic_flag* flag = flags + i;
  out[i] = atomic_flag_test_and_set(flag) ? 1u : 0u;
  out[n + i] = atomic_flag_test_and_set(flag) ? 1u : 0u;
  atomic_flag_clear(flag);
  out[2u * n + i] = atomic_flag_test_and_set(flag) ? 1u : 0u;
  if (i % 2u == 1u) atomic_flag_clear(flag);
  out[3u * n + i] = atomic_flag_test_and_set(flags + n) ? 1u : 0u;
}
