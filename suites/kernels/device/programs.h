// Programs in the common subset of OpenCL C, CUDA C++ and C++. The device runs them as kernels (programs.cl) and
// the host as functions (suites/kernels/check_programs.cc). Both must compute the same numbers. Each program has
// kInputs arbitrary numbers, and writes up to kResults.
//
// PROGRAM_CONSTANT and PROGRAM_VARIABLE declare objects outside of functions. CONSTANT_SPACE and GLOBAL qualify
// pointers to them.
#pragma once

#define kInputs 8
#define kResults 64

#if defined(__OPENCL_C_VERSION__)
#define PROGRAM_CONSTANT __constant
#define PROGRAM_VARIABLE(type) __global type
#define CONSTANT_SPACE __constant
#define NOINLINE static __attribute__((noinline))
#elif defined(__CUDACC__)
#define PROGRAM_CONSTANT static __device__ const
#define PROGRAM_VARIABLE(type) static __device__ type
#define CONSTANT_SPACE const
#define NOINLINE static __device__ __noinline__
#else
#define PROGRAM_CONSTANT static const
#define PROGRAM_VARIABLE(type) static type
#define CONSTANT_SPACE const
#define NOINLINE static __attribute__((noinline))
#endif

#define PROGRAM(name) NOINLINE void name(GLOBAL const ulong* in, GLOBAL ulong* out)

// ---- structures of every shape ----

typedef struct {
  uchar a;
  ushort b;
  uchar c[5];
} Odd;  // 10 bytes, of which two are padding
typedef struct __attribute__((packed)) {
  uchar a;
  uint b;
  ushort c;
  ulong d;
} Packed;  // 15 bytes
typedef struct {
  Odd odd[2];
  ulong wide;
  Packed packed;
  uchar last;
} Nested;
typedef struct {
  Nested nested[2];
  uint words[3];
} Deep;

#define BYTES(n)    \
  typedef struct {  \
    uchar bytes[n]; \
  } Bytes##n;
#define SIZES(X) X(1) X(2) X(3) X(4) X(5) X(7) X(8) X(12) X(16) X(17) X(24) X(31) X(33) X(128) X(129)
SIZES(BYTES)

// ---- constants and variables of the program ----

PROGRAM_CONSTANT uchar kBytes[7] = {3, 1, 4, 1, 5, 9, 2};
PROGRAM_CONSTANT ushort kShorts[3] = {0xfedc, 0x1234, 0x8001};
PROGRAM_CONSTANT uchar kOne[1] = {77};
PROGRAM_CONSTANT ulong kLongs[3] = {0x123456789abcdef0, 0xfedcba9876543210, 7};
PROGRAM_CONSTANT uchar kGrid[2][3][5] = {{{1, 2, 3, 4, 5}, {6, 7, 8, 9, 10}, {11, 12, 13, 14, 15}},
                                         {{16, 17, 18, 19, 20}, {21, 22, 23, 24, 25}, {26, 27, 28, 29, 30}}};
PROGRAM_CONSTANT float kFloats[3] = {1.5f, -2.25f, 3e8f};
PROGRAM_CONSTANT Odd kOdds[3] = {
    {1, 0x203, {4, 5, 6, 7, 8}}, {7, 0x809, {10, 11, 12, 13, 14}}, {13, 0xe0f, {16, 17, 18, 19, 20}}};
PROGRAM_CONSTANT Bytes3 kThrees[3] = {{{1, 2, 3}}, {{4, 5, 6}}, {{7, 8, 9}}};
PROGRAM_CONSTANT Packed kPackeds[3] = {{1, 0x02030405, 0x0607, 0x08090a0b0c0d0e0f},
                                       {0x11, 0x12131415, 0x1617, 0x18191a1b1c1d1e1f},
                                       {0x21, 0x22232425, 0x2627, 0x28292a2b2c2d2e2f}};
