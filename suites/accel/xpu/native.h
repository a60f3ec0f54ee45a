// The Level Zero handles behind accel.h, for checks of features that only Level Zero has.
#pragma once

#include <level_zero/ze_api.h>
#include <level_zero/zes_api.h>

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "suites/accel/accel.h"
#include "suites/accel/xpu/sysman.h"

// The Level Zero entry points that this layer calls, by their own names. A pointer is null if the loader is
// older than the function. ZE_CALL then ends the check as skip(symbol_missing:NAME).
// clang-format off
#define PROCTOR_ZE_ENTRY_POINTS(X)                                                                                \
  X(zeInit) X(zeDriverGet) X(zeDriverGetIpcProperties) X(zeDriverGetProperties)                                    \
  X(zeDeviceGet) X(zeDeviceGetSubDevices) X(zeDeviceGetProperties) X(zeDeviceGetComputeProperties)                 \
  X(zeDeviceGetModuleProperties) X(zeDeviceGetMemoryProperties) X(zeDeviceGetMemoryAccessProperties)               \
  X(zeDeviceGetCommandQueueGroupProperties) X(zeDeviceCanAccessPeer) X(zeDeviceGetStatus)                          \
  X(zeDeviceGetGlobalTimestamps)                                                                                   \
  X(zeContextCreate) X(zeContextDestroy) X(zeContextMakeMemoryResident) X(zeContextEvictMemory)                    \
  X(zeContextCreateEx) X(zeContextGetStatus) X(zeContextSystemBarrier)                                             \
  X(zeMemAllocDevice) X(zeMemAllocHost) X(zeMemAllocShared) X(zeMemFree) X(zeMemFreeExt)                           \
  X(zeMemGetAllocProperties) X(zeMemGetAddressRange) X(zeMemGetIpcHandle) X(zeMemOpenIpcHandle)                    \
  X(zeMemCloseIpcHandle)                                                                                           \
  X(zeVirtualMemReserve) X(zeVirtualMemFree) X(zeVirtualMemQueryPageSize) X(zeVirtualMemMap)                       \
  X(zeVirtualMemUnmap) X(zeVirtualMemSetAccessAttribute) X(zeVirtualMemGetAccessAttribute)                         \
  X(zePhysicalMemCreate) X(zePhysicalMemDestroy)                                                                   \
  X(zeCommandQueueCreate) X(zeCommandQueueDestroy) X(zeCommandQueueExecuteCommandLists)                            \
  X(zeCommandQueueSynchronize)                                                                                     \
  X(zeCommandListCreate) X(zeCommandListCreateImmediate) X(zeCommandListDestroy) X(zeCommandListClose)             \
  X(zeCommandListReset) X(zeCommandListAppendBarrier) X(zeCommandListAppendMemoryCopy)                             \
  X(zeCommandListAppendMemoryFill) X(zeCommandListAppendMemoryCopyRegion) X(zeCommandListAppendLaunchKernel)       \
  X(zeCommandListAppendLaunchCooperativeKernel) X(zeCommandListAppendMemoryPrefetch)                               \
  X(zeCommandListAppendMemAdvise) X(zeCommandListAppendMemoryRangesBarrier)                                        \
  X(zeCommandListAppendWriteGlobalTimestamp) X(zeCommandListAppendSignalEvent) X(zeCommandListAppendWaitOnEvents)  \
  X(zeCommandListAppendEventReset) X(zeCommandListAppendLaunchKernelIndirect)                                      \
  X(zeCommandListAppendLaunchMultipleKernelsIndirect)                                                              \
  X(zeFenceCreate) X(zeFenceDestroy) X(zeFenceHostSynchronize) X(zeFenceQueryStatus) X(zeFenceReset)               \
  X(zeEventPoolCreate) X(zeEventPoolDestroy) X(zeEventCreate) X(zeEventDestroy) X(zeEventHostSignal)               \
  X(zeEventHostSynchronize) X(zeEventQueryStatus) X(zeEventHostReset) X(zeEventQueryKernelTimestamp)               \
  X(zeEventPoolGetIpcHandle) X(zeEventPoolOpenIpcHandle) X(zeEventPoolCloseIpcHandle)                              \
  X(zeModuleCreate) X(zeModuleDestroy) X(zeModuleBuildLogGetString) X(zeModuleBuildLogDestroy)                     \
  X(zeModuleGetKernelNames) X(zeModuleGetNativeBinary) X(zeModuleGetGlobalPointer) X(zeModuleGetProperties)        \
  X(zeKernelCreate) X(zeKernelDestroy) X(zeKernelGetProperties) X(zeKernelSetGroupSize)                            \
  X(zeKernelSuggestGroupSize) X(zeKernelSuggestMaxCooperativeGroupCount) X(zeKernelSetArgumentValue)               \
  X(zeKernelSetIndirectAccess) X(zeKernelSetGlobalOffsetExp) X(zeKernelGetName)                                    \
  X(zeKernelGetSourceAttributes) X(zeKernelGetIndirectAccess) X(zeKernelSetCacheConfig)                            \
  X(zeKernelSchedulingHintExp) X(zeModuleDynamicLink) X(zeModuleGetFunctionPointer)                                \
  X(zeCommandListAppendQueryKernelTimestamps) X(zeCommandListAppendMemoryCopyFromContext)                          \
  X(zeEventQueryTimestampsExp) X(zeDriverGetExtensionFunctionAddress) X(zeDriverGetExtensionProperties)            \
  X(zesDeviceEnumMemoryModules) X(zesMemoryGetState) X(zesMemoryGetProperties)                                     \
  X(zesDeviceEnumTemperatureSensors) X(zesTemperatureGetProperties) X(zesTemperatureGetState)                      \
  X(zesDeviceEnumPowerDomains) X(zesPowerGetEnergyCounter) X(zesPowerGetProperties) X(zesDeviceReset)
