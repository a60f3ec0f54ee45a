// The input of an operation, and the output that its rule demands. Both are closed formulas over the numbers
// of all ranks, so that no second implementation is needed for comparison.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "suites/collectives/numbers.h"
#include "suites/collectives/provider.h"

namespace proctor::collectives {

struct Exercise {
  Operation operation = Operation::kAllReduce;
  Type type = Type::kI32;
  Reduction reduction = Reduction::kSum;
  std::size_t count = 1;  // as in Call
  int root = 0;
  int round = 0;  // every round has different numbers
  // For all_gatherv, how much each rank gives. For all_to_allv, rank r gives
  // counts[(r + p) % size] to rank p.
  std::vector<std::size_t> counts{};
  bool in_place = false;
  std::size_t offset = 0;  // elements from an aligned address to the buffers
  // Rank r has the numbers of rank (r + turn) % size.
  int turn = 0;
};

// The number at `index` of the input of `rank`. It differs from those of other ranks, rounds and neighbours
// and has as many digits as its type has room for. No order of reducing up to eight of them (up to four for
// products) rounds or overflows (the idea of NCCL's tests, verifiable/verifiable.cu).
std::int64_t element(const Exercise& exercise, int rank, int size, std::size_t index);

// How many elements `rank` gives and gets; 0 if it gives or gets none.
std::size_t input_elements(const Exercise& exercise, int rank, int size);
std::size_t output_elements(const Exercise& exercise, int rank, int size);

Bytes input_of(const Exercise& exercise, int rank, int size);
Bytes expected(const Exercise& exercise, int rank, int size);

// For all_gatherv and all_to_allv; otherwise empty.
std::vector<std::size_t> sends_of(const Exercise& exercise, int rank, int size);
std::vector<std::size_t> receives_of(const Exercise& exercise, int rank, int size);

}  // namespace proctor::collectives