PROGRAM_CONSTANT Nested kNesteds[2] = {
    {{{1, 2, {3, 4, 5, 61, 62}}, {6, 7, {8, 9, 10, 63, 64}}}, 0x1112131415161718, {21, 22, 23, 24}, 25},
    {{{31, 32, {33, 34, 35, 61, 62}}, {36, 37, {38, 39, 40, 63, 64}}},
     0x4142434445464748,
     {51, 52, 53, 54},
     55}};
PROGRAM_CONSTANT uint kZeros[5] = {0, 0, 0, 0, 0};
PROGRAM_CONSTANT uchar kLast[5] = {9, 8, 7, 6, 5};
__attribute__((aligned(64))) PROGRAM_CONSTANT uchar kAligned[3] = {51, 52, 53};

PROGRAM_VARIABLE(uint) describe_program[6] = {11, 22, 33, 44, 55, 66};
PROGRAM_VARIABLE(ulong) zeros_of_program[3];
PROGRAM_VARIABLE(Packed) packed_of_program = {1, 0x1020304, 0x506, 0x708090a0b0c0d0e};
PROGRAM_VARIABLE(Deep)
deep_of_program = {
    {{{{1, 2, {3, 4, 5, 61, 62}}, {6, 7, {8, 9, 10, 63, 64}}}, 11, {12, 13, 14, 15}, 16},
     {{{17, 18, {19, 20, 21, 61, 62}}, {22, 23, {24, 25, 26, 63, 64}}}, 27, {28, 29, 30, 31}, 32}},
    {33, 34, 35}};

// The bytes at a pointer, combined to one number.
NOINLINE ulong digest_private(const uchar* bytes, uint count) {
  ulong result = count;
  for (uint i = 0; i < count; ++i) result = result * 257 + bytes[i];
  return result;
}
NOINLINE ulong digest_constant(CONSTANT_SPACE uchar* bytes, uint count) {
  ulong result = count;
  for (uint i = 0; i < count; ++i) result = result * 257 + bytes[i];
  return result;
}

PROGRAM(constants) {
  const uint i = (uint)(in[0] % 3), j = (uint)(in[1] % 5), k = (uint)(in[2] % 2);
  out[0] = kBytes[in[0] % 7];
  out[1] = kShorts[i];
  out[2] = kOne[0];
  out[3] = kLongs[i];
  out[4] = kGrid[k][i][j];
  out[5] = (ulong)(long)(kFloats[i] * 4);
  out[6] = kOdds[i].a;
  out[7] = kOdds[i].b;
  out[8] = kOdds[i].c[k];
  out[9] = kThrees[i].bytes[k + 1];
  out[10] = kPackeds[i].b;
  out[11] = kPackeds[i].d;
  out[12] = kNesteds[k].odd[1].c[i];
  out[13] = kNesteds[k].wide;
  out[14] = kNesteds[k].packed.d;
  out[15] = kNesteds[k].last;
  out[16] = kZeros[j];
  out[17] = kLast[j];
  out[18] = kAligned[i];
  out[19] = digest_constant((CONSTANT_SPACE uchar*)&kPackeds[0], sizeof kPackeds);
  out[20] = digest_constant((CONSTANT_SPACE uchar*)&kGrid[0][0][0], sizeof kGrid);
  out[21] = digest_constant((CONSTANT_SPACE uchar*)&kThrees[0], sizeof kThrees);
  CONSTANT_SPACE uchar* pointers[3] = {&kBytes[2], &kGrid[1][1][0], &kLast[0]};
  out[22] = pointers[i][j];
  out[23] = (ulong)&kAligned[0] % 64 + (ulong)&kLongs[0] % 8 + (ulong)&kShorts[0] % 2 +
            (ulong)&kFloats[0] % 4 + (ulong)&kNesteds[0] % 8 + (ulong)&kZeros[0] % 4 + (ulong)&kOdds[0] % 2;
}

