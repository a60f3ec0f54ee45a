// The float functions of OpenCL, for scalars and for vectors of LANES elements. Vector i is given to function
// number which[i]. A module contains the functions of one PART, the first digit of their numbers; the last part
// has all from 60. FP64 and FP16 select double and half. The numbers are those of
// suites/kernels/check_math_functions_xpu.cc.
#include "suites/kernels/device/portable.h"
#include "suites/kernels/device/vectors.h"

#ifdef FP64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define T double
#define WORD ulong
#elif defined FP16
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define T half
#define WORD ushort
#else
#define T float
#define WORD uint
#endif

#define AS_NUMBERS(integers) JOINED(convert_, VECTOR(T))(integers)
#define AS_INTEGERS(numbers) JOINED(convert_, VECTOR(int))(numbers)

// The translator maps max() and min() of the language to the instructions of fmax() and fmin(). These declarations
// select the instructions fmax_common and fmin_common.
VECTOR(T) __attribute__((overloadable)) __spirv_ocl_fmax_common(VECTOR(T), VECTOR(T));
VECTOR(T) __attribute__((overloadable)) __spirv_ocl_fmin_common(VECTOR(T), VECTOR(T));

#define FUNCTION(number, value) \
  case number:                  \
    result = (value);           \
    break;
// Functions that write a second result, an integer, through a pointer.
#define WITH_INTEGER(number, value) \
  case number:                      \
    result = (value);               \
    second = AS_NUMBERS(integers);  \
    break;

KERNEL function(GLOBAL const T* x, GLOBAL const T* y, GLOBAL const T* z, GLOBAL T* out,
                GLOBAL const uint* which, uint n) {
  const uint i = GLOBAL_ID(0);
  if (i >= n / LANES) return;
  const VECTOR(T) a = LOAD(i, x), b = LOAD(i, y), c = LOAD(i, z);
  VECTOR(T) result = 0, second = 0;
  VECTOR(int) integers = 0;
  (void)b, (void)c, (void)integers;  // a part may use none of them
  switch (which[i]) {
#if PART == 0
    FUNCTION(0, acos(a))
    FUNCTION(1, acosh(a))
    FUNCTION(2, acospi(a))
    FUNCTION(3, asin(a))
    FUNCTION(4, asinh(a))
    FUNCTION(5, asinpi(a))
    FUNCTION(6, atan(a))
    FUNCTION(7, atanh(a))
    FUNCTION(8, atanpi(a))
    FUNCTION(9, cosh(a))
#elif PART == 1
    FUNCTION(10, cospi(a))
    FUNCTION(11, erfc(a))
    FUNCTION(12, exp10(a))
    FUNCTION(13, expm1(a))
    FUNCTION(14, AS_NUMBERS(ilogb(a)))
    FUNCTION(15, lgamma(a))
    FUNCTION(16, log10(a))
    FUNCTION(17, log1p(a))
    FUNCTION(18, logb(a))
    FUNCTION(19, round(a))
#elif PART == 2
    FUNCTION(20, sinh(a))
    FUNCTION(21, sinpi(a))
    FUNCTION(22, tanpi(a))
    FUNCTION(23, tgamma(a))
    FUNCTION(24, atan2pi(a, b))
    FUNCTION(25, fdim(a, b))
    FUNCTION(26, ldexp(a, AS_INTEGERS(b)))
    FUNCTION(27, maxmag(a, b))
    FUNCTION(28, minmag(a, b))
    FUNCTION(29, nextafter(a, b))
#elif PART == 3
    FUNCTION(30, pown(a, AS_INTEGERS(b)))
    FUNCTION(31, powr(a, b))
    FUNCTION(32, remainder(a, b))
    FUNCTION(33, rootn(a, AS_INTEGERS(b)))
    FUNCTION(34, fma(a, b, c))
    FUNCTION(35, clamp(a, fmin(b, c), fmax(b, c)))
    FUNCTION(36, degrees(a))
    FUNCTION(37, radians(a))
    FUNCTION(38, __spirv_ocl_fmax_common(a, b))
    FUNCTION(39, __spirv_ocl_fmin_common(a, b))
#elif PART == 4
    FUNCTION(40, mix(a, b, c))
    FUNCTION(41, step(a, b))
    FUNCTION(42, smoothstep(fmin(a, b), fmax(a, b) + (T)1, c))
    FUNCTION(43, sign(a))
    FUNCTION(44, -a)
#elif PART == 5  // functions of the whole vector
    FUNCTION(50, length(a))
    FUNCTION(51, distance(a, b))
    FUNCTION(52, normalize(a))
    FUNCTION(53, dot(a, b))
#if LANES == 3 || LANES == 4
    FUNCTION(54, cross(a, b))
#endif
#if !defined FP64 && !defined FP16
    FUNCTION(55, fast_length(a))
    FUNCTION(56, fast_distance(a, b))
    FUNCTION(57, fast_normalize(a))
#endif
#else
#if !defined FP64 && !defined FP16
    FUNCTION(60, half_divide(a, b))
    FUNCTION(61, half_recip(a))
    FUNCTION(62, half_powr(a, b))
#endif
    FUNCTION(70, fract(a, &second))
    FUNCTION(71, modf(a, &second))
    FUNCTION(72, sincos(a, &second))
    WITH_INTEGER(73, frexp(a, &integers))
    WITH_INTEGER(74, lgamma_r(a, &integers))
    WITH_INTEGER(75, remquo(a, b, &integers))
    FUNCTION(80, nan((VECTOR(WORD))5))
#endif
  }
  STORE(result, i, out);
  STORE(second, i, out + n);
}
