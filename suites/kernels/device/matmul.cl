// Tiled matrix products with local memory and barriers, and the layers of a perceptron, forward and backward. TILE
// is a macro of the build; dimensions need not be multiples of it. Sums run over k in ascending order with one fma
// per term, so the result does not depend on TILE. The error bound of the checks is derived from it:
//error| <= (K + 2) * 2^-24 * sum |a||b| to first order.
#include "suites/kernels/device/portable.h"

// c[m][n] = act(sum_k a(m, k) * b(k, n) + bias[n]). The strides of a and b allow transposed matrices without a
// copy.
DEVICE float at(GLOBAL const float* matrix, uint row, uint column, uint row_stride, uint column_stride,
                uint rows, uint columns) {
  return row < rows && column < columns ? matrix[row * row_stride + column * column_stride] : 0.0f;
}

#define TILED_SUM(sum, a, a_row, a_column, b, b_row, b_column, M, N, K)                             \
  LOCAL float a_tile[TILE][TILE];                                                                   \
  LOCAL float b_tile[TILE][TILE];                                                                   \
  const uint row = GROUP_ID(1) * TILE + LOCAL_ID(1);                                                \
  const uint column = GROUP_ID(0) * TILE + LOCAL_ID(0);                                             \
  float sum = 0.0f;                                                                                 \
  for (uint base = 0; base < (K); base += TILE) {                                                   \
    a_tile[LOCAL_ID(1)][LOCAL_ID(0)] = at(a, row, base + LOCAL_ID(0), a_row, a_column, M, K);       \
    b_tile[LOCAL_ID(1)][LOCAL_ID(0)] = at(b, base + LOCAL_ID(1), column, b_row, b_column, K, N);    \
    GROUP_BARRIER();                                                                                \
    for (uint k = 0; k < TILE; ++k) sum = FMA(a_tile[LOCAL_ID(1)][k], b_tile[k][LOCAL_ID(0)], sum); \
    GROUP_BARRIER();                                                                                \
  }

KERNEL matmul(GLOBAL const float* a, GLOBAL const float* b, GLOBAL float* c, uint M, uint N, uint K) {
  TILED_SUM(sum, a, K, 1, b, N, 1, M, N, K)
  if (row < M && column < N) c[row * N + column] = sum;
}

// Forward: z = x w + bias, y = relu(z). x is M x K, w is K x N. relu keeps a NaN.
KERNEL layer_forward(GLOBAL const float* x, GLOBAL const float* w, GLOBAL const float* bias, GLOBAL float* y,
                     uint M, uint N, uint K) {
  TILED_SUM(sum, x, K, 1, w, N, 1, M, N, K)
  if (row >= M || column >= N) return;
  const float z = sum + bias[column];
  y[row * N + column] = z < 0.0f ? 0.0f : z;
}

// Backward through relu: dz = dy where y > 0, else 0.
KERNEL relu_backward(GLOBAL const float* y, GLOBAL const float* dy, GLOBAL float* dz, uint n) {
  const uint i = GLOBAL_ID(0);
  if (i < n) dz[i] = y[i] > 0.0f ? dy[i] : 0.0f;
}

// Backward to the weights: dw = x^T dz, K x N, summed over the M rows.
KERNEL weights_backward(GLOBAL const float* x, GLOBAL const float* dz, GLOBAL float* dw, uint M, uint N,
                        uint K) {
  TILED_SUM(sum, x, 1, K, dz, N, 1, K, N, M)
  if (row < K && column < N) dw[row * N + column] = sum;
}

// Backward to the input: dx = dz w^T, M x K, summed over the N columns.
KERNEL input_backward(GLOBAL const float* dz, GLOBAL const float* w, GLOBAL float* dx, uint M, uint N,
                      uint K) {
  TILED_SUM(sum, dz, N, 1, w, 1, N, M, K, N)
  if (row < M && column < K) dx[row * K + column] = sum;
}

// Backward to the bias: db[n] = sum over m of dz[m][n].
KERNEL bias_backward(GLOBAL const float* dz, GLOBAL float* db, uint M, uint N) {
  const uint column = GLOBAL_ID(0);
  if (column >= N) return;
  float sum = 0.0f;
  for (uint row = 0; row < M; ++row) sum += dz[row * N + column];
  db[column] = sum;
}
