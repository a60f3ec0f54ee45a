// The operations of training.h as kernels of floats, with one work-item for each of n items.
#include "suites/kernels/device/portable.h"

#define real float
#define TRAIN_FUNCTION DEVICE
#include "suites/kernels/device/training.h"

#define AS_KERNEL(name)                                                                                     \
  KERNEL run_##name(GLOBAL const float* a, GLOBAL const float* b, GLOBAL const float* c, GLOBAL float* out, \
                    uint p, uint q, uint r, uint n) {                                                       \
    if (GLOBAL_ID(0) < n) name(GLOBAL_ID(0), a, b, c, out, p, q, r);                                        \
  }
TRAIN_OPERATIONS(AS_KERNEL)
