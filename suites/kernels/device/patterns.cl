// Patterns in memory, which the device writes and verifies.
#include "suites/kernels/device/portable.h"

#define kBadPlaces 16u

// The value of a word by its address. Patterns: 0 the address, 1 one walking bit, 2 noise, 3 zeros.
DEVICE ulong pattern_of(uint which, ulong address) {
  const ulong place = address / 8ul;
  if (which == 0u) return address;
  if (which == 1u) return 1ul << (place % 64ul);
  if (which == 3u) return 0ul;
  ulong mixed = (place ^ (place >> 30)) * 0xbf58476d1ce4e5b9ul;  // the finaliser of splitmix64
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebul;
  return mixed ^ (mixed >> 31);
}

KERNEL write_pattern(GLOBAL ulong* words, uint which, ulong invert, uint n) {
  const uint i = GLOBAL_ID(0);
  if (i < n) words[i] = pattern_of(which, (ulong)(words + i)) ^ invert;
}

// Verifies each word, and then writes its complement. Counts the wrong words, and returns the address, the
// expected and the found value of some of them.
KERNEL judge_pattern(GLOBAL ulong* words, uint which, ulong invert, GLOBAL uint* count, GLOBAL ulong* bad, uint n) {
  const uint i = GLOBAL_ID(0);
  if (i >= n) return;
  const ulong expected = pattern_of(which, (ulong)(words + i)) ^ invert;
  const ulong found = words[i];
  if (found != expected) {
    const uint place = ATOMIC_INC(count);
    if (place < kBadPlaces) {
      bad[3u * place] = (ulong)(words + i);
      bad[3u * place + 1u] = expected;
      bad[3u * place + 2u] = found;
    }
  }
  words[i] = ~expected;
}
