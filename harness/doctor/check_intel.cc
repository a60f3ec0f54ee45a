// Checks Intel's user-mode stack: loader, driver and compiler, and whether their generations fit together.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "harness/base/version.h"
#include "harness/doctor/examination.h"

namespace proctor {
namespace {

bool has_intel_card(const Host& host) {
  return std::any_of(host.cards.begin(), host.cards.end(), [](const Card& card) {
    return card.is_intel() && (card.driver == "xe" || card.driver == "i915");
  });
}

// Parses a package fact: "libze-intel-gpu1 26.31.39395.13-0, x 1" -> {name, version} of each package.
std::vector<std::pair<std::string, std::string>> packages_of(const Host& host, const std::string& fact) {
  std::vector<std::pair<std::string, std::string>> packages;
  std::string text = host.value(fact).value_or("");
  while (!text.empty()) {
    const auto comma = std::min(text.find(", "), text.size());
    const std::string one = text.substr(0, comma);
    const auto space = one.find(' ');
    if (space != std::string::npos) packages.emplace_back(one.substr(0, space), one.substr(space + 1));
    text.erase(0, std::min(comma + 2, text.size()));
  }
  return packages;
}

// compute-runtime up to 24.39 was built with version 1 of the compiler, 24.45 and later with version 2. Their
// libraries, libigc.so.1 and libigc.so.2, are not compatible.
constexpr const char* kOfTheFirst = ">=20, <24.40";
constexpr const char* kOfTheSecond = ">=24.45";
constexpr const char* kNamedByRelease = ">=20";  // the older package has another version scheme: 1.3.26241

bool in(const std::string& range, const std::string& text) {
  const auto version = Version::parse(text);
  const auto wanted = VersionRange::parse(range);
  return version && wanted && wanted->contains(*version);
}

// Returns the compiler generation of a compute-runtime release; 0 if it is not documented.
int compiler_generation(const std::string& runtime) {
  return in(kOfTheFirst, runtime) ? 1 : in(kOfTheSecond, runtime) ? 2 : 0;
}

// Returns false if it added a finding.
bool check_compiler(Examination& examination) {
  const auto runtime = packages_of(examination.host(), "umd.level_zero");
  const auto compilers = packages_of(examination.host(), "umd.igc");
  if (runtime.size() != 1 || compilers.empty()) return true;
  const int needed = compiler_generation(runtime.front().second);
  const std::string range = fmt::format(">={}, <{}", needed, needed + 1);
  const bool there = std::any_of(compilers.begin(), compilers.end(),
                                 [&](const auto& compiler) { return in(range, compiler.second); });
  if (needed == 0 || there) return true;
  examination.add(
      {HostState::kBroken,
       "intel-generations",
       fmt::format("{} {} needs version {} of Intel's compiler (libigc.so.{}), but {} {} is installed",
                   runtime.front().first, runtime.front().second, needed, needed, compilers.front().first,
                   compilers.front().second),
       "/var/lib/dpkg/status",
       needed == 2 ? "install intel-igc-core-2 and intel-igc-opencl-2 of the driver's release"
                   : "install intel-igc-core 1.x and intel-igc-opencl 1.x of the driver's release",
       {"https://github.com/intel/compute-runtime/issues/776",
        "https://github.com/intel/compute-runtime/issues/934"}});
  return false;
}

// Two packages of one layer install the same library. Returns false if it added a finding.
bool check_doubles(Examination& examination) {
  bool single = true;
  for (const char* fact : {"loader.level_zero", "umd.level_zero"}) {
    const auto packages = packages_of(examination.host(), fact);
    if (packages.size() < 2) continue;
    single = false;
    examination.add({HostState::kWarn,
                     "intel-generations",
                     fmt::format("two packages provide the same layer: {}", *examination.host().value(fact)),
                     "/var/lib/dpkg/status",
                     fmt::format("sudo apt-get remove {}", packages.back().first),
                     {}});
  }
  return single;
}

// The loader with which compute-runtime was released, by the prefix of the release's name (manifests/manifest.yml of
// its tags). A newer loader is expected to work; an older one is untested.
struct ReleasedWith {
  const char* runtime;
  const char* loader;
};
constexpr ReleasedWith kReleasedWith[] = {{"25.18.", "1.21.9"}, {"25.40.", "1.24.3"}, {"25.48.", "1.26.0"},
                                          {"26.01.", "1.26.2"}, {"26.05.", "1.27.0"}, {"26.09.", "1.28.0"},
                                          {"26.14.", "1.28.2"}, {"26.18.", "1.28.2"}, {"26.22.", "1.28.6"},
                                          {"26.27.", "1.32.0"}, {"26.31.", "1.32.0"}};

bool check_loader(Examination& examination) {
  const auto runtime = packages_of(examination.host(), "umd.level_zero");
  const auto loader = packages_of(examination.host(), "loader.level_zero");
  if (runtime.size() != 1 || loader.size() != 1) return true;
  for (const auto& [release, released_with] : kReleasedWith) {
    if (!runtime.front().second.starts_with(release)) continue;
    if (in(fmt::format(">={}", released_with), loader.front().second)) return true;
    examination.add(
        {HostState::kWarn,
         "intel-generations",
         fmt::format("{} {} is older than the loader with which compute-runtime {} was released, {}",
                     loader.front().first, loader.front().second, runtime.front().second, released_with),
         "/var/lib/dpkg/status",
         fmt::format("install libze1 {} or newer", released_with),
         {"https://github.com/intel/compute-runtime/releases"}});
    return false;
  }
  return true;
}

// Level Zero and OpenCL come from one release and share the compiler. Returns false if it added a finding.
bool check_releases(Examination& examination) {
  const auto level_zero = packages_of(examination.host(), "umd.level_zero");
  const auto opencl = packages_of(examination.host(), "umd.opencl");
  if (level_zero.size() != 1 || opencl.size() != 1) return true;
  const auto one = Version::parse(level_zero.front().second);
  const auto other = Version::parse(opencl.front().second);
  if (!one || !other || !in(kNamedByRelease, level_zero.front().second) || compare(*one, *other) == 0)
    return true;
  examination.add({HostState::kWarn,
                   "intel-generations",
                   fmt::format("{} {} and {} {} belong to two releases", level_zero.front().first,
                               level_zero.front().second, opencl.front().first, opencl.front().second),
                   "/var/lib/dpkg/status",
                   "install both from one release of compute-runtime",
                   {}});
  return false;
}

}  // namespace

void check_level_zero(Examination& examination) {
  const Host& host = examination.host();
  if (!has_intel_card(host)) return;
  if (!host.exposes("/dev/dri/") && !host.nodes.empty()) return;  // this container is for other cards
  // If an NVIDIA card is in use, the loader may be installed only as a dependency of another package.
  const HostState half = host.value("kmd.nvidia") ? HostState::kWarn : HostState::kBroken;
  const FoundLibrary* loader = host.library("libze_loader.so.1");
  const FoundLibrary* driver = host.library("libze_intel_gpu.so.1");
  if (loader != nullptr && driver != nullptr) {
    return examination.ok("level-zero", fmt::format("loader {}, driver {}", loader->path, driver->path));
  }
  if (loader == nullptr && driver == nullptr) {
    return examination.add(
        {HostState::kWarn,
         "level-zero",
         "an Intel card is present, but neither the Level Zero loader nor its driver is installed",
         "libze_loader.so.1",
         "sudo apt-get install libze1 libze-intel-gpu1",
         {}});
  }
  if (driver == nullptr) {
    return examination.add({half,
                            "level-zero",
                            "the Level Zero loader is installed without Intel's driver: programs find no "
                            "device and report no reason",
                            loader->path,
                            "sudo apt-get install libze-intel-gpu1",
                            {"https://github.com/intel/compute-runtime/issues/832"}});
  }
  examination.add({half,
                   "level-zero",
                   "Intel's Level Zero driver is installed without the loader: no program finds it",
                   driver->path,
                   "sudo apt-get install libze1",
                   {}});
}

void check_intel_generations(Examination& examination) {
  if (!examination.host().value("umd.level_zero")) return;
  const bool compiler = check_compiler(examination);
  const bool doubles = check_doubles(examination);
  const bool loader = check_loader(examination);
  const bool releases = check_releases(examination);
  if (compiler && doubles && loader && releases)
    examination.ok("intel-generations", *examination.host().value("umd.level_zero") + ": one generation");
}

// Docker gives an added capability only to root, podman to any user. A case in its own user namespace has no
// capability.
void check_memory_use(Examination& examination) {
  const Host& host = examination.host();
  if (!has_intel_card(host) || !host.memory_use_reported || !host.library("libze_intel_gpu.so.1")) return;
  if (!host.exposes("/dev/dri/") && !host.nodes.empty()) return;  // this container is for other cards
  if (*host.memory_use_reported)
    return examination.ok("memory-use", "this process can read how much memory of Intel's devices is in use");
  examination.add(
      {HostState::kWarn,
       "memory-use",
       "without CAP_PERFMON, as here, Intel's drivers report all memory as free: memory checks are skipped "
       "(needs:perfmon), and leaks are not detected",
       "/proc/self/status",
       examination.fix("sudo setpriv --reuid=$(id -u) --regid=$(id -g) --init-groups --inh-caps=+perfmon "
                       "--ambient-caps=+perfmon proctor run --containment subreaper ...",
                       "start the container by podman with --cap-add=PERFMON, and proctor run with "
                       "--containment subreaper"),
       {"https://github.com/torvalds/linux/blob/master/include/uapi/drm/xe_drm.h"}});
}

}  // namespace proctor
