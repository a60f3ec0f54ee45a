// Vectors of T: construction, parts, and layout in memory of every kind. Level Zero only, because CUDA has no such
// vectors. suites/kernels/check_vector_memory_xpu.cc computes the expected results.
#include "suites/kernels/device/portable.h"

#define JOIN(a, b) a##b
#define JOINED(a, b) JOIN(a, b)
#define VECTOR(n) JOINED(T, n)
#define LOAD(n, from) JOINED(vload, n)(0, from)
#define STORE(n, value, to) JOINED(vstore, n)(value, 0, to)
#define POWERS(X) X(2) X(4) X(8) X(16)
#define WIDTHS(X) X(2) X(3) X(4) X(8) X(16)

// Item i has 32 elements, and 16 more that select from them. Each result has room for 16 elements.
#define WITH_ITEM                                                                        \
  GLOBAL const T* const first = in + 32 * GLOBAL_ID(0);                                  \
  GLOBAL const T* const second = first + 16;                                             \
  const size_t wish = 16 * GLOBAL_ID(0);                                                 \
  out += 512 * GLOBAL_ID(0);

#define SHUFFLE_TO(m, n)                                     \
  STORE(n, shuffle(LOAD(m, first), LOAD(n, wanted)), out);   \
  out += 16;
#define SHUFFLE_BOTH_TO(m, n)                                                     \
  STORE(n, shuffle2(LOAD(m, first), LOAD(m, second), LOAD(n, wanted)), out);      \
  out += 16;
#define SHUFFLES(m) SHUFFLE_TO(m, 2) SHUFFLE_TO(m, 4) SHUFFLE_TO(m, 8) SHUFFLE_TO(m, 16)
#define SHUFFLES_OF_BOTH(m) SHUFFLE_BOTH_TO(m, 2) SHUFFLE_BOTH_TO(m, 4) SHUFFLE_BOTH_TO(m, 8) SHUFFLE_BOTH_TO(m, 16)

KERNEL shuffles(GLOBAL T* out, GLOBAL const T* in, GLOBAL const T* which) {
  WITH_ITEM
  GLOBAL const T* const wanted = which + wish;
  POWERS(SHUFFLES)
  POWERS(SHUFFLES_OF_BOTH)
}

// Reads and writes one element by a variable index of each width.
#define INDEX_BY(n, I)                             \
  {                                                \
    VECTOR(n) vector = LOAD(n, first);             \
    const I index = (I)((uint)wanted[0] % n);      \
    out[0] = vector[index];                        \
    vector[index] = second[0];                     \
    STORE(n, vector, out + 16);                    \
    out += 32;                                     \
  }
#define INDICES(n) INDEX_BY(n, uchar) INDEX_BY(n, ushort)
#define WIDE_INDICES(n) INDEX_BY(n, uint) INDEX_BY(n, ulong)

KERNEL narrow_indices(GLOBAL T* out, GLOBAL const T* in, __constant T* which) {
  WITH_ITEM
  __constant T* const wanted = which + wish;
  WIDTHS(INDICES)
}
KERNEL wide_indices(GLOBAL T* out, GLOBAL const T* in, GLOBAL const T* which) {
  WITH_ITEM
  GLOBAL const T* const wanted = which + wish;
  WIDTHS(WIDE_INDICES)
}

// Parts of vectors, in different orders, and of two vectors.
KERNEL parts(GLOBAL T* out, GLOBAL const T* in, GLOBAL const T* which) {
  WITH_ITEM
  GLOBAL const T* const wanted = which + wish;
  const VECTOR(16) a = LOAD(16, first), b = LOAD(16, second);
  const VECTOR(3) c = LOAD(3, wanted);
  STORE(8, a.hi, out);
  STORE(8, a.odd, out + 16);
  STORE(4, a.lo.even, out + 32);
  STORE(16, a.sfedcba9876543210, out + 48);
  STORE(4, (VECTOR(4))(a.s1, b.s7e, c.y), out + 64);
  STORE(8, (VECTOR(8))(c, a.s45, c.zyx), out + 80);
  STORE(3, c.zxx, out + 96);
  STORE(16, (VECTOR(16))(a.lo, b.hi), out + 112);
  VECTOR(4) d = a.s0123;
  d.yw = b.s01;
  STORE(4, d, out + 128);
  d.s0 = c.s2;
  STORE(4, d, out + 144);
  STORE(8, (VECTOR(8))(first[3]), out + 160);
  STORE(3, (VECTOR(3))(a.s9, b.sab), out + 176);
}

