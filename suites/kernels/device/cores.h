// What cores.cl and the host that checks it share, in the language that OpenCL C, CUDA C++ and C++ have in common.
// Every step is exact, so that device and host get the same bits.
#pragma once

#define CORE_ROWS 2048u         // of the table; each core has one
#define CORE_ROWS_OF_TILE 512u  // where the rows of the next tile begin
#define ANY_CORE 0xffffffffu    // the first group on each core works,
#define ALL_GROUPS 0xfffffffeu  // and all others too, in one row behind the table
#define CORE_ITEMS 128u         // work-items of a group
#define CORE_EDGE 16u           // of a matrix
#define CORE_SUMS 2u            // elements of a matrix for each work-item
#define CORE_SLOTS 32u          // in which atomics meet
#define CORE_WORDS 1024u
#define CORE_LEAST_NORMAL 0x00800000u  // the bits of the least float that is not denormal

#ifdef __CUDACC__
#define CORE_FUNCTION static __device__ inline
#else
#define CORE_FUNCTION static inline
#endif

// A hash of 32 bits (Wellons, Hash Prospector): each bit of the word changes half of the others.
CORE_FUNCTION unsigned core_mix(unsigned word) {
  word = (word ^ word >> 16) * 0x7feb352du;
  word = (word ^ word >> 15) * 0x846ca68bu;
  return word ^ word >> 16;
}

CORE_FUNCTION unsigned core_rotate(unsigned word, unsigned by) {
  return by == 0u ? word : (word << by | word >> (32u - by));
}

// From -1 to 1.
CORE_FUNCTION float core_number(unsigned word) { return (float)(word >> 8) * 0x1p-23f - 1.0f; }
