// Control flow: switches over numbers of every width, nested loops, and functions with memory of their own.
#include "suites/kernels/device/portable_cuda.h"

#ifdef __CUDACC__
#define SEPARATE static __device__ __noinline__
#define CHAR signed char  // the char of the host is signed
#else
#define SEPARATE __attribute__((noinline)) static
#define CHAR char
#endif

// The labels are those of suites/kernels/check_programs.cc, by their places in its tables. The default result is
// 99.
#define BY(T, name, first, second, third, fourth)                            \
  KERNEL switch_##name(GLOBAL const T* x, GLOBAL uint* out, uint n) {        \
    const uint i = GLOBAL_ID(0);                                             \
    if (i >= n) return;                                                      \
    uint result = i;                                                         \
    switch (x[i]) {                                                          \
      case 0:                                                                \
        result *= 3u;                                                        \
        break;                                                               \
      case first:                                                            \
        result += 100u;                                                      \
        break;                                                               \
      case second:                                                           \
        result ^= 0x5555u;                                                   \
        break;                                                               \
      case third:                                                            \
        result = ~result;                                                    \
        break;                                                               \
      case fourth:                                                           \
        result = result << 3 | 1u;                                           \
        break;                                                               \
      default:                                                               \
        result = 99u;                                                        \
    }                                                                        \
    out[i] = result;                                                         \
  }
BY(CHAR, i8, -1, -128, 127, 5)
BY(uchar, u8, 255, 128, 127, 5)
BY(short, i16, -1, -32768, 255, 256)
BY(ushort, u16, 65535, 32768, 255, 256)
BY(int, i32, -1, (-2147483647 - 1), 65536, 256)
BY(uint, u32, 4294967295u, 2147483648u, 65536u, 256u)
BY(long, i64, -1, 4294967296, -4294967296, 4294967295)
BY(ulong, u64, 18446744073709551615ul, 4294967296ul, 0x8000000000000000ul, 4294967295ul)

// A function with a large private array, which it indexes with numbers that only exist at run time.
SEPARATE uint shuffled(uint first, uint by) {
  uint own[256];
  for (uint k = 0u; k < 8u; ++k) own[32u * (k * by % 8u)] = first + k * k;
  uint result = 0u;
  for (uint k = 0u; k < 8u; ++k) result = result * 3u + own[32u * (k ^ (first & 7u))];
  return result;
}
// Calls shuffled() while its own private array is in use.
SEPARATE uint between(uint first, uint by) {
  uint own[5];
  for (uint k = 0u; k < 5u; ++k) own[(k + by) % 5u] = first ^ k;
  const uint inner = shuffled(first, by) + shuffled(first + 1u, by + 2u);
  uint result = inner;
  for (uint k = 0u; k < 5u; ++k) result = result * 5u + own[(first + k) % 5u];
  return result;
}
SEPARATE uint stepped(uint value, uint by) { return value * 1664525u + by; }

KERNEL calls(GLOBAL const uint* x, GLOBAL uint* out, uint n) {
  const uint i = GLOBAL_ID(0);
  if (i >= n) return;
  uint own[48];
  for (uint k = 0u; k < 6u; ++k) own[8u * ((k + x[i]) % 6u)] = x[i] + k;
  const uint by = 2u * (x[i] % 4u) + 1u;
  uint result = between(x[i], by);
  for (uint k = 0u; k < 6u; ++k) result = result * 7u + own[8u * k];
  out[i] = result + 1000u * GLOBAL_SIZE(0) + LOCAL_ID(0);  // reads these sizes only here
}

// More calls and rounds than a device executes at a time. The work-items end one after another.
KERNEL many_calls(GLOBAL const uint* x, GLOBAL uint* out, uint rounds, uint n) {
  const uint i = GLOBAL_ID(0);
  if (i >= n) return;
  uint value = x[i];
  for (uint k = 0u; k < rounds + i; ++k) value = stepped(stepped(value, k), value >> 7);
  out[i] = value;
}
