// The C interface of oneCCL (https://uxlfoundation.github.io/oneCCL/v2/api.html) without its header and
// library. The called functions are declared here and found at run time.
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

inline constexpr std::uint32_t kHostPlugin = 0xbaaaaaae;  // plugin for host memory

struct Config {
  std::size_t size = sizeof(Config);
  std::uint32_t magic = kConfigMagic;
  std::uint32_t version = 0;  // value of get_version()
  int blocking = kUndefined;
  int cga_cluster_size = kUndefined;
  int min_ctas = kUndefined;
  int max_ctas = kUndefined;
  const char* net_name = nullptr;
  int split_share = kUndefined;
  int multi_threaded = kUndefined;
  std::uint32_t plugin = kHostPlugin;
};

// All calls are synchronous, because there is no stream on the host.
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
  std::string file;  // path of the loaded file
};

// Loads PROCTOR_ONECCL_LIBRARY. If it is not set, loads the loader's libccl.so.2, or else that file in the
// directory oneccl next to this shared object. If none exists, `reason` has the message of dlopen().
std::optional<Api> load_api(std::string& reason);

}  // namespace proctor::collectives::oneccl
