// Bad arguments, as tables with a row per bad argument. CUDA's runtime validates its arguments and documents
// the codes that mistakes get, so the calls are made in the process of the check. Hardware must refuse; another code than
// the table's is a warning there.
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
  Buffer memory;  // of the device, with known bytes
  Buffer host;    // pinned
  int on_the_stack = 0;
  void* pointer = nullptr;  // for answers
  std::size_t size = 0;     // for answers
  int number = 0;           // for answers
};

struct BadCall {
  const char* function;
  const char* what;  // is bad about it
  cudaError_t expected;
  Status (*call)(Victim&);
};

inline constexpr std::size_t kVictimBytes = 4096;
// A number that is no flag and no value of any enumeration.
inline constexpr unsigned kNoSuchFlag = 0x40000000;

// A number that the enumeration does not have and that its type may be too small for.
template <typename Enumeration>
Enumeration no_such() {
  constexpr int kNumber = 9999;
  Enumeration value;
  static_assert(sizeof value == sizeof kNumber);
  std::memcpy(&value, &kNumber, sizeof value);
  return value;
}

// The functions that the table names, each once.
std::vector<std::string> functions_of(std::span<const BadCall> calls);

// The check itself: makes the calls of the function parameter(). Each must get its code and leave no lasting
// damage: memory keeps its bytes, and work goes on.
void expect_refusals(std::span<const BadCall> calls);

}  // namespace proctor::accel