PROGRAM(variables) {
  const uint i = (uint)(in[0] % 3), k = (uint)(in[1] % 2);
  out[0] = describe_program[in[0] % 6];
  out[1] = zeros_of_program[i];
  out[2] = packed_of_program.a;
  out[3] = packed_of_program.b;
  out[4] = packed_of_program.c;
  out[5] = packed_of_program.d;
  out[6] = deep_of_program.nested[k].odd[k].c[i];
  out[7] = deep_of_program.nested[k].wide;
  out[8] = deep_of_program.nested[k].packed.d;
  out[9] = deep_of_program.nested[k].last;
  out[10] = deep_of_program.words[i];
  out[11] = (ulong)&zeros_of_program[0] % 8 + (ulong)&describe_program[0] % 4 + (ulong)&deep_of_program % 8;
}

// ---- structures as parameters, results and copies ----

#define TURN(n)                                                                              \
  NOINLINE Bytes##n turned##n(Bytes##n given, uchar by) {                                    \
    Bytes##n result;                                                                         \
    for (uint i = 0; i < n; ++i) result.bytes[i] = (uchar)(given.bytes[n - 1 - i] + by);     \
    given.bytes[n / 2] = by; /* the caller does not see it */                                \
    return digest_private(given.bytes, n) != 0 ? result : given;                             \
  }                                                                                          \
  NOINLINE void turn##n(GLOBAL const ulong* in, GLOBAL ulong* out) {                         \
    Bytes##n first, copies[2];                                                               \
    for (uint i = 0; i < n; ++i) first.bytes[i] = (uchar)(in[i % kInputs] >> (i / kInputs)); \
    copies[in[0] % 2] = turned##n(first, (uchar)in[1]);                                      \
    copies[1 - in[0] % 2] = first;                                                           \
    out[0] = digest_private(first.bytes, n);                                                 \
    out[1] = digest_private(copies[0].bytes, n);                                             \
    out[2] = digest_private(copies[1].bytes, n);                                             \
  }
SIZES(TURN)

PROGRAM(structures) {
#define TURN_ONE(n) \
  turn##n(in, out); \
  out += 3;
  SIZES(TURN_ONE)
#undef TURN_ONE
}

// Packed structures are passed and returned by pointer. nvcc 13.0 stores the members of a returned one at
// addresses that are not aligned for the instruction (st.param.b64 [func_retval0+7]). An H100 then reads other
// numbers.
NOINLINE void pack(Packed* result, uchar a, uint b, ushort c, ulong d) {
  result->a = a;
  result->b = b;
  result->c = c;
  result->d = d;
}
NOINLINE Odd odd_of(GLOBAL const ulong* in) {
  const Odd result = {(uchar)in[0], (ushort)in[1], {(uchar)in[2], (uchar)in[3], (uchar)in[4], 5, 6}};
  return result;
}
NOINLINE Bytes3 three_of(ulong bits) {
  const Bytes3 result = {{(uchar)bits, (uchar)(bits >> 8), (uchar)(bits >> 16)}};
  return result;
}
NOINLINE void nest(Nested* result, Odd first, Odd second, const Packed* packed, ulong wide) {
  result->odd[0] = second;
  result->odd[1] = first;
  result->wide = wide;
  result->packed = *packed;
  result->last = first.a;
}
NOINLINE ulong sum_of(const Deep* given, uint which) {
  Deep deep = *given;
  deep.words[which % 3] += 1000; /* the caller does not see it */
  const Nested chosen = deep.nested[which % 2];
  return chosen.wide + chosen.packed.d + chosen.packed.b + chosen.odd[0].b + chosen.odd[1].c[which % 3] +
         chosen.last + deep.words[0] * 3 + deep.words[1] * 5 + deep.words[2] * 7;
}

