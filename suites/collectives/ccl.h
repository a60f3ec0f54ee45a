// The common parts of the C interfaces of NCCL and oneCCL: the values of results, types and reductions, and
// how ranks find each other. oneCCL's interface follows that of NCCL
// (https://uxlfoundation.github.io/oneCCL/v2/api.html).
#pragma once

#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>

#include "suites/collectives/provider.h"

namespace proctor::collectives::ccl {

struct Communicator;  // opaque

enum class Code : int {
  kSuccess = 0,
  kUnhandledError = 1,  // an error of CUDA; on oneCCL any other error
  kSystemError = 2,
  kInternalError = 3,
  kInvalidArgument = 4,
  kInvalidUsage = 5,
  kRemoteError = 6,
  kInProgress = 7,
  kNotImplemented = 12  // oneCCL only
};

enum class DataType : int { kI8, kU8, kI32, kU32, kI64, kU64, kF16, kF32, kF64, kBf16 };
enum class RedOp : int { kSum, kProduct, kMax, kMin, kAverage };

inline constexpr int kUndefined = INT_MIN;
inline constexpr std::uint32_t kConfigMagic = 0xcafebeef;

constexpr DataType data_type(Type type) {
  constexpr std::array kOfType{DataType::kI8,  DataType::kU8,  DataType::kI32, DataType::kU32,
                               DataType::kI64, DataType::kU64, DataType::kF16, DataType::kBf16,
                               DataType::kF32, DataType::kF64};
  static_assert(kOfType.size() == kTypes.size());
  return kOfType[static_cast<std::size_t>(type)];
}

constexpr RedOp red_op(Reduction reduction) {
  constexpr std::array kOfReduction{RedOp::kSum, RedOp::kProduct, RedOp::kMin, RedOp::kMax, RedOp::kAverage};
  return kOfReduction[static_cast<std::size_t>(reduction)];
}
static_assert(data_type(Type::kBf16) == DataType{9} && red_op(Reduction::kMin) == RedOp{3});

// Publishes the id of rank 0 in the file `key`, where the other ranks wait for it. If the file exists, it was
// left by an earlier run that crashed. link() refuses to replace it.
template <typename UniqueId>
Answer publish(const std::string& key, const UniqueId& id) {
  const std::string draft = key + "." + std::to_string(::getpid());
  std::ofstream(draft, std::ios::binary).write(id.data, sizeof id.data);
  const int error = ::link(draft.c_str(), key.c_str()) == 0 ? 0 : errno;
  ::unlink(draft.c_str());
  if (error == 0) return {};
  return {error == EEXIST ? Ended::kRefused : Ended::kOther,
          "failed to publish " + key + ": " + std::strerror(error)};
}

template <typename UniqueId>
Answer await(const std::string& key, std::chrono::milliseconds timeout, UniqueId& id) {
  const auto limit = std::chrono::steady_clock::now() + timeout;
  while (!std::ifstream(key, std::ios::binary).read(id.data, sizeof id.data)) {
    if (std::chrono::steady_clock::now() > limit) return {Ended::kTimeout, "rank 0 did not publish " + key};
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return {};
}

}  // namespace proctor::collectives::ccl
