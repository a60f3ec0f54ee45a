// Patterns over memory, which the device writes and judges itself.
#include "suites/kernels/device/portable.h"

#define kBadPlaces 16u

// What a word holds by its place: 0 its address, 1 one bit that walks, 2 noise, 3 nothing.
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

// Judges each word, and then leaves its complement. Counts the wrong ones, and says of some of them their address, what
// was expected and what was there.
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