PROGRAM(nesting) {
  const Odd first = odd_of(in), second = odd_of(in + 3);
  Deep deep;
  Packed packed;
  pack(&packed, (uchar)in[5], (uint)in[6], (ushort)in[7], in[0]);
  nest(&deep.nested[0], first, second, &packed, in[1]);
  deep.nested[1] = deep.nested[0];
  deep.nested[1].odd[0] = first;
  deep.nested[1].packed.b ^= 0x12345678;
  deep.nested[1].wide += 3;
  deep.words[0] = (uint)in[0];
  deep.words[1] = (uint)in[1];
  deep.words[2] = (uint)in[2];
  out[0] = sum_of(&deep, 0);
  out[1] = sum_of(&deep, 1);
  out[2] = sum_of(&deep, (uint)in[3]);
  out[6] = deep.words[0] + deep.words[1] + deep.words[2];
  Deep other = deep;
  other.nested[0] = deep.nested[1];
  out[7] = sum_of(&other, 0) - sum_of(&deep, 0);
  out[8] = sizeof(Odd) + 100 * sizeof(Packed) + 10000 * sizeof(Nested) + 10000000 * sizeof(Deep);
  out[9] = (ulong)((const uchar*)&deep.nested[1].packed.d - (const uchar*)&deep);
}

// ---- calls ----

NOINLINE ulong of_many(uchar a, ulong b, ushort c, uint d, uchar e, float f, ulong g, uchar h, const ulong* i,
                       Odd j, uint k, uchar l, ulong m, Bytes3 n, ushort o, uint p, uchar q, ulong r, int s,
                       long t) {
  return a + b * 3 + c * 5ul + d * 7ul + e * 11ul + (ulong)(f * 2) * 13 + g * 17 + h * 19ul + *i * 23 +
         j.b * 29ul + j.c[2] * 31ul + k * 37ul + l * 41ul + m * 43 + n.bytes[1] * 47ul + o * 53ul + p * 59ul +
         q * 61ul + r * 67 + (ulong)(long)s * 71 + (ulong)t * 73;
}
NOINLINE void swap_behind(ulong* first, ulong* second, ulong** pointer) {
  const ulong kept = *first;
  *first = *second;
  *second = kept;
  *pointer = kept % 2 ? first : second;
}
NOINLINE int is_odd(ulong value) { return value % 2 != 0; }
NOINLINE uchar low_byte(ulong value) { return (uchar)value; }
NOINLINE short low_short(ulong value) { return (short)value; }
NOINLINE float to_float(uint value) { return (float)(value % 1000) / 8; }

// Each level keeps private bytes while it calls the next one. Their number is one more than a multiple of the
// alignment of memory.
NOINLINE ulong level0(ulong value) {
  Bytes129 kept;
  for (uint i = 0; i < 129; ++i) kept.bytes[i] = (uchar)(value + i);
  return digest_private(kept.bytes, 129);
}
#define LEVEL(n, below)                                                          \
  NOINLINE ulong level##n(ulong value) {                                         \
    Bytes129 kept;                                                               \
    for (uint i = 0; i < 129; ++i) kept.bytes[i] = (uchar)(value * n + i);       \
    const ulong before = digest_private(kept.bytes, 129);                        \
    const ulong inner = level##below(value + n) ^ level0(n);                     \
    return inner * 3 + (before == digest_private(kept.bytes, 129) ? before : 0); \
  }
LEVEL(1, 0)
LEVEL(2, 1)
LEVEL(3, 2)
LEVEL(4, 3)
LEVEL(5, 4)
LEVEL(6, 5)
LEVEL(7, 6)
LEVEL(8, 7)

PROGRAM(calls) {
  const Odd odd = odd_of(in + 2);
  const Bytes3 three = three_of(in[0]);
  ulong a = in[0], b = in[1];
  ulong* pointer = 0;
  out[0] = pointer == 0;
  out[1] = of_many((uchar)in[0], in[1], (ushort)in[2], (uint)in[3], (uchar)in[4], (float)(in[5] % 100), in[6],
                   (uchar)in[7], &b, odd, (uint)in[1], (uchar)in[2], in[3], three, (ushort)in[4], (uint)in[5],
                   (uchar)in[6], in[7], (int)in[0], (long)in[1]);
  swap_behind(&a, &b, &pointer);
  out[2] = a;
  out[3] = b;
  out[4] = *pointer;
  out[5] = pointer != 0;
  *pointer += 5;
  out[6] = a + 2 * b;
  out[7] = is_odd(in[2]) ? low_byte(in[3]) : (ulong)(long)low_short(in[4]);
  out[8] = (ulong)(to_float((uint)in[5]) * 8);
  out[9] = level8(in[6]);
  out[10] = level0(in[6]) + level3(in[7]);
}

