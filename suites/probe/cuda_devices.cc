// Reads the state of NVIDIA devices through NVML, and the processes that hold memory on them.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <utility>
#include <vector>

#include "suites/probe/nvml.h"
#include "suites/probe/probe_main.h"

namespace proctor::probe {
namespace {

// ---- Facts of NVIDIA devices (probe_main.h) ----

constexpr unsigned kRecoveryAction = 230;  // NVML_FI_DEV_GET_GPU_RECOVERY_ACTION

// Queries the facts of one card and collects the results.
class Questions {
 public:
  Questions(const Nvml& nvml, nvml::Device card, Reading& reading)
      : nvml_(nvml), card_(card), reading_(reading) {}

  template <typename Value, typename... Selectors>
  void ask(const char* key, const char* function, Selectors... selectors) {
    Value value{};
    const std::string why = nvml_.call(function, card_, selectors..., &value);
    if (why.empty()) return reading_.set(key, value);
    reading_.miss(key, why);
  }

  void ask_power_limit() {
    unsigned milliwatts = 0;
    const std::string why = nvml_.call("nvmlDeviceGetEnforcedPowerLimit", card_, &milliwatts);
    if (why.empty()) return reading_.set("power_limit_w", milliwatts / 1000.0);
    reading_.miss("power_limit_w", why);
  }

  void ask_firmware() {
    char text[64] = {};
    const std::string why = nvml_.call("nvmlDeviceGetVbiosVersion", card_, &text[0], 64U);
    if (why.empty()) return reading_.set("firmware", std::string(text));
    reading_.miss("firmware", why);
  }

  void ask_modes() {
    int now = 0, later = 0;
    const std::string no_ecc = nvml_.call("nvmlDeviceGetEccMode", card_, &now, &later);
    if (no_ecc.empty()) {
      reading_.set("ecc", now == 1);
    } else {
      reading_.miss("ecc", no_ecc);
    }
    const std::string no_mode = nvml_.call("nvmlDeviceGetPersistenceMode", card_, &now);
    if (no_mode.empty()) return reading_.set("persistence", now == 1);
    reading_.miss("persistence", no_mode);
  }

  void ask_remaps() {
    unsigned corrected = 0, uncorrected = 0, pending = 0, failed = 0;
    const std::string why =
        nvml_.call("nvmlDeviceGetRemappedRows", card_, &corrected, &uncorrected, &pending, &failed);
    if (!why.empty()) {
      for (const char* key : {"rows_remapped", "remap_pending", "remap_failed"}) reading_.miss(key, why);
      return;
    }
    reading_.set("rows_remapped", corrected + uncorrected);
    reading_.set("remap_pending", pending != 0);
    reading_.set("remap_failed", failed != 0);
  }

  // NVML has no function for the number of links. It refuses the link after the last one.
  void ask_links() {
    constexpr unsigned kMost = 64;
    unsigned links = 0, up = 0;
    std::string why;
    for (; links < kMost; ++links) {
      int active = 0;
      why = nvml_.call("nvmlDeviceGetNvLinkState", card_, links, &active);
      if (!why.empty()) break;
      up += active == 1 ? 1 : 0;
    }
    const bool reported = links > 0;
    for (const char* key : {"links", "links_up"}) {
      if (!reported) reading_.miss(key, why);
    }
    if (!reported) return;
    reading_.set("links", links);
    reading_.set("links_up", up);
  }

  void ask_recovery() {
    nvml::FieldValue value{};
    value.field = kRecoveryAction;
    std::string why = nvml_.call("nvmlDeviceGetFieldValues", card_, 1, &value);
    if (why.empty() && value.result != nvml::kSuccess)
      why = "recovery action: " + nvml::name_of(value.result);
    if (!why.empty()) return reading_.miss("reset_reason", why);
    static constexpr const char* kActions[] = {"", "reset the GPU", "reboot the node", "drain peers",
                                               "drain and reset"};
    const unsigned action = value.value.small;
    reading_.set("reset_reason",
                 action < std::size(kActions) ? kActions[action] : "action " + std::to_string(action));
  }

