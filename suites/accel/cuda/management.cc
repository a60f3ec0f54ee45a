// Temperature, energy and memory of a card through libnvidia-ml.so.1, found at run time. Its header is not
// part of the toolkit; the few functions that are used are declared here (NVML API Reference Guide).
#include "suites/accel/cuda/management.h"

#include <dlfcn.h>

#include <chrono>

#include "suites/accel/cuda/native.h"
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

class Library {
 public:
  static const Library& get() {
    static const Library library;
    return library;
  }

  Handle device(const std::string& uuid) const {
    Handle handle = nullptr;
    need(by_uuid(uuid.c_str(), &handle), "device");
    return handle;
  }
  static void need(int result, const char* what) {
    if (result != kSuccessful) throw suite::Skipped(std::string("unsupported:nvml_") + what);
  }

  int (*by_uuid)(const char*, Handle*) = nullptr;
  int (*memory)(Handle, Memory*) = nullptr;
  int (*temperature)(Handle, int, unsigned*) = nullptr;
  int (*threshold)(Handle, int, unsigned*) = nullptr;
  int (*energy)(Handle, unsigned long long*) = nullptr;

 private:
  Library() {
    handle_ = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr) throw suite::Skipped(std::string("library_missing:") + kLibrary);
    int (*init)() = nullptr;
    find(init, "nvmlInit_v2");
    find(by_uuid, "nvmlDeviceGetHandleByUUID");
    find(memory, "nvmlDeviceGetMemoryInfo");
    find(temperature, "nvmlDeviceGetTemperature");
    find(threshold, "nvmlDeviceGetTemperatureThreshold");
    find(energy, "nvmlDeviceGetTotalEnergyConsumption");
    need(init(), "init");
  }
  template <typename Function>
  void find(Function& function, const char* name) const {
    function = reinterpret_cast<Function>(dlsym(handle_, name));
    if (function == nullptr) throw suite::Skipped(std::string("symbol_missing:") + name);
  }

  void* handle_ = nullptr;
};

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

}  // namespace

std::uint64_t managed_memory(const Device& device) {
  const Library& nvml = Library::get();
  Memory memory{};
  Library::need(nvml.memory(nvml.device(name_of(device)), &memory), "memory");
  return memory.total;
}

Heat Device::heat() const {
  const Library& nvml = Library::get();
  const Handle handle = nvml.device(name_of(*this));
  unsigned now = 0;
  unsigned limit = 0;
  Library::need(nvml.temperature(handle, kGpuSensor, &now), "temperature");
  Library::need(nvml.threshold(handle, kSlowdown, &limit), "temperature_threshold");
  return {static_cast<double>(now), static_cast<double>(limit)};
}

Energy Device::energy() const {
  const Library& nvml = Library::get();
  unsigned long long millijoules = 0;
  Library::need(nvml.energy(nvml.device(name_of(*this)), &millijoules), "energy");
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return {millijoules * 1000,
          static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(now).count())};
}

// No call of the runtime or of NVML does it: cudaDeviceReset() ends this process's context only.
Status Device::try_reset() const { throw suite::Skipped("unsupported:device_reset"); }

}  // namespace proctor::accel
