// Checks of the error codes of the CUDA Runtime's memory calls for bad arguments.
#include "suites/accel/cuda/refusal.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

constexpr std::size_t kHuge = SIZE_MAX;

// An address of memory of this kind that was freed.
void* freed(Victim& victim, MemoryKind kind) {
  Buffer once(victim.context, {.kind = kind, .bytes = 4096});
  void* const pointer = once.data();
  once.try_free().or_throw();
  return pointer;
}

// An address of memory that was registered and unregistered.
void* unregistered() {
  alignas(4096) static std::byte page[4096];
  CUDA_CALL(cudaHostRegister, page, sizeof page, cudaHostRegisterMapped).or_throw();
  CUDA_CALL(cudaHostUnregister, page).or_throw();
  return page;
}

cudaMemPool_t default_pool(Victim& victim) {
  cudaMemPool_t pool = nullptr;
  CUDA_CALL(cudaDeviceGetDefaultMemPool, &pool, native(victim.context.device())).or_throw();
  return pool;
}

// Creates a pool of the device. `spoil` changes one of its valid properties.
template <typename Spoil>
Status create_pool(Victim& victim, Spoil&& spoil) {
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.location.id = native(victim.context.device());
  spoil(properties);
  cudaMemPool_t pool = nullptr;
  return CUDA_CALL(cudaMemPoolCreate, &pool, &properties);
}

cudaMemLocation place_of(Victim& victim) {
  cudaMemLocation place{};
  place.type = cudaMemLocationTypeDevice;
  place.id = native(victim.context.device());
  return place;
}

// Parameters of a copy of four rows of 16 bytes, from the victim's device memory to its host memory.
cudaMemcpy3DParms volume(Victim& victim) {
  cudaMemcpy3DParms what{};
  what.srcPtr = {victim.memory.data(), 64, 64, 4};
  what.dstPtr = {victim.host.data(), 64, 64, 4};
  what.extent = {16, 4, 1};
  what.kind = cudaMemcpyDefault;
  return what;
}

