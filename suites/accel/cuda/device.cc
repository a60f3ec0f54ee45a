// Initialises CUDA, enumerates devices and reads their properties.
#include <algorithm>
#include <cstdio>

#include "suites/accel/cuda/native.h"
#include "suites/main/skipped.h"

namespace proctor::accel {
namespace {

std::string uuid_text(const cudaUUID_t& uuid) {
  std::string text;
  for (const char byte : uuid.bytes) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(byte));
    text += digits;
  }
  return text;
}

std::string pci_text(const cudaDeviceProp& native) {
  char text[32];
  std::snprintf(text, sizeof text, "%04x:%02x:%02x.0", static_cast<unsigned>(native.pciDomainID),
                static_cast<unsigned>(native.pciBusID), static_cast<unsigned>(native.pciDeviceID));
  return text;
}

std::array<std::uint32_t, 3> sizes(const int (&values)[3]) {
  std::array<std::uint32_t, 3> result{};
  std::copy(values, values + 3, result.begin());
  return result;
}

// Returns whether the driver limits the run time of kernels, because a desktop uses the device.
bool limits_run_time(int ordinal) {
  int limited = 0;
  const Status status = CUDA_CALL(cudaDeviceGetAttribute, &limited, cudaDevAttrKernelExecTimeout, ordinal);
  return status.ok() && limited != 0;
}

// Reads the properties. The architectures that CUDA 13 supports all have half, double and 64-bit atomics.
Properties describe(const cudaDeviceProp& native, int ordinal) {
  Properties properties;
  properties.name = native.name;
  properties.uuid = uuid_text(native.uuid);
  properties.pci = pci_text(native);
  properties.vendor_id = 0x10de;
#if CUDART_VERSION >= 13000  // earlier versions do not report it
  properties.device_id = native.gpuPciDeviceID >> 16;
#endif
  properties.memory = native.totalGlobalMem;
  properties.largest_allocation = native.totalGlobalMem;
  properties.local_memory = static_cast<std::uint32_t>(native.sharedMemPerBlock);
  properties.largest_group = static_cast<std::uint32_t>(native.maxThreadsPerBlock);
  properties.group_limit = sizes(native.maxThreadsDim);
  properties.grid_limit = sizes(native.maxGridSize);
  properties.sub_group_sizes = {static_cast<std::uint32_t>(native.warpSize)};
  properties.argument_bytes = native.major >= 7 ? 32764 : 4096;
  properties.compute_units = static_cast<std::uint32_t>(native.multiProcessorCount);
  properties.cores = properties.compute_units;
  properties.fp16 = properties.fp64 = true;
  properties.fp16_denormals = properties.fp16_to_nearest = true;
  properties.int64_atomics = properties.fp32_atomic_add = properties.fp64_atomic_add = true;
  properties.fp32_rounded_division = true;
  properties.fp32_denormals = properties.fp64_denormals = true;
  properties.shared_memory = native.managedMemory != 0;
  properties.host_atomics = native.hostNativeAtomicSupported != 0;
  properties.shared_atomics = native.hostNativeAtomicSupported != 0 && native.concurrentManagedAccess != 0;
  properties.ipc = native.unifiedAddressing != 0 && native.ipcEventSupported != 0;  // includes memory
  properties.printf = true;
  properties.display = limits_run_time(ordinal);
  properties.timer_hz = 1'000'000'000;
  return properties;
}

// Skips with the reason why no device is usable. On failure the CUDA Runtime does not change the device
// count.
[[noreturn]] void skip_without_devices(const Status& status) {
  if (status.code() == cudaErrorNoDevice) throw suite::Skipped("no_device");
  int driver = 0;
  int runtime = 0;
  static_cast<void>(CUDA_CALL(cudaDriverGetVersion, &driver));
  static_cast<void>(CUDA_CALL(cudaRuntimeGetVersion, &runtime));
  if (driver == 0) throw suite::Skipped("no_driver");
  if (status.code() == cudaErrorInsufficientDriver && driver < runtime) {
    throw suite::Skipped("driver_too_old:" + std::to_string(driver) + "<" + std::to_string(runtime));
  }
  throw suite::Skipped("driver_fails:" + status.name());
}

