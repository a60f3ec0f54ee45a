// Kernels with an assertion.
#ifdef __CUDACC__
#include <cassert>
#define ASSERT(condition) assert(condition)
#else
// OpenCL C has no assertions. Simulated cards treat a call of this function as a failed assertion.
void proctor_assertion_failed(void);
#define ASSERT(condition) \
  if (!(condition)) proctor_assertion_failed()
#endif

#include "suites/kernels/device/portable.h"

KERNEL assert_zero(GLOBAL const uint* value) { ASSERT(value[GLOBAL_ID(0)] == 0u); }
