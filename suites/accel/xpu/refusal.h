// Tests of calls with bad arguments. A driver need not validate its arguments (Level Zero specification,
// "Error Handling"), so the effect of a bad argument is undefined. Therefore each such call is made in a
// second process. With the loader's validation layer, the call must return the code that the specification
// names. If the layer is missing, the only requirement is that the call ends. For example:
//
//   const BadCall kBadCalls[] = {
//       {"zeMemFree", "the pointer is null", kNullPointer, [](Victim& victim) {
//          return ZE_CALL(zeMemFree, native(victim.context), nullptr);
//        }}, ...};
//   PROCTOR_HELPER(bad_call) { make_bad_calls(kBadCalls, words); }
//   PROCTOR_CHECK_EACH(functions_of(kBadCalls), InvalidArgument, CallReturnsDocumentedError, ...) {
//     expect_refusals(kBadCalls, "bad_call");
//   }
#pragma once

#include <span>
#include <string>
#include <vector>

#include "suites/accel/check_fixture.h"
#include "suites/accel/xpu/native.h"

namespace proctor::accel {

// The objects that the calls of a table use. All are valid and exist before the first call.
struct Victim {
  Victim();

  Context context;
  Queue queue;
  Module module;
  Kernel kernel;  // fill(words, value, n) of basic.cl
  Event event;
  Buffer memory;
  ze_device_handle_t device;
  ze_command_list_handle_t list;  // immediate command list
  void* pointer = nullptr;        // for results
  std::size_t size = 0;           // for results
};

// One row of a table: a call with a bad argument, and the code that it must return.
struct BadCall {
  const char* function;
  const char* what;  // description of the bad argument
  const char* expected;
  Status (*call)(Victim&);
};

inline constexpr const char* kNullHandle = "ZE_RESULT_ERROR_INVALID_NULL_HANDLE";
inline constexpr const char* kNullPointer = "ZE_RESULT_ERROR_INVALID_NULL_POINTER";
inline constexpr const char* kEnumeration = "ZE_RESULT_ERROR_INVALID_ENUMERATION";
inline constexpr const char* kInvalidSize = "ZE_RESULT_ERROR_INVALID_SIZE";
inline constexpr const char* kUnsupportedSize = "ZE_RESULT_ERROR_UNSUPPORTED_SIZE";
inline constexpr const char* kUnsupportedAlignment = "ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT";

// A number that is neither a flag nor a value of any enumeration of the specification.
inline constexpr std::uint32_t kNoSuchFlag = 0x40000000;

// Returns the functions that the table names, each once.
std::vector<std::string> functions_of(std::span<const BadCall> calls);

// Runs in the second process. `words` contains the function, and the index of one of its calls or "all". It
// reports {"layer":BOOL}, and then {"code", "kept"} for each call. `kept` is whether the memory of the victim
// still has its bytes.
void make_bad_calls(std::span<const BadCall> calls, const std::vector<std::string>& words);

// Runs the check: makes the calls of the function parameter().
void expect_refusals(std::span<const BadCall> calls, const std::string& helper);

}  // namespace proctor::accel
