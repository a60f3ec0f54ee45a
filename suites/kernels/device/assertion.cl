// Kernels that assert. CUDA only: OpenCL C has no assertions.
#include <cassert>

#include "suites/kernels/device/portable.h"

KERNEL assert_zero(GLOBAL const uint* value) { assert(value[GLOBAL_ID(0)] == 0u); }
