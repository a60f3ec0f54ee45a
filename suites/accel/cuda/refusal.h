// Tests of calls with bad arguments, as tables with one row for each bad argument. The CUDA Runtime validates
// its arguments and documents the codes, so the calls are made in the process of the check. Hardware must
// refuse each call. A code that differs from the table is only a warning there. For example:
//
//   constexpr BadCall kBadCalls[] = {
//       {"cudaMalloc", "the place for the pointer is null", cudaErrorInvalidValue,
//        [](Victim&) { return CUDA_CALL(cudaMalloc, nullptr, 64); }}, ...};
//   PROCTOR_CHECK_EACH(functions_of(kBadCalls), InvalidArgument, CallReturnsDocumentedError, ...) {
//     expect_refusals(kBadCalls);
//   }
#pragma once

#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "suites/accel/check_fixture.h"
#include "suites/accel/cuda/native.h"

namespace proctor::accel {

// The objects that the calls of a table use. All are valid and exist before the first call.
struct Victim {
  Victim();

  Context context;
  Queue queue;
  cudaStream_t stream;
  Module module;
  Kernel kernel;  // fill(words, value, n) of basic.cl
  Buffer memory;  // device memory with known bytes
  Buffer host;    // pinned host memory
  int on_the_stack = 0;
  void* pointer = nullptr;  // for results
  std::size_t size = 0;     // for results
  int number = 0;           // for results
};

// One row of a table: a call with a bad argument, and the code that it must return.
struct BadCall {
  const char* function;
  const char* what;  // description of the bad argument
  cudaError_t expected;
  Status (*call)(Victim&);
};

inline constexpr std::size_t kVictimBytes = 4096;
// A number that is neither a flag nor a value of any enumeration.
inline constexpr unsigned kNoSuchFlag = 0x40000000;

// Returns a number that the enumeration does not have. The type of the enumeration may be too small for it.
template <typename Enumeration>
Enumeration no_such() {
  constexpr int kNumber = 9999;
  Enumeration value;
  static_assert(sizeof value == sizeof kNumber);
  std::memcpy(&value, &kNumber, sizeof value);
  return value;
}

// Returns the functions that the table names, each once.
std::vector<std::string> functions_of(std::span<const BadCall> calls);

// Runs the check: makes the calls of the function parameter(). Each must return its code and leave no lasting
// damage. Memory keeps its bytes, and later work succeeds.
void expect_refusals(std::span<const BadCall> calls);

}  // namespace proctor::accel
