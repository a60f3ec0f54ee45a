// Temperature, energy and memory of a card through libnvidia-ml.so.1, found at run time. Its header is not
// part of the toolkit; the few functions that are used are declared here (NVML API Reference Guide).
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

constexpr const char* kLibrary = "libnvidia-ml.so.1";
constexpr int kSuccessful = 0;
constexpr int kGpuSensor = 0;
constexpr int kSlowdown = 1;  // the threshold at which the card slows itself down

using Handle = struct nvmlDevice_st*;
struct Memory {
  unsigned long long total, free, used;
};

struct Process {  // nvmlProcessInfo_t
  unsigned pid;
  unsigned long long used;
  unsigned instance, compute_instance;
};
constexpr unsigned long long kNotAvailable = ~0ULL;  // NVML_VALUE_NOT_AVAILABLE

struct Functions {
  int (*init)();
  int (*by_uuid)(const char*, Handle*);
  int (*memory)(Handle, Memory*);
  int (*temperature)(Handle, int, unsigned*);
  int (*threshold)(Handle, int, unsigned*);
  int (*energy)(Handle, unsigned long long*);
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
  if (result != kSuccessful) throw suite::Skipped(std::string("unsupported:nvml_") + what);
}

Functions load() {
  const SharedLibrary library(kLibrary);
  if (!library.loaded()) throw suite::Skipped(std::string("library_missing:") + kLibrary);
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

// One that an older library may lack: the check then ends as a skip.
template <typename Function>
Function* optional_function(const char* name) {
  return reinterpret_cast<Function*>(nvml_function(name));
}

// "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6"
std::string name_of(const Device& device) {
  std::string text = "GPU-";
  const std::string& digits = device.properties().uuid;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i == 8 || i == 12 || i == 16 || i == 20) text += '-';
    text += digits[i];
  }
  return text;
}

Handle handle_of(const Device& device) {
  Handle handle = nullptr;
  need(nvml().by_uuid(name_of(device).c_str(), &handle), "device");
  return handle;
}

}  // namespace

Handle managed_handle(const Device& device) { return handle_of(device); }

void* nvml_function(const char* name) {
  static_cast<void>(nvml());
  static const SharedLibrary library(kLibrary);
  void* const address = ::dlsym(library.handle(), name);
  if (address == nullptr) throw suite::Skipped(std::string("symbol_missing:") + name);
  return address;
}

std::uint64_t managed_memory(const Device& device) {
  Memory memory{};
  need(nvml().memory(handle_of(device), &memory), "memory");
  return memory.total;
}

std::optional<std::uint64_t> managed_memory_of_process(const Device& device, int pid) {
  const Handle handle = handle_of(device);
  const auto processes =
      optional_function<int(Handle, unsigned*, Process*)>("nvmlDeviceGetComputeRunningProcesses_v3");
  std::vector<Process> running(256);
  auto count = static_cast<unsigned>(running.size());
  need(processes(handle, &count, running.data()), "processes");
  running.resize(count);
  const auto is_it = [pid](const Process& each) { return each.pid == static_cast<unsigned>(pid); };
  const auto found = std::find_if(running.begin(), running.end(), is_it);
  if (found == running.end() || found->used == kNotAvailable) return std::nullopt;
  return found->used;
}

Heat Device::heat() const {
  const Handle handle = handle_of(*this);
  unsigned now = 0;
  unsigned limit = 0;
  need(nvml().temperature(handle, kGpuSensor, &now), "temperature");
  need(nvml().threshold(handle, kSlowdown, &limit), "temperature_threshold");
  return {static_cast<double>(now), static_cast<double>(limit)};
}

Energy Device::energy() const {
  unsigned long long millijoules = 0;
  need(nvml().energy(handle_of(*this), &millijoules), "energy");
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  unsigned limit = 0;
  const auto power_limit = optional_function<int(Handle, unsigned*)>("nvmlDeviceGetEnforcedPowerLimit");
  if (power_limit(handle_of(*this), &limit) != kSuccessful) limit = 0;
  return {millijoules * 1000,
          static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(now).count()),
          limit};
}

// No call of the runtime or of NVML does it: cudaDeviceReset() ends this process's context only.
Status Device::try_reset() const { throw suite::Skipped("unsupported:device_reset"); }

}  // namespace proctor::accel
