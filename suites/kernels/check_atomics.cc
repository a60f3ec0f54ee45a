// Atomic operations under contention: totals are exact in any order, and an update that is lost shows.
#include <algorithm>
#include <numeric>

#include "suites/accel/check_fixture.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

using suite::expect_same;
using suite::expect_true;
using suite::kGate;
using suite::step;

constexpr const char* kAtomics = by_vendor("OpenCL-CTS atomics; SPIR-V specification, atomic instructions",
                                           "CUDA C++ Programming Guide, Atomic Functions");
constexpr const char* kMemoryModel =
    by_vendor("OpenCL-CTS c11_atomics; SPIR-V specification, memory semantics",
              "CUDA C++ Programming Guide, Memory Fence Functions");
constexpr std::uint32_t kItems = 2048;
constexpr std::uint32_t kGroup = 64;

template <typename T, typename... More>
std::vector<T> run(const Context& context, const std::string& module_name, const std::string& name,
                   const std::vector<T>& words, const More&... more) {
  Queue queue(context);
  const Module module = Module::load(context, module_name);
  const auto buffer = device_copy(queue, context, words);
  step("given " + std::to_string(kItems) + " work-items on the same words");
  queue.launch(Kernel(module, name), cover(kItems, kGroup), arguments(buffer, more...));
  queue.synchronize();
  return read_as<T>(queue, context, buffer);
}

}  // namespace

PROCTOR_CHECK(Atomic, IntegerOperationsAreExact, "K33", kAtomics, kGate, {"kernel.racy_atomics"}) {
  const auto context = leased();
  std::vector<std::uint32_t> initial(10);
  initial[4] = initial[6] = ~0u;
  auto got = run(context, "atomics", "atomic_operations", initial);
  const std::uint32_t sum = kItems * (kItems - 1) / 2;
  std::uint32_t all_xor = 0;
  for (std::uint32_t i = 0; i < kItems; ++i) all_xor ^= i;
  expect_true(got[9] < kItems, "the exchanged word is the id of a work-item");
  got.pop_back();
  expect_words("add sub inc dec min max and or xor",
               std::vector<std::uint32_t>{sum, 0u - sum, kItems, 0u - kItems, 0, kItems - 1, 0x80000000,
                                          0x7fffffff, all_xor},
               got, context.device());
}

PROCTOR_CHECK(Atomic, SignedExtremesAreExact, "K33", kAtomics, kGate,
              {"kernel.racy_atomics", "kernel.skip"}) {
  const auto context = leased();
  const auto got = run(context, "atomics", "atomic_signed_extremes", std::vector<std::uint32_t>(2));
  expect_words("smallest and largest",
               std::vector<std::uint32_t>{static_cast<std::uint32_t>(-512), kItems - 1 - 512}, got,
               context.device());
}

PROCTOR_CHECK(Atomic, TicketsAreUnique, "K33", kAtomics, kGate, {"kernel.racy_atomics"}) {
  const auto context = leased();
  Queue queue(context);
  const Module module = Module::load(context, "atomics");
  const auto counter = device_copy(queue, context, std::vector<std::uint32_t>(1));
  const Buffer tickets = device_memory(context, kItems * 4);
  step("given work-items that each draw a ticket");
  queue.launch(Kernel(module, "atomic_tickets"), cover(kItems, kGroup), arguments(counter, tickets));
  queue.synchronize();
  auto got = read_as<std::uint32_t>(queue, context, tickets);
  std::sort(got.begin(), got.end());
  std::vector<std::uint32_t> expected(kItems);
  std::iota(expected.begin(), expected.end(), 0u);
  expect_words("tickets in order", expected, got, context.device());
}

PROCTOR_CHECK(Atomic, CompareExchangeLosesNothing, "K33", kAtomics, kGate, {"kernel.racy_atomics"}) {
  const auto context = leased();
  expect_words("sum of threes", std::vector<std::uint32_t>{3 * kItems},
               run(context, "atomics", "atomic_exchange_add", std::vector<std::uint32_t>(1)),
               context.device());
}

PROCTOR_CHECK(Atomic, FloatSumIsExact, "K34", kAtomics, kGate, {"kernel.racy_atomics"}) {
  const auto context = leased();
  const auto got = run(context, "atomics", "atomic_float_add", std::vector<float>(1), 3.0f);
  expect_same("sum of threes", std::to_string(3.0f * kItems), std::to_string(got[0]));
}

PROCTOR_CHECK(Atomic, LocalMemoryIsExact, "K33", kAtomics, kGate, {"kernel.racy_atomics"}) {
  const auto context = leased();
  expect_words("total", std::vector<std::uint32_t>{kItems / kGroup * (kGroup * (kGroup + 1) / 2)},
               run(context, "atomics", "atomic_local_add", std::vector<std::uint32_t>(1)), context.device());
}

PROCTOR_CHECK(Atomic, DistinctWordsAreExact, "K33", kAtomics, kGate, {"kernel.racy_atomics"}) {
  const auto context = leased();
  constexpr std::uint32_t kBins = 13;
  std::vector<std::uint32_t> expected(kBins);
  for (std::uint32_t i = 0; i < kItems; ++i) ++expected[i * 7 % kBins];
  expect_words("bins", expected,
               run(context, "atomics", "atomic_scatter", std::vector<std::uint32_t>(kBins), kBins),
               context.device());
}

PROCTOR_CHECK(Atomic, SixtyFourBitsAreExact, "K33", kAtomics, kGate, .faults = {"kernel.racy_atomics"},
              .needs = {"int64_atomics"}) {
  const auto context = leased();
  need(context.device().properties().int64_atomics, "unsupported:int64_atomics");
  const std::uint64_t sum = std::uint64_t{kItems} * (kItems - 1) / 2 << 20;
  expect_longs("sum", std::vector<std::uint64_t>{sum},
               run(context, "atomics64", "atomic_add64", std::vector<std::uint64_t>(1)), context.device());
}

// The forbidden result of message passing: the flag came, the data did not. Not seeing the flag is allowed,
// because nothing promises that two groups run at once.
PROCTOR_CHECK(Atomic, MessageComesWithItsFlag, "K36", kMemoryModel, kGate, {"kernel.release_ignored"}) {
  const auto context = leased();
  Queue queue(context);
  const Module module = Module::load(context, "litmus");
  constexpr std::uint32_t kPairs = 64;
  const auto flags = device_copy(queue, context, std::vector<std::uint32_t>(kPairs));
  const auto data = device_copy(queue, context, std::vector<std::uint32_t>(kPairs));
  const auto out = device_copy(queue, context, std::vector<std::uint32_t>(kPairs, 3));
  step("given pairs of groups of which one writes data and then a flag");
  queue.launch(Kernel(module, "message_passing"), groups_of(2 * kPairs, 1),
               arguments(flags, data, out, 10000u));
  queue.synchronize();
  const auto got = read_as<std::uint32_t>(queue, context, out);
  expect_same("flags without their data", "0", std::to_string(std::count(got.begin(), got.end(), 0u)));
  expect_same("readers that did not answer", "0", std::to_string(std::count(got.begin(), got.end(), 3u)));
  suite::measure("kernels.flags_seen", static_cast<double>(std::count(got.begin(), got.end(), 1u)), "pairs",
                 kPairs);
}

}  // namespace proctor::accel
