// The C interface of NCCL (https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/api.html) without its
// header and library. The called functions are declared here and found at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "suites/collectives/ccl.h"

namespace proctor::collectives::nccl {

using ccl::Code;
using ccl::Communicator;
using ccl::DataType;
using ccl::kConfigMagic;
using ccl::kUndefined;
using ccl::RedOp;

std::string to_string(Code code);  // "ncclInvalidUsage", "ncclResult_t(12)"

struct UniqueId {
  char data[128];
};

inline constexpr int kConfigVersion = 21800;

// The configuration of version 2.18. Later versions detect it by its size and version, and then do not read
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

using Stream = void*;  // stream of the CUDA Runtime; null: the default stream

// The functions of the loaded library.
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
  std::string file;  // path of the loaded file
};
std::string version_text(int version);  // "2.28.9"

// Search places of the library, in this order: only PROCTOR_NCCL_LIBRARY, if it is set; otherwise the
// loader's libnccl.so.2; otherwise NVIDIA's wheel (nvidia/nccl/lib). The wheel is searched among the packages
// of the first python3 in `path`, and among the user's own packages in `home`. Python is not started, so only
// the default package directories of its installation are searched.
struct Surroundings {
  std::string wanted;  // value of PROCTOR_NCCL_LIBRARY
  std::string path;    // value of PATH
  std::string home;    // value of HOME
};
std::vector<std::string> library_files(const Surroundings& surroundings);

// Loads the first of these files that exists. If none exists or the file does not load, `reason` has the
// message of dlopen().
std::optional<Api> load_api(std::string& reason);

}  // namespace proctor::collectives::nccl