// The private bytes of this function end exactly at the end of an aligned piece of memory.
NOINLINE ulong full(ulong value) {
  Bytes128 kept;
  for (uint i = 0; i < 128; ++i) kept.bytes[i] = (uchar)(value + i);
  return digest_private(kept.bytes, 128);
}
PROGRAM(room) { out[0] = full(in[0]); }

NOINLINE void move17(GLOBAL Bytes17* to, GLOBAL const Bytes17* from) { *to = *from; }
NOINLINE void move31(GLOBAL Bytes31* to, GLOBAL const Bytes31* from) { *to = *from; }

// Changes the first and the last element of memory in every width, and structures at both ends.
NOINLINE void touch_ends(GLOBAL uchar* memory, ulong bytes) {
  memory[0] += 1;
  memory[bytes - 1] += 2;
  ((GLOBAL ushort*)memory)[0] += 3;
  ((GLOBAL ushort*)memory)[bytes / 2 - 1] += 4;
  ((GLOBAL uint*)memory)[0] += 5;
  ((GLOBAL uint*)memory)[bytes / 4 - 1] += 6;
  ((GLOBAL ulong*)memory)[0] += 7;
  ((GLOBAL ulong*)memory)[bytes / 8 - 1] += 8;
  move31((GLOBAL Bytes31*)(memory + bytes - 31), (GLOBAL const Bytes31*)memory);
  move17((GLOBAL Bytes17*)memory, (GLOBAL const Bytes17*)(memory + bytes - 17));
}

// ---- control ----

NOINLINE uint choose_int(int value) {
  switch (value) {
    case -2147483647 - 1:
      return 1;
    case -1000:
      return 2;
    case -1:
      return 3;
    case 0:
      return 4;
    default:
      return (uint)value * 3;
    case 1:
      return 5;
    case 65536:
      return 6;
    case 2147483647:
      return 7;
  }
}
NOINLINE uint choose_long(ulong value) {
  uint result = 0;
  switch (value) {
    case 0x123456789abcdef0:
      result += 1;  // falls through
    case 0x9abcdef0:
      result += 10;
      break;
    case 0x1234567800000000:
      result += 100;  // falls through
    case 0xffffffffffffffff:
      result += 1000;
      break;
    case 0x80000000:
      result += 10000;
      break;
    case 0xffffffff80000000:
      result += 100000;
      break;
    default:
      result += 1000000;
  }
  return result;
}

PROGRAM(choices) {
  const int ints[8] = {-2147483647 - 1, -1000, -1, 0, 1, 65536, 2147483647, (int)(in[0] % 100) + 2};
  const ulong longs[8] = {0x123456789abcdef0, 0x9abcdef0,         0x1234567800000000, 0xffffffffffffffff,
                          0x80000000,         0xffffffff80000000, 0x7fffffff,         in[1]};
  for (uint i = 0; i < 8; ++i) {
    out[i] = choose_int(ints[(i + in[2]) % 8]);
    out[8 + i] = choose_long(longs[(i + in[3]) % 8]);
  }
}

// Loops in which several values are rotated.
PROGRAM(rotations) {
  ulong a = in[0], b = in[1], c = in[2];
  for (uint i = 0; i < in[3] % 13; ++i) {
    const ulong first = a;
    a = b;
    b = c;
    c = first;
  }
  out[0] = a;
  out[1] = b;
  out[2] = c;
  ulong x = in[4] % 1000000 + 1, y = in[5] % 1000000 + 1;
  while (y != 0) {
    const ulong rest = x % y;
    x = y;
    y = rest;
  }
  out[3] = x;
  uchar p = (uchar)in[6], q = (uchar)in[7];
  ulong r = in[6];
  float f = 1, g = 2;
  for (uint i = 0; i < in[4] % 7 + 1; ++i) {
    const uchar kept = p;
    const float other = f;
    p = q;
    q = kept;
    f = g;
    g = other + 1;
    if (r % 3 == 0) continue;
    r = r / 2 + p;
    if (r == 77) break;
  }
  out[4] = p;
  out[5] = q;
  out[6] = r;
  out[7] = (ulong)(f * 16 + g);
  ulong count = 0;
  for (uint i = 0; i < 5; ++i) {
    for (uint j = i; j < 5; ++j) {
      if ((in[i] + j) % 4 == 0) continue;
      if ((in[j] + i) % 7 == 0) break;
      count += i * 10 + j;
    }
  }
  out[8] = count;
}

