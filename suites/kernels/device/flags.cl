// Atomic flags, which OpenCL has and CUDA lacks.
#include "suites/kernels/device/portable.h"

// Each work-item uses a separate flag. Results, in the order of out[k * n + i]: whether the flag was set, whether
// it was set after the first call, and whether it was set after a clear. At the end the flags of even work-items
// are set. Then all work-items take one common flag, and the first of them finds it clear.
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
