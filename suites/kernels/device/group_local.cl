// Local memory whose size the launch decides.
#include "suites/kernels/device/portable.h"

KERNEL reverse_local(GLOBAL const uint* in, GLOBAL uint* out LOCAL_PARAMETER(uint, scratch)) {
  LOCAL_ARGUMENT(uint, scratch);
  scratch[LOCAL_ID(0)] = in[GLOBAL_ID(0)];
  GROUP_BARRIER();
  out[GLOBAL_ID(0)] = scratch[GROUP_SIZE(0) - 1u - LOCAL_ID(0)];
}

// Uses scratch[0] and scratch[last] only: how large local memory may be.
KERNEL touch_local(GLOBAL uint* out LOCAL_PARAMETER(uint, scratch), uint words) {
  LOCAL_ARGUMENT(uint, scratch);
  if (LOCAL_ID(0) == 0) {
    scratch[0] = 17u;
    scratch[words - 1u] = 42u;
  }
  GROUP_BARRIER();
  if (LOCAL_ID(0) == 0) out[GROUP_ID(0)] = scratch[words - 1u];
}

// Tells whether local memory holds what a kernel of this name left there, then leaves it there again.
KERNEL leave_secret(GLOBAL uint* found LOCAL_PARAMETER(uint, scratch)) {
  LOCAL_ARGUMENT(uint, scratch);
  const uint secret = 0x5ec2e7u ^ LOCAL_ID(0);
  if (scratch[LOCAL_ID(0)] == secret) ATOMIC_ADD(found + GROUP_ID(0), 1u);
  GROUP_BARRIER();
  scratch[LOCAL_ID(0)] = secret;
  GROUP_BARRIER();
}
