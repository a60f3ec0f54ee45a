// Atomic operations on a word that the host changes at the same time.
#include "suites/kernels/device/portable.h"

KERNEL system_add(volatile GLOBAL atomic_word* word, uint times) {
  uint i = 0;
  do {
    ATOMIC_ADD_SYSTEM(word, 1u);
    ++i;
  } while (i < times);
}
