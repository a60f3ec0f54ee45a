// Checks of atomic operations under contention. Totals must be exact in any order, and a lost update must be
// detected.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <numeric>

#include "suites/accel/check_fixture.h"
#include "suites/kernels/denormal_sums.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

using suite::expect_same;
using suite::expect_true;
using suite::kGate;
using suite::step;

constexpr const char* kAtomics = by_vendor("OpenCL-CTS, atomics; SPIR-V specification, atomic instructions",
                                           "CUDA Programming Guide, Atomic Functions");
constexpr const char* kMemoryModel =
    by_vendor("OpenCL-CTS, c11_atomics; SPIR-V specification, memory semantics",
              "CUDA Programming Guide, Memory Fence Functions");
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

PROCTOR_CHECK(Atomic, ContendedOperationsLoseNoUpdate, "K33", kAtomics, kGate, {"kernel.racy_atomics"}) {
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

PROCTOR_CHECK(Atomic, SignedMinAndMaxAreExact, "K33", kAtomics, kGate,
              {"kernel.racy_atomics", "kernel.skip"}) {
  const auto context = leased();
  const auto got = run(context, "atomics", "atomic_signed_extremes", std::vector<std::uint32_t>(2));
  expect_words("smallest and largest",
               std::vector<std::uint32_t>{static_cast<std::uint32_t>(-512), kItems - 1 - 512}, got,
               context.device());
}

PROCTOR_CHECK(Atomic, IncrementReturnsUniqueValues, "K33", kAtomics, kGate, {"kernel.racy_atomics"}) {
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

PROCTOR_CHECK(Atomic, CompareExchangeLosesNoUpdate, "K33", kAtomics, kGate, {"kernel.racy_atomics"}) {
  const auto context = leased();
  expect_words("sum of threes", std::vector<std::uint32_t>{3 * kItems},
               run(context, "atomics", "atomic_exchange_add", std::vector<std::uint32_t>(1)),
               context.device());
}

PROCTOR_CHECK(Atomic, CompareExchangeFloatSumIsExact, "K34", kAtomics, kGate, {"kernel.racy_atomics"}) {
  const auto context = leased();
  const auto got = run(context, "atomics", "atomic_float_add", std::vector<float>(1), 3.0f);
  expect_same("sum of threes", std::to_string(3.0f * kItems), std::to_string(got[0]));
}

PROCTOR_CHECK(Atomic, LocalMemoryAdditionIsExact, "K33", kAtomics, kGate, {"kernel.racy_atomics"}) {
  const auto context = leased();
  expect_words("total", std::vector<std::uint32_t>{kItems / kGroup * (kGroup * (kGroup + 1) / 2)},
               run(context, "atomics", "atomic_local_add", std::vector<std::uint32_t>(1)), context.device());
}

PROCTOR_CHECK(Atomic, ScatteredIncrementsAreExact, "K33", kAtomics, kGate, {"kernel.racy_atomics"}) {
  const auto context = leased();
  constexpr std::uint32_t kBins = 13;
  std::vector<std::uint32_t> expected(kBins);
  for (std::uint32_t i = 0; i < kItems; ++i) ++expected[i * 7 % kBins];
  expect_words("bins", expected,
               run(context, "atomics", "atomic_scatter", std::vector<std::uint32_t>(kBins), kBins),
               context.device());
}

// ---- every operation on every integer type ----

namespace {

// An operation of atomic_types.cl. `left` computes the word after the operation from the word before it.
template <typename T>
struct AtomicOperation {
  const char* name;
  T (*left)(T found, T value, T expected);
};

template <typename T>
constexpr AtomicOperation<T> kAtomicOperations[] = {
    {"add", [](T found, T value, T) { return static_cast<T>(std::uint64_t(found) + std::uint64_t(value)); }},
    {"sub", [](T found, T value, T) { return static_cast<T>(std::uint64_t(found) - std::uint64_t(value)); }},
    {"inc", [](T found, T, T) { return static_cast<T>(std::uint64_t(found) + 1); }},
    {"dec", [](T found, T, T) { return static_cast<T>(std::uint64_t(found) - 1); }},
    {"min", [](T found, T value, T) { return std::min(found, value); }},
    {"max", [](T found, T value, T) { return std::max(found, value); }},
    {"and", [](T found, T value, T) { return static_cast<T>(found & value); }},
    {"or", [](T found, T value, T) { return static_cast<T>(found | value); }},
    {"xor", [](T found, T value, T) { return static_cast<T>(found ^ value); }},
    {"exchange", [](T, T value, T) { return value; }},
    {"compare-exchange", [](T found, T value, T expected) { return found == expected ? value : found; }}};

// Words, operands, and expected values for compare-exchange. Every other expected value is equal to its word; the
// others differ from it in one bit.
template <typename T>
struct AtomicOperands {
  AtomicOperands() {
    constexpr int kBits = 8 * sizeof(T);
    const auto bytes = noise(3 * kOperands * sizeof(T), sizeof(T));
    std::vector<T> random(2 * kOperands);
    std::memcpy(random.data(), bytes.data(), random.size() * sizeof(T));
    const T edges[] = {0, 1, static_cast<T>(-1), std::numeric_limits<T>::min(),
                       std::numeric_limits<T>::max()};
    for (std::size_t i = 0; i < kOperands; ++i) {
      words.push_back(i < 25 ? edges[i / 5] : random[2 * i]);
      values.push_back(i < 25 ? edges[i % 5] : random[2 * i + 1]);
      const T flipped = static_cast<T>(std::uint64_t{1} << i / 2 % kBits);
      expected.push_back(i % 2 == 0 ? words[i] : static_cast<T>(words[i] ^ flipped));
    }
  }

  static constexpr std::uint32_t kOperands = 160;
  std::vector<T> words, values, expected;
};

// Runs each operation with a separate word for each work-item. The name of the kernel selects global or local
// memory.
template <typename T>
void expect_atomics(const Context& context, const Module& module, const std::string& kernel) {
  constexpr std::uint32_t kCount = AtomicOperands<T>::kOperands;
  const AtomicOperands<T> operands;
  std::vector<T> words;
  for (std::size_t k = 0; k < std::size(kAtomicOperations<T>); ++k) {
    words.insert(words.end(), operands.words.begin(), operands.words.end());
  }
  Queue queue(context);
  const auto at = device_copy(queue, context, words), values = device_copy(queue, context, operands.values),
             expected = device_copy(queue, context, operands.expected);
  const Buffer found = device_memory(context, at.bytes());
  step("given " + kernel);
  queue.launch(Kernel(module, kernel), cover(kCount, kGroup), arguments(at, values, expected, found, kCount));
  queue.synchronize();
  const auto left = read_as<T>(queue, context, at);
  expect_values(kernel + ": values that the operations returned", words, read_as<T>(queue, context, found),
                context.device());
  for (std::size_t k = 0; k < std::size(kAtomicOperations<T>); ++k) {
    std::vector<T> wanted;
    for (std::size_t i = 0; i < kCount; ++i) {
      wanted.push_back(
          kAtomicOperations<T>[k].left(operands.words[i], operands.values[i], operands.expected[i]));
    }
    expect_values(kernel + ": values in memory after " + kAtomicOperations<T>[k].name, wanted,
                  part_of(left, k * kCount, kCount), context.device());
  }
}

// Runs the operations with all work-items on the same words.
template <typename T>
void expect_contended(const Context& context, const Module& module, const std::string& kernel) {
  std::vector<T> values(kItems);
  const auto bytes = noise(kItems * sizeof(T), 11);
  std::memcpy(values.data(), bytes.data(), bytes.size());
  std::vector<T> words(8), expected(8);
  words[4] = expected[4] = static_cast<T>(-1);
  for (std::size_t i = 0; i < kItems; ++i) {
    const T bit = static_cast<T>(std::uint64_t{1} << i % (8 * sizeof(T)));
    const T with[] = {values[i], values[i], values[i], values[i], static_cast<T>(~bit),
                      bit,       values[i], values[i]};
    constexpr std::size_t kWhich[] = {0, 1, 4, 5, 6, 7, 8, 0};
    for (std::size_t k = 0; k < 8; ++k)
      expected[k] = kAtomicOperations<T>[kWhich[k]].left(expected[k], with[k], 0);
  }
  Queue queue(context);
  const auto at = device_copy(queue, context, words), with = device_copy(queue, context, values);
  step("given " + std::to_string(kItems) + " work-items in " + kernel);
  queue.launch(Kernel(module, kernel), cover(kItems, kGroup), arguments(at, with));
  queue.synchronize();
  expect_values(kernel + ": add sub min max and or xor, and add by exchange", expected,
                read_as<T>(queue, context, at), context.device());
}

template <typename T>
void expect_atomics_of(const Context& context, const Module& module, const std::string& type) {
  expect_atomics<T>(context, module, "global_" + type);
  expect_atomics<T>(context, module, "local_" + type);
  expect_contended<T>(context, module, "contended_" + type);
}

// Additions of floating-point numbers. The terms are chosen so that a sum in a narrower type would lose them.
template <typename T>
void expect_additions(const Context& context, const std::string& module_name, T small) {
  Queue queue(context);
  const Module module = Module::load(context, module_name);
  std::vector<T> words, values, sums;
  for (std::uint32_t i = 0; i < 64; ++i) {
    words.push_back(static_cast<T>(i) - 20);
    values.push_back(i % 2 == 0 ? small * static_cast<T>(i) : static_cast<T>(i) / 3);
    sums.push_back(words[i] + values[i]);
  }
  const auto at = device_copy(queue, context, words), with = device_copy(queue, context, values);
  const Buffer found = device_memory(context, at.bytes());
  const auto one = device_copy(queue, context, std::vector<T>{1});
  step("given additions of each work-item by itself, and of all to one word");
  queue.launch(Kernel(module, "add_numbers"), groups_of(1, 64), arguments(at, with, found, 64u));
  queue.launch(Kernel(module, "contended_add"), cover(kItems, kGroup), arguments(one, small));
  queue.synchronize();
  const auto compare = [&](const char* what, const std::vector<T>& expected, const Buffer& got) {
    expect_values(what, expected, read_as<T>(queue, context, got), context.device());
  };
  compare("values that the operations returned", words, found);
  compare("the sums", sums, at);
  compare("the sum of all", {1 + static_cast<T>(kItems) * small}, one);
}

}  // namespace

PROCTOR_CHECK(Atomic, EveryInt32OperationIsExact, "K33", kAtomics, kGate,
              {"kernel.racy_atomics:kernel=contended_*", "kernel.wrong_result:kernel=local_i32,at=4"}) {
  const auto context = leased();
  const Module module = Module::load(context, "atomics_32");
  expect_atomics_of<std::int32_t>(context, module, "i32");
  expect_atomics_of<std::uint32_t>(context, module, "u32");
}

PROCTOR_CHECK(Atomic, EveryInt64OperationIsExact, "K33", kAtomics, kGate,
              .faults = {"kernel.racy_atomics:kernel=contended_*",
                         "kernel.wrong_result:kernel=global_u64,at=7"},
              .needs = {"int64_atomics"}) {
  const auto context = leased();
  need(context.device().properties().int64_atomics, "unsupported:int64_atomics");
  const Module module = Module::load(context, "atomics_64");
  expect_atomics_of<std::int64_t>(context, module, "i64");
  expect_atomics_of<std::uint64_t>(context, module, "u64");
}

PROCTOR_CHECK(Atomic, FloatAdditionIsExact, "K34", kAtomics, kGate, .faults = {"kernel.racy_atomics"},
              .needs = {"fp32_atomic_add"}) {
  const auto context = leased();
  need(context.device().properties().fp32_atomic_add, "unsupported:fp32_atomic_add");
  expect_additions(context, "atomics_f32", 0x1p-12f);
}

PROCTOR_CHECK(Atomic, DoubleAdditionIsExact, "K34", kAtomics, kGate, .faults = {"kernel.racy_atomics"},
              .needs = {"fp64_atomic_add"}) {
  const auto context = leased();
  need(context.device().properties().fp64_atomic_add, "unsupported:fp64_atomic_add");
  expect_additions(context, "atomics_f64", 0x1p-40);
}

// Adds normal numbers with a denormal sum, and denormal numbers.
PROCTOR_CHECK(Atomic, DenormalDoubleSumsAreKept, "K34",
              by_vendor("OpenCL C specification, OpenCL Numerical Compliance",
                        "PTX ISA, Floating Point Instructions: subnormal numbers are supported for .f64"),
              suite::kWarn, .faults = {"kernel.atomic_ftz"}, .needs = {"fp64_atomic_add"}) {
  const auto context = leased();
  need(context.device().properties().fp64_atomic_add, "unsupported:fp64_atomic_add");
  need(context.device().properties().fp64_denormals, "unsupported:fp64_denormals");
  expect_denormal_sums<double>(context, "atomics_f64", "add_numbers");
}

PROCTOR_CHECK(Atomic, LoadReturnsStoredValue, "K33", kAtomics, kGate,
              {"kernel.wrong_result:kernel=atomic_loads,arg=1,at=4"}) {
  const auto context = leased();
  Queue queue(context);
  const auto written = noise_words(8, 1);
  const auto words = device_copy(queue, context, written);
  const auto out = device_copy(queue, context, std::vector<std::uint32_t>(8));
  step("given one work-item that loads eight words one after the other");
  queue.launch(Kernel(Module::load(context, "litmus"), "atomic_loads"), groups_of(1, 1),
               arguments(words, out));
  queue.synchronize();
  expect_words("words that it read", written, read_as<std::uint32_t>(queue, context, out), context.device());
}

// Message passing: a group that sees the flag must also see the data. A group may miss the flag, because no
// document guarantees that two groups run concurrently.
PROCTOR_CHECK(Atomic, ReleasedFlagPublishesData, "K36", kMemoryModel, kGate, {"kernel.release_ignored"}) {
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
  expect_same("readers without a result", "0", std::to_string(std::count(got.begin(), got.end(), 3u)));
  suite::measure("kernels.flags_seen", static_cast<double>(std::count(got.begin(), got.end(), 1u)), "pairs",
                 kPairs);
}

// Checks of atomic operations of host and device on the same word at the same time.

namespace {

using suite::kGate;
using suite::step;

constexpr const char* kCapabilities =
    by_vendor("Level Zero specification, ze_memory_access_cap_flag_t CONCURRENT_ATOMIC",
              "CUDA Runtime API, cudaDeviceProp::hostNativeAtomicSupported");
constexpr std::uint32_t kSharers = 512;
constexpr std::uint32_t kRounds = 16;

// The host adds from the launch until the end of the kernel, at least once.
void expect_exact_total(MemoryKind kind) {
  const auto context = leased();
  const auto& properties = context.device().properties();
  need(kind == MemoryKind::kHost ? properties.host_atomics : properties.shared_atomics,
       "unsupported:system_atomics");
  Queue queue(context);
  const Module module = Module::load(context, "system_atomics");
  const Buffer memory(context, {.kind = kind, .bytes = 4});
  const std::atomic_ref word(memory.as<std::uint32_t>()[0]);
  word = 0;
  const Event done(context);
  step("given " + std::to_string(kSharers) + " work-items and the host that add to one word");
  queue.launch(Kernel(module, "system_add"), cover(kSharers, 64), arguments(memory, kRounds),
               {.wait = {}, .signal = &done});
  std::uint32_t by_host = 0;
  do {
    for (int i = 0; i < 100; ++i) word.fetch_add(1, std::memory_order_relaxed);
    by_host += 100;
  } while (done.query().not_ready());
  queue.synchronize();
  suite::measure("kernels.additions_by_host", by_host, "additions");
  expect_words("the word", std::vector<std::uint32_t>{kSharers * kRounds + by_host},
               memory.as<std::uint32_t>(), context.device());
}

}  // namespace

PROCTOR_CHECK(SystemAtomic, HostMemorySumIsExact, "K35", kCapabilities, kGate,
              {"kernel.racy_atomics", "kernel.skip_group"}) {
  expect_exact_total(MemoryKind::kHost);
}

PROCTOR_CHECK(SystemAtomic, SharedAllocationSumIsExact, "K35", kCapabilities, kGate,
              {"kernel.racy_atomics", "kernel.skip_group"}) {
  expect_exact_total(MemoryKind::kShared);
}

}  // namespace proctor::accel
