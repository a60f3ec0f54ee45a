// Managed variables, which host and device share, if nvcc compiles them; otherwise variables of the device.
#include "suites/kernels/device/portable.h"

#ifdef __NVCC__
#define MANAGED_VARIABLE __device__ __managed__
#else
#define MANAGED_VARIABLE GLOBAL_VARIABLE
#endif

MANAGED_VARIABLE uint managed_factor[1] = {1u};
MANAGED_VARIABLE uint managed_words[4] = {5u, 6u, 7u, 8u};

KERNEL add_to_managed(uint more) { managed_words[GLOBAL_ID(0) % 4u] += more * managed_factor[0]; }
