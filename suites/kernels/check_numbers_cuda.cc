// Checks of numbers that only NVIDIA's compiler and tensor cores produce.
#include <bit>
#include <cmath>

#include "suites/accel/check_fixture.h"
#include "suites/accel/cuda/native.h"
#include "suites/kernels/denormal_sums.h"
#include "suites/kernels/narrow.h"
#include "suites/kernels/numeric.h"
#include "suites/main/check.h"

namespace proctor::accel {

// Checks of 8-bit floats by the vendor's own conversions, and of products by tensor cores.

namespace {

using kernels::NarrowFormat;
using suite::kGate;
using suite::step;

constexpr const char* kFormat = "CUDA Math API, fp8 conversions; OFP8, 1.0";
constexpr const char* kTensor = "CUDA Programming Guide, Warp Matrix Functions; Higham, lemma 3.1";

const std::vector<std::string> kFormats = {"e4m3", "e5m2"};

const NarrowFormat& format() { return kernels::narrow_format(suite::parameter()); }
Module load(const Context& context) { return Module::load(context, "fp8_" + suite::parameter()); }

// Conversions are instructions since compute capability 8.9, and are emulated before. The measure records which
// were tested.
void report_capability(const Context& context) {
  const cudaDeviceProp& native = context.device().record()->native;
  suite::measure("kernels.fp8_in_hardware", native.major * 10 + native.minor >= 89 ? 1 : 0, "1");
}

std::uint32_t float_bits(float value) {
  return std::isnan(value) ? 0x7fc00000u : std::bit_cast<std::uint32_t>(value);
}
std::uint32_t one_nan(std::uint32_t pattern) { return kernels::is_nan(format(), pattern) ? 0x7fu : pattern; }

}  // namespace

PROCTOR_CHECK_EACH(kFormats, Fp8, EveryCodeConvertsToExactFloat, "K26", kFormat, kGate,
                   {"kernel.wrong_result:arg=1,at=6", "kernel.skip_group:at=1"}) {
  const auto context = leased();
  Queue queue(context);
  report_capability(context);
  std::vector<std::byte> codes;
  std::vector<std::uint32_t> expected, got;
  for (std::uint32_t code = 0; code < 256; ++code) {
    codes.push_back(static_cast<std::byte>(code));
    expected.push_back(float_bits(static_cast<float>(kernels::value_of(format(), code))));
  }
  const auto in = device_copy(queue, context, codes);
  const Buffer out = device_memory(context, 256 * sizeof(float));
  step("given all 256 codes");
  queue.launch(Kernel(load(context), "fp8_to_float"), cover(256, 64), arguments(in, out, 256u));
  queue.synchronize();
  for (const float value : read_as<float>(queue, context, out)) got.push_back(float_bits(value));
  expect_words("floats, as bits", expected, got, context.device());
}

PROCTOR_CHECK_EACH(kFormats, Fp8, FloatsRoundToNearestCode, "K26", kFormat, kGate,
                   {"kernel.wrong_result:arg=1,at=6", "kernel.skip_group:at=1"}) {
  const auto context = leased();
  Queue queue(context);
  report_capability(context);
  // Each value, and the number a quarter of the way to the next. Both must be rounded to the same code.
  std::vector<float> values;
  std::vector<std::uint32_t> expected, got;
  for (std::uint32_t code = 0; code < 256; ++code) {
    const double value = kernels::value_of(format(), code);
    values.push_back(static_cast<float>(value));
    expected.push_back(one_nan(code));
    const double next = kernels::value_of(format(), code + 1 < 256 ? code + 1 : code);
    const double between = value + (next - value) / 4;
    values.push_back(static_cast<float>(between));
    expected.push_back(one_nan(kernels::bits_of(format(), static_cast<double>(values.back()))));
  }
  const auto n = static_cast<std::uint32_t>(values.size());
  const auto in = device_copy(queue, context, values);
  const Buffer out = device_memory(context, n);
  step("given the values of all 256 codes, and numbers between them");
  queue.launch(Kernel(load(context), "float_to_fp8"), cover(n, 64), arguments(in, out, n));
  queue.synchronize();
  for (const std::byte code : read_bytes(queue, context, out.data(), n)) {
    got.push_back(one_nan(std::to_integer<std::uint32_t>(code)));
  }
  expect_words("codes", expected, got, context.device());
}

// Products of halves are exact. The sum is rounded in an unspecified order, at most once per term and once more at
// the end.
PROCTOR_CHECK(TensorCore, ProductIsWithinErrorBound, "K32", kTensor, kGate) {
  need(!suite::on_simgpu(), "not_on_simulator:tensor_cores");
  const auto context = leased();
  Queue queue(context);
  constexpr std::size_t kSide = 16;
  std::vector<std::uint16_t> a, b;
  for (const std::uint32_t word : noise_words(kSide * kSide, 1)) {
    a.push_back(kernels::half_from_float(static_cast<float>(static_cast<std::int32_t>(word)) * 0x1p-31f));
    b.push_back(kernels::half_from_float(static_cast<float>(word) * 0x1p-32f));
  }
  std::vector<kernels::Judged> expected(kSide * kSide);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    for (std::size_t k = 0; k < kSide; ++k) {
      const double term = static_cast<double>(kernels::float_from_half(a[i / kSide * kSide + k])) *
                          static_cast<double>(kernels::float_from_half(b[k * kSide + i % kSide]));
      expected[i].reference += term;
      expected[i].weight += std::fabs(term);
    }
  }
  const auto left = device_copy(queue, context, a), right = device_copy(queue, context, b);
  const auto out = device_copy(queue, context, std::vector<float>(expected.size(), NAN));
  step("given a product of 16 x 16 halves by one warp");
  const Module module = Module::load(context, "tensor");
  queue.launch(Kernel(module, "tensor_product"), groups_of(1, 32), arguments(left, right, out));
  queue.synchronize();
  // Tensor cores truncate when they align terms. This costs at most one unit per term, twice the error of
  // rounding.
  const std::string problem =
      kernels::first_over_bound(expected, read_as<float>(queue, context, out), 2 * (kSide + 1));
  suite::expect_same("element over its bound on " + describe(context.device()), "", problem);
}

// Checks of atomic additions of floats. By PTX, those in shared memory keep denormal numbers, and those in global
// memory need not.

PROCTOR_CHECK(Atomic, SharedMemoryDenormalSumsAreKept, "K34",
              "PTX ISA, atom: atom.add.f32 on shared memory supports subnormal inputs and results",
              suite::kGate, {"kernel.atomic_ftz"}) {
  const auto context = leased();
  expect_denormal_sums<float>(context, "atomics_f32_group", "add_in_group");
}

}  // namespace proctor::accel
