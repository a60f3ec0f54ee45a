// The lines that the kernels of print.cl print, and that the host formats for comparison. LINE(format, values...)
// is called for each line.
#pragma once

#define INTEGER_LINES(LINE, negative, large, long_negative, huge)                        \
  LINE("%d %i %u %d\n", negative, negative, large, 0)                                    \
  LINE("%x %X %o %x\n", large, large, large, (unsigned)negative)                         \
  LINE("%ld %li %lu\n", long_negative, long_negative, huge)                              \
  LINE("%lx %lX %lo\n", huge, huge, huge)                                                \
  LINE("%ld %lu %lx\n", (long)large, (unsigned long)large, (unsigned long)long_negative) \
  LINE("[%5d] [%-5d] [%05d] [%+d] [% d]\n", 42, 42, 42, 42, 42)                          \
  LINE("[%15d] [%-15d] [%015d]\n", negative, negative, negative)                         \
  LINE("[%25lu] [%-25lx] [%025ld]\n", huge, huge, long_negative)                         \
  LINE("[%.4d] [%8.4x] [%-8.3d] [%#x] [%#o]\n", 7, 0xabu, 7, large, large)               \
  LINE("%c%c%c %% 100%%\n", 'a', 'Z', '~')                                               \
  LINE("[%s] [%8s] [%-8s] [%.2s]\n", "text", "text", "text", "text")                     \
  LINE("%s", "nothing but text\n")

#define DOUBLE_LINES(LINE, third, small, huge, infinite)                                                 \
  LINE("%f %e %g\n", third, third, third)                                                                \
  LINE("%f %e %g\n", small, small, small)                                                                \
  LINE("%.17g %.17g %.17g\n", third, small, huge)                                                        \
  LINE("%F %E %G\n", -third, -huge, -small)                                                              \
  LINE("[%.0f] [%.3f] [%12.4f] [%-12.4e] [%012.2f] [%+.1f]\n", third, third, third, third, third, third) \
  LINE("%f %f %e\n", infinite, -infinite, 0.0)                                                           \
  LINE("%a %a\n", third, -0.5)
