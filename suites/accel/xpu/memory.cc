#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <utility>

#include "harness/base/digest.h"
#include "suites/accel/xpu/native.h"
#include "suites/main/skipped.h"

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

}  // namespace

Status Buffer::allocate(const Context& context, const Allocation& what, void** pointer) {
  const Device device = what.device == Device() ? context.device() : what.device;
  switch (what.kind) {
    case MemoryKind::kDevice:
      return ZE_CALL(zeMemAllocDevice, native(context), what.large ? &kLargeMemory : &kDeviceMemory,
                     what.bytes, what.alignment, native(device), pointer);
    case MemoryKind::kHost:
      return ZE_CALL(zeMemAllocHost, native(context), &kHostMemory, what.bytes, what.alignment, pointer);
    case MemoryKind::kShared:
      return ZE_CALL(zeMemAllocShared, native(context), &kDeviceMemory, &kHostMemory, what.bytes,
                     what.alignment, native(device), pointer);
    case MemoryKind::kUnknown:
      break;
  }
  return {ZE_RESULT_ERROR_INVALID_ENUMERATION, "accel::Buffer"};
}

Status Buffer::release(void* pointer) const {
  if (imported_) return ZE_CALL(zeMemCloseIpcHandle, context_->handle, pointer);
  return ZE_CALL(zeMemFree, context_->handle, pointer);
}

Status try_free(const Context& context, void* pointer) {
  return ZE_CALL(zeMemFree, native(context), pointer);
}

// ---- Pointer information ----

PointerInfo pointer_info(const Context& context, const void* pointer) {
  ze_memory_allocation_properties_t properties{};
  properties.stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES;
  ze_device_handle_t device = nullptr;
  ZE_CALL(zeMemGetAllocProperties, native(context), pointer, &properties, &device).or_throw();
  PointerInfo info;
  if (properties.type == ZE_MEMORY_TYPE_HOST) info.kind = MemoryKind::kHost;
  if (properties.type == ZE_MEMORY_TYPE_DEVICE) info.kind = MemoryKind::kDevice;
  if (properties.type == ZE_MEMORY_TYPE_SHARED) info.kind = MemoryKind::kShared;
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

// ---- Memory of another process ----

namespace {

// Copies the exporter's descriptor into this process. Returns -1 if the kernel refuses.
int fetch_descriptor(int pid, int fd) {
  const auto pidfd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (pidfd < 0) return -1;
  const auto copy = static_cast<int>(syscall(SYS_pidfd_getfd, pidfd, fd, 0));
  const int error = errno;
  close(pidfd);
  errno = error;
  return copy;
}

}  // namespace

std::string ipc_token(std::span<const char> handle) {
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);  // fails if tracing is unrestricted
  return std::to_string(getpid()) + ":" + to_hex(handle);
}

Status open_token(const std::string& token, std::span<char> handle, const std::function<Status()>& open) {
  const std::size_t colon = token.find(':');
  int pid = 0;
  if (colon == std::string::npos || !from_hex(std::string_view(token).substr(colon + 1), handle) ||
      std::from_chars(token.data(), token.data() + colon, pid).ec != std::errc()) {
    return {ZE_RESULT_ERROR_INVALID_ARGUMENT, "accel::open_token"};
  }
  const Status unmodified = open();
  if (unmodified.ok()) return unmodified;
  int theirs = -1;
  std::memcpy(&theirs, handle.data(), sizeof theirs);
  const int ours = fetch_descriptor(pid, theirs);
  if (ours < 0) throw suite::Skipped("needs:pidfd_getfd");
  std::memcpy(handle.data(), &ours, sizeof ours);
  const Status duplicated = open();
  if (!duplicated.ok()) close(ours);
  return duplicated;
}

std::string Ipc::export_memory(const Context& context, const Buffer& buffer) {
  ze_ipc_mem_handle_t handle{};
  ZE_CALL(zeMemGetIpcHandle, native(context), buffer.data(), &handle).or_throw();
  return ipc_token(handle.data);
}

Status Ipc::try_import(const Context& context, const std::string& token, std::size_t bytes, Buffer& out) {
  ze_ipc_mem_handle_t handle{};
  void* pointer = nullptr;
  const Status status = open_token(token, handle.data, [&] {
    return ZE_CALL(zeMemOpenIpcHandle, native(context), native(context.device()), handle, 0, &pointer);
  });
  if (status.ok()) out = Buffer(context, MemoryKind::kDevice, static_cast<std::byte*>(pointer), bytes, true);
  return status;
}

Status Ipc::try_close(const Context& context, void* pointer) {
  return ZE_CALL(zeMemCloseIpcHandle, native(context), pointer);
}

}  // namespace proctor::accel
