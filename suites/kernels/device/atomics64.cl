#include "suites/kernels/device/portable.h"

#ifndef __CUDACC__
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#endif

KERNEL atomic_add64(GLOBAL ulong* word) { ATOMIC_ADD_64(word, (ulong)GLOBAL_ID(0) << 20); }
