#include "suites/collectives/library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "suites/main/self.h"
#include "suites/main/skipped.h"

namespace proctor::collectives {
namespace {

namespace fs = std::filesystem;

std::string file_beside_this(const std::string& name) {
  return (fs::canonical(suite::self_command().back()).parent_path() / name).string();
}

[[noreturn]] void unusable(const std::string& why) { throw suite::Skipped("library_unusable:" + why); }

template <typename Function>
Function* load_function(const std::string& file, const char* name) {
  // Never unloaded: libraries of collectives have threads and thread-local data.
  void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* error = ::dlerror();
    throw suite::Skipped(reason_not_loaded(file, error != nullptr ? error : ""));
  }
  void* function = ::dlsym(library, name);
  if (function == nullptr) unusable(file + " has no " + name);
  return reinterpret_cast<Function*>(function);
}

// Only where the devices are simulated: the runner refuses faults elsewhere.
bool faults_wanted() {
  const char* faults = std::getenv("PROCTOR_SIM_FAULTS");
  return faults != nullptr && std::strstr(faults, "collective.") != nullptr;
}

}  // namespace

// "libgloo.so.0: cannot open shared object file: No such file or directory", or something worse.
std::string reason_not_loaded(const std::string& file, const std::string& error) {
  const auto colon = error.find(": cannot open shared object file: No such file");
  if (colon == std::string::npos) return "library_unusable:" + error;
  const auto missing = error.substr(0, colon);
  return "library_missing:" + fs::path(missing.empty() ? file : missing).filename().string();
}

Provider& load_provider(const std::string& name) {
  const auto get = load_function<GetProvider>(file_beside_this("libproctor_" + name + ".so"), kGetProvider);
  std::string reason;
  Provider* provider = get(&reason);
  if (provider == nullptr) throw suite::Skipped(reason_not_loaded(name, reason));
  if (!faults_wanted()) return *provider;
  const auto wrap = load_function<WrapProvider>(file_beside_this(kFaultsLibrary), kWrapProvider);
  Provider* faulty = wrap(provider, &reason);
  if (faulty == nullptr) unusable(reason);
  return *faulty;
}

}  // namespace proctor::collectives
