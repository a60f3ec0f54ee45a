// The C interface of oneCCL (https://uxlfoundation.github.io/oneCCL/v2/api.html), without its header and
// library: what we call is declared here and found at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "suites/collectives/ccl.h"

namespace proctor::collectives::oneccl {

using ccl::Code;
using ccl::Communicator;
using ccl::DataType;
using ccl::kConfigMagic;
using ccl::kUndefined;
using ccl::RedOp;

struct UniqueId {
  char data[4096];
};

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

}  // namespace proctor::collectives::oneccl