// Bad calls and their codes. The CUDA Runtime API lists the codes of each function. The code of an argument is
// that of ROCm/hip-tests compiled for NVIDIA, or that of an H100 with the driver 580.159.04. Each row is one call
// with one bad argument.
constexpr BadCall kBadCalls[] = {
    {"cudaMalloc", "the place for the pointer is null", cudaErrorInvalidValue,
     [](Victim&) { return CUDA_CALL(cudaMalloc, static_cast<void**>(nullptr), 64); }},
    {"cudaMalloc", "the size is larger than any memory", cudaErrorMemoryAllocation,
     [](Victim& v) { return CUDA_CALL(cudaMalloc, &v.pointer, kHuge); }},
    {"cudaMallocHost", "the place for the pointer is null", cudaErrorInvalidValue,
     [](Victim&) { return CUDA_CALL(cudaMallocHost, static_cast<void**>(nullptr), 64); }},
    {"cudaMallocHost", "the size is larger than any memory", cudaErrorMemoryAllocation,
     [](Victim& v) { return CUDA_CALL(cudaMallocHost, &v.pointer, kHuge); }},
    {"cudaMalloc3D", "the place for the pointer is null", cudaErrorInvalidValue,
     [](Victim&) {
       return CUDA_CALL(cudaMalloc3D, nullptr, cudaExtent{16, 4, 2});
     }},

    {"cudaFree", "the pointer is a local variable", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaFree, &v.on_the_stack); }},
    {"cudaFree", "the pointer lies inside an allocation", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaFree, v.memory.data() + 64); }},
    {"cudaFree", "the memory is pinned memory of the host", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaFree, v.host.data()); }},
    {"cudaFree", "the memory is free already", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaFree, freed(v, MemoryKind::kDevice)); }},
    {"cudaFree", "the memory is managed and free already", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaFree, freed(v, MemoryKind::kShared)); }},

    {"cudaFreeHost", "the pointer is a local variable", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaFreeHost, &v.on_the_stack); }},
    {"cudaFreeHost", "the memory is the device's", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaFreeHost, v.memory.data()); }},
    {"cudaFreeHost", "the memory is free already", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaFreeHost, freed(v, MemoryKind::kHost)); }},

    {"cudaHostAlloc", "the place for the pointer is null", cudaErrorInvalidValue,
     [](Victim&) { return CUDA_CALL(cudaHostAlloc, nullptr, 64, cudaHostAllocDefault); }},
    {"cudaHostAlloc", "a flag does not exist", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaHostAlloc, &v.pointer, 64, kNoSuchFlag); }},
    {"cudaHostAlloc", "the size is larger than any memory", cudaErrorMemoryAllocation,
     [](Victim& v) { return CUDA_CALL(cudaHostAlloc, &v.pointer, kHuge, cudaHostAllocDefault); }},

    {"cudaMallocManaged", "the place for the pointer is null", cudaErrorInvalidValue,
     [](Victim&) { return CUDA_CALL(cudaMallocManaged, nullptr, 64, cudaMemAttachGlobal); }},
    {"cudaMallocManaged", "no flag is given", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaMallocManaged, &v.pointer, 64, 0); }},

    {"cudaMallocPitch", "the place for the pointer is null", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaMallocPitch, static_cast<void**>(nullptr), &v.size, 64, 4); }},
    {"cudaMallocPitch", "the place for the pitch is null", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaMallocPitch, &v.pointer, nullptr, 64, 4); }},

    {"cudaMemcpy", "the destination is null", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaMemcpy, nullptr, v.memory.data(), 64, cudaMemcpyDefault); }},
    {"cudaMemcpy", "the source is null", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaMemcpy, v.host.data(), nullptr, 64, cudaMemcpyDefault); }},
    {"cudaMemcpy", "there is no such direction", cudaErrorInvalidMemcpyDirection,
     [](Victim& v) {
       return CUDA_CALL(cudaMemcpy, v.host.data(), v.memory.data(), 64, no_such<cudaMemcpyKind>());
     }},

    {"cudaMemcpyAsync", "the destination is null", cudaErrorInvalidValue,
     [](Victim& v) {
       return CUDA_CALL(cudaMemcpyAsync, nullptr, v.memory.data(), 64, cudaMemcpyDefault, v.stream);
     }},
    {"cudaMemcpyAsync", "there is no such direction", cudaErrorInvalidMemcpyDirection,
     [](Victim& v) {
       return CUDA_CALL(cudaMemcpyAsync, v.host.data(), v.memory.data(), 64, no_such<cudaMemcpyKind>(),
                        v.stream);
     }},

    {"cudaMemcpy2D", "a row is longer than the pitch of the destination", cudaErrorInvalidPitchValue,
     [](Victim& v) {
       return CUDA_CALL(cudaMemcpy2D, v.host.data(), 32, v.memory.data(), 64, 48, 4, cudaMemcpyDefault);
     }},
    {"cudaMemcpy2D", "a row is longer than the pitch of the source", cudaErrorInvalidPitchValue,
     [](Victim& v) {
       return CUDA_CALL(cudaMemcpy2D, v.host.data(), 64, v.memory.data(), 32, 48, 4, cudaMemcpyDefault);
     }},
    {"cudaMemcpy2D", "there is no such direction", cudaErrorInvalidMemcpyDirection,
     [](Victim& v) {
       return CUDA_CALL(cudaMemcpy2D, v.host.data(), 64, v.memory.data(), 64, 48, 4,
                        no_such<cudaMemcpyKind>());
     }},

    {"cudaMemcpy2D", "the destination is null", cudaErrorInvalidValue,
     [](Victim& v) {
       return CUDA_CALL(cudaMemcpy2D, nullptr, 64, v.memory.data(), 64, 48, 4, cudaMemcpyDefault);
     }},
    {"cudaMemcpy2D", "the source is null", cudaErrorInvalidValue,
     [](Victim& v) {
       return CUDA_CALL(cudaMemcpy2D, v.host.data(), 64, nullptr, 64, 48, 4, cudaMemcpyDefault);
     }},
    {"cudaMemcpy2D", "a row is a byte longer than the pitch of the destination", cudaErrorInvalidPitchValue,
     [](Victim& v) {
       return CUDA_CALL(cudaMemcpy2D, v.host.data(), 47, v.memory.data(), 48, 48, 4, cudaMemcpyDefault);
     }},
    {"cudaMemcpy2D", "a row is a byte longer than the pitch of the source", cudaErrorInvalidPitchValue,
     [](Victim& v) {
       return CUDA_CALL(cudaMemcpy2D, v.host.data(), 48, v.memory.data(), 47, 48, 4, cudaMemcpyDefault);
     }},
    {"cudaMemcpy2DAsync", "a row is a byte longer than the pitch of the source", cudaErrorInvalidPitchValue,
     [](Victim& v) {
       return CUDA_CALL(cudaMemcpy2DAsync, v.host.data(), 48, v.memory.data(), 47, 48, 4, cudaMemcpyDefault,
                        v.stream);
     }},
    {"cudaMemcpy2DAsync", "there is no such direction", cudaErrorInvalidMemcpyDirection,
     [](Victim& v) {
       return CUDA_CALL(cudaMemcpy2DAsync, v.host.data(), 64, v.memory.data(), 64, 48, 4,
                        no_such<cudaMemcpyKind>(), v.stream);
     }},
    {"cudaMemcpy3D", "the description of the copy is null", cudaErrorInvalidValue,
     [](Victim&) { return CUDA_CALL(cudaMemcpy3D, nullptr); }},
    {"cudaMemcpy3D", "a row is longer than the pitch of the source", cudaErrorInvalidPitchValue,
     [](Victim& v) {
       auto what = volume(v);
       what.srcPtr.pitch = 15;
       return CUDA_CALL(cudaMemcpy3D, &what);
     }},
    {"cudaMemcpy3D", "a row is longer than the pitch of the destination", cudaErrorInvalidPitchValue,
     [](Victim& v) {
       auto what = volume(v);
       what.dstPtr.pitch = 15;
       return CUDA_CALL(cudaMemcpy3D, &what);
     }},
    {"cudaMemcpy3D", "there is no such direction", cudaErrorInvalidMemcpyDirection,
     [](Victim& v) {
       auto what = volume(v);
       what.kind = no_such<cudaMemcpyKind>();
       return CUDA_CALL(cudaMemcpy3D, &what);
     }},
    {"cudaMemcpy3DAsync", "the description of the copy is null", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaMemcpy3DAsync, nullptr, v.stream); }},
    {"cudaMemset", "the pointer is null", cudaErrorInvalidValue,
     [](Victim&) { return CUDA_CALL(cudaMemset, nullptr, 0, 64); }},
    {"cudaMemsetAsync", "the pointer is null", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaMemsetAsync, nullptr, 0, 64, v.stream); }},

    {"cudaHostRegister", "the pointer is null", cudaErrorInvalidValue,
     [](Victim&) { return CUDA_CALL(cudaHostRegister, nullptr, 4096, cudaHostRegisterDefault); }},
    {"cudaHostRegister", "the size is 0", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaHostRegister, &v.on_the_stack, 0, cudaHostRegisterDefault); }},
    {"cudaHostRegister", "a flag does not exist", cudaErrorInvalidValue,
     [](Victim& v) {
       return CUDA_CALL(cudaHostRegister, &v.on_the_stack, sizeof v.on_the_stack, kNoSuchFlag);
     }},
    {"cudaHostRegister", "the memory is registered already", cudaErrorHostMemoryAlreadyRegistered,
     [](Victim&) {
       alignas(4096) static std::byte page[4096];
       CUDA_CALL(cudaHostRegister, page, sizeof page, cudaHostRegisterDefault).or_throw();
       const Status second = CUDA_CALL(cudaHostRegister, page, sizeof page, cudaHostRegisterDefault);
       CUDA_CALL(cudaHostUnregister, page).or_throw();
       return second;
     }},
    {"cudaHostUnregister", "the pointer is null", cudaErrorInvalidValue,
     [](Victim&) { return CUDA_CALL(cudaHostUnregister, nullptr); }},
    {"cudaHostUnregister", "the memory was never registered", cudaErrorHostMemoryNotRegistered,
     [](Victim& v) { return CUDA_CALL(cudaHostUnregister, &v.on_the_stack); }},
    {"cudaHostUnregister", "the memory is unregistered already", cudaErrorHostMemoryNotRegistered,
     [](Victim&) { return CUDA_CALL(cudaHostUnregister, unregistered()); }},

    {"cudaHostGetDevicePointer", "the place for the pointer is null", cudaErrorInvalidValue,
     [](Victim& v) {
       return CUDA_CALL(cudaHostGetDevicePointer, static_cast<void**>(nullptr), v.host.data(), 0);
     }},
    {"cudaHostGetDevicePointer", "the memory is not pinned", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaHostGetDevicePointer, &v.pointer, &v.on_the_stack, 0); }},
    {"cudaHostGetDevicePointer", "the memory is free already", cudaErrorInvalidValue,
     [](Victim& v) {
       return CUDA_CALL(cudaHostGetDevicePointer, &v.pointer, freed(v, MemoryKind::kHost), 0);
     }},
    {"cudaHostGetDevicePointer", "the memory is no longer registered", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaHostGetDevicePointer, &v.pointer, unregistered(), 0); }},
    {"cudaHostGetDevicePointer", "a flag does not exist", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaHostGetDevicePointer, &v.pointer, v.host.data(), kNoSuchFlag); }},
    {"cudaHostGetFlags", "the memory is not pinned", cudaErrorInvalidValue,
     [](Victim& v) {
       unsigned flags = 0;
       return CUDA_CALL(cudaHostGetFlags, &flags, &v.on_the_stack);
     }},
    {"cudaHostGetFlags", "the memory is free already", cudaErrorInvalidValue,
     [](Victim& v) {
       unsigned flags = 0;
       return CUDA_CALL(cudaHostGetFlags, &flags, freed(v, MemoryKind::kHost));
     }},

    {"cudaHostGetDevicePointer", "the host pointer is null", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaHostGetDevicePointer, &v.pointer, nullptr, 0); }},
    {"cudaHostGetFlags", "the place for the flags is null", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaHostGetFlags, nullptr, v.host.data()); }},
    {"cudaHostGetFlags", "the memory is the device's", cudaErrorInvalidValue,
     [](Victim& v) {
       unsigned flags = 0;
       return CUDA_CALL(cudaHostGetFlags, &flags, v.memory.data());
     }},
    {"cudaPointerGetAttributes", "the place for the attributes is null", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaPointerGetAttributes, nullptr, v.memory.data()); }},

    {"cudaMallocAsync", "the place for the pointer is null", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaMallocAsync, static_cast<void**>(nullptr), 64, v.stream); }},
    {"cudaMallocAsync", "the size is larger than any memory", cudaErrorMemoryAllocation,
     [](Victim& v) { return CUDA_CALL(cudaMallocAsync, &v.pointer, kHuge, v.stream); }},
    {"cudaFreeAsync", "the memory is free already", cudaErrorInvalidValue,
     [](Victim& v) {
       void* once = nullptr;
       CUDA_CALL(cudaMallocAsync, &once, 4096, v.stream).or_throw();
       CUDA_CALL(cudaFreeAsync, once, v.stream).or_throw();
       return CUDA_CALL(cudaFreeAsync, once, v.stream);
     }},
    {"cudaDeviceGetDefaultMemPool", "the place for the pool is null", cudaErrorInvalidValue,
     [](Victim&) { return CUDA_CALL(cudaDeviceGetDefaultMemPool, nullptr, 0); }},
    {"cudaDeviceGetDefaultMemPool", "there is no such device", cudaErrorInvalidDevice,
     [](Victim&) {
       cudaMemPool_t pool = nullptr;
       return CUDA_CALL(cudaDeviceGetDefaultMemPool, &pool, -1);
     }},
    {"cudaMemPoolTrimTo", "the pool is null", cudaErrorInvalidValue,
     [](Victim&) { return CUDA_CALL(cudaMemPoolTrimTo, nullptr, 0); }},
    {"cudaMemPoolGetAttribute", "there is no such attribute", cudaErrorInvalidValue,
     [](Victim& v) {
       cudaMemPool_t pool = nullptr;
       CUDA_CALL(cudaDeviceGetDefaultMemPool, &pool, native(v.context.device())).or_throw();
       return CUDA_CALL(cudaMemPoolGetAttribute, pool, no_such<cudaMemPoolAttr>(), &v.size);
     }},
    {"cudaMallocAsync", "the size is more than any device has", cudaErrorMemoryAllocation,
     [](Victim& v) { return CUDA_CALL(cudaMallocAsync, &v.pointer, std::size_t{1} << 50, v.stream); }},
    {"cudaFreeAsync", "the memory is the host's", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaFreeAsync, &v.on_the_stack, v.stream); }},
    {"cudaMallocFromPoolAsync", "the place for the pointer is null", cudaErrorInvalidValue,
     [](Victim& v) {
       return CUDA_CALL(cudaMallocFromPoolAsync, static_cast<void**>(nullptr), 64, default_pool(v), v.stream);
     }},
    {"cudaMallocFromPoolAsync", "the pool is null", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaMallocFromPoolAsync, &v.pointer, 64, nullptr, v.stream); }},
    {"cudaMallocFromPoolAsync", "the size is larger than any memory", cudaErrorMemoryAllocation,
     [](Victim& v) {
       return CUDA_CALL(cudaMallocFromPoolAsync, &v.pointer, kHuge, default_pool(v), v.stream);
     }},
    {"cudaMemPoolGetAttribute", "the place for the value is null", cudaErrorInvalidValue,
     [](Victim& v) {
       return CUDA_CALL(cudaMemPoolGetAttribute, default_pool(v), cudaMemPoolAttrUsedMemCurrent, nullptr);
     }},
    {"cudaMemPoolGetAttribute", "the pool is null", cudaErrorInvalidValue,
     [](Victim& v) {
       return CUDA_CALL(cudaMemPoolGetAttribute, nullptr, cudaMemPoolAttrUsedMemCurrent, &v.size);
     }},
    {"cudaMemPoolSetAttribute", "the pool is null", cudaErrorInvalidValue,
     [](Victim& v) {
       return CUDA_CALL(cudaMemPoolSetAttribute, nullptr, cudaMemPoolAttrReleaseThreshold, &v.size);
     }},
    {"cudaMemPoolSetAttribute", "there is no such attribute", cudaErrorInvalidValue,
     [](Victim& v) {
       return CUDA_CALL(cudaMemPoolSetAttribute, default_pool(v), no_such<cudaMemPoolAttr>(), &v.size);
     }},
    {"cudaMemPoolCreate", "the place for the pool is null", cudaErrorInvalidValue,
     [](Victim& v) {
       cudaMemPoolProps properties{};
       properties.allocType = cudaMemAllocationTypePinned;
       properties.location = place_of(v);
       return CUDA_CALL(cudaMemPoolCreate, nullptr, &properties);
     }},
    {"cudaMemPoolCreate", "the properties are null", cudaErrorInvalidValue,
     [](Victim&) {
       cudaMemPool_t pool = nullptr;
       return CUDA_CALL(cudaMemPoolCreate, &pool, nullptr);
     }},
    {"cudaMemPoolCreate", "the kind of its memory does not exist", cudaErrorInvalidValue,
     [](Victim& v) {
       return create_pool(v, [](cudaMemPoolProps& p) { p.allocType = cudaMemAllocationTypeInvalid; });
     }},
    {"cudaMemPoolCreate", "the place of its memory does not exist", cudaErrorInvalidValue,
     [](Victim& v) {
       return create_pool(v, [](cudaMemPoolProps& p) { p.location.type = cudaMemLocationTypeInvalid; });
     }},
    {"cudaMemPoolDestroy", "the pool is null", cudaErrorInvalidValue,
     [](Victim&) { return CUDA_CALL(cudaMemPoolDestroy, nullptr); }},
    {"cudaMemPoolDestroy", "the pool is the device's default one", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaMemPoolDestroy, default_pool(v)); }},
    {"cudaMemPoolSetAccess", "the pool is null", cudaErrorInvalidValue,
     [](Victim& v) {
       const cudaMemAccessDesc wanted_access{place_of(v), cudaMemAccessFlagsProtReadWrite};
       return CUDA_CALL(cudaMemPoolSetAccess, nullptr, &wanted_access, 1);
     }},
    {"cudaMemPoolGetAccess", "the queried place is null", cudaErrorInvalidValue,
     [](Victim& v) {
       cudaMemAccessFlags flags{};
       return CUDA_CALL(cudaMemPoolGetAccess, &flags, default_pool(v), nullptr);
     }},
    {"cudaDeviceGetMemPool", "the place for the pool is null", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaDeviceGetMemPool, nullptr, native(v.context.device())); }},
    {"cudaDeviceGetMemPool", "there is no such device", cudaErrorInvalidValue,
     [](Victim&) {
       cudaMemPool_t pool = nullptr;
       return CUDA_CALL(cudaDeviceGetMemPool, &pool, -1);
     }},
    {"cudaDeviceSetMemPool", "the pool is null", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaDeviceSetMemPool, native(v.context.device()), nullptr); }},
    {"cudaDeviceSetMemPool", "there is no such device", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaDeviceSetMemPool, -1, default_pool(v)); }},

    {"cudaMemPrefetchAsync", "the memory is not managed", cudaErrorInvalidValue,
     [](Victim& v) {
       return try_prefetch(v.memory.data(), v.memory.bytes(), native(v.context.device()), v.stream);
     }},
    {"cudaMemAdvise", "there is no such advice", cudaErrorInvalidValue,
     [](Victim& v) {
       const Buffer managed = shared_memory(v.context, 4096);
       return try_advise(managed.data(), 4096, no_such<cudaMemoryAdvise>(), native(v.context.device()));
     }},
    {"cudaMemPrefetchAsync", "the range ends after the memory", cudaErrorInvalidValue,
     [](Victim& v) {
       const Buffer managed = shared_memory(v.context, 4 << 20);
       return try_prefetch(managed.data() + 1, managed.bytes() + (4 << 20), native(v.context.device()),
                           v.stream);
     }},
    {"cudaMemPrefetchAsync", "there is no such device", cudaErrorInvalidDevice,
     [](Victim& v) {
       const Buffer managed = shared_memory(v.context, 4096);
       return try_prefetch(managed.data(), managed.bytes(), 99, v.stream);
     }},
    {"cudaMemAdvise", "the memory is not managed", cudaErrorInvalidValue,
     [](Victim& v) {
       return try_advise(v.memory.data(), v.memory.bytes(), cudaMemAdviseSetReadMostly,
                         native(v.context.device()));
     }},

    {"cudaIpcGetMemHandle", "the memory is the host's", cudaErrorInvalidValue,
     [](Victim& v) {
       cudaIpcMemHandle_t handle{};
       return CUDA_CALL(cudaIpcGetMemHandle, &handle, &v.on_the_stack);
     }},
    {"cudaIpcGetMemHandle", "the memory is free already", cudaErrorInvalidValue,
     [](Victim& v) {
       cudaIpcMemHandle_t handle{};
       return CUDA_CALL(cudaIpcGetMemHandle, &handle, freed(v, MemoryKind::kDevice));
     }},
    {"cudaIpcGetMemHandle", "the memory is null", cudaErrorInvalidValue,
     [](Victim&) {
       cudaIpcMemHandle_t handle{};
       return CUDA_CALL(cudaIpcGetMemHandle, &handle, nullptr);
     }},
    {"cudaIpcGetMemHandle", "the memory is pinned memory of the host", cudaErrorInvalidValue,
     [](Victim& v) {
       cudaIpcMemHandle_t handle{};
       return CUDA_CALL(cudaIpcGetMemHandle, &handle, v.host.data());
     }},
    {"cudaIpcCloseMemHandle", "the memory is null", cudaErrorInvalidValue,
     [](Victim&) { return CUDA_CALL(cudaIpcCloseMemHandle, nullptr); }},
    {"cudaIpcCloseMemHandle", "the memory is this process's own", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaIpcCloseMemHandle, v.memory.data()); }},
    {"cudaIpcOpenMemHandle", "the handle comes from the same process", cudaErrorDeviceUninitialized,
     [](Victim& v) {
       cudaIpcMemHandle_t handle{};
       CUDA_CALL(cudaIpcGetMemHandle, &handle, v.memory.data()).or_throw();
       return CUDA_CALL(cudaIpcOpenMemHandle, &v.pointer, handle, cudaIpcMemLazyEnablePeerAccess);
     }},
    {"cudaIpcOpenMemHandle", "the place for the pointer is null", cudaErrorInvalidValue,
     [](Victim& v) {
       cudaIpcMemHandle_t handle{};
       CUDA_CALL(cudaIpcGetMemHandle, &handle, v.memory.data()).or_throw();
       return CUDA_CALL(cudaIpcOpenMemHandle, nullptr, handle, cudaIpcMemLazyEnablePeerAccess);
     }},
    {"cudaIpcOpenMemHandle", "a flag does not exist", cudaErrorInvalidValue,
     [](Victim& v) {
       cudaIpcMemHandle_t handle{};
       CUDA_CALL(cudaIpcGetMemHandle, &handle, v.memory.data()).or_throw();
       return CUDA_CALL(cudaIpcOpenMemHandle, &v.pointer, handle, kNoSuchFlag);
     }},

    {"cudaMemcpyPeer", "there is no such device", cudaErrorInvalidDevice,
     [](Victim& v) { return CUDA_CALL(cudaMemcpyPeer, v.memory.data(), 99, v.memory.data() + 2048, 0, 64); }},
    {"cudaMemcpyPeer", "there is no such device to copy from", cudaErrorInvalidDevice,
     [](Victim& v) { return CUDA_CALL(cudaMemcpyPeer, v.memory.data(), 0, v.memory.data() + 2048, 99, 64); }},
    {"cudaMemcpyPeerAsync", "there is no such device", cudaErrorInvalidDevice,
     [](Victim& v) {
       return CUDA_CALL(cudaMemcpyPeerAsync, v.memory.data(), 99, v.memory.data() + 2048, 0, 64, v.stream);
     }},
    {"cudaMemcpyPeerAsync", "there is no such device to copy from", cudaErrorInvalidDevice,
     [](Victim& v) {
       return CUDA_CALL(cudaMemcpyPeerAsync, v.memory.data(), 0, v.memory.data() + 2048, 99, 64, v.stream);
     }},
    {"cudaDeviceCanAccessPeer", "the place for the answer is null", cudaErrorInvalidValue,
     [](Victim&) { return CUDA_CALL(cudaDeviceCanAccessPeer, nullptr, 0, 0); }},
    {"cudaDeviceCanAccessPeer", "there is no such device", cudaErrorInvalidDevice,
     [](Victim& v) { return CUDA_CALL(cudaDeviceCanAccessPeer, &v.number, 0, -1); }},
    {"cudaDeviceEnablePeerAccess", "the peer is the device itself", cudaErrorPeerAccessUnsupported,
     [](Victim& v) { return CUDA_CALL(cudaDeviceEnablePeerAccess, native(v.context.device()), 0); }},

    {"cudaGetSymbolAddress", "there is no such variable", cudaErrorInvalidSymbol,
     [](Victim& v) { return CUDA_CALL(cudaGetSymbolAddress, &v.pointer, &v.on_the_stack); }},
    {"cudaGetSymbolSize", "there is no such variable", cudaErrorInvalidSymbol,
     [](Victim& v) { return CUDA_CALL(cudaGetSymbolSize, &v.size, &v.on_the_stack); }},
    {"cudaMemcpyFromSymbol", "there is no such variable", cudaErrorInvalidSymbol,
     [](Victim& v) {
       return CUDA_CALL(cudaMemcpyFromSymbol, &v.number, &v.on_the_stack, sizeof v.number, 0,
                        cudaMemcpyDeviceToHost);
     }},
    {"cudaMemcpyToSymbol", "there is no such variable", cudaErrorInvalidSymbol,
     [](Victim& v) {
       return CUDA_CALL(cudaMemcpyToSymbol, &v.on_the_stack, &v.number, sizeof v.number, 0,
                        cudaMemcpyHostToDevice);
     }},
    {"cudaDeviceSetLimit", "there is no such limit", cudaErrorInvalidValue,
     [](Victim&) { return CUDA_CALL(cudaDeviceSetLimit, no_such<cudaLimit>(), 1); }},
};

}  // namespace

PROCTOR_CHECK_EACH(functions_of(kBadCalls), InvalidArgument, CallReturnsDocumentedError, "M04",
                   "CUDA Runtime API, Memory Management; ROCm/hip-tests, which run on NVIDIA", suite::kGate,
                   {"error.wrong_code", "error.swallowed", "error.wrong_code:err=36"}) {
  expect_refusals(kBadCalls);
}

}  // namespace proctor::accel