 private:
  const Nvml& nvml_;
  nvml::Device card_;
  Reading& reading_;
};

nlohmann::json nvml_facts(const Nvml& nvml, std::size_t device) {
  Reading reading;
  if (device >= nvml.devices().size()) {
    const std::string why = nvml.problem().empty() ? "NVML does not list the device" : nvml.problem();
    return facts_document("nvml", why, reading);
  }
  Questions card(nvml, nvml.devices()[device].gpu, reading);
  card.ask<unsigned>("pcie_width", "nvmlDeviceGetCurrPcieLinkWidth");
  card.ask<unsigned>("pcie_width_max", "nvmlDeviceGetMaxPcieLinkWidth");
  card.ask<unsigned>("pcie_generation", "nvmlDeviceGetCurrPcieLinkGeneration");
  card.ask<unsigned>("pcie_generation_max", "nvmlDeviceGetMaxPcieLinkGeneration");
  card.ask<unsigned>("replays", "nvmlDeviceGetPcieReplayCounter");
  card.ask<unsigned>("clock_max_mhz", "nvmlDeviceGetMaxClockInfo", nvml::kClockSm);
  card.ask<unsigned long long>("errors_corrected", "nvmlDeviceGetTotalEccErrors", 0, nvml::kSinceDriverLoad);
  card.ask<unsigned long long>("errors_uncorrected", "nvmlDeviceGetTotalEccErrors", nvml::kUncorrectedErrors,
                               nvml::kSinceDriverLoad);
  card.ask<unsigned long long>("errors_uncorrected_lifetime", "nvmlDeviceGetTotalEccErrors",
                               nvml::kUncorrectedErrors, 1);
  card.ask_power_limit();
  card.ask_firmware();
  card.ask_modes();
  card.ask_remaps();
  card.ask_links();
  card.ask_recovery();
  return facts_document("nvml", "", reading);
}

// Telemetry of NVIDIA devices through NVML.
class NvmlSampler {
 public:
  explicit NvmlSampler(const Nvml& nvml) : nvml_(nvml) {}

  // Samples the devices whose bits are set, see monitor().
  nlohmann::json sample(std::uint64_t mask) const;

 private:
  Reading read(nvml::Device device) const;
  void read_throttle(nvml::Device device, Reading& reading) const;

  const Nvml& nvml_;
};

using nlohmann::json;

// Returns the reasons that keep a clock below the requested speed. An idle device and a configured clock do
// not count.
json throttle_words(unsigned long long flags) {
  struct Word {
    unsigned long long flag;
    const char* word;
  };
  constexpr Word kWords[] = {
      {0x4, "software_power_cap"}, {0x8, "hardware_slowdown"}, {0x20, "software_thermal_slowdown"},
      {0x40, "thermal_limit"},     {0x80, "power_brake"},
  };
  json words = json::array();
  for (const auto& [flag, word] : kWords) {
    if ((flags & flag) != 0) words.push_back(word);
  }
  return words;
}

json NvmlSampler::sample(std::uint64_t mask) const {
  json entries = json::array();
  const auto& devices = nvml_.devices();
  for (std::size_t i = 0; i < devices.size() && i < 64; ++i) {
    if ((mask >> i & 1) == 0) continue;
    json entry = read(devices[i].handle).json();
    entry["device"] = i;
    entries.push_back(std::move(entry));
  }
  return {{"v", 1}, {"source", "nvml"}, {"problem", nvml_.problem()}, {"devices", std::move(entries)}};
}

Reading NvmlSampler::read(nvml::Device device) const {
  Reading reading;
  const auto put = [&](const char* key, const std::string& why, auto value) {
    if (why.empty()) return reading.set(key, value);
    reading.miss(key, why);
  };
  nvml::Memory memory{};
  const auto no_memory = nvml_.call("nvmlDeviceGetMemoryInfo", device, &memory);
  put("memory_used", no_memory, memory.used);
  nvml::Utilization busy{};
  const auto no_busy = nvml_.call("nvmlDeviceGetUtilizationRates", device, &busy);
  put("utilisation", no_busy, busy.gpu);
  unsigned celsius = 0;
  const auto no_celsius = nvml_.call("nvmlDeviceGetTemperature", device, nvml::kTemperatureGpu, &celsius);
  put("temperature", no_celsius, celsius);
  unsigned milliwatts = 0;
  const auto no_power = nvml_.call("nvmlDeviceGetPowerUsage", device, &milliwatts);
  put("power", no_power, milliwatts / 1000.0);
  unsigned mhz = 0;
  const auto no_clock = nvml_.call("nvmlDeviceGetClockInfo", device, nvml::kClockSm, &mhz);
  put("clock", no_clock, mhz);
  unsigned long long errors = 0;
  const auto no_errors = nvml_.call("nvmlDeviceGetTotalEccErrors", device, nvml::kUncorrectedErrors,
                                    nvml::kSinceDriverLoad, &errors);
  put("ecc_errors", no_errors, errors);
  read_throttle(device, reading);
  return reading;
}

// Driver 535 renamed the function, but still exports the old name.
void NvmlSampler::read_throttle(nvml::Device device, Reading& reading) const {
  unsigned long long flags = 0;
  const auto why = nvml_.call("nvmlDeviceGetCurrentClocksThrottleReasons", device, &flags);
  if (!why.empty()) return reading.miss("throttle", why);
  reading.set("throttle", throttle_words(flags));
}

using nlohmann::json;

constexpr const char* kProcesses = "nvmlDeviceGetComputeRunningProcesses_v3";

class CudaDevices final : public WatchedDevices {
 public:
  CudaDevices() : sampler_(nvml_) {}

  // Returns the state of all devices. If NVML is not usable, "problem" has the reason.
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

  // Returns the processes with memory on the device. Another process can start between the two calls.
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

  // A process with a context on the device is a holder, even if the driver does not report its memory (inside
  // a container, or under WDDM).
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
