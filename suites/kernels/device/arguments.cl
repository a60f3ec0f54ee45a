// Kernels whose arguments must arrive unchanged, for every kind of argument. LARGE selects kernels with arguments
// above the limit of many devices, 2048 bytes. They are in a separate module, which such a device may refuse as a
// whole.
#include "suites/kernels/device/portable.h"

// Two structures by value whose sizes differ from those of registers, with a number before, between and after
// them.
#define STRUCTURES(first, second)                                                                       \
  typedef struct {                                                                                      \
    uchar bytes[first];                                                                                 \
  } First##first;                                                                                       \
  typedef struct {                                                                                      \
    uchar bytes[second];                                                                                \
  } Second##second;                                                                                     \
  KERNEL structures_##first##_##second(GLOBAL uchar* out, uchar before, First##first a, ushort between, \
                                       Second##second b, uint behind, GLOBAL uint* scalars) {           \
    const uint i = GLOBAL_ID(0);                                                                        \
    if (i < first) out[i] = a.bytes[i];                                                                 \
    if (i < second) out[first + i] = b.bytes[i];                                                        \
    if (i != 0u) return;                                                                                \
    scalars[0] = before;                                                                                \
    scalars[1] = between;                                                                               \
    scalars[2] = behind;                                                                                \
  }

#ifdef LARGE
STRUCTURES(4000, 20)
#else
STRUCTURES(1, 3)
STRUCTURES(3, 12)
STRUCTURES(20, 28)
STRUCTURES(12, 100)
STRUCTURES(100, 17)
STRUCTURES(1000, 15)
STRUCTURES(31, 1900)

typedef struct {
  uchar a;
  ushort b;
  uint c;
  ulong d;
  float e[3];
} Mixed;

KERNEL scalars(GLOBAL ulong* out, uchar a, char b, ushort c, short d, uint e, int f, ulong g, long h,
               float i) {
  if (GLOBAL_ID(0) != 0) return;
  out[0] = a;
  out[1] = (ulong)(long)b;
  out[2] = c;
  out[3] = (ulong)(long)d;
  out[4] = e;
  out[5] = (ulong)(long)f;
  out[6] = g;
  out[7] = (ulong)h;
  out[8] = as_uint(i);
}

KERNEL structure(GLOBAL uchar* out, Mixed mixed) {
  if (GLOBAL_ID(0) != 0) return;
  for (uint i = 0; i < sizeof mixed; ++i) out[i] = 0;
  GLOBAL Mixed* whole = (GLOBAL Mixed*)out;
  whole->a = mixed.a;
  whole->b = mixed.b;
  whole->c = mixed.c;
  whole->d = mixed.d;
  for (uint i = 0; i < 3; ++i) whole->e[i] = mixed.e[i];
}

#define SIXTEEN(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)

// Many arguments. Each has its place in the result.
KERNEL many(GLOBAL ulong* out, ulong a0, ulong a1, ulong a2, ulong a3, ulong a4, ulong a5, ulong a6, ulong a7,
            ulong a8, ulong a9, ulong a10, ulong a11, ulong a12, ulong a13, ulong a14, ulong a15) {
  if (GLOBAL_ID(0) != 0) return;
#define STORE(i) out[i] = a##i;
  SIXTEEN(STORE)
#undef STORE
}

// Pointers in memory: reads the word whose address is in memory at the address of the argument.
KERNEL indirect(GLOBAL const ulong* addresses, GLOBAL uint* out) {
  out[GLOBAL_ID(0)] = *(GLOBAL const uint*)addresses[GLOBAL_ID(0)];
}

KERNEL tell_null(GLOBAL uint* out, GLOBAL const uint* maybe) { out[GLOBAL_ID(0)] = maybe == 0 ? 1u : 2u; }
#endif
