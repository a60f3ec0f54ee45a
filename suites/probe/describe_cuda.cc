#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "suites/probe/cuda_runtime.h"
#include "suites/probe/describe.h"
#include "suites/probe/nvml.h"
#include "suites/probe/stand_in.h"

namespace proctor::probe {
namespace {

using nlohmann::json;

// NVML belongs to the driver, too: where no runtime is, it is all of it that is loaded here.
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

// Where nobody can ask a Runtime, NVML's order stands for it: both count in PCI order. Parts of GPUs only a
// Runtime can count.
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

// Programs that bring a runtime of their own do not care about this one.
bool concerns_one_runtime(std::string_view problem) {
  return problem == "driver_too_old" || problem.starts_with("library_missing:") ||
         problem.starts_with("symbol_missing:");
}

// Why a driver that starts has no device although NVML lists GPUs.
bool name_useless_gpus(json& document, const CudaRuntime& runtime, const Nvml& nvml) {
  if (runtime.problem != "no_device" || !document["devices"].empty()) return false;
  if (nvml.lost() + nvml.without_instance() == 0) return false;
  document["problem"] = nvml.lost() > 0 ? "init:GPU_IS_LOST" : "no_mig_instance";
  document["detail"] = nvml.lost() > 0
                           ? fmt::format("NVML lists {} GPU(s) that do not answer any more", nvml.lost())
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
      detail = "NVIDIA's driver is not here: libcuda.so.1 cannot be loaded";
    }
  }
  if (listed > 0) detail += fmt::format("; NVML lists {} all the same", listed);
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
  if (!document["devices"].empty()) document["stand_in"] = loaded_simulator();
  document["library"] = loaded_library({kDriverLibrary, nvml::kLibrary});
  name_problem(document, runtime, nvml);
  return document;
}

}  // namespace proctor::probe
