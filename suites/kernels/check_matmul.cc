// Checks of tiled matrix products and of the layers of a perceptron, forward and backward, against a reference in
// double precision with a derived bound. Every tile size, run and process must compute the same bits, because the
// kernels fix the order of their sums.
#include <algorithm>
#include <bit>
#include <cmath>

#include "suites/accel/check_fixture.h"
#include "suites/kernels/numeric.h"
#include "suites/main/check.h"
#include "suites/main/helper.h"

namespace proctor::accel {
namespace {

using kernels::Judged;
using suite::Helper;
using suite::kGate;
using suite::step;

constexpr const char* kBound = "Higham, Accuracy and Stability of Numerical Algorithms, lemma 3.1";
// The sources of rules about exact bits. The kernels fix the order of the sums, and each step is correctly
// rounded.
constexpr const char* kRounded =
    by_vendor("OpenCL C specification, relative error as ULPs: fma is correctly rounded",
              "CUDA Programming Guide, Mathematical Functions: the error of fmaf is 0 ulp");
constexpr std::uint32_t kTiles[] = {4, 8, 16};

struct Shape {
  std::uint32_t m, n, k;
};
constexpr Shape kWhole = {32, 48, 64};
constexpr Shape kRagged = {19, 33, 45};  // not a multiple of any tile size

std::vector<float> matrix(std::size_t elements, std::uint64_t seed) {
  std::vector<float> values;
  for (const std::uint32_t word : noise_words(elements, seed)) {
    values.push_back(static_cast<float>(static_cast<std::int32_t>(word)) * 0x1p-31f);  // from -1 to 1
  }
  return values;
}

// The sum of a(i) * b(i) over i < count, and the sum of the absolute values.
template <typename A, typename B>
Judged dot(std::uint32_t count, const A& a, const B& b) {
  Judged sum;
  for (std::uint32_t i = 0; i < count; ++i) {
    const double term = static_cast<double>(a(i)) * static_cast<double>(b(i));
    sum.reference += term;
    sum.weight += std::fabs(term);
  }
  return sum;
}

// The kernels of matmul.cl with one tile size.
class Layers {
 public:
  Layers(const Context& context, std::uint32_t tile)
      : context_(context),
        tile_(tile),
        queue_(context),
        module_(Module::load(context, "matmul_" + std::to_string(tile))) {}

  // Runs a kernel with tiles that computes a rows x columns result. The inputs are two matrices and, for the
  // forward layer, a bias.
  std::vector<float> tiled(const char* name, const std::vector<std::vector<float>>& inputs,
                           std::uint32_t rows, std::uint32_t columns, const Shape& shape) {
    std::vector<Buffer> buffers;
    Arguments all;
    for (const auto& input : inputs) {
      buffers.push_back(device_copy(queue_, context_, input));
      all.push_back(argument(buffers.back()));
    }
    const auto out = device_copy(queue_, context_, std::vector<float>(std::size_t{rows} * columns, NAN));
    for (const Argument& rest : arguments(out, shape.m, shape.n, shape.k)) all.push_back(rest);
    const Launch launch{.groups = {(columns + tile_ - 1) / tile_, (rows + tile_ - 1) / tile_, 1},
                        .group = {tile_, tile_, 1}};
    queue_.launch(Kernel(module_, name), launch, all);
    queue_.synchronize();
    return read_as<float>(queue_, context_, out);
  }

  std::vector<float> relu_backward(const std::vector<float>& y, const std::vector<float>& dy) {
    const auto first = device_copy(queue_, context_, y), second = device_copy(queue_, context_, dy);
    const Buffer out = device_memory(context_, y.size() * sizeof(float));
    const auto n = static_cast<std::uint32_t>(y.size());
    queue_.launch(Kernel(module_, "relu_backward"), cover(n, 64), arguments(first, second, out, n));
    queue_.synchronize();
    return read_as<float>(queue_, context_, out);
  }

