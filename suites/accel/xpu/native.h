// What the handles of accel.h are on Level Zero, for checks of what only Level Zero has.
#pragma once

#include <level_zero/ze_api.h>

#include <vector>

#include "suites/accel/accel.h"
#include "suites/accel/xpu/entry_points.h"
#include "suites/accel/xpu/sysman.h"

namespace proctor::accel {

struct DeviceRecord {
  ze_driver_handle_t driver = nullptr;
  ze_device_handle_t handle = nullptr;
  Properties properties;
  std::uint32_t compute_group = 0;    // the ordinal of a queue group that runs kernels
  bool cooperative = false;           // it also runs those whose groups wait for each other
  std::uint32_t timestamp_bits = 64;  // how many bits of a kernel time stamp are valid
  std::uint32_t spirv_version = 0;    // the newest that it takes, as ZE_MAKE_VERSION
  std::vector<DeviceRecord> tiles{};
  ze_device_handle_t root = nullptr;  // for a tile, its card
  std::uint32_t tile = 0;             // for a tile, its number
  bool integrated = false;            // its memory is the host's
};

struct Context::Impl {
  explicit Impl(std::vector<Device> its_devices) : devices(std::move(its_devices)) {}
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  ze_context_handle_t handle = nullptr;
  std::vector<Device> devices;
};

struct Event::Impl {
  ~Impl();
  std::shared_ptr<Context::Impl> context;
  ze_event_pool_handle_t pool = nullptr;
  ze_event_handle_t handle = nullptr;
};

struct Module::Impl {
  ~Impl();
  std::shared_ptr<Context::Impl> context;
  ze_module_handle_t handle = nullptr;
};

struct Kernel::Impl {
  ~Impl();
  std::shared_ptr<Module::Impl> module;
  ze_kernel_handle_t handle = nullptr;
  bool has_offset = false;  // whether the last launch had one
};

inline ze_device_handle_t native(const Device& device) { return device.record()->handle; }
inline ze_context_handle_t native(const Context& context) { return context.impl()->handle; }
inline ze_event_handle_t native(const Event& event) { return event.impl().handle; }
inline ze_module_handle_t native(const Module& module) { return module.impl()->handle; }
inline ze_kernel_handle_t native(const Kernel& kernel) { return kernel.impl()->handle; }
ze_driver_handle_t driver_of(const Context& context);

// The queue's own handle, which a caller must not destroy. A list that a caller executes on it runs
// after the work that the queue holds.
ze_command_queue_handle_t native(const Queue& queue);
// The list of a queue in mode kImmediate. After a caller has appended to it, barrier()
// makes the queue wait for that.
ze_command_list_handle_t immediate_list(const Queue& queue);

// All devices of all drivers. The first call initialises Level Zero; if that fails, every call throws the
// same failure. It prepares the management interface before zeInit.
const std::vector<DeviceRecord>& all_devices();

// The device in the management interface. Ends the check as skip(unsupported:management) if the interface does not have it.
const xpu::ManagedDevice& in_sysman(const Device& device);

// The start and the size of the allocation that contains a pointer. The status is not ok when the driver does
// not know the pointer.
Status try_address_range(const Context& context, const void* pointer, void** base, std::size_t* bytes);

// Requests that memory is kept on the device, or not. Evicted memory must come back with its contents.
void make_resident(const Context& context, const Buffer& buffer);
void evict(const Context& context, const Buffer& buffer);

// The loader's validation layer refuses what is newer than it, and some null pointers that are valid: ends the check as a
// skip then.
void need_valid_to_the_layer(const Status& status);
// A function that the loader exports, or null. The headers of this build may lack it.
void* exported_function(const char* name);
// A loader that intercepts calls has handles of its own: a function that is had by its address does not know them.
bool has_handles_of_the_driver();

std::uint64_t in_ze(Nanoseconds timeout);  // the vendor's "wait for ever" for Nanoseconds::max()

}  // namespace proctor::accel
