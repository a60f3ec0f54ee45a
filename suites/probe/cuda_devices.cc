// NVML: how the devices are, and who has memory on them.
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "suites/probe/nvml.h"
#include "suites/probe/nvml_facts.h"
#include "suites/probe/nvml_sampler.h"
#include "suites/probe/open_devices.h"

namespace proctor::probe {
namespace {

using nlohmann::json;

constexpr const char* kProcesses = "nvmlDeviceGetComputeRunningProcesses_v3";

class CudaDevices final : public WatchedDevices {
 public:
  CudaDevices() : sampler_(nvml_) {}

  // Without NVML nobody can say anything, and "problem" says why.
  json snapshot() override {
    json document = {{"v", 1}, {"problem", nvml_.problem()}, {"devices", json::array()}};
    for (const auto& device : nvml_.devices()) document["devices"].push_back(snapshot(device.handle));
    return document;
  }
  json sample(std::uint64_t mask) override { return sampler_.sample(mask); }
  json facts(std::size_t device) override { return nvml_facts(nvml_, device); }

 private:
  json snapshot(nvml::Device device) const {
    nvml::Memory memory{};
    const std::string why = nvml_.call("nvmlDeviceGetMemoryInfo", device, &memory);
    const bool lost = why.ends_with(": " + nvml::name_of(nvml::kGpuIsLost));
    json state = {{"state", lost ? "lost" : "ok"}, {"memory", nullptr}, {"holders", holders(device)}};
    if (why.empty()) state["memory"] = {{"used", memory.used}, {"total", memory.total}};
    return state;
  }

  // Between the two calls another process may come.
  json holders(nvml::Device device) const {
    using Function = nvml::Result (*)(nvml::Device, unsigned*, nvml::ProcessInfo*);
    const auto list = reinterpret_cast<Function>(nvml_.symbol(kProcesses));
    if (list == nullptr) return nullptr;
    std::vector<nvml::ProcessInfo> processes;
    nvml::Result result = nvml::kInsufficientSize;
    for (int tries = 0; result == nvml::kInsufficientSize && tries < 4; ++tries) {
      auto count = static_cast<unsigned>(processes.size());
      result = list(device, &count, processes.empty() ? nullptr : processes.data());
      processes.resize(result == nvml::kInsufficientSize ? count + 4 : count);
    }
    if (result != nvml::kSuccess) return nullptr;
    return to_json(processes);
  }

  // Who has a context there is a holder, even where the driver does not say of how much (inside a container,
  // or under WDDM).
  static json to_json(const std::vector<nvml::ProcessInfo>& processes) {
    json holders = json::array();
    for (const auto& process : processes) {
      if (process.pid == static_cast<unsigned>(getpid())) continue;
      const auto bytes = process.used_memory == nvml::kNotAvailable ? 1 : process.used_memory;
      holders.push_back({{"pid", process.pid}, {"bytes", bytes}});
    }
    return holders;
  }

  Nvml nvml_;
  NvmlSampler sampler_;
};

}  // namespace

std::unique_ptr<WatchedDevices> open_cuda_devices() { return std::make_unique<CudaDevices>(); }

}  // namespace proctor::probe
