#include "suites/kernels/device/portable.h"

#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable

KERNEL atomic_add64(GLOBAL ulong* word) { atom_add(word, (ulong)GLOBAL_ID(0) << 20); }
