// Checks that measure the rates of kernels, also as a part of the device's own ceiling, a copy within its memory.
// The rates are measures in the report. The checks fail only if a timed launch computed a wrong result.
#include <algorithm>
#include <cmath>

#include "suites/accel/check_fixture.h"
#include "suites/accel/speed.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

using suite::kGate;
using suite::step;

constexpr const char* kMethod = "NVIDIA nvbandwidth: warm-up, median, every sample verified";
constexpr std::uint32_t kTile = 16;
constexpr std::uint32_t kGroup = 256;
constexpr std::byte kOld{0xff};  // NaN as a float

// Converts words to small integers, whose products and sums are exact in float.
std::vector<float> small_numbers(std::span<const std::uint32_t> words) {
  std::vector<float> numbers;
  numbers.reserve(words.size());
  for (const std::uint32_t word : words) numbers.push_back(static_cast<float>(word % 8) - 4);
  return numbers;
}

std::vector<std::uint32_t> bits(const std::vector<float>& values) {
  std::vector<std::uint32_t> words(values.size());
  std::memcpy(words.data(), values.data(), words.size() * sizeof(float));
  return words;
}

using Vector = std::vector<std::uint64_t>;  // integers modulo 2^64

// True for every element of a product of small integers, and false for NaN.
bool is_integer(float value) { return std::fabs(value) < 0x1p24f && value == std::trunc(value); }

// The product of a square matrix of integers and a vector.
Vector times(const std::vector<float>& matrix, const Vector& vector) {
  const std::size_t n = vector.size();
  Vector result(n);
  for (std::size_t i = 0; i < n * n; ++i) {
    result[i / n] += static_cast<std::uint64_t>(static_cast<std::int64_t>(matrix[i])) * vector[i % n];
  }
  return result;
}

Vector random_vector(std::size_t n) {
  const auto words = noise_words(n, 3);
  return {words.begin(), words.end()};
}

// The duration of one launch in nanoseconds. `out` is filled with other bytes before.
double time_launch(Queue& queue, const Context& context, const Kernel& kernel, const Launch& launch,
                   const Arguments& arguments, const Buffer& out) {
  queue.fill(out.data(), {&kOld, 1}, out.bytes());
  const Event done(context);
  queue.launch(kernel, launch, arguments, {.wait = {}, .signal = &done});
  queue.synchronize();
  return time_of(done).duration_ns();
}

}  // namespace

PROCTOR_CHECK(Speed, TimedSaxpyResultIsExact, "M46", kMethod, kGate,
              .faults = {"kernel.wrong_result:arg=2,at=7,xor=0x40,after=2", "kernel.skip:after=2"},
              .sizes = {.smoke = 1 << 10, .ci = 1 << 13, .full = 1 << 27, .unit = "elements"}) {
  const auto context = leased();
  Queue queue(context);
  const auto n = static_cast<std::uint32_t>(sized_for_speed(1 << 16));
  const std::size_t bytes = n * sizeof(float);
  need_memory(context.device(), 3 * bytes);
  step("given a copy of " + std::to_string(bytes) + " bytes within the device");
  const auto ceiling = copy_ceiling(queue, context, bytes);

  step("given out = 3 x + y of " + std::to_string(n) + " elements");
  const auto x = small_numbers(block_of_noise(n, 1)), y = small_numbers(block_of_noise(n, 2));
  std::vector<float> expected(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) expected[i] = 3 * x[i] + y[i];
  const Buffer in = device_memory(context, bytes), added = device_memory(context, bytes);
  const Buffer out = device_memory(context, bytes);
  write_repeated(queue, context, in, bits(x));
  write_repeated(queue, context, added, bits(y));
  const Module module = Module::load(context, "basic");
  const Kernel kernel(module, "saxpy");
  const auto speed = speed_of(3.0 * static_cast<double>(bytes), [&] {
    const double time =
        time_launch(queue, context, kernel, cover(n, kGroup), arguments(in, added, out, 3.0f, n), out);
    expect_repeated("3 x + y", queue, context, bits(expected), out);
    return time;
  });
  report_value("kernels.saxpy", speed, "GB/s");
  report_share("kernels.saxpy", 1, speed, ceiling);
}

// The product is verified by the method of Freivalds: multiplied with a vector, it must be equal to both factors
// multiplied with the vector one after the other. All numbers are small integers, so nothing is rounded.
PROCTOR_CHECK(Speed, TimedMatmulResultIsExact, "M46",
              "Freivalds, Probabilistic machines can use less running time (1977)", kGate,
              .faults = {"kernel.wrong_result:arg=2,at=7,xor=0x40,after=2", "kernel.drop_barrier"},
              .sizes = {.smoke = 16, .ci = 32, .full = 4096, .unit = "rows"}) {
  const auto context = leased();
  Queue queue(context);
  const auto n = static_cast<std::uint32_t>(sized_for_speed(64));
  const std::size_t bytes = std::size_t{n} * n * sizeof(float);
  step("given a copy of " + std::to_string(8 * bytes) + " bytes within the device");
  const auto ceiling = copy_ceiling(queue, context, 8 * bytes);

  step("given a product of two matrices of " + std::to_string(n) + " rows, tile " + std::to_string(kTile));
  const auto a = small_numbers(noise_words(std::size_t{n} * n, 1));
  const auto b = small_numbers(noise_words(std::size_t{n} * n, 2));
  const auto vector = random_vector(n);
  const auto expected = times(a, times(b, vector));
  const auto first = device_copy(queue, context, a), second = device_copy(queue, context, b);
  const Buffer out = device_memory(context, bytes);
  const Module module = Module::load(context, "matmul_" + std::to_string(kTile));
  const Kernel kernel(module, "matmul");
  const std::uint32_t tiles = (n + kTile - 1) / kTile;
  const double operations = 2.0 * n * n * n;
  const auto speed = speed_of(operations, [&] {
    const double time =
        time_launch(queue, context, kernel, {.groups = {tiles, tiles, 1}, .group = {kTile, kTile, 1}},
                    arguments(first, second, out, n, n, n), out);
    const auto product = read_as<float>(queue, context, out);
    const bool exact = std::ranges::all_of(product, is_integer);
    suite::expect_true(exact, "every element of the product is an integer below 2^24");
    if (exact) expect_longs("the product times a vector", expected, times(product, vector), context.device());
    return time;
  });
  report_value("kernels.matmul", speed, "GFLOP/s");
  // The bytes that the kernel loads and stores. It loads a tile of both factors for each tile of each sum.
  const double moved = 2.0 * sizeof(float) * n * n * tiles + static_cast<double>(bytes);
  report_share("kernels.matmul", moved / operations, speed, ceiling);
}

}  // namespace proctor::accel