// ---- arrays of every width with variable indexes ----

#define ARRAY(T, n, first)                                                                                 \
  {                                                                                                        \
    T values[n];                                                                                           \
    for (uint i = 0; i < n; ++i) values[i] = (T)(in[i % kInputs] >> i);                                    \
    for (uint i = 0; i < 4; ++i) values[in[i] % n] = (T)(values[in[i + 1] % n] + values[in[i + 2] % n]);   \
    out[first] = digest_private((const uchar*)values, sizeof values);                                      \
    T* middle = values + n / 2;                                                                            \
    const int back = -(int)(in[4] % (n / 2 + 1));                                                          \
    out[first + 1] = (ulong)middle[back];                                                                  \
    out[first + 2] =                                                                                       \
        (ulong)middle[(signed char)back] + (ulong)middle[(short)back] * 3 + (ulong)middle[(long)back] * 5; \
    out[first + 3] = (ulong)(middle - values) + (ulong)(&values[n - 1] - middle) * 100;                    \
    out[first + 4] =                                                                                       \
        (ulong)((middle + back < middle) + 2 * (middle + back == middle) + 4 * (values != middle));        \
  }

PROGRAM(arrays) {
  ARRAY(uchar, 13, 0)
  ARRAY(ushort, 11, 5)
  ARRAY(uint, 9, 10)
  ARRAY(ulong, 7, 15)
  Odd odds[5];
  Bytes3 threes[6];
  for (uint i = 0; i < 5; ++i) odds[i] = odd_of(in + i % 4);
  for (uint i = 0; i < 6; ++i) threes[i] = three_of(in[i]);
  odds[in[0] % 5] = odds[in[1] % 5];
  threes[in[2] % 6] = threes[in[3] % 6];
  out[20] = odds[in[0] % 5].b + odds[in[2] % 5].c[in[3] % 3] * 65536ul;
  out[21] = digest_private(&threes[0].bytes[0], sizeof threes);
  uint grid[3][4];
  for (uint i = 0; i < 12; ++i) grid[i / 4][i % 4] = (uint)in[i % kInputs] + i;
  uint(*row)[4] = &grid[in[5] % 3];
  out[22] = (*row)[in[6] % 4];
  uint* cells[3] = {grid[2], grid[0], &grid[1][1]};
  uint** cell = &cells[in[7] % 3];
  out[23] = (*cell)[in[6] % 3];
}

// Bits that are written as one type and read as another.
PROGRAM(unions) {
  union {
    ulong whole;
    uint words[2];
    ushort shorts[4];
    uchar bytes[8];
    float floats[2];
  } both;
  both.whole = in[0];
  out[0] = both.words[in[1] % 2];
  out[1] = both.shorts[in[1] % 4];
  out[2] = both.bytes[in[1] % 8];
  both.bytes[in[2] % 8] ^= 0x5a;
  out[3] = both.whole;
  both.floats[in[3] % 2] = (float)(uint)(in[4] % 4096);
  out[4] = both.whole;
  ulong whole = in[5];
  uchar* bytes = (uchar*)&whole;
  bytes[in[6] % 8] = (uchar)in[7];
  out[5] = whole;
  out[6] = *(ushort*)(bytes + 2) + *(uint*)(bytes + 4) * 3ul;
}

#define PROGRAMS(X) \
  X(constants)      \
  X(variables) X(structures) X(nesting) X(calls) X(room) X(choices) X(rotations) X(arrays) X(unions)
