// Reversed bits of numbers, for scalars and for vectors of LANES elements. OpenCL C has a function for this
// instruction only in an extension.
#include "suites/kernels/device/portable.h"
#include "suites/kernels/device/vectors.h"

#define REVERSED(T, name)                                                                        \
  VECTOR(T) __attribute__((overloadable)) __spirv_BitReverse(VECTOR(T));                         \
  KERNEL reversed_##name(GLOBAL const T* x, GLOBAL T* out, uint n) {                             \
    const uint i = GLOBAL_ID(0);                                                                 \
    if (i < n / LANES) STORE(__spirv_BitReverse(LOAD(i, x)), i, out);                            \
  }
REVERSED(uchar, u8)
REVERSED(ushort, u16)
REVERSED(uint, u32)
REVERSED(ulong, u64)
