#include "suites/visibility/cuda/enumerate_cuda.h"

#include <fmt/format.h>

namespace proctor::visibility {
namespace {

constexpr std::uint32_t kNvidia = 0x10de;

DeviceRecord describe(const cudaDeviceProp& properties) {
  DeviceRecord record;
  record.name = properties.name;
  record.uuid = uuid_text(properties.uuid);
  record.pci = pci_text(properties);
  record.vendor_id = kNvidia;
  record.device_id = static_cast<std::uint32_t>(properties.major * 10 + properties.minor);
  record.memory_bytes = properties.totalGlobalMem;
  record.execution_units = static_cast<std::uint32_t>(properties.multiProcessorCount);
  return record;
}

}  // namespace

std::string uuid_text(const cudaUUID_t& uuid) {
  std::string text = "GPU";
  for (int i = 0; i < 16; ++i) {
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[i]));
  }
  return text;
}

std::string pci_text(const cudaDeviceProp& properties) {
  return fmt::format("{:04x}:{:02x}:{:02x}.0", properties.pciDomainID, properties.pciBusID,
                     properties.pciDeviceID);
}

Enumeration enumerate_cuda() {
  Enumeration seen;
  int count = 0;
  cudaError_t result = cudaGetDeviceCount(&count);
  int version = 0;
  if (cudaRuntimeGetVersion(&version) == cudaSuccess) {
    seen.api = fmt::format("{}.{}", version / 1000, version % 1000 / 10);
  }
  version = 0;
  if (cudaDriverGetVersion(&version) == cudaSuccess)
    seen.driver_version = static_cast<std::uint32_t>(version);
  for (int i = 0; result == cudaSuccess && i < count; ++i) {
    cudaDeviceProp properties{};
    result = cudaGetDeviceProperties(&properties, i);
    if (result == cudaSuccess) seen.devices.push_back(describe(properties));
  }
  seen.init = cudaGetErrorName(result);
  return seen;
}

}  // namespace proctor::visibility
