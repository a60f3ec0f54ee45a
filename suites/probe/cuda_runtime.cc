#include "suites/probe/cuda_runtime.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <cstring>
#include <iterator>

#include "harness/base/words.h"
#include "suites/accel/shared_library.h"

namespace proctor::probe {
namespace {

// The newest first: the others are asked where it is not here, or the driver is too old for it.
constexpr const char* kRuntimes[] = {"libcudart.so.13", "libcudart.so.12"};
constexpr const char* kDriver = "libcuda.so.1";
constexpr const char* kMissing = "library_missing:";
constexpr const char* kTooOld = "driver_too_old";

// cudaError
constexpr int kSuccess = 0;
constexpr int kInsufficientDriver = 35;
constexpr int kNoDevice = 100;
// cudaDeviceAttr
constexpr int kIntegrated = 18;
constexpr int kCapabilityMajor = 75;
constexpr int kCapabilityMinor = 76;

// The first members of cudaDeviceProp, the same since CUDA 10; the rest differs from release to release.
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

// 35 is the answer without a driver and with one that is too old.
void name_problem(int result, CudaRuntime& runtime) {
  if (result == kNoDevice) {
    runtime.problem = "no_device";
    runtime.detail = "the driver found no device that it may open";
  } else if (result != kInsufficientDriver) {
    runtime.problem = "init:" + runtime.code;
    runtime.detail = "cudaGetDeviceCount failed";
  } else if (runtime.driver == 0 && dlopen(kDriver, RTLD_LAZY | RTLD_LOCAL) == nullptr) {
    runtime.problem = "no_driver";
    runtime.detail = std::string("NVIDIA's driver is not here: ") + dlerror();
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
    runtime.detail = "the CUDA Runtime is not here";
    return runtime;
  }
  runtime.path = library.path();
  Functions cuda{};
  if (const char* missing = library.find_all(kSymbols, cuda)) {
    runtime.problem = std::string("symbol_missing:") + missing;
    runtime.detail = runtime.path + " is not the CUDA Runtime that we know";
    return runtime;
  }
  cuda.runtime_version(&runtime.version);
  cuda.driver_version(&runtime.driver);
  int count = 0;  // an error leaves it as it is
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

}  // namespace

CudaRuntime query_cuda_runtime() {
  CudaRuntime runtime = query(kRuntimes[0]);
  for (std::size_t next = 1; next < std::size(kRuntimes); ++next) {
    if (!is_missing(runtime) && runtime.problem != kTooOld) break;
    CudaRuntime older = query(kRuntimes[next]);
    if (!is_missing(older) && (is_missing(runtime) || older.problem != kTooOld)) runtime = std::move(older);
  }
  return runtime;
}

}  // namespace proctor::probe
