#include <utility>

#include "suites/accel/xpu/native.h"

namespace proctor::accel {

// ---- contexts ----

Context::Context(std::vector<Device> devices) : impl_(std::make_shared<Impl>(std::move(devices))) {
  std::vector<ze_device_handle_t> handles;
  for (const Device& device : impl_->devices) handles.push_back(native(device));
  ze_context_desc_t description{};
  description.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC;
  ZE_CALL(zeContextCreate, driver_of(*this), &description, &impl_->handle).or_throw();
}

Context::Impl::~Impl() {
  if (handle != nullptr) entry_points().zeContextDestroy(handle);
}

const Device& Context::device() const { return impl_->devices.front(); }
const std::vector<Device>& Context::devices() const { return impl_->devices; }

ze_driver_handle_t driver_of(const Context& context) { return context.device().record()->driver; }

// ---- buffers ----

namespace {

constexpr ze_device_mem_alloc_desc_t kDeviceMemory = {ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, nullptr, 0, 0};
constexpr ze_relaxed_allocation_limits_exp_desc_t kRelaxed = {
    ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXP_DESC, nullptr,
    ZE_RELAXED_ALLOCATION_LIMITS_EXP_FLAG_MAX_SIZE};
constexpr ze_device_mem_alloc_desc_t kLargeMemory = {ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, &kRelaxed, 0,
                                                     0};
constexpr ze_host_mem_alloc_desc_t kHostMemory = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC, nullptr, 0};

Status allocate(const Context& context, const Allocation& what, void** pointer) {
  const Device device = what.device == Device() ? context.device() : what.device;
  switch (what.kind) {
    case Kind::kDevice:
      return ZE_CALL(zeMemAllocDevice, native(context), what.large ? &kLargeMemory : &kDeviceMemory,
                     what.bytes, what.alignment, native(device), pointer);
    case Kind::kHost:
      return ZE_CALL(zeMemAllocHost, native(context), &kHostMemory, what.bytes, what.alignment, pointer);
    case Kind::kShared:
      return ZE_CALL(zeMemAllocShared, native(context), &kDeviceMemory, &kHostMemory, what.bytes,
                     what.alignment, native(device), pointer);
    case Kind::kUnknown:
      break;
  }
  return {ZE_RESULT_ERROR_INVALID_ENUMERATION, "accel::Buffer"};
}

}  // namespace

Buffer::Buffer(const Context& context, const Allocation& allocation) {
  try_allocate(context, allocation, *this).or_throw();
}

Buffer::Buffer(Context context, Kind kind, std::byte* data, std::size_t bytes, bool imported)
    : context_(context.impl()), kind_(kind), data_(data), bytes_(bytes), imported_(imported) {}

Buffer::~Buffer() {
  if (data_ != nullptr) try_free();  // a destructor has nobody to tell
}

Buffer::Buffer(Buffer&& other) noexcept
    : context_(std::move(other.context_)),
      kind_(other.kind_),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      imported_(other.imported_) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(context_, other.context_);
  std::swap(kind_, other.kind_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(imported_, other.imported_);
  return *this;
}

Status Buffer::try_allocate(const Context& context, const Allocation& allocation, Buffer& out) {
  void* pointer = nullptr;
  const Status status = allocate(context, allocation, &pointer);
  if (status.ok()) {
    out = Buffer(context, allocation.kind, static_cast<std::byte*>(pointer), allocation.bytes, false);
  }
  return status;
}

Status Buffer::try_free() {
  void* pointer = std::exchange(data_, nullptr);
  bytes_ = 0;
  if (imported_) return ZE_CALL(zeMemCloseIpcHandle, context_->handle, pointer);
  return ZE_CALL(zeMemFree, context_->handle, pointer);
}

Status try_free(const Context& context, void* pointer) {
  return ZE_CALL(zeMemFree, native(context), pointer);
}

// ---- what the driver knows ----

PointerInfo pointer_info(const Context& context, const void* pointer) {
  ze_memory_allocation_properties_t properties{};
  properties.stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES;
  ze_device_handle_t device = nullptr;
  ZE_CALL(zeMemGetAllocProperties, native(context), pointer, &properties, &device).or_throw();
  PointerInfo info;
  if (properties.type == ZE_MEMORY_TYPE_HOST) info.kind = Kind::kHost;
  if (properties.type == ZE_MEMORY_TYPE_DEVICE) info.kind = Kind::kDevice;
  if (properties.type == ZE_MEMORY_TYPE_SHARED) info.kind = Kind::kShared;
  for (const Device& candidate : context.devices()) {
    if (native(candidate) == device) info.device = candidate;
    for (const Device& tile : candidate.tiles()) {
      if (native(tile) == device) info.device = tile;
    }
  }
  return info;
}

Status try_address_range(const Context& context, const void* pointer, void** base, std::size_t* bytes) {
  return ZE_CALL(zeMemGetAddressRange, native(context), pointer, base, bytes);
}

void make_resident(const Context& context, const Buffer& buffer) {
  ZE_CALL(zeContextMakeMemoryResident, native(context), native(context.device()), buffer.data(),
          buffer.bytes())
      .or_throw();
}

void evict(const Context& context, const Buffer& buffer) {
  ZE_CALL(zeContextEvictMemory, native(context), native(context.device()), buffer.data(), buffer.bytes())
      .or_throw();
}

}  // namespace proctor::accel
