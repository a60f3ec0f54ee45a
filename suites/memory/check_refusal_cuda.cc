// What memory calls of the CUDA Runtime answer to bad arguments.
#include "suites/accel/cuda/refusal.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

constexpr std::size_t kHuge = SIZE_MAX;

// Where memory of this kind was.
void* freed(Victim& victim, Kind kind) {
  Buffer once(victim.context, {.kind = kind, .bytes = 4096});
  void* const pointer = once.data();
  once.try_free().or_throw();
  return pointer;
}

// Where memory was that is not registered any more.
void* unregistered() {
  alignas(4096) static std::byte page[4096];
  CUDA_CALL(cudaHostRegister, page, sizeof page, cudaHostRegisterMapped).or_throw();
  CUDA_CALL(cudaHostUnregister, page).or_throw();
  return page;
}

// Codes: what the CUDA Runtime API lists under each function; which of them an argument gets is what
// ROCm/hip-tests asserts where it is compiled for NVIDIA. A row is one call; its other arguments are good.
constexpr BadCall kBadCalls[] = {
    {"cudaMalloc", "the place for the pointer is null", cudaErrorInvalidValue,
     [](Victim&) { return CUDA_CALL(cudaMalloc, static_cast<void**>(nullptr), 64); }},
    {"cudaMalloc", "the size is larger than any memory", cudaErrorMemoryAllocation,
     [](Victim& v) { return CUDA_CALL(cudaMalloc, &v.pointer, kHuge); }},

    {"cudaFree", "the pointer is a local variable", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaFree, &v.on_the_stack); }},
    {"cudaFree", "the pointer lies inside an allocation", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaFree, v.memory.data() + 64); }},
    {"cudaFree", "the memory is pinned memory of the host", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaFree, v.host.data()); }},
    {"cudaFree", "the memory is free already", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaFree, freed(v, Kind::kDevice)); }},
    {"cudaFree", "the memory is managed and free already", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaFree, freed(v, Kind::kShared)); }},

    {"cudaFreeHost", "the pointer is a local variable", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaFreeHost, &v.on_the_stack); }},
    {"cudaFreeHost", "the memory is the device's", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaFreeHost, v.memory.data()); }},
    {"cudaFreeHost", "the memory is free already", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaFreeHost, freed(v, Kind::kHost)); }},

    {"cudaHostAlloc", "the place for the pointer is null", cudaErrorInvalidValue,
     [](Victim&) { return CUDA_CALL(cudaHostAlloc, nullptr, 64, cudaHostAllocDefault); }},
    {"cudaHostAlloc", "a flag does not exist", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaHostAlloc, &v.pointer, 64, kNoSuchFlag); }},
    {"cudaHostAlloc", "the size is larger than any memory", cudaErrorMemoryAllocation,
     [](Victim& v) { return CUDA_CALL(cudaHostAlloc, &v.pointer, kHuge, cudaHostAllocDefault); }},

    {"cudaMallocManaged", "the place for the pointer is null", cudaErrorInvalidValue,
     [](Victim&) { return CUDA_CALL(cudaMallocManaged, nullptr, 64, cudaMemAttachGlobal); }},
    {"cudaMallocManaged", "the size is 0", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaMallocManaged, &v.pointer, 0, cudaMemAttachGlobal); }},
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
    {"cudaHostGetDevicePointer", "the memory is no pinned memory", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaHostGetDevicePointer, &v.pointer, &v.on_the_stack, 0); }},
    {"cudaHostGetDevicePointer", "the memory is free already", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaHostGetDevicePointer, &v.pointer, freed(v, Kind::kHost), 0); }},
    {"cudaHostGetDevicePointer", "the memory is registered no more", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaHostGetDevicePointer, &v.pointer, unregistered(), 0); }},
    {"cudaHostGetDevicePointer", "a flag does not exist", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaHostGetDevicePointer, &v.pointer, v.host.data(), kNoSuchFlag); }},
    {"cudaHostGetFlags", "the memory is no pinned memory", cudaErrorInvalidValue,
     [](Victim& v) {
       unsigned flags = 0;
       return CUDA_CALL(cudaHostGetFlags, &flags, &v.on_the_stack);
     }},
    {"cudaHostGetFlags", "the memory is free already", cudaErrorInvalidValue,
     [](Victim& v) {
       unsigned flags = 0;
       return CUDA_CALL(cudaHostGetFlags, &flags, freed(v, Kind::kHost));
     }},

    {"cudaPointerGetAttributes", "the place for the attributes is null", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaPointerGetAttributes, nullptr, v.memory.data()); }},

    {"cudaMallocAsync", "the place for the pointer is null", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaMallocAsync, static_cast<void**>(nullptr), 64, v.stream); }},
    {"cudaMallocAsync", "the size is larger than any memory", cudaErrorMemoryAllocation,
     [](Victim& v) { return CUDA_CALL(cudaMallocAsync, &v.pointer, kHuge, v.stream); }},
    {"cudaFreeAsync", "the pointer is null", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaFreeAsync, nullptr, v.stream); }},
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

    {"cudaMemPrefetchAsync", "the memory is no managed memory", cudaErrorInvalidValue,
     [](Victim& v) {
       return try_prefetch(v.memory.data(), v.memory.bytes(), native(v.context.device()), v.stream);
     }},
    {"cudaMemAdvise", "there is no such advice", cudaErrorInvalidValue,
     [](Victim& v) {
       const Buffer managed = shared_memory(v.context, 4096);
       return try_advise(managed.data(), 4096, no_such<cudaMemoryAdvise>(), native(v.context.device()));
     }},

    {"cudaIpcGetMemHandle", "the place for the handle is null", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaIpcGetMemHandle, nullptr, v.memory.data()); }},
    {"cudaIpcGetMemHandle", "the memory is the host's", cudaErrorInvalidValue,
     [](Victim& v) {
       cudaIpcMemHandle_t handle{};
       return CUDA_CALL(cudaIpcGetMemHandle, &handle, &v.on_the_stack);
     }},
    {"cudaIpcGetMemHandle", "the memory is free already", cudaErrorInvalidValue,
     [](Victim& v) {
       cudaIpcMemHandle_t handle{};
       return CUDA_CALL(cudaIpcGetMemHandle, &handle, freed(v, Kind::kDevice));
     }},
    {"cudaIpcCloseMemHandle", "the memory is this process's own", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaIpcCloseMemHandle, v.memory.data()); }},
    {"cudaIpcOpenMemHandle", "the handle comes from the same process", cudaErrorDeviceUninitialized,
     [](Victim& v) {
       cudaIpcMemHandle_t handle{};
       CUDA_CALL(cudaIpcGetMemHandle, &handle, v.memory.data()).or_throw();
       return CUDA_CALL(cudaIpcOpenMemHandle, &v.pointer, handle, cudaIpcMemLazyEnablePeerAccess);
     }},
    {"cudaIpcOpenMemHandle", "a flag does not exist", cudaErrorInvalidValue,
     [](Victim& v) {
       cudaIpcMemHandle_t handle{};
       CUDA_CALL(cudaIpcGetMemHandle, &handle, v.memory.data()).or_throw();
       return CUDA_CALL(cudaIpcOpenMemHandle, &v.pointer, handle, kNoSuchFlag);
     }},

    {"cudaMemcpyPeer", "there is no such device", cudaErrorInvalidDevice,
     [](Victim& v) { return CUDA_CALL(cudaMemcpyPeer, v.memory.data(), 99, v.memory.data() + 2048, 0, 64); }},
    {"cudaDeviceCanAccessPeer", "the place for the answer is null", cudaErrorInvalidValue,
     [](Victim&) { return CUDA_CALL(cudaDeviceCanAccessPeer, nullptr, 0, 0); }},
    {"cudaDeviceCanAccessPeer", "there is no such device", cudaErrorInvalidDevice,
     [](Victim& v) { return CUDA_CALL(cudaDeviceCanAccessPeer, &v.number, 0, -1); }},
    {"cudaDeviceEnablePeerAccess", "the peer is the device itself", cudaErrorInvalidDevice,
     [](Victim& v) { return CUDA_CALL(cudaDeviceEnablePeerAccess, native(v.context.device()), 0); }},

    {"cudaGetSymbolAddress", "there is no such variable", cudaErrorInvalidSymbol,
     [](Victim& v) { return CUDA_CALL(cudaGetSymbolAddress, &v.pointer, &v.on_the_stack); }},
    {"cudaMemcpyToSymbol", "there is no such variable", cudaErrorInvalidSymbol,
     [](Victim& v) {
       return CUDA_CALL(cudaMemcpyToSymbol, &v.on_the_stack, &v.number, sizeof v.number, 0,
                        cudaMemcpyHostToDevice);
     }},
    {"cudaDeviceSetLimit", "there is no such limit", cudaErrorUnsupportedLimit,
     [](Victim&) { return CUDA_CALL(cudaDeviceSetLimit, no_such<cudaLimit>(), 1); }},
};

}  // namespace

PROCTOR_CHECK_EACH(functions_of(kBadCalls), Refusal, BadArgumentsGetTheirCode, "M04",
                   "CUDA Runtime API, Memory Management; ROCm/hip-tests, which run on NVIDIA", suite::kGate,
                   {"error.wrong_code", "error.swallowed", "error.wrong_code:err=36"}) {
  expect_refusals(kBadCalls);
}

}  // namespace proctor::accel
