// Local memory whose size the launch decides. Level Zero only: CUDA passes it outside the argument list.
#include "suites/kernels/device/portable.h"

KERNEL reverse_local(GLOBAL const uint* in, GLOBAL uint* out, __local uint* scratch) {
  scratch[LOCAL_ID(0)] = in[GLOBAL_ID(0)];
  GROUP_BARRIER();
  out[GLOBAL_ID(0)] = scratch[GROUP_SIZE(0) - 1u - LOCAL_ID(0)];
}

// Uses scratch[0] and scratch[last] only: how large local memory may be.
KERNEL touch_local(GLOBAL uint* out, __local uint* scratch, uint words) {
  if (LOCAL_ID(0) == 0) {
    scratch[0] = 17u;
    scratch[words - 1u] = 42u;
  }
  GROUP_BARRIER();
  if (LOCAL_ID(0) == 0) out[GROUP_ID(0)] = scratch[words - 1u];
}

// Tells whether local memory holds what a kernel of this name left there, then leaves it there again.
KERNEL leave_secret(GLOBAL uint* found, __local uint* scratch) {
  const uint secret = 0x5ec2e7u ^ LOCAL_ID(0);
  if (scratch[LOCAL_ID(0)] == secret) ATOMIC_ADD(found + GROUP_ID(0), 1u);
  GROUP_BARRIER();
  scratch[LOCAL_ID(0)] = secret;
  GROUP_BARRIER();
}
