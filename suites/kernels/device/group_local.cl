// Local memory whose size is set by the launch.
#include "suites/kernels/device/portable.h"

// Reverses the words of each group. The groups of a launch follow each other in memory, in any shape.
KERNEL reverse_local(GLOBAL const uint* in, GLOBAL uint* out LOCAL_PARAMETER(uint, scratch)) {
  LOCAL_ARGUMENT(uint, scratch);
  const uint items = GROUP_SIZE(0) * GROUP_SIZE(1) * GROUP_SIZE(2);
  const uint mine = LOCAL_ID(0) + GROUP_SIZE(0) * (LOCAL_ID(1) + GROUP_SIZE(1) * LOCAL_ID(2));
  const uint first = items * (GROUP_ID(0) + GROUPS(0) * (GROUP_ID(1) + GROUPS(1) * GROUP_ID(2)));
  scratch[mine] = in[first + mine];
  GROUP_BARRIER();
  out[first + mine] = scratch[items - 1u - mine];
}

// Uses only scratch[0] and scratch[last], to test the largest size of local memory.
KERNEL touch_local(GLOBAL uint* out LOCAL_PARAMETER(uint, scratch), uint words) {
  LOCAL_ARGUMENT(uint, scratch);
  if (LOCAL_ID(0) == 0) {
    scratch[0] = 17u;
    scratch[words - 1u] = 42u;
  }
  GROUP_BARRIER();
  if (LOCAL_ID(0) == 0) out[GROUP_ID(0)] = scratch[words - 1u];
}

// Counts the words of local memory that an earlier group of this kernel left there, then writes them again.
KERNEL leave_secret(GLOBAL uint* found LOCAL_PARAMETER(uint, scratch)) {
  LOCAL_ARGUMENT(uint, scratch);
  const uint secret = 0x5ec2e7u ^ LOCAL_ID(0);
  if (scratch[LOCAL_ID(0)] == secret) ATOMIC_ADD(found + GROUP_ID(0), 1u);
  GROUP_BARRIER();
  scratch[LOCAL_ID(0)] = secret;
  GROUP_BARRIER();
}

// Local memory of several kinds in one kernel: two arrays of the kernel, and the memory of the launch, which is
// three buffers in OpenCL. Each work-item writes to all of them, and then reads five words that its mirror image
// wrote.
#ifdef __CUDACC__
#define THREE_PARAMETERS LOCAL_PARAMETER(uchar, first)
#define THREE_ARGUMENTS(items)                          \
  LOCAL_ARGUMENT(uchar, first);                         \
  uint* const third = (uint*)first;                     \
  ushort* const second = (ushort*)(third + (items));    \
  uchar* const bytes = (uchar*)(second + (items));
#else
#define THREE_PARAMETERS LOCAL_PARAMETER(uchar, bytes) LOCAL_PARAMETER(ushort, second) LOCAL_PARAMETER(uint, third)
#define THREE_ARGUMENTS(items)
#endif

KERNEL all_locals(GLOBAL uint* out THREE_PARAMETERS) {
  const uint items = GROUP_SIZE(0), mine = LOCAL_ID(0), mirrored = items - 1u - mine;
  THREE_ARGUMENTS(items)
  LOCAL uint own[1024];
  LOCAL uchar own_bytes[1024];
  own[mine] = 0x10000u + mine;
  own_bytes[mine] = (uchar)(mine + 1u);
  bytes[mine] = (uchar)(mine + 2u);
  second[mine] = (ushort)(mine + 0x300u);
  third[mine] = 0x40000u + mine;
  GROUP_BARRIER();
  GLOBAL uint* to = out + 5u * GLOBAL_ID(0);
  to[0] = own[mirrored];
  to[1] = own_bytes[mirrored];
  to[2] = bytes[mirrored];
  to[3] = second[mirrored];
  to[4] = third[mirrored];
}
