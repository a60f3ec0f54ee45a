// A kernel that applies function number `which` to each element. The host has a table of these functions in
// suites/kernels/numeric.cc, with the same numbers. T is the type (float, double, half).
#include "suites/kernels/device/portable_cuda.h"

#ifdef FP64
#ifndef __CUDACC__
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
typedef double T;
#elif defined FP16
#ifndef __CUDACC__
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#endif
typedef half T;
#else
typedef float T;
#endif

KERNEL math(GLOBAL const T* x, GLOBAL const T* y, GLOBAL const T* z, GLOBAL T* out, uint which, uint n) {
  const uint i = GLOBAL_ID(0);
  if (i >= n) return;
  const T a = x[i], b = y[i], c = z[i];
  T result = 0;
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
    case 3:
      result = a / b;
      break;
    case 4:
      result = fma(a, b, c);
      break;
    case 5:
      result = sqrt(a);
      break;
    case 6:
      result = exp(a);
      break;
    case 7:
      result = log(a);
      break;
    case 8:
      result = sin(a);
      break;
    case 9:
      result = cos(a);
      break;
    case 10:
      result = tan(a);
      break;
    case 11:
      result = pow(a, b);
      break;
    case 12:
      result = tanh(a);
      break;
    case 13:
      result = rsqrt(a);
      break;
    case 14:
      result = erf(a);
      break;
    case 15:
      result = exp2(a);
      break;
    case 16:
      result = log2(a);
      break;
    case 17:
      result = atan2(a, b);
      break;
    case 18:
      result = cbrt(a);
      break;
    case 19:
      result = hypot(a, b);
      break;
    case 20:
      result = floor(a);
      break;
    case 21:
      result = ceil(a);
      break;
    case 22:
      result = trunc(a);
      break;
    case 23:
      result = rint(a);
      break;
    case 24:
      result = fabs(a);
      break;
    case 25:
      result = fmin(a, b);
      break;
    case 26:
      result = fmax(a, b);
      break;
    case 27:
      result = fmod(a, b);
      break;
    case 28:
      result = copysign(a, b);
      break;
    case 29:
      result = -a;
      break;
  }
  out[i] = result;
}
