// Checks of vectors, which OpenCL has and CUDA lacks: their parts, and their layout in memory. Checks of
// arithmetic are in check_integers.cc.
#include <algorithm>
#include <cstring>
#include <span>

#include "suites/accel/check_fixture.h"
#include "suites/kernels/numeric.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

using suite::kGate;
using suite::step;

constexpr const char* kVectors =
    "OpenCL C specification, vector data load and store functions; OpenCL-CTS, half";
constexpr std::size_t kVectorCount = 24;

// Runs a kernel of half_vectors.cl. `from_apart` and `to_apart` are the distances of two vectors, in elements.
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

// ---- vectors.cl: each item has 32 elements, 16 indices, and room for 32 results of 16 elements ----

constexpr std::size_t kElements = 32, kWishes = 16, kRoom = 512, kVectorItems = 12;

// Writes the results of one item. The results are 16 elements apart.
template <typename T>
class VectorResults {
 public:
  explicit VectorResults(std::span<T> room) : room_(room) {}
  void add(const std::vector<T>& values) {
    std::copy(values.begin(), values.end(), room_.begin() + static_cast<std::ptrdiff_t>(16 * count_++));
  }

 private:
  std::span<T> room_;
  std::size_t count_ = 0;
};

template <typename T>
struct VectorItem {
  std::vector<T> first, second, wishes;  // 16 elements each
};

template <typename T>
std::vector<T> chosen(const std::vector<T>& from, std::initializer_list<std::size_t> which) {
  std::vector<T> result;
  for (const std::size_t i : which) result.push_back(from[i]);
  return result;
}

// Each index is taken modulo the number of elements, which is a power of two.
template <typename T>
std::vector<T> by_mask(const std::vector<T>& from, const std::vector<T>& mask, std::size_t lanes) {
  std::vector<T> result;
  for (std::size_t i = 0; i < lanes; ++i)
    result.push_back(from[static_cast<std::size_t>(mask[i]) & (from.size() - 1)]);
  return result;
}

