// Conversions from float to integers and halves and back, in every rounding mode of OpenCL C.
#include "suites/kernels/device/portable_cuda.h"

// Six words per work-item: to int toward zero, to even, up and down; saturated to signed and unsigned bytes.
KERNEL float_to_int(GLOBAL const float* x, GLOBAL int* out) {
  const uint i = GLOBAL_ID(0);
  GLOBAL int* mine = out + 6u * i;
  mine[0] = convert_int_sat_rtz(x[i]);
  mine[1] = convert_int_sat_rte(x[i]);
  mine[2] = convert_int_sat_rtp(x[i]);
  mine[3] = convert_int_sat_rtn(x[i]);
  mine[4] = (int)convert_char_sat(x[i]);
  mine[5] = (int)convert_uchar_sat(x[i]);
}

KERNEL int_to_float(GLOBAL const int* x, GLOBAL float* out) {
  const uint i = GLOBAL_ID(0);
  out[2u * i] = convert_float_rte(x[i]);
  out[2u * i + 1u] = convert_float_rte((uint)x[i]);
}

// Converts to half by a store and back by a load. Neither needs arithmetic on halves.
KERNEL float_to_half(GLOBAL const float* x, GLOBAL half* out) {
  const uint i = GLOBAL_ID(0);
  vstore_half_rte(x[i], i, out);
}

KERNEL half_to_float(GLOBAL const half* x, GLOBAL float* out) {
  const uint i = GLOBAL_ID(0);
  out[i] = vload_half(i, x);
}
