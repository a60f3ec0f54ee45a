// Constants and functions that cores.cl shares with the host (core_work.cc), in the common subset of OpenCL C,
// CUDA C++ and C++. Every step is exact, so device and host compute the same bits.
#pragma once

#define CORE_ROWS 2048u         // rows of the table, one for each core
#define CORE_ROWS_OF_TILE 512u  // distance of the first rows of two tiles
#define ANY_CORE 0xffffffffu    // the first group on each core works
// All groups work; those without a row of a core share one row after the table.
#define ALL_GROUPS 0xfffffffeu
#define CORE_ITEMS 128u  // work-items of a group
#define CORE_EDGE 16u    // rows and columns of a matrix
#define CORE_SUMS 2u     // elements of a matrix for each work-item
#define CORE_SLOTS 32u   // words that atomics share
#define CORE_WORDS 1024u
#define CORE_LEAST_NORMAL 0x00800000u  // bits of the smallest normal float

#ifdef __CUDACC__
#define CORE_FUNCTION static __device__ inline
#else
#define CORE_FUNCTION static inline
#endif

// A hash of 32 bits (Wellons, Hash Prospector). Each bit of the word changes half of the other bits.
CORE_FUNCTION unsigned core_mix(unsigned word) {
  word = (word ^ word >> 16) * 0x7feb352du;
  word = (word ^ word >> 15) * 0x846ca68bu;
  return word ^ word >> 16;
}

CORE_FUNCTION unsigned core_rotate(unsigned word, unsigned by) {
  return by == 0u ? word : (word << by | word >> (32u - by));
}

// A number from -1 to 1.
CORE_FUNCTION float core_number(unsigned word) { return (float)(word >> 8) * 0x1p-23f - 1.0f; }
