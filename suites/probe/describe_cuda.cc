#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/words.h"
#include "suites/accel/shared_library.h"
#include "suites/probe/nvml.h"
#include "suites/probe/probe_main.h"
#include "suites/probe/stand_in.h"

namespace proctor::probe {
namespace {

// The part of the CUDA Runtime that the probe uses. It is loaded at run time and declared here, so that the
// build needs no CUDA toolkit. None of these functions creates a context (source: NVIDIA, CUDA Runtime API,
// "Device Management").
struct CudaRuntimeDevice {
  std::string name;
  std::string uuid;  // "GPU-..."
  std::string pci;   // "0000:03:00.0"
  unsigned long long memory_bytes = 0;
  std::string capability;  // "9.0"
  bool integrated = false;
};

struct CudaRuntime {
  std::string problem;  // see main_cuda.cc
  std::string detail;
  std::string path;
  int version = 0;                         // 13000; 0: unknown
  int driver = 0;                          // newest CUDA version that the driver supports; 0: no driver
  std::string code;                        // error of cudaGetDeviceCount; "": success
  std::vector<CudaRuntimeDevice> devices;  // in the order of the CUDA Runtime
};

// The newest runtime comes first. The next one is used if it is missing, or if the driver is too old for it.
constexpr const char* kRuntimes[] = {"libcudart.so.13", "libcudart.so.12"};
constexpr const char* kDriver = "libcuda.so.1";
constexpr const char* kMissing = "library_missing:";
constexpr const char* kTooOld = "driver_too_old";

// Values of cudaError.
constexpr int kSuccess = 0;
constexpr int kInsufficientDriver = 35;
constexpr int kNoDevice = 100;
// Values of cudaDeviceAttr.
constexpr int kIntegrated = 18;
constexpr int kCapabilityMajor = 75;
constexpr int kCapabilityMinor = 76;

// The first members of cudaDeviceProp, which are the same since CUDA 10. Later members differ between
// releases.
struct Properties {
  char name[256];
  unsigned char uuid[16];
  char luid[8];
  unsigned luid_mask;
  std::size_t memory_bytes;
  char rest[8192];
};

struct Functions {
  int (*runtime_version)(int*);
  int (*driver_version)(int*);
  int (*device_count)(int*);
  const char* (*error_name)(int);
  int (*properties)(Properties*, int);
  int (*attribute)(int*, int, int);
  int (*pci_address)(char*, int, int);
};

constexpr std::array kSymbols{
    symbol<&Functions::runtime_version>("cudaRuntimeGetVersion"),
    symbol<&Functions::driver_version>("cudaDriverGetVersion"),
    symbol<&Functions::device_count>("cudaGetDeviceCount"),
    symbol<&Functions::error_name>("cudaGetErrorName"),
    symbol<&Functions::properties>("cudaGetDeviceProperties"),
    symbol<&Functions::attribute>("cudaDeviceGetAttribute"),
    symbol<&Functions::pci_address>("cudaDeviceGetPCIBusId"),
};

std::string uuid_text(const unsigned char (&bytes)[16]) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i)
    text += fmt::format("{}{:02x}", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", bytes[i]);
  return text;
}

int attribute(const Functions& cuda, int attribute, int device) {
  int value = 0;
  return cuda.attribute(&value, attribute, device) == kSuccess ? value : 0;
}

CudaRuntimeDevice describe(const Functions& cuda, int ordinal) {
  CudaRuntimeDevice device;
  Properties properties{};
  if (cuda.properties(&properties, ordinal) == kSuccess) {
    device.name = std::string(properties.name, strnlen(properties.name, sizeof properties.name));
    device.uuid = uuid_text(properties.uuid);
    device.memory_bytes = properties.memory_bytes;
  }
  char pci[32] = {};
  if (cuda.pci_address(pci, sizeof pci - 1, ordinal) == kSuccess) device.pci = lower_case(pci);
  device.capability = fmt::format("{}.{}", attribute(cuda, kCapabilityMajor, ordinal),
                                  attribute(cuda, kCapabilityMinor, ordinal));
  device.integrated = attribute(cuda, kIntegrated, ordinal) != 0;
  return device;
}

// cudaGetDeviceCount returns 35 if there is no driver, and also if the driver is too old.
void name_problem(int result, CudaRuntime& runtime) {
  if (result == kNoDevice) {
    runtime.problem = "no_device";
    runtime.detail = "the driver found no device that it can open";
  } else if (result != kInsufficientDriver) {
    runtime.problem = "init:" + runtime.code;
    runtime.detail = "cudaGetDeviceCount failed";
  } else if (runtime.driver == 0 && dlopen(kDriver, RTLD_LAZY | RTLD_LOCAL) == nullptr) {
    runtime.problem = "no_driver";
    runtime.detail = std::string("NVIDIA's driver is not available: ") + dlerror();
  } else {
    runtime.problem = kTooOld;
    runtime.detail = "the driver is older than this CUDA Runtime";
  }
}

CudaRuntime query(const char* name) {
  CudaRuntime runtime;
  const SharedLibrary library(name);
  if (!library.loaded()) {
    runtime.problem = kMissing + std::string(name);
    runtime.detail = "the CUDA Runtime is not available";
    return runtime;
  }
  runtime.path = library.path();
  Functions cuda{};
  if (const char* missing = library.find_all(kSymbols, cuda)) {
    runtime.problem = std::string("symbol_missing:") + missing;
    runtime.detail = runtime.path + " is not a known CUDA Runtime";
    return runtime;
  }
  cuda.runtime_version(&runtime.version);
  cuda.driver_version(&runtime.driver);
  int count = 0;  // unchanged after an error
  const int result = cuda.device_count(&count);
  if (result != kSuccess) {
    runtime.code = cuda.error_name(result);
    name_problem(result, runtime);
    return runtime;
  }
  for (int i = 0; i < count; ++i) runtime.devices.push_back(describe(cuda, i));
  if (count == 0) name_problem(kNoDevice, runtime);
  return runtime;
}

bool is_missing(const CudaRuntime& runtime) { return runtime.problem.starts_with(kMissing); }

// Returns the newest CUDA Runtime that works here. If none works, it returns the newest one that exists.
CudaRuntime query_cuda_runtime() {
  CudaRuntime runtime = query(kRuntimes[0]);
  for (std::size_t next = 1; next < std::size(kRuntimes); ++next) {
    if (!is_missing(runtime) && runtime.problem != kTooOld) break;
    CudaRuntime older = query(kRuntimes[next]);
    if (!is_missing(older) && (is_missing(runtime) || older.problem != kTooOld)) runtime = std::move(older);
  }
  return runtime;
}

using nlohmann::json;

// NVML belongs to the driver, too. If no runtime is loaded, NVML is the only part of the driver in this
// process.
constexpr std::string_view kDriverLibrary = "libcuda.so";

std::string version_of(const Nvml& nvml, const char* function) {
  char text[nvml::kVersionBytes] = {};
  if (!nvml.call(function, &text[0], nvml::kVersionBytes).empty()) return {};
  text[nvml::kVersionBytes - 1] = '\0';
  return text;
}

bool is_divided(const Nvml& nvml) {
  const auto& devices = nvml.devices();
  return std::any_of(devices.begin(), devices.end(),
                     [](const Nvml::Device& device) { return device.handle != device.gpu; });
}

// Returns the device's ordinal in the CUDA Runtime. If there is no runtime, NVML's position is used, because
// both count in PCI order. MIG instances have an ordinal only in a CUDA Runtime.
int ordinal_of(const Nvml& nvml, std::size_t position, const CudaRuntime& runtime) {
  if (runtime.devices.empty()) return is_divided(nvml) ? -1 : static_cast<int>(position);
  const std::string& uuid = nvml.devices()[position].uuid;
  const auto found = std::find_if(runtime.devices.begin(), runtime.devices.end(),
                                  [&](const CudaRuntimeDevice& device) { return device.uuid == uuid; });
  return found == runtime.devices.end() ? -1 : static_cast<int>(found - runtime.devices.begin());
}

json describe_by_nvml(const Nvml& nvml, std::size_t position, const CudaRuntime& runtime) {
  const Nvml::Device& device = nvml.devices()[position];
  char name[nvml::kNameBytes] = {};
  if (nvml.call("nvmlDeviceGetName", device.handle, &name[0], nvml::kNameBytes).empty())
    name[nvml::kNameBytes - 1] = '\0';
  nvml::PciInfo pci{};
  const bool has_pci = nvml.call("nvmlDeviceGetPciInfo_v3", device.gpu, &pci).empty();
  nvml::Memory memory{};
  const bool has_memory = nvml.call("nvmlDeviceGetMemoryInfo", device.handle, &memory).empty();
  int major = 0;
  int minor = 0;
  const bool has_capability =
      nvml.call("nvmlDeviceGetCudaComputeCapability", device.gpu, &major, &minor).empty();
  const int ordinal = ordinal_of(nvml, position, runtime);
  const auto index = static_cast<std::size_t>(ordinal);
  const bool integrated = ordinal >= 0 && index < runtime.devices.size() && runtime.devices[index].integrated;
  return {{"name", name},
          {"uuid", device.uuid},
          {"pci", has_pci ? fmt::format("{:04x}:{:02x}:{:02x}.0", pci.domain, pci.bus, pci.device) : ""},
          {"device_id", has_pci ? pci.device_id >> 16 : 0},
          {"memory_bytes", has_memory ? memory.total : 0},
          {"capability", has_capability ? fmt::format("{}.{}", major, minor) : ""},
          {"integrated", integrated},
          {"ordinal", ordinal}};
}

json describe_by_runtime(const CudaRuntime& runtime) {
  json devices = json::array();
  for (const auto& device : runtime.devices) {
    devices.push_back({{"name", device.name},
                       {"uuid", device.uuid},
                       {"pci", device.pci},
                       {"device_id", 0},
                       {"memory_bytes", device.memory_bytes},
                       {"capability", device.capability},
                       {"integrated", device.integrated},
                       {"ordinal", devices.size()}});
  }
  return devices;
}

// Returns whether the problem affects only this runtime. Programs with another runtime still work.
bool concerns_one_runtime(std::string_view problem) {
  return problem == "driver_too_old" || problem.starts_with("library_missing:") ||
         problem.starts_with("symbol_missing:");
}

// Reports why a working driver has no device although NVML lists GPUs.
bool name_useless_gpus(json& document, const CudaRuntime& runtime, const Nvml& nvml) {
  if (runtime.problem != "no_device" || !document["devices"].empty()) return false;
  if (nvml.lost() + nvml.without_instance() == 0) return false;
  document["problem"] = nvml.lost() > 0 ? "init:GPU_IS_LOST" : "no_mig_instance";
  document["detail"] = nvml.lost() > 0
                           ? fmt::format("NVML lists {} GPU(s) that no longer respond", nvml.lost())
                           : fmt::format(
                                 "{} GPU(s) in MIG mode without an instance (nvidia-smi mig -cgi "
                                 "PROFILE -C creates one)",
                                 nvml.without_instance());
  return true;
}

void name_problem(json& document, const CudaRuntime& runtime, const Nvml& nvml) {
  if (runtime.problem.empty()) return;
  if (name_useless_gpus(document, runtime, nvml)) return;
  const std::size_t listed = document["devices"].size();
  std::string problem = runtime.problem;
  std::string detail = runtime.detail;
  if (concerns_one_runtime(problem)) {
    const bool has_driver = runtime.driver > 0 || dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL) != nullptr;
    if (has_driver && listed > 0) return;
    if (!has_driver) {
      problem = "no_driver";
      detail = "NVIDIA's driver is not available: libcuda.so.1 cannot be loaded";
    }
  }
  if (listed > 0) detail += fmt::format(", but NVML lists {}", listed);
  if (listed > 0 && problem == "no_driver")
    detail += " (in a container: NVIDIA_DRIVER_CAPABILITIES must have `compute`)";
  document["problem"] = problem;
  document["detail"] = detail;
}

}  // namespace

json describe_cuda() {
  const Nvml nvml;
  const CudaRuntime runtime = query_cuda_runtime();
  json document = {
      {"v", 1},
      {"problem", ""},
      {"detail", ""},
      {"driver", version_of(nvml, "nvmlSystemGetDriverVersion")},
      {"cuda", runtime.driver},
      {"nvml", {{"problem", nvml.problem()}, {"version", version_of(nvml, "nvmlSystemGetNVMLVersion")}}},
      {"runtime",
       {{"problem", runtime.problem},
        {"detail", runtime.detail},
        {"path", runtime.path},
        {"version", runtime.version},
        {"code", runtime.code}}},
      {"devices", json::array()}};
  for (std::size_t i = 0; i < nvml.devices().size(); ++i)
    document["devices"].push_back(describe_by_nvml(nvml, i, runtime));
  if (document["devices"].empty()) document["devices"] = describe_by_runtime(runtime);
  if (!document["devices"].empty()) document["simulated_driver"] = loaded_simulator();
  document["library"] = loaded_library({kDriverLibrary, nvml::kLibrary});
  name_problem(document, runtime, nvml);
  return document;
}

}  // namespace proctor::probe
