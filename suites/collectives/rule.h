// The input of an operation, and the output that its rule requires. Both are closed formulas over the numbers
// of all ranks. Therefore no second implementation is needed for comparison.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "suites/collectives/memory_space.h"
#include "suites/collectives/numbers.h"
#include "suites/collectives/provider.h"

namespace proctor::collectives {

// One operation with all parameters of its input and its buffers.
struct Exercise {
  Operation operation = Operation::kAllReduce;
  Type type = Type::kI32;
  Reduction reduction = Reduction::kSum;
  std::size_t count = 1;  // see Call::count
  int root = 0;
  int round = 0;  // each round has different numbers
  // The counts of all_gatherv are the elements of each rank. In all_to_allv, rank r sends counts[(r + p) %
  // size] elements to rank p.
  std::vector<std::size_t> counts{};
  bool in_place = false;
  std::size_t offset = 0;  // elements between an aligned address and the buffers
  // Rank r uses the numbers of rank (r + turn) % size.
  int turn = 0;
};

// Returns the number at `index` of the input of `rank`. It differs from adjacent numbers and from those of
// other ranks and rounds. It uses as many digits as its type permits. Reducing up to eight numbers (up to
// four for products) never rounds or overflows, in any order (the idea of NCCL's tests,
// verifiable/verifiable.cu).
std::int64_t element(const Exercise& exercise, int rank, int size, std::size_t index);

// Return how many elements `rank` passes and receives, or 0.
std::size_t input_elements(const Exercise& exercise, int rank, int size);
std::size_t output_elements(const Exercise& exercise, int rank, int size);

Bytes input_of(const Exercise& exercise, int rank, int size);
Bytes expected(const Exercise& exercise, int rank, int size);

// Return the counts of all_gatherv and all_to_allv. For other operations they are empty.
std::vector<std::size_t> sends_of(const Exercise& exercise, int rank, int size);
std::vector<std::size_t> receives_of(const Exercise& exercise, int rank, int size);

// ---- The names of types and operations, as in the parameters of checks ----

inline constexpr const char* kNcclTests = "NVIDIA nccl-tests, verifiable/verifiable.cu and src/";
inline constexpr const char* kGlooTests = "Gloo, gloo/test/";
inline constexpr const char* kOneCclTests = "oneCCL, tests/functional/test_impl.hpp";

// Zero, one, less than the number of ranks, primes, and numbers around powers of two.
inline constexpr std::array<std::size_t, 8> kCounts{0, 1, 2, 31, 255, 256, 257, 1021};

// Returns the value of `name` in one of the tables of provider.h.
template <typename Value, typename Table>
Value named(const Table& table, const std::string& name) {
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (name == to_string(static_cast<Value>(i))) return static_cast<Value>(i);
  }
  throw std::invalid_argument("no such name: " + name);
}

inline Type type_named(const std::string& name) { return named<Type>(kTypes, name); }
inline Operation operation_named(const std::string& name) { return named<Operation>(kOperations, name); }

inline std::vector<std::string> type_names() {
  std::vector<std::string> names;
  for (const auto& facts : kTypes) names.emplace_back(facts.name);
  return names;
}

// Returns the operations that an Exercise describes completely.
inline std::vector<std::string> exercised_operation_names() {
  std::vector<std::string> names(kOperations.begin(), kOperations.end());
  std::erase_if(names, [](const std::string& name) {
    return name == "send" || name == "receive" || name == "barrier";
  });
  return names;
}

// The memory of an operation: input and output, each between two margins that must not be written. In place,
// both are in one frame.

// One block of memory between two margins.
class Frame {
 public:
  // Creates `bytes` of memory at `offset` bytes after an aligned address.
  Frame(std::size_t bytes, std::size_t offset);

  // The contents. Use it before lend() and after take_back().
  std::byte* data() { return image_.data() + begin_; }
  const std::byte* data() const { return image_.data() + begin_; }
  std::size_t size() const { return bytes_; }
  bool margins_are_untouched() const;

  // Lends the memory to a library that uses `memory`. The library uses address() until take_back().
  void lend(MemorySpace& space, Memory memory);
  std::byte* address() const { return lent_->data() + begin_; }
  void take_back();

 private:
  Bytes image_;
  std::size_t begin_ = 0;
  std::size_t bytes_ = 0;
  std::optional<Tensor> lent_;
};

// The input and the output of one operation on one rank.
class Frames {
 public:
  // The rank passes `input` and receives `out_bytes`, which may be 0.
  Frames(const Exercise& exercise, int rank, std::size_t out_bytes, const Bytes& input);

  void lend(MemorySpace& space, Memory memory);
  const std::byte* in() const;
  std::byte* out() const;  // null if this rank receives no output
  void take_back();

  Bytes result() const;
  // Reports writes outside the output, and writes to an input that is not also the output.
  void expect_untouched(const std::string& what) const;

 private:
  std::size_t own_part() const;  // offset of the own part, in bytes
  std::size_t begin_of_result() const;

  const Exercise& exercise_;
  int rank_;
  std::size_t out_bytes_;
  Bytes input_;
  bool shared_;  // input and output are in one frame
  Frame in_;
  Frame out_;
};

}  // namespace proctor::collectives
