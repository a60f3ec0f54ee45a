// Arithmetic of 16-bit floats, through memory as bits.
#include "suites/kernels/device/portable.h"

#pragma OPENCL EXTENSION cl_khr_fp16 : enable

KERNEL half_arithmetic(GLOBAL const half* x, GLOBAL const half* y, GLOBAL half* out, uint which, uint n) {
  const uint i = GLOBAL_ID(0);
  if (i >= n) return;
  const half a = x[i], b = y[i];
  half result = 0;
  switch (which) {
    case 0:
      result = a + b;
      break;
    case 1:
      result = a - b;
      break;
    case 2:
      result = a * b;
      break;
  }
  out[i] = result;
}
