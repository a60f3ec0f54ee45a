// What the handles of accel.h are on the CUDA Runtime, for checks of what only CUDA has.
//
// The runtime has a current device for each thread. Code that makes something or submits work must
// make the right device current first (use()). A context of accel.h is the primary context of the
// device, which ends with the process.
#pragma once

#include <cuda_runtime_api.h>

#include <string>
#include <vector>

#include "suites/accel/accel.h"
#include "suites/main/skipped.h"

namespace proctor::accel {

// CUDA_CALL(cudaMalloc, &pointer, bytes) gives the Status of the call. The runtime remembers some failures;
// the macro leaves them there for cudaGetLastError. A call for which the driver is too old, of the same number as the
// runtime but an earlier one, ends the check as skip(driver_too_old:cudaFuncGetName). A driver that is not older and
// says so all the same is wrong: the check gets its answer like any other.
#define CUDA_CALL(call, ...) ::proctor::accel::answer(::call(__VA_ARGS__), #call)
bool driver_is_older();  // than the CUDA that this was compiled for
inline Status answer(cudaError_t code, const char* call) {
  if (code == cudaErrorCallRequiresNewerDriver && driver_is_older())
    throw suite::Skipped(std::string("driver_too_old:") + call);
  return Status(static_cast<std::uint32_t>(code), call);
}

struct DeviceRecord {
  int ordinal = 0;
  cudaDeviceProp native;
  Properties properties;
};

struct Context::Impl {
  explicit Impl(std::vector<Device> its_devices) : devices(std::move(its_devices)) {}
  std::vector<Device> devices;
};

// Two events of the runtime. The command that signals the event stands between them.
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
// The form for functions that take a kernel by its host address.
inline const void* native(const Kernel& kernel) { return kernel.impl()->handle; }
cudaStream_t native(const Queue& queue);

// Calls for managed memory whose form CUDA 13 changed; that before it is what each driver of 12 knows. `place` is the
// ordinal of a device, or cudaCpuDeviceId.
Status try_prefetch(const void* memory, std::size_t bytes, int place, cudaStream_t stream);
Status try_advise(const void* memory, std::size_t bytes, cudaMemoryAdvise advice, int place);

// Loads a kernel on these devices. The runtime loads it with its first launch otherwise, and may wait for running work
// then: behind a closed latch it would wait for ever. Source: NVIDIA CUDA Programming Guide, Lazy Loading.
Status load_now(const void* kernel, const std::vector<Device>& devices);

// If the file has no code for the device's architecture, the check ends as
// skip(unsupported:compute_capability=7.0). Any other failure is thrown.
void or_throw_named(const Status& status, const Device& device);

// Makes the device current in this thread, and its primary context if there is none yet. If the card has no room for a
// context, because other processes hold its memory, use() ends the check as skip(not_enough_memory:context).
Status try_use(const Device& device);
void use(const Device& device);

// All visible devices. The first call initialises the runtime. If there is no device, or no driver that
// works, the check ends as a skip: no_driver, driver_too_old:12040<13000, no_device or driver_fails:NAME.
const std::vector<DeviceRecord>& all_devices();

}  // namespace proctor::accel
