// Conversions of 8-bit floats by functions of the vendor. The functions of CUDA are device instructions since
// compute capability 8.9. OpenCL C has no such functions, so arithmetic replaces them.
#ifdef __CUDACC__

#include <cuda_fp8.h>

#include "suites/kernels/device/portable_cuda.h"

#ifdef FINITE
#define FORMAT __NV_E4M3
#else
#define FORMAT __NV_E5M2
#endif

DEVICE float widen_fp8(uchar stored) { return __half2float(__half(__nv_cvt_fp8_to_halfraw(stored, FORMAT))); }
DEVICE uchar narrow_fp8(float value) { return (uchar)__nv_cvt_float_to_fp8(value, __NV_NOSAT, FORMAT); }

#else

#include "suites/kernels/device/narrow.cl"

DEVICE float widen_fp8(uchar stored) { return widen(stored); }
DEVICE uchar narrow_fp8(float value) { return narrowed(value); }

#endif

KERNEL fp8_to_float(GLOBAL const uchar* in, GLOBAL float* out, uint n) {
  const uint i = GLOBAL_ID(0);
  if (i < n) out[i] = widen_fp8(in[i]);
}

KERNEL float_to_fp8(GLOBAL const float* in, GLOBAL uchar* out, uint n) {
  const uint i = GLOBAL_ID(0);
  if (i < n) out[i] = narrow_fp8(in[i]);
}
