// Integer operations whose results are exact, as words of 32 and 64 bits.
#include "suites/kernels/device/portable_cuda.h"

// Eight words a work-item.
KERNEL integers32(GLOBAL const uint* x, GLOBAL const uint* y, GLOBAL uint* out) {
  const uint i = GLOBAL_ID(0);
  const uint a = x[i], b = y[i];
  GLOBAL uint* mine = out + 8u * i;
  mine[0] = a * b;
  mine[1] = mul_hi(a, b);
  mine[2] = (uint)mul_hi((int)a, (int)b);
  mine[3] = a << (b & 31u);
  mine[4] = (uint)((int)a >> (b & 31u));
  mine[5] = popcount(a);
  mine[6] = clz(a);
  mine[7] = rotate(a, b & 31u);
}

// Division: b is never 0, and the signed one never overflows. Quotient and remainder are kernels of their
// own, because the optimizer joins the two by an instruction (freeze) that llvm-spirv-15 cannot translate.
KERNEL quotients(GLOBAL const uint* x, GLOBAL const uint* y, GLOBAL uint* out) {
  const uint i = GLOBAL_ID(0);
  out[2u * i] = x[i] / y[i];
  out[2u * i + 1u] = (uint)((int)x[i] / (int)y[i]);
}

KERNEL remainders(GLOBAL const uint* x, GLOBAL const uint* y, GLOBAL uint* out) {
  const uint i = GLOBAL_ID(0);
  out[2u * i] = x[i] % y[i];
  out[2u * i + 1u] = (uint)((int)x[i] % (int)y[i]);
}

KERNEL integers64(GLOBAL const ulong* x, GLOBAL const ulong* y, GLOBAL ulong* out) {
  const uint i = GLOBAL_ID(0);
  const ulong a = x[i], b = y[i];
  GLOBAL ulong* mine = out + 4u * i;
  mine[0] = a * b;
  mine[1] = mul_hi(a, b);
  mine[2] = a << (b & 63u);
  mine[3] = (ulong)popcount(a);
}

KERNEL saturating(GLOBAL const int* x, GLOBAL const int* y, GLOBAL int* out) {
  const uint i = GLOBAL_ID(0);
  out[3u * i] = add_sat(x[i], y[i]);
  out[3u * i + 1u] = sub_sat(x[i], y[i]);
  out[3u * i + 2u] = max(min(x[i], 1000), -1000);
}
