// Values that are set outside of the source: specialization constants 0 to 2, and variables that the host accesses
// by name. Only Level Zero has specialization constants.
#include "suites/kernels/device/portable.h"

#ifndef __CUDACC__
// The translator replaces a call of it with an OpSpecConstant of this id and default value.
int __attribute__((overloadable)) __spirv_SpecConstant(int id, int initial);
long __attribute__((overloadable)) __spirv_SpecConstant(int id, long initial);
float __attribute__((overloadable)) __spirv_SpecConstant(int id, float initial);

KERNEL specialised(GLOBAL ulong* out) {
  if (GLOBAL_ID(0) != 0) return;
  out[0] = (ulong)(long)__spirv_SpecConstant(0, 10);
  out[1] = (ulong)__spirv_SpecConstant(1, 20L);
  out[2] = (ulong)as_uint(__spirv_SpecConstant(2, 1.5f));
}
#endif

GLOBAL_VARIABLE uint host_visible[4] = {11u, 22u, 33u, 44u};

KERNEL read_host_visible(GLOBAL uint* out) { out[GLOBAL_ID(0)] = host_visible[GLOBAL_ID(0) % 4u]; }
