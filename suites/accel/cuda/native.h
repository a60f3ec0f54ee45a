// What the handles of accel.h are on the CUDA Runtime, for checks of what only CUDA has.
//
// The runtime has a current device per thread; whoever makes something or submits work makes the right one
// current first (use()). A context of accel.h is the device's primary context, which ends with the process.
#pragma once

#include <cuda_runtime_api.h>

#include <vector>

#include "suites/accel/accel.h"

// Until CUDA 13 the forms with a place in them had names of their own.
#if CUDART_VERSION < 13000
#define cudaMemPrefetchAsync cudaMemPrefetchAsync_v2
#define cudaMemAdvise cudaMemAdvise_v2
#endif

namespace proctor::accel {

// CUDA_CALL(cudaMalloc, &pointer, bytes): what the call answered. Not all failures are remembered by the
// runtime; those that are stay there for cudaGetLastError.
#define CUDA_CALL(call, ...) ::proctor::accel::Status(static_cast<std::uint32_t>(::call(__VA_ARGS__)), #call)

struct DeviceRecord {
  int ordinal = 0;
  cudaDeviceProp native;
  Properties properties;
};

struct Context::Impl {
  explicit Impl(std::vector<Device> its_devices) : devices(std::move(its_devices)) {}
  std::vector<Device> devices;
};

// Two events: the command that signals it stands between them.
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
// As the functions that take a kernel by its host address want it.
inline const void* native(const Kernel& kernel) { return kernel.impl()->handle; }
cudaStream_t native(const Queue& queue);

// A failure for want of code for the device's architecture ends the check as
// skip(unsupported:compute_capability=7.0); any other is thrown.
void or_throw_named(const Status& status, const Device& device);

// Makes the device current in this thread.
Status try_use(const Device& device);
inline void use(const Device& device) { try_use(device).or_throw(); }
// The same, and makes its primary context if there is none yet. Where the card has no room for one, because
// others hold its memory, the check ends as skip(not_enough_memory:context).
void activate(const Device& device);

// Every device that is visible, initialising the runtime at the first call. Where there is none, or no driver
// that works, the check ends as a skip: no_driver, driver_too_old:12040<13000, no_device, driver_fails:NAME.
const std::vector<DeviceRecord>& all_devices();

}  // namespace proctor::accel
