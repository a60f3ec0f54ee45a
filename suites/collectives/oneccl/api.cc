#include "suites/collectives/oneccl/api.h"

#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <filesystem>

#include "suites/accel/shared_library.h"

namespace proctor::collectives::oneccl {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLibraryVariable = "PROCTOR_ONECCL_LIBRARY";
constexpr const char* kLibrary = "libccl.so.2";
// The structures of the interface were not verified for older versions.
constexpr int kOldestVersion = 20220000;

// Sets variables so that ranks of one machine without a launcher connect and communicate over the loopback
// interface. Values of the caller are replaced, so that a check is the same everywhere.
void set_environment() {
  constexpr std::array<std::array<const char*, 2>, 8> kVariables{{
      {"CCL_ATL_TRANSPORT", "ofi"},
      {"CCL_PROCESS_LAUNCHER", "none"},
      {"CCL_ATL_SHM", "0"},  // files in /dev/shm would outlive a killed rank
      {"CCL_KVS_IFACE", "lo"},
      {"CCL_YIELD", "sched_yield"},  // its workers busy-wait, and there can be more of them than cores
      {"CCL_LOG_LEVEL", "error"},
      {"FI_PROVIDER", "tcp"},
      {"FI_TCP_IFACE", "lo"},
  }};
  for (const auto& [name, value] : kVariables) ::setenv(name, value, 1);
}

fs::path directory_of_this() {
  Dl_info info{};
  ::dladdr(reinterpret_cast<const void*>(&load_api), &info);
  return fs::path(info.dli_fname).parent_path();
}

SharedLibrary open_library() {
  const char* wanted = std::getenv(kLibraryVariable);
  if (wanted != nullptr && *wanted != '\0') return SharedLibrary(wanted);
  SharedLibrary library(kLibrary);
  const fs::path of_build = directory_of_this() / "oneccl" / kLibrary;
  std::error_code error;
  if (!library.loaded() && fs::exists(of_build, error)) library = SharedLibrary(of_build.string());
  return library;
}

// Loads the libraries that libccl.so.2 opens by name. Their directory need not be in the search path of the
// loader, but a loaded library is found by its name.
bool open_parts(const std::string& library, std::string& reason) {
  for (const char* part : {"libccl.so.1", "libccl_legacy_cpu.so", "libfabric.so.1"}) {
    const fs::path sibling = fs::path(library).parent_path() / part;
    std::error_code error;
    const SharedLibrary opened(fs::exists(sibling, error) ? sibling.string() : part);
    if (opened.loaded()) continue;
    reason = opened.error();
    return false;
  }
  return true;
}

constexpr std::array kSymbols{
    symbol<&Api::get_version>("onecclGetVersion"),
    symbol<&Api::get_unique_id>("onecclGetUniqueId"),
    symbol<&Api::init_rank>("onecclCommInitRankConfig"),
    symbol<&Api::destroy>("onecclCommDestroy"),
    symbol<&Api::last_error>("onecclGetLastError"),
    symbol<&Api::all_reduce>("onecclAllReduce"),
    symbol<&Api::reduce>("onecclReduce"),
    symbol<&Api::reduce_scatter>("onecclReduceScatter"),
    symbol<&Api::broadcast>("onecclBroadcast"),
    symbol<&Api::scatter>("onecclScatter"),
    symbol<&Api::all_gather>("onecclAllGather"),
    symbol<&Api::all_to_all>("onecclAllToAll"),
    symbol<&Api::all_to_allv>("onecclAllToAllV"),
    symbol<&Api::send>("onecclSend"),
    symbol<&Api::receive>("onecclRecv"),
};

}  // namespace

std::optional<Api> load_api(std::string& reason) {
  set_environment();
  const SharedLibrary library = open_library();
  if (!library.loaded()) {
    reason = library.error();
    return std::nullopt;
  }
  Api api{};
  if (library.find_all(kSymbols, api) != nullptr) {
    reason = SharedLibrary::last_error();
    return std::nullopt;
  }
  api.file = library.path();
  if (!open_parts(api.file, reason)) return std::nullopt;
  if (api.get_version(&api.version) != Code::kSuccess || api.version < kOldestVersion) {
    reason = api.file + " is version " + std::to_string(api.version) + ", older than " +
             std::to_string(kOldestVersion);
    return std::nullopt;
  }
  return api;
}

}  // namespace proctor::collectives::oneccl
