// The C interface of NCCL (https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/api.html), without its
// header and library: what we call is declared here and found at run time.
#pragma once

#include <climits>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "suites/collectives/provider.h"

namespace proctor::collectives::nccl {

struct Communicator;  // opaque

enum class Code : int {
  kSuccess = 0,
  kUnhandledCudaError = 1,
  kSystemError = 2,
  kInternalError = 3,
  kInvalidArgument = 4,
  kInvalidUsage = 5,
  kRemoteError = 6,
  kInProgress = 7
};
std::string to_string(Code code);  // "ncclInvalidUsage", "ncclResult_t(12)"

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
  char data[128];
};

inline constexpr int kUndefined = INT_MIN;
inline constexpr std::uint32_t kConfigMagic = 0xcafebeef;
inline constexpr int kConfigVersion = 21800;

// The configuration as 2.18 has it. Later versions recognise it by its size and version, and then do not read
// beyond `split_share`.
struct Config {
  std::size_t size = sizeof(Config);
  std::uint32_t magic = kConfigMagic;
  std::uint32_t version = kConfigVersion;
  int blocking = 1;
  int cga_cluster_size = kUndefined;
  int min_ctas = kUndefined;
  int max_ctas = kUndefined;
  const char* net_name = nullptr;
  int split_share = kUndefined;
  int unused = kUndefined;
};

using Stream = void*;  // of the CUDA Runtime; null is its default stream

struct Api {
  Code (*get_version)(int*);
  Code (*get_unique_id)(UniqueId*);
  Code (*init_rank)(Communicator**, int size, UniqueId, int rank, Config*);
  Code (*destroy)(Communicator*);
  Code (*abort)(Communicator*);
  Code (*async_error)(Communicator*, Code*);
  const char* (*last_error)(Communicator*);
  Code (*group_start)();
  Code (*group_end)();
  Code (*all_reduce)(const void* in, void* out, std::size_t, DataType, RedOp, Communicator*, Stream);
  Code (*reduce)(const void* in, void* out, std::size_t, DataType, RedOp, int root, Communicator*, Stream);
  Code (*reduce_scatter)(const void* in, void* out, std::size_t, DataType, RedOp, Communicator*, Stream);
  Code (*broadcast)(const void* in, void* out, std::size_t, DataType, int root, Communicator*, Stream);
  Code (*all_gather)(const void* in, void* out, std::size_t, DataType, Communicator*, Stream);
  Code (*send)(const void* in, std::size_t, DataType, int peer, Communicator*, Stream);
  Code (*receive)(void* out, std::size_t, DataType, int peer, Communicator*, Stream);

  int version = 0;   // 22809 is 2.28.9
  std::string file;  // what the loader loaded
};
std::string version_text(int version);  // "2.28.9"

// Where the library is looked for, in this order: only PROCTOR_NCCL_LIBRARY, if it is set; else what the
// loader finds as libnccl.so.2; else NVIDIA's wheel (nvidia/nccl/lib) among the packages of the first python3
// in `path`, and among the user's own packages in `home`. Python is not started, so its packages are looked
// for at the default places of its installation.
struct Surroundings {
  std::string wanted;  // PROCTOR_NCCL_LIBRARY
  std::string path;    // PATH
  std::string home;    // HOME
};
std::vector<std::string> library_files(const Surroundings& surroundings);

// Loads the first of them that exists. If there is none, or it does not load, `reason` has dlopen's words.
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
    case Type::kF32:
      return DataType::kFloat32;
    case Type::kF64:
      return DataType::kFloat64;
    case Type::kBf16:
      return DataType::kBfloat16;
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

}  // namespace proctor::collectives::nccl