int count_devices() {
  int count = 0;
  const Status status = CUDA_CALL(cudaGetDeviceCount, &count);
  if (!status.ok()) skip_without_devices(status);
  return count;
}

std::vector<DeviceRecord> enumerate() {
  const int count = count_devices();
  std::vector<DeviceRecord> records;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    DeviceRecord record{.ordinal = ordinal, .native = {}, .properties = {}};
    CUDA_CALL(cudaGetDeviceProperties, &record.native, ordinal).or_throw();
    record.properties = describe(record.native, ordinal);
    records.push_back(std::move(record));
  }
  return records;
}

}  // namespace

const std::vector<DeviceRecord>& all_devices() {
  static const std::vector<DeviceRecord> records = enumerate();
  return records;
}

std::vector<suite::Identity> identify_visible(bool with_uuid) {
  const int count = count_devices();
  std::vector<suite::Identity> identities;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    char address[32] = "";
    CUDA_CALL(cudaDeviceGetPCIBusId, address, static_cast<int>(sizeof address), ordinal).or_throw();
    suite::Identity identity{.uuid = "", .pci = address};
    if (with_uuid) {
      cudaDeviceProp properties{};
      CUDA_CALL(cudaGetDeviceProperties, &properties, ordinal).or_throw();
      identity.uuid = uuid_text(properties.uuid);
    }
    identities.push_back(std::move(identity));
  }
  return identities;
}

std::vector<Device> Device::list() {
  std::vector<Device> devices;
  for (const DeviceRecord& record : all_devices()) devices.emplace_back(&record);
  return devices;
}

const Properties& Device::properties() const { return record_->properties; }

std::vector<Device> Device::tiles() const { return {}; }

// The free memory of an integrated device is that of the host, and changes with every program there.
MemoryInfo Device::memory() const {
  if (record_->native.integrated != 0) throw suite::Skipped("needs:own_memory");
  use(*this);
  std::size_t free = 0;
  std::size_t total = 0;
  CUDA_CALL(cudaMemGetInfo, &free, &total).or_throw();
  return {free, total};
}

bool Device::reaches(const Device& peer) const {
  int reachable = 0;
  CUDA_CALL(cudaDeviceCanAccessPeer, &reachable, native(*this), native(peer)).or_throw();
  return reachable != 0;
}

// Freeing a null pointer succeeds, unless the context of the device is broken.
Status Device::try_status() const {
  const Status used = try_use(*this);
  return used.ok() ? CUDA_CALL(cudaFree, nullptr) : used;
}

void use(const Device& device) {
  const Status status = try_use(device);
  if (status.out_of_memory()) throw suite::Skipped("not_enough_memory:context");
  status.or_throw();
}

Status try_use(const Device& device) { return CUDA_CALL(cudaSetDevice, native(device)); }

namespace {

bool ask_driver_is_older() {
  int driver = 0;
  return cudaDriverGetVersion(&driver) == cudaSuccess && driver < CUDART_VERSION;
}

}  // namespace

bool driver_is_older() {
  static const bool older = ask_driver_is_older();
  return older;
}

std::string Status::name() const { return cudaGetErrorName(static_cast<cudaError_t>(code_)); }

bool Status::not_ready() const { return code_ == cudaErrorNotReady; }

bool Status::out_of_memory() const { return code_ == cudaErrorMemoryAllocation; }

// After one of these errors, every call of the process fails. The device may work in the next process.
bool Status::device_lost() const {
  switch (static_cast<cudaError_t>(code_)) {
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorTensorMemoryLeak:
    case cudaErrorExternalDevice:
      return true;
    default:
      return false;
  }
}

bool Status::unsupported() const { return code_ == cudaErrorNotSupported; }

}  // namespace proctor::accel
