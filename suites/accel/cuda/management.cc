// Reads temperature, energy and memory of a card through libnvidia-ml.so.1, which is loaded at run time.
#include "suites/accel/cuda/management.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "suites/accel/cuda/native.h"
#include "suites/accel/shared_library.h"
#include "suites/main/skipped.h"

namespace proctor::accel {
namespace {

struct Functions {
  int (*init)();
  int (*by_uuid)(const char*, nvml::Device*);
  int (*memory)(nvml::Device, nvml::Memory*);
  int (*temperature)(nvml::Device, int, unsigned*);
  int (*threshold)(nvml::Device, int, unsigned*);
  int (*energy)(nvml::Device, unsigned long long*);
};

constexpr std::array kSymbols{
    symbol<&Functions::init>("nvmlInit_v2"),
    symbol<&Functions::by_uuid>("nvmlDeviceGetHandleByUUID"),
    symbol<&Functions::memory>("nvmlDeviceGetMemoryInfo"),
    symbol<&Functions::temperature>("nvmlDeviceGetTemperature"),
    symbol<&Functions::threshold>("nvmlDeviceGetTemperatureThreshold"),
    symbol<&Functions::energy>("nvmlDeviceGetTotalEnergyConsumption"),
};

void need(int result, const char* what) {
  if (result != nvml::kSuccess) throw suite::Skipped(std::string("unsupported:nvml_") + what);
}

Functions load() {
  const SharedLibrary library(nvml::kLibrary);
  if (!library.loaded()) throw suite::Skipped(std::string("library_missing:") + nvml::kLibrary);
  Functions functions{};
  if (const char* missing = library.find_all(kSymbols, functions))
    throw suite::Skipped(std::string("symbol_missing:") + missing);
  need(functions.init(), "init");
  return functions;
}

const Functions& nvml() {
  static const Functions functions = load();
  return functions;
}

// Returns a function that an older library may lack. If it is missing, the check ends as a skip.
template <typename Function>
Function* optional_function(const char* name) {
  return reinterpret_cast<Function*>(nvml_function(name));
}

// Returns the NVML form of the UUID: "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6".
std::string name_of(const Device& device) {
  std::string text = "GPU-";
  const std::string& digits = device.properties().uuid;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i == 8 || i == 12 || i == 16 || i == 20) text += '-';
    text += digits[i];
  }
  return text;
}

nvml::Device handle_of(const Device& device) {
  nvml::Device handle = nullptr;
  need(nvml().by_uuid(name_of(device).c_str(), &handle), "device");
  return handle;
}

}  // namespace

nvml::Device managed_handle(const Device& device) { return handle_of(device); }

void* nvml_function(const char* name) {
  static_cast<void>(nvml());
  static const SharedLibrary library(nvml::kLibrary);
  void* const address = ::dlsym(library.handle(), name);
  if (address == nullptr) throw suite::Skipped(std::string("symbol_missing:") + name);
  return address;
}

std::uint64_t managed_memory(const Device& device) {
  nvml::Memory memory{};
  need(nvml().memory(handle_of(device), &memory), "memory");
  return memory.total;
}

std::optional<std::uint64_t> managed_memory_of_process(const Device& device, int pid) {
  const nvml::Device handle = handle_of(device);
  const auto processes = optional_function<int(nvml::Device, unsigned*, nvml::ProcessInfo*)>(
      "nvmlDeviceGetComputeRunningProcesses_v3");
  std::vector<nvml::ProcessInfo> running(256);
  auto count = static_cast<unsigned>(running.size());
  need(processes(handle, &count, running.data()), "processes");
  running.resize(count);
  const auto is_it = [pid](const nvml::ProcessInfo& each) { return each.pid == static_cast<unsigned>(pid); };
  const auto found = std::find_if(running.begin(), running.end(), is_it);
  if (found == running.end() || found->used_memory == nvml::kNotAvailable) return std::nullopt;
  return found->used_memory;
}

Heat Device::heat() const {
  const nvml::Device handle = handle_of(*this);
  unsigned now = 0;
  unsigned limit = 0;
  need(nvml().temperature(handle, nvml::kTemperatureGpu, &now), "temperature");
  need(nvml().threshold(handle, nvml::kThresholdSlowdown, &limit), "temperature_threshold");
  return {static_cast<double>(now), static_cast<double>(limit)};
}

Energy Device::energy() const {
  unsigned long long millijoules = 0;
  need(nvml().energy(handle_of(*this), &millijoules), "energy");
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  unsigned limit = 0;
  const auto power_limit = optional_function<int(nvml::Device, unsigned*)>("nvmlDeviceGetEnforcedPowerLimit");
  if (power_limit(handle_of(*this), &limit) != nvml::kSuccess) limit = 0;
  return {millijoules * 1000,
          static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(now).count()),
          limit};
}

// Neither the CUDA Runtime nor NVML has such a call. cudaDeviceReset() only ends the context of this process.
Status Device::try_reset() const { throw suite::Skipped("unsupported:device_reset"); }

}  // namespace proctor::accel
