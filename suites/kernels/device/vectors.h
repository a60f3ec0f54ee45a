// Vectors of LANES elements, or scalars if LANES is 1. OpenCL only.
#pragma once

#define JOIN(a, b) a##b
#define JOINED(a, b) JOIN(a, b)

// The type of LANES elements, and macros that read and write it at any address that is aligned for one element.
#if LANES == 1
#define VECTOR(T) T
#define LOAD(i, from) (from)[i]
#define STORE(value, i, to) ((to)[i] = (value))
#else
#define VECTOR(T) JOINED(T, LANES)
#define LOAD(i, from) JOINED(vload, LANES)(i, from)
#define STORE(value, i, to) JOINED(vstore, LANES)(value, i, to)
#endif