  std::vector<float> bias_backward(const std::vector<float>& dz, const Shape& shape) {
    const auto in = device_copy(queue_, context_, dz);
    const Buffer out = device_memory(context_, shape.n * sizeof(float));
    queue_.launch(Kernel(module_, "bias_backward"), cover(shape.n, 16), arguments(in, out, shape.m, shape.n));
    queue_.synchronize();
    return read_as<float>(queue_, context_, out);
  }

 private:
  Context context_;
  std::uint32_t tile_;
  Queue queue_;
  Module module_;
};

void expect_bounded(const std::string& what, const std::vector<Judged>& expected,
                    const std::vector<float>& got, std::size_t roundings, const Device& device) {
  const std::string problem = kernels::first_over_bound(expected, got, roundings);
  if (problem.empty()) return;
  suite::report({.message = what + ": " + problem,
                 .expected = "an error within the bound",
                 .got = problem,
                 .device = describe(device)});
}

std::vector<std::uint32_t> bits_of(const std::vector<float>& values) {
  std::vector<std::uint32_t> bits;
  for (const float value : values) bits.push_back(std::bit_cast<std::uint32_t>(value));
  return bits;
}

std::vector<float> product(Layers& layers, const Shape& shape) {
  return layers.tiled("matmul", {matrix(shape.m * shape.k, 1), matrix(shape.k * shape.n, 2)}, shape.m,
                      shape.n, shape);
}

void expect_product(const Shape& shape, std::uint32_t tile) {
  const auto context = leased();
  step("given a product of " + std::to_string(shape.m) + " x " + std::to_string(shape.k) + " and " +
       std::to_string(shape.k) + " x " + std::to_string(shape.n) + ", tile " + std::to_string(tile));
  const auto a = matrix(shape.m * shape.k, 1), b = matrix(shape.k * shape.n, 2);
  std::vector<Judged> expected;
  for (std::uint32_t row = 0; row < shape.m; ++row) {
    for (std::uint32_t column = 0; column < shape.n; ++column) {
      expected.push_back(dot(
          shape.k, [&](auto i) { return a[row * shape.k + i]; },
          [&](auto i) { return b[i * shape.n + column]; }));
    }
  }
  Layers layers(context, tile);
  expect_bounded("product", expected, product(layers, shape), shape.k, context.device());
}

// One layer, forward and backward, with all inputs and results.
struct Pass {
  std::vector<float> x, w, bias, dy;  // inputs
  std::vector<float> y, dz, dw, dx, db;
};

Pass run_layer(const Context& context, const Shape& s, std::uint32_t tile) {
  Layers layers(context, tile);
  Pass pass{.x = matrix(s.m * s.k, 3),
            .w = matrix(s.k * s.n, 4),
            .bias = matrix(s.n, 5),
            .dy = matrix(s.m * s.n, 6),
            .y = {},
            .dz = {},
            .dw = {},
            .dx = {},
            .db = {}};
  pass.y = layers.tiled("layer_forward", {pass.x, pass.w, pass.bias}, s.m, s.n, s);
  pass.dz = layers.relu_backward(pass.y, pass.dy);
  pass.dw = layers.tiled("weights_backward", {pass.x, pass.dz}, s.k, s.n, s);
  pass.dx = layers.tiled("input_backward", {pass.dz, pass.w}, s.m, s.k, s);
  pass.db = layers.bias_backward(pass.dz, s);
  return pass;
}

void expect_forward(const Pass& pass, const Shape& s, const Device& device) {
  std::vector<Judged> expected;
  for (std::uint32_t row = 0; row < s.m; ++row) {
    for (std::uint32_t column = 0; column < s.n; ++column) {
      Judged z = dot(
          s.k, [&](auto i) { return pass.x[row * s.k + i]; },
          [&](auto i) { return pass.w[i * s.n + column]; });
      z.reference = std::max(0.0, z.reference + static_cast<double>(pass.bias[column]));
      z.weight += std::fabs(static_cast<double>(pass.bias[column]));
      expected.push_back(z);
    }
  }
  expect_bounded("forward, y = relu(x w + b)", expected, pass.y, s.k + 1, device);
}

// Verifies each step of the backward pass from the results of the step before.
void expect_backward(const Pass& pass, const Shape& s, const Device& device) {
  std::vector<float> dz = pass.dy;
  for (std::size_t i = 0; i < dz.size(); ++i) dz[i] = pass.y[i] > 0 ? dz[i] : 0.0f;
  expect_words("dz = dy where y > 0, as bits", bits_of(dz), bits_of(pass.dz), device);

  std::vector<Judged> dw, dx, db;
  for (std::uint32_t i = 0; i < s.k; ++i) {
    for (std::uint32_t j = 0; j < s.n; ++j) {
      dw.push_back(dot(
          s.m, [&](auto r) { return pass.x[r * s.k + i]; }, [&](auto r) { return dz[r * s.n + j]; }));
    }
  }
  for (std::uint32_t r = 0; r < s.m; ++r) {
    for (std::uint32_t i = 0; i < s.k; ++i) {
      dx.push_back(dot(
          s.n, [&](auto j) { return dz[r * s.n + j]; }, [&](auto j) { return pass.w[i * s.n + j]; }));
    }
  }
  for (std::uint32_t j = 0; j < s.n; ++j) {
    db.push_back(dot(
        s.m, [&](auto r) { return dz[r * s.n + j]; }, [](auto) { return 1.0f; }));
  }
  expect_bounded("backward, dw = x^T dz", dw, pass.dw, s.m, device);
  expect_bounded("backward, dx = dz w^T", dx, pass.dx, s.n, device);
  expect_bounded("backward, db = sum of dz", db, pass.db, s.m, device);
}

PROCTOR_HELPER(multiply) {
  const auto context = leased();
  Layers layers(context, 8);
  suite::answer({{"uuid", context.device().properties().uuid}, {"bits", bits_of(product(layers, kRagged))}});
}

}  // namespace

PROCTOR_CHECK(Matmul, ProductIsWithinErrorBound, "K29", kBound, kGate,
              {"kernel.wrong_result:arg=2,at=7,xor=0x40", "kernel.drop_barrier"}) {
  for (const std::uint32_t tile : kTiles) expect_product(kWhole, tile);
}

PROCTOR_CHECK(Matmul, EdgeTilesAreWithinErrorBound, "K31", kBound, kGate,
              {"kernel.drop_barrier", "kernel.skip_group:at=1"}) {
  for (const std::uint32_t tile : kTiles) expect_product(kRagged, tile);
}

PROCTOR_CHECK(Matmul, EveryTileSizeGivesSameBits, "K31", kRounded, kGate,
              {"kernel.wrong_result:arg=2,at=4,kernel=matmul,after=1",
               "kernel.corrupt_every_second_result:arg=2,at=4"}) {
  const auto context = leased();
  Layers smallest(context, kTiles[0]);
  const auto expected = bits_of(product(smallest, kRagged));
  for (const std::uint32_t tile : {8u, 16u}) {
    step("given tile " + std::to_string(tile) + " instead of 4");
    Layers layers(context, tile);
    expect_words("product, as bits", expected, bits_of(product(layers, kRagged)), context.device());
  }
}

PROCTOR_CHECK(Matmul, RepeatedProductHasSameBits, "K30", kRounded, kGate,
              .faults = {"kernel.corrupt_every_second_result:arg=2,at=4"},
              .sizes = {.smoke = 3, .ci = 8, .full = 200, .unit = "repetitions"}) {
  const auto context = leased();
  Layers layers(context, 8);
  const auto expected = bits_of(product(layers, kRagged));
  step("given the same product again");
  for (std::int64_t i = 1; i < suite::sized(); ++i) {
    expect_words("repetition " + std::to_string(i) + ", as bits", expected, bits_of(product(layers, kRagged)),
                 context.device());
  }
}

PROCTOR_CHECK(Matmul, EveryProcessGetsSameBits, "S3.9", kRounded, kGate,
              {"kernel.wrong_result:arg=2,at=4,p=0.5,seed=3",
               "kernel.corrupt_every_second_result:arg=2,at=4"}) {
  const auto context = leased();
  Layers layers(context, 8);
  step("given the same product in this process, twice, and in two others");
  const auto expected = bits_of(product(layers, kRagged));
  expect_words("the second time, as bits", expected, bits_of(product(layers, kRagged)), context.device());
  for (int i = 0; i < 2; ++i) {
    Helper helper("multiply");
    const auto answer = helper.answer();
    suite::expect_same("device of the other process", context.device().properties().uuid,
                       answer.at("uuid").get<std::string>());
    expect_words("another process, as bits", expected, answer.at("bits").get<std::vector<std::uint32_t>>(),
                 context.device());
  }
}

// A product that ignores its inputs, or consists of zeros, is consistent with itself. A comparison with a known
// product detects it.
PROCTOR_CHECK(Matmul, IdentityProductEqualsOtherFactor, "K29", kRounded, kGate,
              {"kernel.wrong_result:arg=2,at=4", "kernel.wrong_argument:arg=5,xor=8"}) {
  const auto context = leased();
  const Shape shape{24, 20, 24};
  std::vector<float> identity(24 * 24);
  for (std::size_t i = 0; i < 24; ++i) identity[25 * i] = 1;
  const auto other = matrix(24 * 20, 7);
  step("given a product with the identity");
  Layers layers(context, 8);
  expect_words("product, as bits", bits_of(other),
               bits_of(layers.tiled("matmul", {identity, other}, 24, 20, shape)), context.device());
}

// ---- a layer of a perceptron ----

PROCTOR_CHECK(Mlp, ForwardPassIsWithinErrorBound, "K29", kBound, kGate,
              {"kernel.wrong_result:kernel=layer_forward,arg=3,at=7,xor=0x40",
               "kernel.drop_barrier:kernel=layer_forward"}) {
  const auto context = leased();
  for (const std::uint32_t tile : kTiles) {
    step("given tile " + std::to_string(tile));
    expect_forward(run_layer(context, kRagged, tile), kRagged, context.device());
  }
}

PROCTOR_CHECK(Mlp, BackwardPassIsWithinErrorBound, "K29", kBound, kGate,
              {"kernel.wrong_result:kernel=weights_backward,arg=2,at=7,xor=0x40",
               "kernel.drop_barrier:kernel=input_backward"}) {
  const auto context = leased();
  for (const std::uint32_t tile : kTiles) {
    step("given tile " + std::to_string(tile));
    expect_backward(run_layer(context, kRagged, tile), kRagged, context.device());
  }
}

PROCTOR_CHECK(Mlp, EveryTileSizeGivesSameBits, "K31", kRounded, kGate,
              {"kernel.wrong_result:kernel=input_backward,arg=2,at=4,after=1",
               "kernel.corrupt_every_second_result:kernel=input_backward,arg=2,at=4"}) {
  const auto context = leased();
  const Pass expected = run_layer(context, kRagged, kTiles[0]);
  for (const std::uint32_t tile : {8u, 16u}) {
    step("given tile " + std::to_string(tile) + " instead of 4");
    const Pass pass = run_layer(context, kRagged, tile);
    expect_words("y", bits_of(expected.y), bits_of(pass.y), context.device());
    expect_words("dw", bits_of(expected.dw), bits_of(pass.dw), context.device());
    expect_words("dx", bits_of(expected.dx), bits_of(pass.dx), context.device());
    expect_words("db", bits_of(expected.db), bits_of(pass.db), context.device());
  }
}

}  // namespace proctor::accel
