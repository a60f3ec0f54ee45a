#include "suites/collectives/nccl/api.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "suites/accel/shared_library.h"

namespace proctor::collectives::nccl {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLibrary = "libnccl.so.2";
constexpr const char* kInWheel = "nvidia/nccl/lib/libnccl.so.2";
constexpr int kOldestVersion = kConfigVersion;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

// Sets variables so that ranks of one machine connect over the loopback interface, and the communicator
// follows its configuration. Values of the caller are replaced, so that a check is the same everywhere.
void set_environment() {
  ::setenv("NCCL_SOCKET_IFNAME", "lo", 1);
  ::setenv("NCCL_DEBUG", "WARN", 1);  // NCCL writes its errors to the log of the case
  ::unsetenv("NCCL_COMM_BLOCKING");
}

// Returns whether the library itself is missing, not a library that it needs.
bool says_absent(const std::string& error, const std::string& file) {
  return error.starts_with(file + ": cannot open shared object file: No such file");
}

fs::path first_python(const std::string& path) {
  std::istringstream directories(path);
  for (std::string directory; std::getline(directories, directory, ':');) {
    const fs::path python = fs::path(directory) / "python3";
    if (!directory.empty() && ::access(python.c_str(), X_OK) == 0) return python;
  }
  return {};
}

// Returns PREFIX of PREFIX/bin/python3, which may be a virtual environment, and the prefix of the link's
// target.
std::vector<fs::path> prefixes_of(const fs::path& python) {
  std::vector<fs::path> prefixes{python.parent_path().parent_path()};
  std::error_code error;
  const fs::path real = fs::canonical(python, error);
  if (!error) prefixes.push_back(real.parent_path().parent_path());
  return prefixes;
}

void add_wheels(const fs::path& prefix, std::vector<std::string>& files) {
  std::vector<std::string> found;
  for (const char* lib : {"lib", "lib64", "local/lib"}) {
    std::error_code error;
    for (fs::directory_iterator at(prefix / lib, error), end; !error && at != end; at.increment(error)) {
      if (!at->path().filename().string().starts_with("python3")) continue;
      for (const char* packages : {"site-packages", "dist-packages"}) {
        const fs::path file = at->path() / packages / kInWheel;
        std::error_code missing;
        if (fs::exists(file, missing)) found.push_back(file.string());
      }
    }
  }
  std::sort(found.begin(), found.end());
  for (auto& file : found) {
    if (std::find(files.begin(), files.end(), file) == files.end()) files.push_back(std::move(file));
  }
}

SharedLibrary open_library() {
  const Surroundings here{
      .wanted = variable("PROCTOR_NCCL_LIBRARY"), .path = variable("PATH"), .home = variable("HOME")};
  const auto files = library_files(here);
  SharedLibrary library(files.front());
  for (std::size_t next = 1; next < files.size() && says_absent(library.error(), files[next - 1]); ++next)
    library = SharedLibrary(files[next]);
  return library;
}

constexpr std::array kSymbols{
    symbol<&Api::get_version>("ncclGetVersion"),
    symbol<&Api::get_unique_id>("ncclGetUniqueId"),
    symbol<&Api::init_rank>("ncclCommInitRankConfig"),
    symbol<&Api::destroy>("ncclCommDestroy"),
    symbol<&Api::abort>("ncclCommAbort"),
    symbol<&Api::async_error>("ncclCommGetAsyncError"),
    symbol<&Api::last_error>("ncclGetLastError"),
    symbol<&Api::group_start>("ncclGroupStart"),
    symbol<&Api::group_end>("ncclGroupEnd"),
    symbol<&Api::all_reduce>("ncclAllReduce"),
    symbol<&Api::reduce>("ncclReduce"),
    symbol<&Api::reduce_scatter>("ncclReduceScatter"),
    symbol<&Api::broadcast>("ncclBroadcast"),
    symbol<&Api::all_gather>("ncclAllGather"),
    symbol<&Api::send>("ncclSend"),
    symbol<&Api::receive>("ncclRecv"),
};

}  // namespace

std::string to_string(Code code) {
  constexpr std::array<const char*, 8> kNames{
      "ncclSuccess",         "ncclUnhandledCudaError", "ncclSystemError", "ncclInternalError",
      "ncclInvalidArgument", "ncclInvalidUsage",       "ncclRemoteError", "ncclInProgress"};
  const auto number = static_cast<std::size_t>(code);
  return number < kNames.size() ? kNames[number] : "ncclResult_t(" + std::to_string(number) + ")";
}

std::string version_text(int version) {
  return std::to_string(version / 10'000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

std::vector<std::string> library_files(const Surroundings& surroundings) {
  if (!surroundings.wanted.empty()) return {surroundings.wanted};
  std::vector<std::string> files{kLibrary};
  const fs::path python = first_python(surroundings.path);
  if (!python.empty()) {
    for (const auto& prefix : prefixes_of(python)) add_wheels(prefix, files);
  }
  if (!surroundings.home.empty()) add_wheels(fs::path(surroundings.home) / ".local", files);
  return files;
}

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
  if (api.get_version(&api.version) != Code::kSuccess || api.version < kOldestVersion) {
    reason = api.file + " is version " + version_text(api.version) + ", older than " +
             version_text(kOldestVersion);
    return std::nullopt;
  }
  return api;
}

}  // namespace proctor::collectives::nccl
