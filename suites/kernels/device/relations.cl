// Relations between floats, and selections by them, for scalars and for vectors of LANES elements. FP64 and FP16
// select double and half. The order of the relations is that of suites/kernels/check_functions_xpu.cc.
#include "suites/kernels/device/portable.h"
#include "suites/kernels/device/vectors.h"

#ifdef FP64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define T double
#define SAME_BITS long
#elif defined FP16
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define T half
#define SAME_BITS short
#else
#define T float
#define SAME_BITS int
#endif

// A true relation is 1 for a scalar, and all bits for a vector.
#if LANES == 1
#define RELATION(k, relation) bits |= (relation) ? 1 << k : 0;
#else
#define RELATION(k, relation) bits |= JOINED(convert_, VECTOR(int))(relation) & (1 << k);
#endif

// The unordered comparisons, which are true for a NaN, have no operators in the language. The optimizer replaces
// other expressions of the same meaning, so they are declared here.
#if LANES == 1
#define DECLARE(name) bool __attribute__((overloadable)) __spirv_##name(T, T);
DECLARE(FUnordEqual)
DECLARE(FUnordLessThan)
DECLARE(FUnordLessThanEqual)
DECLARE(FUnordGreaterThan)
DECLARE(FUnordGreaterThanEqual)
bool __attribute__((overloadable)) __spirv_LogicalEqual(bool, bool);
#define NOT_LESS(a, b) __spirv_FUnordGreaterThanEqual(a, b)
#define NOT_LESS_EQUAL(a, b) __spirv_FUnordGreaterThan(a, b)
#define NOT_GREATER(a, b) __spirv_FUnordLessThanEqual(a, b)
#define NOT_GREATER_EQUAL(a, b) __spirv_FUnordLessThan(a, b)
#define NOT_UNEQUAL(a, b) __spirv_FUnordEqual(a, b)
#define SAME(a, b) __spirv_LogicalEqual((a) != 0, (b) != 0)
#define NOT(a) !(a)
#else
#define NOT_LESS(a, b) !(a < b)
#define NOT_LESS_EQUAL(a, b) !(a <= b)
#define NOT_GREATER(a, b) !(a > b)
#define NOT_GREATER_EQUAL(a, b) !(a >= b)
#define NOT_UNEQUAL(a, b) !(a < b || a > b)
#define SAME(a, b) ((a) == (b))
#define NOT(a) !(a)
#endif

// Bit k is set if relation k holds.
KERNEL relations(GLOBAL const T* x, GLOBAL const T* y, GLOBAL int* out, uint n) {
  const uint i = GLOBAL_ID(0);
  if (i >= n / LANES) return;
  const VECTOR(T) a = LOAD(i, x), b = LOAD(i, y);
  VECTOR(int) bits = 0;
  RELATION(0, a == b)
  RELATION(1, a != b)
  RELATION(2, a < b)
  RELATION(3, a <= b)
  RELATION(4, a > b)
  RELATION(5, a >= b)
  RELATION(6, NOT_LESS(a, b))
  RELATION(7, NOT_LESS_EQUAL(a, b))
  RELATION(8, NOT_GREATER(a, b))
  RELATION(9, NOT_GREATER_EQUAL(a, b))
  RELATION(10, isequal(a, b))
  RELATION(11, isnotequal(a, b))
  RELATION(12, isless(a, b))
  RELATION(13, islessequal(a, b))
  RELATION(14, isgreater(a, b))
  RELATION(15, isgreaterequal(a, b))
  RELATION(16, islessgreater(a, b))
  RELATION(17, isordered(a, b))
  RELATION(18, isunordered(a, b))
  RELATION(19, isnan(a))
  RELATION(20, isinf(a))
  RELATION(21, isfinite(a))
  RELATION(22, isnormal(a))
  RELATION(23, signbit(a))
  RELATION(24, (a < b || a > b))
  RELATION(25, NOT_UNEQUAL(a, b))
  RELATION(26, SAME(isnan(a), signbit(b)))
  RELATION(27, (isinf(a) && NOT(isinf(b))))
  STORE(bits, i, out);
}

// Selections: by a relation, by bits, and by select(). The condition of select() is a number other than 0 for
// scalars, and a negative number for vectors.
KERNEL choices(GLOBAL const T* x, GLOBAL const T* y, GLOBAL const SAME_BITS* z, GLOBAL T* out, uint n) {
  const uint i = GLOBAL_ID(0);
  if (i >= n / LANES) return;
  const VECTOR(T) a = LOAD(i, x), b = LOAD(i, y);
  const VECTOR(SAME_BITS) c = LOAD(i, z);
  STORE((a < b ? a : b), i, out);
  STORE(bitselect(a, b, JOINED(as_, VECTOR(T))(c)), i, out + n);
  STORE(select(a, b, c), i, out + 2u * n);
}

#if LANES != 1
// Functions of the highest bits of a vector's lanes. Bit 0: any, bit 1: all.
KERNEL lanes_that_are(GLOBAL const SAME_BITS* z, GLOBAL int* out, uint n) {
  const uint i = GLOBAL_ID(0);
  if (i >= n / LANES) return;
  const VECTOR(SAME_BITS) c = LOAD(i, z);
  out[i] = (any(c) ? 1 : 0) | (all(c) ? 2 : 0);
}
#endif
