// Printing from a kernel. Level Zero only: OpenCL's format strings live in the constant address space.
#include "suites/kernels/device/portable.h"

KERNEL print_line(uint number) {
  if (GLOBAL_ID(0) == 0) printf("device says %u %d %s\n", number, -5, "text");
}
