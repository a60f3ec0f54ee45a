// The operations of a training step, in the common subset of OpenCL C, CUDA C++ and C++. They are kernels of
// floats (training.cl) and functions of doubles, which are the reference (suites/kernels/check_training.cc). Item
// i computes one element or one row of `out`. It adds in a fixed order, so all runs must have the same bits.
//
// Restrictions of clang 15 and its translator: no function has a quotient beside its remainder, because they
// become an instruction that SPIR-V lacks. Values that a loop only reads are computed before the first loop,
// because otherwise blocks come in an order that spirv-val refuses.
//
// `real` is the number type; tokens have this type too. T positions, D columns, H heads.
#pragma once

#define TRAIN_PARAMETERS                                                                              \
  uint i, GLOBAL const real *a, GLOBAL const real *b, GLOBAL const real *c, GLOBAL real *out, uint p, \
      uint q, uint r

#define FIRST_TRANSPOSED 1u
#define SECOND_TRANSPOSED 2u

// out[T, D] = the row of table a for the token in c, plus the row of table b for the position. p: D.
TRAIN_FUNCTION void train_embed(TRAIN_PARAMETERS) {
  const uint position = i / p;
  out[i] = a[(uint)c[position] * p + i - position * p] + b[i];
}

// out = a b. p: products in a sum; q: columns, with the rows of `out` in the upper half; r: the transposed
// factors.
TRAIN_FUNCTION void train_product(TRAIN_PARAMETERS) {
  const uint columns = q & 0xffffu, rows = q >> 16;
  const bool first_turned = (r & FIRST_TRANSPOSED) != 0u, second_turned = (r & SECOND_TRANSPOSED) != 0u;
  const uint row = i / columns, column = i - row * columns;
  GLOBAL const real* first = a + row * (first_turned ? 1u : p);
  GLOBAL const real* second = b + column * (second_turned ? p : 1u);
  const uint first_step = first_turned ? rows : 1u, second_step = second_turned ? 1u : columns;
  real sum = 0;
  for (uint k = 0u; k < p; ++k) sum += first[k * first_step] * second[k * second_step];
  out[i] = sum;
}

// out = a + b.
TRAIN_FUNCTION void train_add(TRAIN_PARAMETERS) { out[i] = a[i] + b[i]; }

// out = a where b is above 0. If b = a, the positive part.
TRAIN_FUNCTION void train_where_positive(TRAIN_PARAMETERS) { out[i] = b[i] > 0 ? a[i] : 0; }

// Row i of out[H, T, T]: the attention of position i % T to each position up to itself. a: queries, b: keys. p: T,
// q: D, r: H.
TRAIN_FUNCTION void train_attend(TRAIN_PARAMETERS) {
  const uint head = i / p, position = i - head * p, width = q / r, first = head * width;
  const real root = sqrt((real)width);
  GLOBAL real* row = out + i * p;
  for (uint other = 0u; other < p; ++other) {
    real score = 0;
    for (uint k = first; k < first + width; ++k) score += a[position * q + k] * b[other * q + k];
    row[other] = score / root;
  }
  real most = row[0], sum = 0;
  for (uint other = 1u; other <= position; ++other) most = row[other] > most ? row[other] : most;
  for (uint other = 0u; other < p; ++other) {
    row[other] = other <= position ? exp(row[other] - most) : 0;
    sum += row[other];
  }
  for (uint other = 0u; other < p; ++other) row[other] /= sum;
}

// out[T, D] = for each head the rows of b, weighted by a[H, T, T]. r: H, or H + 0x10000 for the transpose of a. p:
// T, q: D.
TRAIN_FUNCTION void train_mix(TRAIN_PARAMETERS) {
  const uint heads = r & 0xffffu, position = i / q, column = i - position * q, head = column / (q / heads);
  const bool turned = r > 0xffffu;
  GLOBAL const real* weights = a + head * p * p + position * (turned ? 1u : p);
  const uint step = turned ? p : 1u;
  real sum = 0;
  for (uint other = 0u; other < p; ++other) sum += weights[other * step] * b[other * q + column];
  out[i] = sum;
}

// Row i of the gradient of the scores. a: result of train_attend(); b: values; c: gradient of the result of
// train_mix(). p: T, q: D, r: H.
TRAIN_FUNCTION void train_attend_back(TRAIN_PARAMETERS) {
  const uint head = i / p, position = i - head * p, width = q / r, first = head * width;
  const real root = sqrt((real)width);
  GLOBAL const real* weights = a + i * p;
  GLOBAL real* row = out + i * p;
  for (uint other = 0u; other < p; ++other) {
    real gradient = 0;
    for (uint k = first; k < first + width; ++k) gradient += c[position * q + k] * b[other * q + k];
    row[other] = gradient;
  }
  real sum = 0;
  for (uint other = 0u; other < p; ++other) sum += row[other] * weights[other];
  for (uint other = 0u; other < p; ++other) {
    row[other] = weights[other] * (row[other] - sum) / root;
  }
}

// out[T]: minus the logarithm of the probability that row i of a gives to the token in b. p: number of tokens.
TRAIN_FUNCTION void train_loss(TRAIN_PARAMETERS) {
  GLOBAL const real* row = a + i * p;
  real most = row[0], sum = 0;
  for (uint k = 1u; k < p; ++k) most = row[k] > most ? row[k] : most;
  for (uint k = 0u; k < p; ++k) sum += exp(row[k] - most);
  out[i] = log(sum) + most - row[(uint)b[i]];
}

// Row i of the gradient of the mean loss. p: number of tokens, q: T.
TRAIN_FUNCTION void train_loss_back(TRAIN_PARAMETERS) {
  GLOBAL const real* row = a + i * p;
  const uint right = (uint)b[i];
  const real positions = (real)q;
  real most = row[0], sum = 0;
  for (uint k = 1u; k < p; ++k) most = row[k] > most ? row[k] : most;
  for (uint k = 0u; k < p; ++k) sum += exp(row[k] - most);
  for (uint k = 0u; k < p; ++k) {
    out[i * p + k] = (exp(row[k] - most) / sum - (k == right ? 1 : 0)) / positions;
  }
}

// out[tokens, D] = for each token the sum of its rows of a. b: the tokens of the positions. p: D, q: T.
TRAIN_FUNCTION void train_embed_back(TRAIN_PARAMETERS) {
  const uint token = i / p, column = i - token * p;
  real sum = 0;
  for (uint position = 0u; position < q; ++position) {
    if ((uint)b[position] == token) sum += a[position * p + column];
  }
  out[i] = sum;
}

// Momentum: out = 7/8 out + a.
TRAIN_FUNCTION void train_momentum(TRAIN_PARAMETERS) { out[i] = out[i] * (real)0.875 + a[i]; }

// out = out - a / p.
TRAIN_FUNCTION void train_update(TRAIN_PARAMETERS) { out[i] -= a[i] / (real)p; }

#define TRAIN_OPERATIONS(each)                                                                              \
  each(train_embed) each(train_product) each(train_add) each(train_where_positive) each(train_attend)       \
      each(train_mix) each(train_attend_back) each(train_loss) each(train_loss_back) each(train_embed_back) \
          each(train_momentum) each(train_update)
