// The declarations of NVML that the suites use, so that the build does not need CUDA (NVIDIA, NVML API
// Reference Guide: versioned functions keep their ABI). The library is loaded at run time.
#pragma once

namespace proctor::nvml {

inline constexpr const char* kLibrary = "libnvidia-ml.so.1";

using Result = int;  // nvmlReturn_t
inline constexpr Result kSuccess = 0;
inline constexpr Result kUninitialized = 1;
inline constexpr Result kInvalidArgument = 2;
inline constexpr Result kNotSupported = 3;
inline constexpr Result kNoPermission = 4;
inline constexpr Result kNotFound = 6;
inline constexpr Result kInsufficientSize = 7;
inline constexpr Result kTimeout = 10;
inline constexpr Result kFunctionNotFound = 13;
inline constexpr Result kGpuIsLost = 15;
inline constexpr Result kVersionMismatch = 25;  // NVML_ERROR_ARGUMENT_VERSION_MISMATCH

using Device = struct nvmlDevice_st*;

struct Memory {  // nvmlMemory_t
  unsigned long long total, free, used;
};
struct Utilization {  // nvmlUtilization_t
  unsigned gpu, memory;
};
struct PciInfo {  // nvmlPciInfo_t, _v3
  char legacy_bus_id[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char bus_id[32];
};
struct ProcessInfo {  // nvmlProcessInfo_t, _v2 and _v3
  unsigned pid;
  unsigned long long used_memory;
  unsigned gpu_instance, compute_instance;
};
struct FieldValue {  // nvmlFieldValue_t
  unsigned field, scope;
  long long at, latency;
  unsigned type;
  Result result;
  union {
    double number;
    unsigned small;
    unsigned long long large;
  } value;
};

inline constexpr unsigned long long kNotAvailable = ~0ULL;  // NVML_VALUE_NOT_AVAILABLE
inline constexpr unsigned kMigEnabled = 1;                  // NVML_DEVICE_MIG_ENABLE
inline constexpr int kTemperatureGpu = 0;                   // nvmlTemperatureSensors_t
inline constexpr int kThresholdSlowdown = 1;   // nvmlTemperatureThresholds_t: the card throttles itself
inline constexpr int kClockSm = 1;             // nvmlClockType_t
inline constexpr int kUncorrectedErrors = 1;   // nvmlMemoryErrorType_t
inline constexpr int kSinceDriverLoad = 0;     // nvmlEccCounterType_t: volatile
inline constexpr unsigned kUuidBytes = 96;     // NVML_DEVICE_UUID_V2_BUFFER_SIZE
inline constexpr unsigned kNameBytes = 96;     // NVML_DEVICE_NAME_V2_BUFFER_SIZE
inline constexpr unsigned kVersionBytes = 80;  // NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE

}  // namespace proctor::nvml
