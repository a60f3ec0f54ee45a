// Contexts, memory, and memory of another process on CUDA.
#include <cstring>
#include <utility>

#include "harness/base/digest.h"
#include "suites/accel/cuda/native.h"

namespace proctor::accel {

Context::Context(std::vector<Device> devices) : impl_(std::make_shared<Impl>(std::move(devices))) {
  for (const Device& device : impl_->devices) use(device);
}

const Device& Context::device() const { return impl_->devices.front(); }
const std::vector<Device>& Context::devices() const { return impl_->devices; }

// ---- managed memory ----

#if CUDART_VERSION >= 13000

namespace {

cudaMemLocation location_of(int place) {
  cudaMemLocation location{};
  location.type = place == cudaCpuDeviceId ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice;
  if (place != cudaCpuDeviceId) location.id = place;
  return location;
}

}  // namespace

Status try_prefetch(const void* memory, std::size_t bytes, int place, cudaStream_t stream) {
  return CUDA_CALL(cudaMemPrefetchAsync, memory, bytes, location_of(place), 0, stream);
}

Status try_advise(const void* memory, std::size_t bytes, cudaMemoryAdvise advice, int place) {
  return CUDA_CALL(cudaMemAdvise, memory, bytes, advice, location_of(place));
}

#else

Status try_prefetch(const void* memory, std::size_t bytes, int place, cudaStream_t stream) {
  return CUDA_CALL(cudaMemPrefetchAsync, memory, bytes, place, stream);
}

Status try_advise(const void* memory, std::size_t bytes, cudaMemoryAdvise advice, int place) {
  return CUDA_CALL(cudaMemAdvise, memory, bytes, advice, place);
}

#endif

// ---- buffers ----

// The CUDA Runtime chooses the alignment: at least 256 bytes.
Status Buffer::allocate(const Context& context, const Allocation& what, void** pointer) {
  const Status used = try_use(what.device == Device() ? context.device() : what.device);
  if (!used.ok()) return used;
  switch (what.kind) {
    case MemoryKind::kDevice:
      return CUDA_CALL(cudaMalloc, pointer, what.bytes);
    case MemoryKind::kHost:
      return CUDA_CALL(cudaHostAlloc, pointer, what.bytes, cudaHostAllocPortable | cudaHostAllocMapped);
    case MemoryKind::kShared:
      return CUDA_CALL(cudaMallocManaged, pointer, what.bytes, cudaMemAttachGlobal);
    case MemoryKind::kUnknown:
      break;
  }
  return {cudaErrorInvalidValue, "accel::Buffer"};
}

Status Buffer::release(void* pointer) const {
  if (imported_) return CUDA_CALL(cudaIpcCloseMemHandle, pointer);
  if (kind_ == MemoryKind::kHost) return CUDA_CALL(cudaFreeHost, pointer);
  return CUDA_CALL(cudaFree, pointer);
}

Status try_free(const Context& context, void* pointer) {
  const Status used = try_use(context.device());
  return used.ok() ? CUDA_CALL(cudaFree, pointer) : used;
}

// ---- Pointer information ----

PointerInfo pointer_info(const Context& context, const void* pointer) {
  use(context.device());
  cudaPointerAttributes attributes{};
  CUDA_CALL(cudaPointerGetAttributes, &attributes, pointer).or_throw();
  PointerInfo info;
  if (attributes.type == cudaMemoryTypeHost) info.kind = MemoryKind::kHost;
  if (attributes.type == cudaMemoryTypeDevice) info.kind = MemoryKind::kDevice;
  if (attributes.type == cudaMemoryTypeManaged) info.kind = MemoryKind::kShared;
  if (info.kind == MemoryKind::kUnknown) return info;
  for (const Device& candidate : context.devices()) {
    if (native(candidate) == attributes.device) info.device = candidate;
  }
  return info;
}

// ---- between processes ----

std::string Ipc::export_memory(const Context& context, const Buffer& buffer) {
  use(context.device());
  cudaIpcMemHandle_t handle{};
  CUDA_CALL(cudaIpcGetMemHandle, &handle, buffer.data()).or_throw();
  return to_hex(handle.reserved);
}

Status Ipc::try_import(const Context& context, const std::string& token, std::size_t bytes, Buffer& out) {
  cudaIpcMemHandle_t handle{};
  if (!from_hex(token, handle.reserved)) return {cudaErrorInvalidValue, "accel::Ipc::try_import"};
  use(context.device());
  void* pointer = nullptr;
  const Status status = CUDA_CALL(cudaIpcOpenMemHandle, &pointer, handle, cudaIpcMemLazyEnablePeerAccess);
  if (status.ok()) out = Buffer(context, MemoryKind::kDevice, static_cast<std::byte*>(pointer), bytes, true);
  return status;
}

Status Ipc::try_close(const Context& context, void* pointer) {
  const Status used = try_use(context.device());
  return used.ok() ? CUDA_CALL(cudaIpcCloseMemHandle, pointer) : used;
}

}  // namespace proctor::accel
