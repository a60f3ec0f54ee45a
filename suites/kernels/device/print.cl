// Printing from a kernel.
#include "suites/kernels/device/portable.h"

#ifdef __CUDACC__
#include <cstdio>
#endif

KERNEL print_line(uint number) {
  if (GLOBAL_ID(0) == 0) printf("device says %u %d %s\n", number, -5, "text");
}