// Vectors in memory of every kind, at addresses that are aligned for one element, and the elements beside them.
__constant T constants[20] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20};
#define FROM_CONSTANT(n)                      \
  STORE(n, LOAD(n, constants + index), out);  \
  out += 16;
#define THROUGH(n, memory)                                \
  for (uint i = 0; i < 20; ++i) memory[i] = second[i % 16]; \
  STORE(n, LOAD(n, first), memory + index);               \
  STORE(16, LOAD(16, memory), out);                       \
  STORE(n, LOAD(n, memory + 20 - n), out + 16);           \
  out += 32;
#define THROUGH_PRIVATE(n) THROUGH(n, own)
#define THROUGH_LOCAL(n) THROUGH(n, mine)

KERNEL memories(GLOBAL T* out, GLOBAL const T* in, GLOBAL const T* which) {
  LOCAL T shared[20 * 4];
  WITH_ITEM
  GLOBAL const T* const wanted = which + wish;
  const uint index = (uint)wanted[0] % 5;
  T own[20];
  LOCAL_POINTER T* const mine = shared + 20 * LOCAL_ID(0);
  WIDTHS(FROM_CONSTANT)
  WIDTHS(THROUGH_PRIVATE)
  WIDTHS(THROUGH_LOCAL)
}

// Vectors as members of structures and elements of arrays. A vector of three has the size of a vector of four.
typedef struct {
  T before;
  VECTOR(3) three;
  T between;
  VECTOR(2) two;
  VECTOR(8) eight;
  T behind;
} Mixed;
__constant VECTOR(3) threes[3] = {(VECTOR(3))(1, 2, 3), (VECTOR(3))(4, 5, 6), (VECTOR(3))(7, 8, 9)};
__constant Mixed mixed = {21, (VECTOR(3))(22, 23, 24), 25, (VECTOR(2))(26, 27), (VECTOR(8))(28, 29, 30, 31, 32, 33, 34, 35), 36};

static __attribute__((noinline)) Mixed changed(Mixed given, VECTOR(3) three, VECTOR(8) eight) {
  given.three += three;
  given.eight = eight - given.eight;
  ++given.behind;
  return given;
}

KERNEL members(GLOBAL T* out, GLOBAL const T* in, GLOBAL const T* which) {
  WITH_ITEM
  GLOBAL const T* const wanted = which + wish;
  const uint index = (uint)wanted[0] % 3;
  VECTOR(3) own[4];
  own[0] = own[1] = own[2] = own[3] = (VECTOR(3))(first[0], first[1], first[2]);
  own[index] = LOAD(3, second);
  for (uint i = 0; i < 4; ++i) STORE(3, own[i], out + 16 * i);
  STORE(3, threes[index], out + 64);
  const Mixed here = changed(mixed, own[index], LOAD(8, first));
  out[80] = here.before;
  STORE(3, here.three, out + 96);
  out[112] = here.between;
  STORE(2, here.two, out + 128);
  STORE(8, here.eight, out + 144);
  out[160] = here.behind;
  out[176] = (T)(sizeof(VECTOR(3)) / sizeof(T));
  out[177] = (T)(sizeof(Mixed) / sizeof(T));
  STORE(3, ((GLOBAL const VECTOR(3)*)first)[index], out + 192);
  const VECTOR(4) a = LOAD(4, first), b = LOAD(4, second);
  STORE(4, a < b ? a : b, out + 208);
  STORE(3, own[0] < own[index] ? own[index] : own[0], out + 224);
}
