#include "suites/collectives/library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <set>
#include <stdexcept>

#include "harness/journal/child_protocol.h"
#include "suites/accel/shared_library.h"
#include "suites/main/check.h"
#include "suites/main/second_process.h"
#include "suites/main/session.h"
#include "suites/main/skipped.h"

namespace proctor::collectives {
namespace {

namespace fs = std::filesystem;

std::string sibling_file(const std::string& name) {
  return (fs::canonical(suite::self_command().back()).parent_path() / name).string();
}

[[noreturn]] void unusable(const std::string& why) { throw suite::Skipped("library_unusable:" + why); }

template <typename Function>
Function* load_function(const std::string& file, const char* name) {
  const SharedLibrary library(file);
  if (!library.loaded()) throw suite::Skipped(reason_not_loaded(file, library.error()));
  void* function = ::dlsym(library.handle(), name);
  if (function == nullptr) unusable(file + " has no " + name);
  return reinterpret_cast<Function*>(function);
}

// Faults work only on simulated devices. The runner refuses them elsewhere.
bool faults_wanted() {
  const char* faults = std::getenv("PROCTOR_SIM_FAULTS");
  return faults != nullptr && std::strstr(faults, "collective.") != nullptr;
}

}  // namespace

// Parses "libgloo.so.0: cannot open shared object file: No such file or directory", or another load error.
std::string reason_not_loaded(const std::string& file, const std::string& error) {
  const auto colon = error.find(": cannot open shared object file: No such file");
  if (colon == std::string::npos) return "library_unusable:" + error;
  const auto missing = error.substr(0, colon);
  return "library_missing:" + fs::path(missing.empty() ? file : missing).filename().string();
}

std::optional<std::string> asked_provider() {
  const char* const asked = std::getenv(child::kProviderVariable);
  if (asked == nullptr || *asked == '\0') return std::nullopt;
  if (std::ranges::find(child::kProviders, std::string_view(asked)) == child::kProviders.end()) {
    throw std::invalid_argument(fmt::format("{} must be one of {} (got `{}`)", child::kProviderVariable,
                                            fmt::join(child::kProviders, ", "), asked));
  }
  return asked;
}

std::string chosen_provider() { return asked_provider().value_or(child::kProviders.front()); }

void need_provider(const std::string& name) {
  if (asked_provider().value_or(name) != name) throw suite::Skipped("needs:provider=" + name);
}

void need_feature(bool has, const std::string& name) {
  if (!has) throw suite::Skipped("unsupported:" + name);
}

void report_library(const Identity& library) {
  static std::set<std::string> reported;
  if (!reported.insert(library.name).second) return;
  const std::string text = fmt::format("over {} {}, {}", library.name, library.version, library.file);
  suite::step(text);
  std::puts(text.c_str());
  std::fflush(stdout);  // this rank may be killed later
  suite::measure(library.name + ".version", library.number, "1");
  // A failing check names this library as the culprit (harness/classify/culprit.h).
  suite::Session::get().emit("property",
                             {{"name", "library"}, {"value", library.name + " " + library.version}});
}

Provider& load_provider(const std::string& name) {
  need_provider(name);
  // Gloo writes to sockets with write(). A lost peer must return an error and not end this process.
  std::signal(SIGPIPE, SIG_IGN);
  const auto get = load_function<GetProvider>(sibling_file("libproctor_" + name + ".so"), kGetProvider);
  std::string reason;
  Provider* provider = get(&reason);
  if (provider == nullptr) throw suite::Skipped(reason_not_loaded(name, reason));
  if (provider->memory() == Memory::kDevice && suite::on_simgpu())
    throw suite::Skipped("not_on_simulator:" + name);
  if (!faults_wanted()) return *provider;
  const auto wrap = load_function<WrapProvider>(sibling_file(kFaultsLibrary), kWrapProvider);
  Provider* faulty = wrap(provider, &reason);
  if (faulty == nullptr) unusable(reason);
  return *faulty;
}

}  // namespace proctor::collectives
