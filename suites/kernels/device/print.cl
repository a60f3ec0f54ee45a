// Kernels that print. FP64 selects doubles, which not every device supports.
#include "suites/kernels/device/portable.h"
#include "suites/kernels/device/print_lines.h"

#ifdef __CUDACC__
#include <cstdio>
#endif

#define PRINT(...) printf(__VA_ARGS__);

#ifdef FP64
KERNEL print_doubles(double third, double small, double huge, double infinite) {
  if (GLOBAL_ID(0) == 0) {
    DOUBLE_LINES(PRINT, third, small, huge, infinite)
  }
}
#else
KERNEL print_line(uint number) {
  if (GLOBAL_ID(0) == 0) printf("device prints %u %d %s\n", number, -5, "text");
}

KERNEL print_lines(uint lines) {
  if (GLOBAL_ID(0) != 0) return;
  for (uint line = 0u; line < lines; ++line) printf("line %u of %u\n", line, lines);
}

KERNEL print_integers(int negative, uint large, long long_negative, ulong huge) {
  if (GLOBAL_ID(0) == 0) {
    INTEGER_LINES(PRINT, negative, large, long_negative, huge)
  }
}

#ifndef __CUDACC__
KERNEL print_vectors(int4 four, ulong2 two, char3 three) {
  if (GLOBAL_ID(0) != 0) return;
  printf("%v4hld [%3v4hld]\n", four, four);
  printf("%v2lu %v2lx\n", two, two);
  printf("%v2hlf [%-8.2v2hlf]\n", (float2)(0.5f, -2.25f), (float2)(0.5f, -2.25f));
  printf("%v4hd %v4hu %v4hx\n", (short4)(1, -2, 3, -32768), (ushort4)(1, 2, 3, 65535), (ushort4)(0xabc, 0, 1, 65535));
  const int status = printf("%v3hhd\n", three);
  printf("%d, and no more\n", status);
}
#endif
#endif
