// Simulates the NVML functions that the probe uses, for its test. There are two devices; the second is an old
// one with few features. The variable PROCTOR_TEST_NVML changes the behaviour:
// - "no_init": initialisation fails.
// - "hang": calls do not return.
// - "lost": the second device is lost.
// - "mig": the first device is divided in two.
// - "no_instance": there is one device, in MIG mode without an instance.
// - "gone": there is one device, which is lost.
// - "forbidden": there is one device, which this user may not open.
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string_view>

namespace {

constexpr int kSuccess = 0;
constexpr int kNotSupported = 3;
constexpr int kNoPermission = 4;
constexpr int kNotFound = 6;
constexpr int kInsufficientSize = 7;
constexpr int kGpuIsLost = 15;
constexpr int kDriverNotLoaded = 9;

struct Device {
  const char* uuid;
  bool old;
};
Device devices[] = {{"GPU-11111111-2222-3333-4444-555555555555", false}, {"GPU-old", true}};
Device parts[] = {{"MIG-a", false}, {"MIG-b", false}};

bool told(const char* word) {
  const char* text = std::getenv("PROCTOR_TEST_NVML");
  return text != nullptr && std::string_view(text) == word;
}

template <typename Value>
int give(const void* device, Value* out, Value value) {
  if (static_cast<const Device*>(device)->old) return kNotSupported;
  *out = value;
  return kSuccess;
}

struct Memory {
  unsigned long long total, free, used;
};
struct PciInfo {
  char bus_id_legacy[16];
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
};
struct ProcessInfo {
  unsigned pid;
  unsigned long long used_memory;
  unsigned gpu_instance, compute_instance;
};
struct Utilization {
  unsigned int gpu, memory;
};

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the names are NVML's
extern "C" {

int nvmlInit_v2() { return told("no_init") ? kDriverNotLoaded : kSuccess; }

int nvmlDeviceGetCount_v2(unsigned* count) {
  while (told("hang")) pause();
  *count = told("no_instance") || told("gone") || told("forbidden")
               ? 1
               : static_cast<unsigned>(std::size(devices));
  return kSuccess;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  if (told("gone")) return kGpuIsLost;
  if (told("forbidden")) return kNoPermission;
  *device = &devices[index];
  return kSuccess;
}

int nvmlDeviceGetUUID(void* device, char* uuid, unsigned size) {
  std::strncpy(uuid, static_cast<Device*>(device)->uuid, size);
  return kSuccess;
}

int nvmlDeviceGetMemoryInfo(void* device, Memory* out) {
  if (told("lost") && static_cast<Device*>(device)->old) return kGpuIsLost;
  *out = {.total = 100, .free = 93, .used = 7};
  return kSuccess;
}

int nvmlSystemGetDriverVersion(char* version, unsigned size) {
  std::strncpy(version, "535.104.05", size);
  return kSuccess;
}

int nvmlDeviceGetName(void*, char* name, unsigned size) {
  std::strncpy(name, "Test card", size);
  return kSuccess;
}

int nvmlDeviceGetPciInfo_v3(void* device, PciInfo* out) {
  *out = {};
  out->domain = 0;
  out->bus = static_cast<Device*>(device)->old ? 0x8a : 0x17;
  out->pci_device_id = 0x233010de;
  return kSuccess;
}

int nvmlDeviceGetCudaComputeCapability(void* device, int* major, int* minor) {
  *minor = 0;
  return give(device, major, 9);
}

int nvmlDeviceGetMigMode(void* device, unsigned* current, unsigned* pending) {
  *pending = told("mig") || told("no_instance") ? 1 : 0;
  return give(device, current, *pending);
}

int nvmlDeviceGetMaxMigDeviceCount(void*, unsigned* count) {
  *count = 7;
  return kSuccess;
}

int nvmlDeviceGetMigDeviceHandleByIndex(void*, unsigned index, void** part) {
  if (told("no_instance") || index >= std::size(parts)) return kNotFound;
  *part = &parts[index];
  return kSuccess;
}

// Reports two processes; the memory of the second is not available. Old devices do not have this function.
int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, ProcessInfo* out) {
  if (static_cast<Device*>(device)->old) return kNotSupported;
  const unsigned room = *count;
  *count = 2;
  if (room < 2) return kInsufficientSize;
  out[0] = {.pid = 4711, .used_memory = 5, .gpu_instance = 0, .compute_instance = 0};
  out[1] = {.pid = 4712, .used_memory = ~0ULL, .gpu_instance = 0, .compute_instance = 0};
  return kSuccess;
}

int nvmlDeviceGetUtilizationRates(void* device, Utilization* out) {
  return give(device, out, Utilization{.gpu = 61, .memory = 3});
}

int nvmlDeviceGetTemperature(void* device, int sensor, unsigned* out) {
  return sensor == 0 ? give(device, out, 55U) : 2;
}

int nvmlDeviceGetPowerUsage(void* device, unsigned* out) { return give(device, out, 250'500U); }

int nvmlDeviceGetClockInfo(void* device, int clock, unsigned* out) {
  return clock == 1 ? give(device, out, 1410U) : 2;
}

int nvmlDeviceGetTotalEccErrors(void* device, int type, int counter, unsigned long long* out) {
  return type == 1 && counter == 0 ? give(device, out, 2ULL) : 2;
}

// The device is idle, which is not throttling, and hot.
int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* out) {
  return give(device, out, 0x41ULL);
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
