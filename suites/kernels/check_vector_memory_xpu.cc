// Vectors in memory, by the functions that OpenCL has for them. Those of integers are loaded and stored by Integer.*.
#include "suites/accel/check_fixture.h"
#include "suites/kernels/numeric.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

using suite::kGate;
using suite::step;

constexpr const char* kVectors =
    "OpenCL C specification, vector data load and store functions; OpenCL-CTS half";
constexpr std::size_t kVectorCount = 24;

// Runs a kernel of half_vectors.cl, of which vector i lies at `from_apart` and `to_apart` elements behind the one before.
template <typename To, typename From, typename Convert>
void expect_vectors(const Context& context, std::size_t lanes, const std::string& name,
                    std::size_t from_apart, std::size_t to_apart, const std::vector<From>& in,
                    Convert convert) {
  Queue queue(context);
  const Module module = Module::load(context, "half_vectors_" + std::to_string(lanes));
  const std::vector<To> before(kVectorCount * to_apart, To{7});
  const auto from = device_copy(queue, context, in), to = device_copy(queue, context, before);
  step("given " + name + " of " + std::to_string(lanes));
  queue.launch(Kernel(module, name), groups_of(1, kVectorCount), arguments(from, to));
  queue.synchronize();
  auto expected = before;
  for (std::size_t i = 0; i < kVectorCount; ++i) {
    for (std::size_t lane = 0; lane < lanes; ++lane)
      expected[i * to_apart + lane] = convert(in[i * from_apart + lane]);
  }
  expect_values(name + " of " + std::to_string(lanes), expected, read_as<To>(queue, context, to),
                context.device());
}

}  // namespace

PROCTOR_CHECK(Vector, HalvesAreLoadedAndStored, "K26", kVectors, kGate,
              {"kernel.wrong_result:kernel=load_halves,arg=1,at=3",
               "kernel.wrong_result:kernel=store_aligned_halves,arg=1,at=1"}) {
  const auto context = leased();
  std::vector<std::uint16_t> halves;
  std::vector<float> floats;
  for (const std::uint32_t word : noise_words(16 * kVectorCount, 1)) {
    halves.push_back(static_cast<std::uint16_t>(word % 0x7c00 | (word >> 31 << 15)));
    floats.push_back(static_cast<float>(static_cast<std::int32_t>(word)) / 100000);
  }
  for (const std::size_t lanes : {2, 3, 4, 8, 16}) {
    const std::size_t aligned = lanes == 3 ? 4 : lanes;
    expect_vectors<float>(context, lanes, "load_halves", lanes, lanes, halves, kernels::float_from_half);
    expect_vectors<std::uint16_t>(context, lanes, "store_halves", lanes, lanes, floats,
                                  kernels::half_from_float);
    expect_vectors<float>(context, lanes, "load_aligned_halves", aligned, lanes, halves,
                          kernels::float_from_half);
    expect_vectors<std::uint16_t>(context, lanes, "store_aligned_halves", lanes, aligned, floats,
                                  kernels::half_from_float);
  }
}

}  // namespace proctor::accel
