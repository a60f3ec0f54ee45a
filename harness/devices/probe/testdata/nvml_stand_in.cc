// The functions of NVML that the probe uses, for its test: two devices, of which the second is an old one
// that knows little. PROCTOR_TEST_NVML changes it: "no_init", or "hang", which never answers.
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string_view>

namespace {

constexpr int kSuccess = 0;
constexpr int kNotSupported = 3;
constexpr int kDriverNotLoaded = 9;

struct Device {
  const char* uuid;
  bool old;
};
Device devices[] = {{"GPU-11111111-2222-3333-4444-555555555555", false}, {"GPU-old", true}};

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
struct Utilization {
  unsigned int gpu, memory;
};

}  // namespace

extern "C" {

int nvmlInit_v2() { return told("no_init") ? kDriverNotLoaded : kSuccess; }

int nvmlDeviceGetCount_v2(unsigned* count) {
  while (told("hang")) pause();
  *count = static_cast<unsigned>(std::size(devices));
  return kSuccess;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  *device = &devices[index];
  return kSuccess;
}

int nvmlDeviceGetUUID(void* device, char* uuid, unsigned size) {
  std::strncpy(uuid, static_cast<Device*>(device)->uuid, size);
  return kSuccess;
}

int nvmlDeviceGetMemoryInfo(void*, Memory* out) {
  *out = {.total = 100, .free = 93, .used = 7};
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

// It idles, which is no throttling, and it is hot.
int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* out) {
  return give(device, out, 0x41ULL);
}

}  // extern "C"
