#include "suites/collectives/oneccl/api.h"

#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <filesystem>

namespace proctor::collectives::oneccl {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLibraryVariable = "PROCTOR_ONECCL_LIBRARY";
constexpr const char* kLibrary = "libccl.so.2";
// Below it, the structures that cross the interface have not been looked at.
constexpr int kOldestVersion = 20220000;

// What makes ranks of one machine, which nobody launched, meet and talk on the loopback interface. Set here,
// whatever the caller has: a check means the same everywhere.
void set_environment() {
  constexpr std::array<std::array<const char*, 2>, 8> kVariables{{
      {"CCL_ATL_TRANSPORT", "ofi"},
      {"CCL_PROCESS_LAUNCHER", "none"},
      {"CCL_ATL_SHM", "0"},  // what is in /dev/shm would outlive a rank that is killed
      {"CCL_KVS_IFACE", "lo"},
      {"CCL_YIELD", "sched_yield"},  // its workers spin, and there may be more of them than cores
      {"CCL_LOG_LEVEL", "error"},
      {"FI_PROVIDER", "tcp"},
      {"FI_TCP_IFACE", "lo"},
  }};
  for (const auto& [name, value] : kVariables) ::setenv(name, value, 1);
}

std::string last_error() {
  const char* error = ::dlerror();
  return error != nullptr ? error : "";
}

// Never unloaded: it has threads.
void* open(const std::string& file) { return ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL); }

fs::path directory_of_this() {
  Dl_info info{};
  ::dladdr(reinterpret_cast<const void*>(&load_api), &info);
  return fs::path(info.dli_fname).parent_path();
}

void* open_library(std::string& reason) {
  const char* wanted = std::getenv(kLibraryVariable);
  if (wanted != nullptr && *wanted != '\0') {
    void* library = open(wanted);
    if (library == nullptr) reason = last_error();
    return library;
  }
  void* library = open(kLibrary);
  if (library != nullptr) return library;
  reason = last_error();
  const fs::path of_build = directory_of_this() / "oneccl" / kLibrary;
  std::error_code error;
  if (!fs::exists(of_build, error)) return nullptr;
  library = open(of_build.string());
  if (library == nullptr) reason = last_error();
  return library;
}

// libccl.so.2 only hands on to what it opens by name, and its directory need not be on the loader's path:
// what is loaded already is found by that name.
bool open_parts(const std::string& library, std::string& reason) {
  for (const char* part : {"libccl.so.1", "libccl_legacy_cpu.so", "libfabric.so.1"}) {
    const fs::path beside = fs::path(library).parent_path() / part;
    std::error_code error;
    if (open(fs::exists(beside, error) ? beside.string() : part) != nullptr) continue;
    reason = last_error();
    return false;
  }
  return true;
}

template <typename Function>
bool find(void* library, const char* name, Function*& function, std::string& reason) {
  function = reinterpret_cast<Function*>(::dlsym(library, name));
  if (function == nullptr) reason = last_error();
  return function != nullptr;
}

bool find_all(void* library, Api& api, std::string& reason) {
  return find(library, "onecclGetVersion", api.get_version, reason) &&
         find(library, "onecclGetUniqueId", api.get_unique_id, reason) &&
         find(library, "onecclCommInitRankConfig", api.init_rank, reason) &&
         find(library, "onecclCommDestroy", api.destroy, reason) &&
         find(library, "onecclGetLastError", api.last_error, reason) &&
         find(library, "onecclAllReduce", api.all_reduce, reason) &&
         find(library, "onecclReduce", api.reduce, reason) &&
         find(library, "onecclReduceScatter", api.reduce_scatter, reason) &&
         find(library, "onecclBroadcast", api.broadcast, reason) &&
         find(library, "onecclScatter", api.scatter, reason) &&
         find(library, "onecclAllGather", api.all_gather, reason) &&
         find(library, "onecclAllToAll", api.all_to_all, reason) &&
         find(library, "onecclAllToAllV", api.all_to_allv, reason) &&
         find(library, "onecclSend", api.send, reason) && find(library, "onecclRecv", api.receive, reason);
}

}  // namespace

std::optional<Api> load_api(std::string& reason) {
  set_environment();
  void* library = open_library(reason);
  if (library == nullptr) return std::nullopt;
  Api api{};
  if (!find_all(library, api, reason)) return std::nullopt;
  Dl_info info{};
  ::dladdr(reinterpret_cast<const void*>(api.get_version), &info);
  api.file = info.dli_fname;
  if (!open_parts(api.file, reason)) return std::nullopt;
  if (api.get_version(&api.version) != Code::kSuccess || api.version < kOldestVersion) {
    reason = api.file + " is version " + std::to_string(api.version) + ", older than " +
             std::to_string(kOldestVersion);
    return std::nullopt;
  }
  return api;
}

}  // namespace proctor::collectives::oneccl
