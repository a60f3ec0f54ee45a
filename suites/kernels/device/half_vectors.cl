// Vectors of LANES halves in memory, as floats. Level Zero only, because CUDA has no such functions.
#include "suites/kernels/device/portable.h"

#define JOIN(a, b, c) a##b##c
#define JOINED(a, b, c) JOIN(a, b, c)

// Elements without gaps.
KERNEL load_halves(GLOBAL const half* in, GLOBAL float* out) {
  const uint i = GLOBAL_ID(0);
  JOINED(vstore, LANES, )(JOINED(vload_half, LANES, )(i, in), i, out);
}
KERNEL store_halves(GLOBAL const float* in, GLOBAL half* out) {
  const uint i = GLOBAL_ID(0);
  JOINED(vstore_half, LANES, _rte)(JOINED(vload, LANES, )(i, in), i, out);
}

// The aligned forms, in which vectors of three are four elements apart.
KERNEL load_aligned_halves(GLOBAL const half* in, GLOBAL float* out) {
  const uint i = GLOBAL_ID(0);
  JOINED(vstore, LANES, )(JOINED(vloada_half, LANES, )(i, in), i, out);
}
KERNEL store_aligned_halves(GLOBAL const float* in, GLOBAL half* out) {
  const uint i = GLOBAL_ID(0);
  JOINED(vstorea_half, LANES, _rte)(JOINED(vload, LANES, )(i, in), i, out);
}
