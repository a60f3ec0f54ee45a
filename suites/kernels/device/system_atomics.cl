// Atomic operations on a word that the host changes too. Level Zero only.
#include "suites/kernels/device/portable.h"

KERNEL system_add(volatile GLOBAL atomic_uint* word, uint times) {
  uint i = 0;
  do {
    atomic_fetch_add_explicit(word, 1u, memory_order_relaxed, memory_scope_all_svm_devices);
    ++i;
  } while (i < times);
}
