// The programs of programs.h as kernels, compiled with and without optimization. Also kernels with local memory,
// and with structures as arguments.
#include "suites/kernels/device/portable.h"
#include "suites/kernels/device/programs.h"

#define AS_KERNEL(name)                                                  \
  KERNEL run_##name(GLOBAL ulong* out, GLOBAL const ulong* in) {         \
    const uint i = GLOBAL_ID(0);                                         \
    name(in + kInputs * i, out + kResults * i);                          \
  }
PROGRAMS(AS_KERNEL)

// Structures of every size between arguments of every alignment. They are adjacent in memory.
KERNEL take_structures(GLOBAL ulong* out, Bytes1 a, ulong b, Bytes3 c, ushort d, Bytes17 e, uint f, Odd g, uchar h, Packed i,
                       ulong j, Nested k, uchar l, Bytes129 m, uint n, Deep o, GLOBAL const ulong* nothing) {
  if (GLOBAL_ID(0) != 0) return;
  out[0] = a.bytes[0];
  out[1] = b;
  out[2] = digest_private(c.bytes, 3);
  out[3] = d;
  out[4] = digest_private(e.bytes, 17);
  out[5] = f;
  out[6] = g.a + g.b * 256ul + digest_private(g.c, 5) * 3;
  out[7] = h;
  out[8] = i.a + i.b * 256ul + i.c * 3ul + i.d * 5;
  out[9] = j;
  out[10] = k.wide + k.odd[0].b + k.odd[1].c[2] + k.packed.d + k.packed.b + k.last;
  out[11] = l;
  out[12] = digest_private(m.bytes, 129);
  out[13] = n;
  out[14] = sum_of(&o, 0);
  out[15] = sum_of(&o, 1);
  out[16] = nothing == 0;
  m.bytes[128] = 1;  // changes the argument like a variable of the work-item
  out[17] = digest_private(m.bytes, 129);
}

KERNEL run_touch_ends(GLOBAL uchar* memory, ulong bytes) { touch_ends(memory, bytes); }

// Local variables of every size and alignment. Each work-item writes its elements of all arrays, and reads those
// of another.
#define LOCAL_BODY(seed)                                                                          \
  const uint i = LOCAL_ID(0), n = GROUP_SIZE(0), other = (i + 1) % n;                             \
  bytes[i] = (uchar)(seed + i);                                                                   \
  shorts[i] = (ushort)(seed * 3 + i);                                                             \
  threes[i].bytes[0] = threes[i].bytes[1] = threes[i].bytes[2] = (uchar)(seed * 5 + i);           \
  longs[i] = seed * 7ul + i;                                                                      \
  Packed own;                                                                                     \
  pack(&own, (uchar)i, seed + i, (ushort)(i * 3), i * 5ul);                                       \
  packed[i] = own;                                                                                \
  if (i == 0u) *single = seed;                                                                    \
  GROUP_BARRIER();                                                                                \
  GLOBAL ulong* mine = out + 8 * GLOBAL_ID(0);                                                    \
  mine[0] = bytes[other];                                                                         \
  mine[1] = shorts[other];                                                                        \
  mine[2] = threes[other].bytes[0] + threes[other].bytes[1] * 256ul + threes[other].bytes[2] * 65536ul; \
  mine[3] = longs[other];                                                                         \
  mine[4] = packed[other].a + packed[other].b * 3ul + packed[other].c * 5ul + packed[other].d * 7; \
  mine[5] = *single;                                                                              \
  mine[6] = (ulong)longs % 8 + (ulong)shorts % 2 + (ulong)single % 4;

#define kLocalItems 13

KERNEL locals_forward(GLOBAL ulong* out, uint seed) {
  LOCAL uchar bytes[kLocalItems];
  LOCAL ushort shorts[kLocalItems];
  LOCAL Bytes3 threes[kLocalItems];
  LOCAL ulong longs[kLocalItems];
  LOCAL Packed packed[kLocalItems];
  LOCAL uint single[1];
  LOCAL_BODY(seed)
}
KERNEL locals_backward(GLOBAL ulong* out, uint seed) {
  LOCAL uint single[1];
  LOCAL Packed packed[kLocalItems];
  LOCAL ulong longs[kLocalItems];
  LOCAL Bytes3 threes[kLocalItems];
  LOCAL ushort shorts[kLocalItems];
  LOCAL uchar bytes[kLocalItems];
  LOCAL_BODY(seed)
}

// A pointer to memory of any address space.
NOINLINE ulong sum_behind(const ulong* first, uint count) {
  ulong sum = 0;
  for (uint i = 0; i < count; ++i) sum = sum * 3 + first[i];
  return sum;
}
KERNEL places(GLOBAL ulong* out, GLOBAL ulong* in) {
  const uint i = LOCAL_ID(0);
  LOCAL ulong shared[8];
  shared[i] = in[i] * 3;
  ulong own[8];
  for (uint k = 0; k < 8; ++k) own[k] = in[k] + i;
  GROUP_BARRIER();
  ulong* places[3] = {(ulong*)in, (ulong*)shared, own};
  out[8 * i] = sum_behind(places[i % 3], 8);
  out[8 * i + 1] = *places[(i + 1) % 3];
  places[2][i] += 1;
  out[8 * i + 2] = own[i];
  out[8 * i + 3] = (places[0] == (ulong*)in) + 2 * (places[1] != places[2]) + 4 * (places[2] == own);
  out[8 * i + 4] = (ulong)(&places[i % 3][5] - places[i % 3]);
}
