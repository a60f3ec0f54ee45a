// The CUDA Runtime handles behind accel.h, for checks of features that only CUDA has.
//
// The CUDA Runtime has a current device for each thread. Code that creates an object or submits work must
// first make the right device current (use()). A context of accel.h is the primary context of the device,
// which ends with the process.
#pragma once

#include <cuda_runtime_api.h>

#include <string>
#include <vector>

#include "suites/accel/accel.h"
#include "suites/main/skipped.h"

namespace proctor::accel {

// CUDA_CALL(cudaMalloc, &pointer, bytes) returns the Status of the call. The CUDA Runtime stores some
// failures; the macro leaves them for cudaGetLastError. If the driver is older than the runtime within the
// same major version, it may lack a call. The check then ends as skip(driver_too_old:cudaFuncGetName). If a
// driver that is not older returns this code, the check receives it as an ordinary error.
#define CUDA_CALL(call, ...) ::proctor::accel::answer(::call(__VA_ARGS__), #call)
bool driver_is_older();  // older than the CUDA version of this build
inline Status answer(cudaError_t code, const char* call) {
  if (code == cudaErrorCallRequiresNewerDriver && driver_is_older())
    throw suite::Skipped(std::string("driver_too_old:") + call);
  return Status(static_cast<std::uint32_t>(code), call);
}

// A device of the CUDA Runtime.
struct DeviceRecord {
  int ordinal = 0;
  cudaDeviceProp native;
  Properties properties;
};

struct Context::Impl {
  explicit Impl(std::vector<Device> its_devices) : devices(std::move(its_devices)) {}
  std::vector<Device> devices;
};

// Two events of the CUDA Runtime, before and after the command that signals the event.
struct Event::Impl {
  ~Impl();
  std::shared_ptr<Context::Impl> context;
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
};

struct Module::Impl {
  ~Impl();
  std::shared_ptr<Context::Impl> context;
  cudaLibrary_t handle = nullptr;
};

struct Kernel::Impl {
  std::shared_ptr<Module::Impl> module;
  cudaKernel_t handle = nullptr;
};

inline int native(const Device& device) { return device.record()->ordinal; }
inline cudaEvent_t native(const Event& event) { return event.impl().end; }
inline cudaLibrary_t native(const Module& module) { return module.impl()->handle; }
// Returns the handle for functions that take a kernel by its host address.
inline const void* native(const Kernel& kernel) { return kernel.impl()->handle; }
cudaStream_t native(const Queue& queue);

// Calls for managed memory that CUDA 13 changed. For CUDA 12, the old form is used, which every driver of
// that version supports. `place` is the ordinal of a device, or cudaCpuDeviceId.
Status try_prefetch(const void* memory, std::size_t bytes, int place, cudaStream_t stream);
Status try_advise(const void* memory, std::size_t bytes, cudaMemoryAdvise advice, int place);

// Loads a kernel on these devices. Otherwise the CUDA Runtime loads it at its first launch, and may then wait
// for running work. With a closed latch it would wait forever. Source: NVIDIA CUDA Programming Guide, Lazy
// Loading.
Status load_now(const void* kernel, const std::vector<Device>& devices);

// Throws a failure of a kernel. If the file has no code for the device's architecture, the check ends as
// skip(unsupported:compute_capability=7.0).
void or_throw_named(const Status& status, const Device& device);

// Makes the device current in this thread, and creates its primary context if necessary. If other processes
// hold so much memory that no context fits, use() ends the check as skip(not_enough_memory:context).
Status try_use(const Device& device);
void use(const Device& device);

// Returns all visible devices. The first call initialises the CUDA Runtime. If no device or no working driver
// exists, the check ends as a skip: no_driver, driver_too_old:12040<13000, no_device or driver_fails:NAME.
const std::vector<DeviceRecord>& all_devices();

}  // namespace proctor::accel
