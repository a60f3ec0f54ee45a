// Initialises Level Zero, enumerates devices and reads their properties.
#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>

#include "suites/accel/xpu/level_zero.h"
#include "suites/accel/xpu/native.h"
#include "suites/main/skipped.h"

namespace proctor::accel {
namespace {

EntryPoints load() {
  const SharedLibrary library = xpu::open_loader();
  if (!library.loaded()) throw suite::Skipped(std::string("library_missing:") + xpu::kLoaderName);
  EntryPoints points;
#define PROCTOR_ZE_FIND(name) \
  points.name = reinterpret_cast<decltype(&::name)>(dlsym(library.handle(), #name));
  PROCTOR_ZE_ENTRY_POINTS(PROCTOR_ZE_FIND)
#undef PROCTOR_ZE_FIND
  return points;
}

// Lists handles with the two-call pattern of Level Zero.
template <typename Handle, typename Get>
std::vector<Handle> list(Get&& get) {
  std::uint32_t count = 0;
  get(&count, nullptr).or_throw();
  std::vector<Handle> handles(count);
  if (count != 0) get(&count, handles.data()).or_throw();
  handles.resize(count);
  return handles;
}

void read_identity(DeviceRecord& record) {
  ze_device_properties_t answer{};
  answer.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2;  // timerResolution in ticks per second
  ZE_CALL(zeDeviceGetProperties, record.handle, &answer).or_throw();
  Properties& properties = record.properties;
  properties.name = answer.name;
  properties.uuid = xpu::uuid_text(answer.uuid);
  properties.vendor_id = answer.vendorId;
  properties.device_id = answer.deviceId;
  properties.largest_allocation = answer.maxMemAllocSize;
  properties.compute_units = answer.numSlices * answer.numSubslicesPerSlice * answer.numEUsPerSubslice;
  properties.cores = answer.numSlices * answer.numSubslicesPerSlice;
  properties.threads_of_core = std::max(answer.numEUsPerSubslice * answer.numThreadsPerEU, 1U);
  properties.timer_hz = answer.timerResolution;
  record.timestamp_bits = answer.kernelTimestampValidBits;
  record.tile = answer.subdeviceId;
  record.integrated = (answer.flags & ZE_DEVICE_PROPERTY_FLAG_INTEGRATED) != 0;
}

void read_limits(DeviceRecord& record) {
  ze_device_compute_properties_t answer{};
  answer.stype = ZE_STRUCTURE_TYPE_DEVICE_COMPUTE_PROPERTIES;
  ZE_CALL(zeDeviceGetComputeProperties, record.handle, &answer).or_throw();
  Properties& properties = record.properties;
  properties.local_memory = answer.maxSharedLocalMemory;
  properties.largest_group = answer.maxTotalGroupSize;
  properties.group_limit = {answer.maxGroupSizeX, answer.maxGroupSizeY, answer.maxGroupSizeZ};
  properties.grid_limit = {answer.maxGroupCountX, answer.maxGroupCountY, answer.maxGroupCountZ};
  const auto sizes = std::min<std::uint32_t>(answer.numSubGroupSizes, ZE_SUBGROUPSIZE_COUNT);
  properties.sub_group_sizes.assign(answer.subGroupSizes, answer.subGroupSizes + sizes);
}

void read_arithmetic(DeviceRecord& record) {
  ze_float_atomic_ext_properties_t atomics{};
  atomics.stype = ZE_STRUCTURE_TYPE_FLOAT_ATOMIC_EXT_PROPERTIES;
  ze_device_module_properties_t answer{};
  answer.stype = ZE_STRUCTURE_TYPE_DEVICE_MODULE_PROPERTIES;
  answer.pNext = &atomics;
  ZE_CALL(zeDeviceGetModuleProperties, record.handle, &answer).or_throw();
  Properties& properties = record.properties;
  record.spirv_version = answer.spirvVersionSupported;
  properties.argument_bytes = answer.maxArgumentsSize;
  properties.printf = answer.printfBufferSize != 0;
  properties.fp16 = (answer.flags & ZE_DEVICE_MODULE_FLAG_FP16) != 0;
  properties.fp64 = (answer.flags & ZE_DEVICE_MODULE_FLAG_FP64) != 0;
  properties.int64_atomics = (answer.flags & ZE_DEVICE_MODULE_FLAG_INT64_ATOMICS) != 0;
  properties.fp32_atomic_add = (atomics.fp32Flags & ZE_DEVICE_FP_ATOMIC_EXT_FLAG_GLOBAL_ADD) != 0;
  properties.fp64_atomic_add = (atomics.fp64Flags & ZE_DEVICE_FP_ATOMIC_EXT_FLAG_GLOBAL_ADD) != 0;
  properties.fp32_rounded_division = (answer.fp32flags & ZE_DEVICE_FP_FLAG_ROUNDED_DIVIDE_SQRT) != 0;
  properties.fp16_denormals = (answer.fp16flags & ZE_DEVICE_FP_FLAG_DENORM) != 0;
  properties.fp16_to_nearest = (answer.fp16flags & ZE_DEVICE_FP_FLAG_ROUND_TO_NEAREST) != 0;
  properties.fp32_denormals = (answer.fp32flags & ZE_DEVICE_FP_FLAG_DENORM) != 0;
  properties.fp64_denormals = (answer.fp64flags & ZE_DEVICE_FP_FLAG_DENORM) != 0;
}

void read_memory(DeviceRecord& record) {
  const auto modules = [&] {
    std::uint32_t count = 0;
    ZE_CALL(zeDeviceGetMemoryProperties, record.handle, &count, nullptr).or_throw();
    std::vector<ze_device_memory_properties_t> answers(count);
    for (auto& answer : answers) answer.stype = ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES;
    ZE_CALL(zeDeviceGetMemoryProperties, record.handle, &count, answers.data()).or_throw();
    return answers;
  }();
  for (const auto& module : modules) record.properties.memory += module.totalSize;

  ze_device_memory_access_properties_t access{};
  access.stype = ZE_STRUCTURE_TYPE_DEVICE_MEMORY_ACCESS_PROPERTIES;
  ZE_CALL(zeDeviceGetMemoryAccessProperties, record.handle, &access).or_throw();
  constexpr auto kConcurrentAtomic = ZE_MEMORY_ACCESS_CAP_FLAG_CONCURRENT_ATOMIC;
  record.properties.host_atomics = (access.hostAllocCapabilities & kConcurrentAtomic) != 0;
  record.properties.shared_atomics = (access.sharedSingleDeviceAllocCapabilities & kConcurrentAtomic) != 0;
  record.properties.shared_memory =
      (access.sharedSingleDeviceAllocCapabilities & ZE_MEMORY_ACCESS_CAP_FLAG_RW) != 0;

  ze_driver_ipc_properties_t ipc{};
  ipc.stype = ZE_STRUCTURE_TYPE_DRIVER_IPC_PROPERTIES;
  ZE_CALL(zeDriverGetIpcProperties, record.driver, &ipc).or_throw();
  record.properties.ipc = (ipc.flags & ZE_IPC_PROPERTY_FLAG_MEMORY) != 0;
}

void read_queue_groups(DeviceRecord& record) {
  std::uint32_t count = 0;
  ZE_CALL(zeDeviceGetCommandQueueGroupProperties, record.handle, &count, nullptr).or_throw();
  std::vector<ze_command_queue_group_properties_t> groups(count);
  for (auto& group : groups) group.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES;
  ZE_CALL(zeDeviceGetCommandQueueGroupProperties, record.handle, &count, groups.data()).or_throw();
  constexpr auto kCompute = ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE;
  constexpr auto kBoth = kCompute | ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COOPERATIVE_KERNELS;
  const auto with = [](std::uint32_t flags) {
    return
        [flags](const ze_command_queue_group_properties_t& group) { return (group.flags & flags) == flags; };
  };
  auto found = std::ranges::find_if(groups, with(kBoth));
  record.cooperative = found != groups.end();
  if (!record.cooperative) found = std::ranges::find_if(groups, with(kCompute));
  if (found == groups.end()) throw suite::Skipped("unsupported:compute_queue");
  record.compute_group = static_cast<std::uint32_t>(found - groups.begin());
}

DeviceRecord describe(ze_driver_handle_t driver, ze_device_handle_t handle, const xpu::LevelZero& ze) {
  DeviceRecord record{.driver = driver, .handle = handle, .properties = {}};
  read_identity(record);
  read_limits(record);
  read_arithmetic(record);
  read_memory(record);
  read_queue_groups(record);
  record.properties.pci = xpu::pci_text(ze, handle);
  const auto tiles = list<ze_device_handle_t>([&](std::uint32_t* count, ze_device_handle_t* handles) {
    return ZE_CALL(zeDeviceGetSubDevices, handle, count, handles);
  });
  for (const ze_device_handle_t tile : tiles) {
    record.tiles.push_back(describe(driver, tile, ze));
    record.tiles.back().root = handle;
    record.tiles.back().properties.tile = record.tiles.back().tile;
  }
  return record;
}

xpu::LevelZero initialise() {
  static_cast<void>(entry_points());
  std::string why;
  auto ze = xpu::load_level_zero(why);
  if (!ze) throw suite::Skipped("library_missing:" + why);
  xpu::prepare_sysman(*ze);
  const Status init = ZE_CALL(zeInit, ZE_INIT_FLAG_GPU_ONLY);
  // By the specification, UNINITIALIZED means that no driver found a device. Drivers return it also for other
  // failures.
  if (init.code() == ZE_RESULT_ERROR_UNINITIALIZED) throw suite::Skipped("no_device");
  init.or_throw();
  return *std::move(ze);
}

template <typename Use>
void for_each_visible(const Use& use) {
  const auto drivers = list<ze_driver_handle_t>(
      [](std::uint32_t* count, ze_driver_handle_t* handles) { return ZE_CALL(zeDriverGet, count, handles); });
  for (const ze_driver_handle_t driver : drivers) {
    const auto devices = list<ze_device_handle_t>([&](std::uint32_t* count, ze_device_handle_t* handles) {
      return ZE_CALL(zeDeviceGet, driver, count, handles);
    });
    for (const ze_device_handle_t device : devices) use(driver, device);
  }
}

std::vector<DeviceRecord> enumerate() {
  const xpu::LevelZero ze = initialise();
  std::vector<DeviceRecord> records;
  for_each_visible([&](ze_driver_handle_t driver, ze_device_handle_t device) {
    records.push_back(describe(driver, device, ze));
  });
  return records;
}

}  // namespace

const EntryPoints& entry_points() {
  static const EntryPoints points = load();
  return points;
}

const std::vector<DeviceRecord>& all_devices() {
  static const std::vector<DeviceRecord> records = enumerate();
  return records;
}

std::vector<suite::Identity> identify_visible(bool /*with_uuid: it costs nothing*/) {
  const xpu::LevelZero ze = initialise();
  std::vector<suite::Identity> identities;
  for_each_visible([&](ze_driver_handle_t, ze_device_handle_t device) {
    ze_device_properties_t properties{};
    properties.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES;
    ZE_CALL(zeDeviceGetProperties, device, &properties).or_throw();
    identities.push_back({.uuid = xpu::uuid_text(properties.uuid), .pci = xpu::pci_text(ze, device)});
  });
  return identities;
}

std::vector<Device> Device::list() {
  std::vector<Device> devices;
  for (const DeviceRecord& record : all_devices()) devices.emplace_back(&record);
  return devices;
}

const Properties& Device::properties() const { return record_->properties; }

std::vector<Device> Device::tiles() const {
  std::vector<Device> devices;
  for (const DeviceRecord& record : record_->tiles) devices.emplace_back(&record);
  return devices;
}

bool Device::reaches(const Device& peer) const {
  ze_bool_t reachable = 0;
  ZE_CALL(zeDeviceCanAccessPeer, record_->handle, peer.record_->handle, &reachable).or_throw();
  return reachable != 0;
}

Status Device::try_status() const { return ZE_CALL(zeDeviceGetStatus, record_->handle); }

std::string Status::name() const { return xpu::result_name(static_cast<ze_result_t>(code_)); }

bool Status::not_ready() const { return code_ == ZE_RESULT_NOT_READY; }

bool Status::out_of_memory() const {
  return code_ == ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY || code_ == ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY ||
         code_ == ZE_RESULT_ERROR_UNSUPPORTED_SIZE;
}

bool Status::device_lost() const {
  constexpr std::uint32_t kRequiresReset =
      0x70000006;  // ZE_RESULT_ERROR_DEVICE_REQUIRES_RESET, Level Zero 1.5
  return code_ == ZE_RESULT_ERROR_DEVICE_LOST || code_ == kRequiresReset;
}

bool Status::unsupported() const { return code_ == ZE_RESULT_ERROR_UNSUPPORTED_FEATURE; }

void symbol_missing(const char* name) { throw suite::Skipped(std::string("symbol_missing:") + name); }

void need_valid_to_the_layer(const Status& status) {
  const bool refused = status.code() == ZE_RESULT_ERROR_INVALID_ENUMERATION ||
                       status.code() == ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  if (refused && !xpu::mapped_library("libze_validation_layer").empty())
    throw suite::Skipped("unsupported:" + std::string(status.call()) + "_through_the_validation_layer");
}

bool has_handles_of_the_driver() { return std::getenv("ZE_ENABLE_LOADER_INTERCEPT") == nullptr; }

void* exported_function(const char* name) { return dlsym(xpu::open_loader().handle(), name); }

std::uint64_t in_ze(Nanoseconds timeout) {
  return timeout == Nanoseconds::max() ? UINT64_MAX : static_cast<std::uint64_t>(timeout.count());
}

}  // namespace proctor::accel
