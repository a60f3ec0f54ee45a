// What the handles of accel.h are on Level Zero, for checks of what only Level Zero has.
#pragma once

#include <level_zero/ze_api.h>

#include <vector>

#include "suites/accel/accel.h"
#include "suites/accel/xpu/entry_points.h"

namespace proctor::accel {

struct DeviceRecord {
  ze_driver_handle_t driver = nullptr;
  ze_device_handle_t handle = nullptr;
  Properties properties;
  std::uint32_t compute_group = 0;    // ordinal of a queue group that runs kernels
  std::uint32_t timestamp_bits = 64;  // valid bits of kernel time stamps
  std::vector<DeviceRecord> tiles{};
  ze_device_handle_t root = nullptr;  // of a tile: its card
  std::uint32_t tile = 0;             // of a tile: its number
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
  bool has_offset = false;  // of the last launch
};

inline ze_device_handle_t native(const Device& device) { return device.record()->handle; }
inline ze_context_handle_t native(const Context& context) { return context.impl()->handle; }
inline ze_event_handle_t native(const Event& event) { return event.impl().handle; }
inline ze_module_handle_t native(const Module& module) { return module.impl()->handle; }
inline ze_kernel_handle_t native(const Kernel& kernel) { return kernel.impl()->handle; }
ze_driver_handle_t driver_of(const Context& context);

// The queue's own handle; a caller must not destroy it. Lists that are appended by
// hand run after what it holds.
ze_command_queue_handle_t native(const Queue& queue);
// The same of a queue in mode kImmediate. After appending to it by hand, a barrier() makes it wait for that.
ze_command_list_handle_t immediate_list(const Queue& queue);

// Every device of every driver, initialising Level Zero at the first call. A failure is remembered and thrown
// each time. A management handle is asked for by setting ZES_ENABLE_SYSMAN, which must precede zeInit.
const std::vector<DeviceRecord>& all_devices();

// Begin and size of the allocation that a pointer lies in. Not ok: the driver does not know the pointer.
Status try_address_range(const Context& context, const void* pointer, void** base, std::size_t* bytes);

// Asks that memory is (not) kept on the device. Evicted memory must come back with its contents.
void make_resident(const Context& context, const Buffer& buffer);
void evict(const Context& context, const Buffer& buffer);

std::uint64_t in_ze(Nanoseconds timeout);  // the vendor's "wait for ever" for Nanoseconds::max()

}  // namespace proctor::accel