// clang-format on

namespace proctor::accel {

// The addresses of the entry points.
struct EntryPoints {
#define PROCTOR_ZE_MEMBER(name) decltype(&::name) name = nullptr;
  PROCTOR_ZE_ENTRY_POINTS(PROCTOR_ZE_MEMBER)
#undef PROCTOR_ZE_MEMBER
};

// Loads the loader at the first call. Without a loader the check ends as
// skip(library_missing:libze_loader.so.1).
const EntryPoints& entry_points();

[[noreturn]] void symbol_missing(const char* name);

template <typename Function>
Function present(Function function, const char* name) {
  if (function == nullptr) symbol_missing(name);
  return function;
}

// ZE_CALL(zeMemFree, context, pointer) returns the Status of the call.
#define ZE_CALL(name, ...)                                                                  \
  ::proctor::accel::Status(static_cast<std::uint32_t>(::proctor::accel::present(            \
                               ::proctor::accel::entry_points().name, #name)(__VA_ARGS__)), \
                           #name)

// A device or a tile of a device.
struct DeviceRecord {
  ze_driver_handle_t driver = nullptr;
  ze_device_handle_t handle = nullptr;
  Properties properties;
  std::uint32_t compute_group = 0;    // ordinal of a queue group that runs kernels
  bool cooperative = false;           // the group also runs cooperative kernels
  std::uint32_t timestamp_bits = 64;  // valid bits of a kernel timestamp
  std::uint32_t spirv_version = 0;    // newest supported version, as ZE_MAKE_VERSION
  std::vector<DeviceRecord> tiles{};
  ze_device_handle_t root = nullptr;  // card of a tile
  std::uint32_t tile = 0;             // number of a tile
  bool integrated = false;            // the device uses host memory
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
  bool has_offset = false;  // whether the last launch had an offset
};

inline ze_device_handle_t native(const Device& device) { return device.record()->handle; }
inline ze_context_handle_t native(const Context& context) { return context.impl()->handle; }
inline ze_event_handle_t native(const Event& event) { return event.impl().handle; }
inline ze_module_handle_t native(const Module& module) { return module.impl()->handle; }
inline ze_kernel_handle_t native(const Kernel& kernel) { return kernel.impl()->handle; }
ze_driver_handle_t driver_of(const Context& context);

// Returns the queue's own handle, which the caller must not destroy. A list that a caller executes on it runs
// after the work in the queue.
ze_command_queue_handle_t native(const Queue& queue);
// Returns the command list of a queue in mode kImmediate. After a caller has appended to it, barrier() makes
// the queue wait for that work.
ze_command_list_handle_t immediate_list(const Queue& queue);

// Returns all devices of all drivers. The first call initialises Level Zero; if that fails, every call throws
// the same failure. Sysman is prepared before zeInit.
const std::vector<DeviceRecord>& all_devices();

// Returns the device in Sysman. If Sysman does not have it, the check ends as skip(unsupported:management).
const xpu::ManagedDevice& in_sysman(const Device& device);

// Returns the start and size of the allocation that contains a pointer. The status is an error if the pointer
// does not belong to the driver.
Status try_address_range(const Context& context, const void* pointer, void** base, std::size_t* bytes);

// Request that memory stays on the device, or may leave it. Evicted memory must return with its contents.
void make_resident(const Context& context, const Buffer& buffer);
void evict(const Context& context, const Buffer& buffer);

// Skips the check if the loader's validation layer refused a valid call. The layer refuses features that are
// newer than itself, and some valid null pointers.
void need_valid_to_the_layer(const Status& status);
// Returns a function that the loader exports, or null. The headers of this build may lack it.
void* exported_function(const char* name);
// Returns whether handles belong to the driver. A loader that intercepts calls wraps handles, so a function
// that is called by its address would refuse them.
bool has_handles_of_the_driver();

std::uint64_t in_ze(Nanoseconds timeout);  // Nanoseconds::max() becomes Level Zero's infinite timeout

// Returns an IPC handle of Level Zero as text for another process. The specification does not define its
// bytes. The first four bytes are the number of a file descriptor of the exporter. Intel's drivers 26.09 to
// 26.14 need the unmodified handle and fetch the descriptor. Earlier drivers need the number of a descriptor
// of the importer (the official tests pass it over a socket). The importer tries the unmodified handle first.
// Then it tries the handle with a descriptor that it copies with pidfd_getfd. For both, the exporter permits
// other processes to trace it.

std::string ipc_token(std::span<const char> handle);

// Copies the bytes of the token to `handle` and calls `open`. If `open` fails, it calls `open` again with a
// descriptor of this process in the handle. If that fails too, the descriptor is closed; otherwise it belongs
// to the driver. A text that is not a token is an invalid argument. If the kernel refuses the descriptor, the
// check ends as skip(needs:pidfd_getfd).
Status open_token(const std::string& token, std::span<char> handle, const std::function<Status()>& open);

}  // namespace proctor::accel
