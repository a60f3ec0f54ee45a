// Checks NVIDIA's driver: its kernel module, its libraries, and the parts of both that a container has.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "harness/base/version.h"
#include "harness/doctor/examination.h"

namespace proctor {
namespace {

constexpr const char* kCompatibility = "https://docs.nvidia.com/deploy/cuda-compatibility";
constexpr const char* kNotCheckedInCdi = "https://github.com/NVIDIA/nvidia-container-toolkit/issues/1470";

bool at_least(const std::string& version, const std::string& minimum) {
  const auto have = Version::parse(version);
  const auto need = Version::parse(minimum);
  return have && need && compare(*have, *need) >= 0;
}

// The library of the forward-compatibility package is newer than the kernel module by design.
bool is_compatibility(const FoundLibrary& library) {
  return library.target.find("/compat/") != std::string::npos;
}

// The oldest driver for each major version of the CUDA toolkit (minor-version compatibility).
struct ToolkitMinimum {
  std::string_view major;
  const char* minimum;
};
constexpr ToolkitMinimum kToolkitMinima[] = {{"11.", "450"}, {"12.", "525"}, {"13.", "580"}};

// Adds the finding that the driver is too old. It is only a warning if the forward-compatibility package is installed,
// which lifts the minimum on some cards.
void too_old(Examination& examination, const std::string& who, const std::string& minimum,
             const std::string& where, const std::string& source) {
  const Host& host = examination.host();
  const std::string driver = *host.value("kmd.nvidia");
  const auto compat = host.value("umd.cuda_compat");
  const std::string glue = host.value("glue.mode").value_or("");
  std::string what =
      fmt::format("{} needs the NVIDIA driver {} or newer, but {} is loaded", who, minimum, driver);
  if (compat) what += fmt::format("; {} lifts that on data-center cards only (elsewhere error 804)", *compat);
  std::vector<std::string> sources = {source};
  if (glue == "cdi") {
    what += "; in CDI mode the container toolkit does not check this";
    sources.emplace_back(kNotCheckedInCdi);
  }
  examination.add({compat ? HostState::kWarn : HostState::kBroken, "host-driver", what, where,
                   fmt::format("install driver {} or newer on the host", minimum), sources});
}

void check_table(Examination& examination, const std::string& driver, const std::vector<HostMinimum>& table) {
  std::vector<std::string> can;
  const HostMinimum* cannot = nullptr;
  for (const auto& entry : table) {
    if (entry.driver != "nvidia") continue;
    if (at_least(driver, entry.minimum)) {
      can.push_back(entry.stack);
    } else if (cannot == nullptr || !at_least(cannot->minimum, entry.minimum)) {
      cannot = &entry;
    }
  }
  if (cannot == nullptr && can.empty()) return;
  if (cannot == nullptr) {
    return examination.ok(
        "host-driver",
        fmt::format("NVIDIA driver {}: new enough for the stacks {}", driver, fmt::join(can, ", ")),
        "/sys/module/nvidia/version");
  }
  examination.add(
      {can.empty() ? HostState::kBroken : HostState::kWarn,
       "host-driver",
       fmt::format("NVIDIA driver {}: too old for the stack {}, which needs {}{}", driver, cannot->stack,
                   cannot->minimum, can.empty() ? "" : fmt::format("; it runs {}", fmt::join(can, ", "))),
       "/sys/module/nvidia/version",
       fmt::format("install driver {} or newer", cannot->minimum),
       {cannot->source}});
}

}  // namespace

bool is_stub(const FoundLibrary& library) {
  const auto named_so = [](const std::filesystem::path& path) {
    return path.parent_path().filename() == "stubs";
  };
  return named_so(library.path) || named_so(library.target);
}

const FoundLibrary* real_library(const Host& host, const std::string& name) {
  const auto found = host.libraries.find(name);
  if (found == host.libraries.end()) return nullptr;
  const auto real = std::find_if_not(found->second.begin(), found->second.end(), is_stub);
  return real == found->second.end() ? nullptr : &*real;
}

// Kernel module and library come from one driver release. CUDA works only if both exist.
void check_nvidia_driver(Examination& examination) {
  const Host& host = examination.host();
  const auto card = std::find_if(host.cards.begin(), host.cards.end(), [](const Card& one) {
    return one.is_nvidia() &&
           one.driver != "vfio-pci";  // a card bound to vfio-pci belongs to a virtual machine
  });
  if (card == host.cards.end()) return;
  if (!host.exposes("/dev/nvidia") && !host.nodes.empty()) return;  // this container is for other cards
  const auto module = host.value("kmd.nvidia");
  const FoundLibrary* library = real_library(host, "libcuda.so.1");
  if (module && library != nullptr) {
    return examination.ok("nvidia-driver", fmt::format("module {} and {}", *module, library->path));
  }
  if (module) {
    return examination.add(
        {HostState::kBroken,
         "nvidia-driver",
         fmt::format("the module {} is loaded, but there is no libcuda.so.1", *module),
         "/sys/module/nvidia",
         examination.fix(
             fmt::format("install the libraries of driver {0} (Ubuntu: libnvidia-compute-{1})", *module,
                         module->substr(0, module->find('.'))),
             "start the container with --gpus all and NVIDIA_DRIVER_CAPABILITIES=compute,utility"),
         {}});
  }
  const std::string by = card->driver.empty() ? "no driver" : card->driver;
  examination.add(
      {library != nullptr ? HostState::kBroken : HostState::kWarn,
       "nvidia-driver",
       fmt::format("the card {} ({}) is driven by {}, not by nvidia{}", card->address, card->id, by,
                   library != nullptr ? "; its library is here: " + library->path : ""),
       "/sys/module/nvidia",
       library != nullptr ? "sudo modprobe nvidia" : "install NVIDIA's driver, then: sudo modprobe nvidia",
       {}});
}

void check_nvidia_versions(Examination& examination) {
  const Host& host = examination.host();
  const auto module = host.value("kmd.nvidia");
  if (!module) return;
  bool compared = false;
  for (const char* name : {"libcuda.so.1", "libnvidia-ml.so.1"}) {
    const FoundLibrary* library = real_library(host, name);
    const std::string version =
        library == nullptr || is_compatibility(*library) ? "" : driver_version_of(library->target);
    if (version.empty()) continue;
    compared = true;
    if (version == *module) continue;
    return examination.add(
        {HostState::kBroken,
         "driver-versions",
         fmt::format(
             "the loaded module is {}, but {} is of {} (NVML: Driver/library version mismatch): a driver was "
             "updated without a reboot, or the container is older than the driver",
             *module, name, version),
         library->path,
         examination.fix(
             "reboot, or: sudo rmmod nvidia_drm nvidia_modeset nvidia_uvm nvidia && sudo modprobe nvidia",
             "recreate the container; with CDI first, on the host: sudo nvidia-ctk cdi generate "
             "--output=/etc/cdi/nvidia.yaml"),
         {}});
  }
  if (compared) examination.ok("driver-versions", fmt::format("module and libraries are of {}", *module));
}

void check_host_minimum(Examination& examination, const std::vector<HostMinimum>& table) {
  const Host& host = examination.host();
  const auto driver = host.value("kmd.nvidia");
  const std::string wanted = host.value("image.host").value_or("");
  if (wanted.starts_with("nvidia ")) {
    const std::string minimum = wanted.substr(7);
    const std::string stack = "the stack " + host.value("image.stack").value_or("of this image");
    if (!driver) {
      return examination.add(
          {HostState::kBroken,
           "host-driver",
           fmt::format("{} needs the NVIDIA driver {} or newer, but none is loaded", stack, minimum),
           "/etc/proctor/stack",
           "start it on a machine with an NVIDIA card and its driver",
           {kCompatibility}});
    }
    if (!at_least(*driver, minimum))
      return too_old(examination, stack, minimum, "/etc/proctor/stack", kCompatibility);
    return examination.ok("host-driver",
                          fmt::format("NVIDIA driver {}: {} needs {}", *driver, stack, minimum),
                          "/etc/proctor/stack");
  }
  if (!driver) return;
  const auto toolkit = host.value("toolkit.cuda");
  for (const auto& [major, minimum] : kToolkitMinima) {
    if (!toolkit || !toolkit->starts_with(major)) continue;
    const std::string who = "CUDA " + *toolkit;
    if (!at_least(*driver, minimum))
      return too_old(examination, who, minimum, "/usr/local/cuda/version.json", kCompatibility);
    return examination.ok("host-driver", fmt::format("NVIDIA driver {}: {} needs {}", *driver, who, minimum),
                          "/usr/local/cuda/version.json");
  }
  check_table(examination, *driver, table);
}

void check_stubs(Examination& examination) {
  const Host& host = examination.host();
  for (const char* name : {"libcuda.so.1", "libnvidia-ml.so.1", "libcuda.so", "libnvidia-ml.so"}) {
    const FoundLibrary* first = host.library(name);
    if (first == nullptr || !is_stub(*first)) continue;
    const bool linked = std::string_view(name).ends_with(".1");  // programs are linked with this name
    return examination.add(
        {linked ? HostState::kBroken : HostState::kWarn,
         "stub-library",
         fmt::format("the linker finds the toolkit's stub of {}, which has no driver (error 34)", name),
         first->path,
         fmt::format("remove {} from LD_LIBRARY_PATH and /etc/ld.so.conf.d; it is for linking only",
                     std::filesystem::path(first->path).parent_path().string()),
         {}});
  }
}

}  // namespace proctor