template <typename T>
std::vector<T> behind_each_other(std::vector<T> a, const std::vector<T>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

template <typename T>
void add_shuffles(const VectorItem<T>& item, VectorResults<T>& results) {
  for (const bool both : {false, true}) {
    for (const std::size_t from : {2, 4, 8, 16}) {
      const auto a = part_of(item.first, 0, from);
      const auto given = both ? behind_each_other(a, part_of(item.second, 0, from)) : a;
      for (const std::size_t to : {2, 4, 8, 16}) results.add(by_mask(given, item.wishes, to));
    }
  }
}

// Results of accesses by an index. The kernel uses two widths of the index.
template <typename T>
void add_indices(const VectorItem<T>& item, VectorResults<T>& results) {
  for (const std::size_t lanes : {2, 3, 4, 8, 16}) {
    const std::size_t index = static_cast<std::uint32_t>(item.wishes[0]) % lanes;
    auto vector = part_of(item.first, 0, lanes);
    const T before = vector[index];
    vector[index] = item.second[0];
    for (int width = 0; width < 2; ++width) {
      results.add({before});
      results.add(vector);
    }
  }
}

template <typename T>
void add_parts(const VectorItem<T>& item, VectorResults<T>& results) {
  const auto &a = item.first, &b = item.second, &c = item.wishes;
  results.add(part_of(a, 8, 8));
  results.add(chosen(a, {1, 3, 5, 7, 9, 11, 13, 15}));
  results.add(chosen(a, {0, 2, 4, 6}));
  results.add({a.rbegin(), a.rend()});
  results.add({a[1], b[7], b[14], c[1]});
  results.add({c[0], c[1], c[2], a[4], a[5], c[2], c[1], c[0]});
  results.add({c[2], c[0], c[0]});
  results.add(behind_each_other(part_of(a, 0, 8), part_of(b, 8, 8)));
  results.add({a[0], b[0], a[2], b[1]});
  results.add({c[2], b[0], a[2], b[1]});
  results.add(std::vector<T>(8, a[3]));
  results.add({a[9], b[10], b[11]});
}

template <typename T>
void add_memories(const VectorItem<T>& item, VectorResults<T>& results) {
  const std::size_t index = static_cast<std::uint32_t>(item.wishes[0]) % 5;
  for (const std::size_t lanes : {2, 3, 4, 8, 16}) {
    std::vector<T> constants;
    for (std::size_t i = 1; i <= lanes; ++i) constants.push_back(static_cast<T>(index + i));
    results.add(constants);
  }
  for (int kind = 0; kind < 2; ++kind) {  // private, then local memory
    for (const std::size_t lanes : {2, 3, 4, 8, 16}) {
      std::vector<T> memory;
      for (std::size_t i = 0; i < 20; ++i) memory.push_back(item.second[i % 16]);
      std::copy_n(item.first.begin(), lanes, memory.begin() + static_cast<std::ptrdiff_t>(index));
      results.add(part_of(memory, 0, 16));
      results.add(part_of(memory, 20 - lanes, lanes));
    }
  }
}

template <typename T>
void add_members(const VectorItem<T>& item, VectorResults<T>& results) {
  const std::size_t index = static_cast<std::uint32_t>(item.wishes[0]) % 3;
  const auto &a = item.first, &b = item.second;
  for (std::size_t i = 0; i < 4; ++i) results.add(part_of(i == index ? b : a, 0, 3));
  const auto sum = [](std::size_t number, T value) { return static_cast<T>(number + value); };
  results.add({sum(1 + 3 * index, 0), sum(2 + 3 * index, 0), sum(3 + 3 * index, 0)});
  results.add({21});
  results.add({sum(22, b[0]), sum(23, b[1]), sum(24, b[2])});
  results.add({25});
  results.add({26, 27});
  std::vector<T> eight;
  for (std::size_t i = 0; i < 8; ++i) eight.push_back(static_cast<T>(a[i] - 28 - i));
  results.add(eight);
  results.add({37});
  results.add({4, 32});
  results.add(part_of(a, 4 * index, 3));
  std::vector<T> smaller, larger;
  for (std::size_t i = 0; i < 4; ++i) smaller.push_back(std::min(a[i], b[i]));
  for (std::size_t i = 0; i < 3; ++i) larger.push_back(index == 0 ? b[i] : std::max(a[i], b[i]));
  results.add(smaller);
  results.add(larger);
}

template <typename T>
std::vector<T> vector_noise(std::size_t count, std::uint64_t seed) {
  std::vector<T> result(count);
  const auto bytes = noise(count * sizeof(T), seed);
  std::memcpy(result.data(), bytes.data(), bytes.size());
  return result;
}

template <typename T>
void expect_vector_kernel(const Context& context, const Module& module, const std::string& kernel,
                          void (*add)(const VectorItem<T>&, VectorResults<T>&)) {
  Queue queue(context);
  const auto elements = vector_noise<T>(kElements * kVectorItems, 1),
             wishes = vector_noise<T>(kWishes * kVectorItems, 2);
  const auto in = device_copy(queue, context, elements), which = device_copy(queue, context, wishes);
  std::vector<T> expected(kRoom * kVectorItems, 7);
  const auto out = device_copy(queue, context, expected);
  for (std::size_t i = 0; i < kVectorItems; ++i) {
    VectorResults<T> results{std::span(expected).subspan(kRoom * i, kRoom)};
    add({part_of(elements, kElements * i, 16), part_of(elements, kElements * i + 16, 16),
         part_of(wishes, kWishes * i, 16)},
        results);
  }
  const std::string what = kernel + " of " + std::to_string(8 * sizeof(T)) + " bits";
  step("given " + what);
  queue.launch(Kernel(module, kernel), groups_of(kVectorItems / 4, 4), arguments(out, in, which));
  queue.synchronize();
  expect_values(what, expected, read_as<T>(queue, context, out), context.device());
}

template <typename T>
void expect_vectors_of(const Context& context) {
  const Module module = Module::load(context, "vectors_" + std::to_string(8 * sizeof(T)));
  expect_vector_kernel<T>(context, module, "shuffles", add_shuffles<T>);
  expect_vector_kernel<T>(context, module, "narrow_indices", add_indices<T>);
  expect_vector_kernel<T>(context, module, "wide_indices", add_indices<T>);
  expect_vector_kernel<T>(context, module, "parts", add_parts<T>);
  expect_vector_kernel<T>(context, module, "memories", add_memories<T>);
  expect_vector_kernel<T>(context, module, "members", add_members<T>);
}

}  // namespace

PROCTOR_CHECK(Vector, ShufflesAndIndexingAreExact, "K72",
              "OpenCL C specification, vector data types, shuffle and vloadn", kGate,
              {"kernel.wrong_result:kernel=shuffles,at=3", "kernel.wrong_result:kernel=members,at=2",
               "kernel.wrong_result:kernel=wide_indices,at=5"}) {
  const auto context = leased();
  expect_vectors_of<std::uint8_t>(context);
  expect_vectors_of<std::uint16_t>(context);
  expect_vectors_of<std::uint32_t>(context);
  expect_vectors_of<std::uint64_t>(context);
}

PROCTOR_CHECK(Vector, HalfLoadsAndStoresConvertCorrectly, "K26", kVectors, kGate,
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
