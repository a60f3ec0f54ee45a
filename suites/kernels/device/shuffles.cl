// Lanes that read each other, in sub-groups of LANES. In OpenCL: Intel's extension, which every device of
// theirs has.
#include "suites/kernels/device/portable_cuda.h"

#ifdef __CUDACC__
#define LANES_REQUIRED
#else
#pragma OPENCL EXTENSION cl_khr_subgroups : enable
#define LANES_REQUIRED __attribute__((intel_reqd_sub_group_size(LANES)))

// Clang's header does not declare the extension.
uint __attribute__((overloadable)) intel_sub_group_shuffle(uint value, uint lane);
uint __attribute__((overloadable)) intel_sub_group_shuffle_xor(uint value, uint mask);
#endif

// Four words a work-item: what the next lane has (around), what the lane with the last bit flipped has, what
// lane 0 has, and the own lane.
KERNEL LANES_REQUIRED shuffles(GLOBAL const uint* in, GLOBAL uint* out) {
  const uint i = GLOBAL_ID(0);
  const uint value = in[i];
  const uint lane = get_sub_group_local_id(), size = get_sub_group_size();
  out[4u * i] = intel_sub_group_shuffle(value, (lane + 1u) % size);
  out[4u * i + 1u] = intel_sub_group_shuffle_xor(value, 1u);
  out[4u * i + 2u] = intel_sub_group_shuffle(value, 0u);
  out[4u * i + 3u] = lane;
}
