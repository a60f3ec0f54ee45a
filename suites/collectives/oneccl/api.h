// The C interface of oneCCL (https://uxlfoundation.github.io/oneCCL/v2/api.html), without its header and
// library: what we call is declared here and found at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "suites/collectives/provider.h"

namespace proctor::collectives::oneccl {

struct Communicator;  // opaque

enum class Code : int {
  kSuccess = 0,
  kError = 1,
  kSystemError = 2,
  kInternalError = 3,
  kInvalidArgument = 4,
  kInvalidUsage = 5,
  kNotImplemented = 12
};

enum class DataType : int {
  kInt8 = 0,
  kUint8 = 1,
  kInt32 = 2,
  kUint32 = 3,
  kInt64 = 4,
  kUint64 = 5,
  kFloat16 = 6,
  kFloat32 = 7,
  kFloat64 = 8,
  kBfloat16 = 9
};

enum class RedOp : int { kSum = 0, kProduct = 1, kMax = 2, kMin = 3, kAverage = 4 };

struct UniqueId {
  char data[4096];
};

inline constexpr int kUndefined = INT32_MIN;
inline constexpr std::uint32_t kConfigMagic = 0xcafebeef;
inline constexpr std::uint32_t kHostPlugin = 0xbaaaaaae;  // works on host memory

struct Config {
  std::size_t size = sizeof(Config);
  std::uint32_t magic = kConfigMagic;
  std::uint32_t version = 0;  // as get_version() tells it
  int blocking = kUndefined;
  int cga_cluster_size = kUndefined;
  int min_ctas = kUndefined;
  int max_ctas = kUndefined;
  const char* net_name = nullptr;
  int split_share = kUndefined;
  int multi_threaded = kUndefined;
  std::uint32_t plugin = kHostPlugin;
};

// All calls return only when the memory may be used again, because there is no stream on the host.
struct Api {
  Code (*get_version)(int*);
  Code (*get_unique_id)(UniqueId*);
  Code (*init_rank)(Communicator**, std::size_t size, UniqueId, int rank, const Config*);
  Code (*destroy)(Communicator*);
  const char* (*last_error)(Communicator*);
  Code (*all_reduce)(void* in, void* out, std::size_t, DataType, RedOp, Communicator*, void* stream);
  Code (*reduce)(const void* in, void* out, std::size_t, DataType, RedOp, int root, Communicator*, void*);
  Code (*reduce_scatter)(const void* in, void* out, std::size_t, DataType, RedOp, Communicator*, void*);
  Code (*broadcast)(const void* in, void* out, std::size_t, DataType, int root, Communicator*, void*);
  Code (*scatter)(const void* in, void* out, std::size_t, DataType, int root, Communicator*, void*);
  Code (*all_gather)(const void* in, void* out, std::size_t, DataType, Communicator*, void*);
  Code (*all_to_all)(const void* in, void* out, std::size_t, DataType, Communicator*, void*);
  Code (*all_to_allv)(const void* in, const std::size_t* sends, void* out, const std::size_t* receives,
                      DataType, Communicator*, void*);
  Code (*send)(const void* in, std::size_t, DataType, int peer, Communicator*, void*);
  Code (*receive)(void* out, std::size_t, DataType, int peer, Communicator*, void*);

  int version = 0;   // 20220200
  std::string file;  // what the loader loaded
};

// Loads PROCTOR_ONECCL_LIBRARY, else what the loader finds as libccl.so.2, else that file in the directory
// oneccl beside this shared object. If there is none, `reason` has dlopen's words.
std::optional<Api> load_api(std::string& reason);

constexpr DataType data_type(Type type) {
  switch (type) {
    case Type::kI8:
      return DataType::kInt8;
    case Type::kU8:
      return DataType::kUint8;
    case Type::kI32:
      return DataType::kInt32;
    case Type::kU32:
      return DataType::kUint32;
    case Type::kI64:
      return DataType::kInt64;
    case Type::kU64:
      return DataType::kUint64;
    case Type::kF16:
      return DataType::kFloat16;
    case Type::kBf16:
      return DataType::kBfloat16;
    case Type::kF32:
      return DataType::kFloat32;
    case Type::kF64:
      return DataType::kFloat64;
  }
  return DataType::kInt8;
}

constexpr RedOp red_op(Reduction reduction) {
  switch (reduction) {
    case Reduction::kSum:
      return RedOp::kSum;
    case Reduction::kProduct:
      return RedOp::kProduct;
    case Reduction::kMin:
      return RedOp::kMin;
    case Reduction::kMax:
      return RedOp::kMax;
    case Reduction::kAverage:
      return RedOp::kAverage;
  }
  return RedOp::kSum;
}

}  // namespace proctor::collectives::oneccl
