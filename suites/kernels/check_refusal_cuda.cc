// Checks of the error codes of the CUDA Runtime for bad launches, libraries, streams and events.
#include "suites/accel/cuda/refusal.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

void ignore_stream(cudaStream_t, cudaError_t, void*) {}

// The shape of a launch of fill() that writes four words. A row changes one member.
struct Shape {
  dim3 grid{1, 1, 1};
  dim3 block{4, 1, 1};
  std::size_t shared = 0;
};

Status launch(Victim& v, const Shape& shape, const void* function, bool cooperative = false) {
  const std::byte* words = v.host.data();
  std::uint32_t value = 5;
  std::uint32_t n = 4;
  void* arguments[] = {&words, &value, &n};
  if (cooperative) {
    return CUDA_CALL(cudaLaunchCooperativeKernel, function, shape.grid, shape.block, arguments, shape.shared,
                     v.stream);
  }
  return CUDA_CALL(cudaLaunchKernel, function, shape.grid, shape.block, arguments, shape.shared, v.stream);
}
Status launch(Victim& v, const Shape& shape) { return launch(v, shape, native(v.kernel)); }

// An empty graph, and its executable instance.
struct EmptyGraph {
  explicit EmptyGraph(Victim& v) {
    CUDA_CALL(cudaStreamBeginCapture, v.stream, cudaStreamCaptureModeThreadLocal).or_throw();
    CUDA_CALL(cudaStreamEndCapture, v.stream, &graph).or_throw();
    CUDA_CALL(cudaGraphInstantiate, &runnable, graph, 0).or_throw();
  }
  ~EmptyGraph() {
    static_cast<void>(cudaGraphExecDestroy(runnable));
    static_cast<void>(cudaGraphDestroy(graph));
  }
  EmptyGraph(const EmptyGraph&) = delete;
  EmptyGraph& operator=(const EmptyGraph&) = delete;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t runnable = nullptr;
};

Status begin_capture(Victim& v, int mode) {
  return CUDA_CALL(cudaStreamBeginCapture, v.stream, static_cast<cudaStreamCaptureMode>(mode));
}

Status create_event(unsigned flags) {
  cudaEvent_t event = nullptr;
  return CUDA_CALL(cudaEventCreateWithFlags, &event, flags);
}

// Two events. `flags` select whether they record times.
struct Events {
  explicit Events(unsigned flags = cudaEventDefault) {
    CUDA_CALL(cudaEventCreateWithFlags, &first, flags).or_throw();
    CUDA_CALL(cudaEventCreateWithFlags, &second, flags).or_throw();
  }
  ~Events() {
    static_cast<void>(cudaEventDestroy(first));
    static_cast<void>(cudaEventDestroy(second));
  }
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;
  Status elapsed() const {
    float milliseconds = 0;
    return CUDA_CALL(cudaEventElapsedTime, &milliseconds, first, second);
  }
  cudaEvent_t first = nullptr;
  cudaEvent_t second = nullptr;
};

Status load(const char* path) {
  cudaLibrary_t library = nullptr;
  return CUDA_CALL(cudaLibraryLoadFromFile, &library, path, nullptr, nullptr, 0, nullptr, nullptr, 0);
}

Status get_kernel(Victim& v, const char* name) {
  cudaKernel_t kernel = nullptr;
  return CUDA_CALL(cudaLibraryGetKernel, &kernel, native(v.module), name);
}

// Bad calls and their codes. The CUDA Runtime API lists the codes of each function. The code of an argument is
// that of ROCm/hip-tests compiled for NVIDIA, or that of an H100 with the driver 580.159.04. Each row is one call
// with one bad argument.
constexpr BadCall kBadCalls[] = {
    {"cudaLaunchKernel", "the function is null", cudaErrorInvalidDeviceFunction,
     [](Victim& v) { return launch(v, {}, nullptr); }},
    {"cudaLaunchKernel", "the function is not a kernel", cudaErrorInvalidResourceHandle,
     [](Victim& v) { return launch(v, {}, &v.on_the_stack); }},
    {"cudaLaunchKernel", "the grid is empty", cudaErrorInvalidValue,
     [](Victim& v) {
       return launch(v, {.grid = {0, 1, 1}});
     }},
    {"cudaLaunchKernel", "the grid is too wide along y", cudaErrorInvalidValue,
     [](Victim& v) {
       return launch(v, {.grid = {1, 65536, 1}});
     }},
    {"cudaLaunchKernel", "the grid is too wide along z", cudaErrorInvalidValue,
     [](Victim& v) {
       return launch(v, {.grid = {1, 1, 65536}});
     }},
    {"cudaLaunchKernel", "the block is empty", cudaErrorInvalidValue,
     [](Victim& v) {
       return launch(v, {.block = {1, 0, 1}});
     }},
    {"cudaLaunchKernel", "the block has one thread too many", cudaErrorInvalidValue,
     [](Victim& v) {
       return launch(v, {.block = {1025, 1, 1}});
     }},
    {"cudaLaunchKernel", "the block is too wide along z", cudaErrorInvalidValue,
     [](Victim& v) {
       return launch(v, {.block = {1, 1, 65}});
     }},
    {"cudaLaunchKernel", "the list of arguments is null", cudaErrorInvalidValue,
     [](Victim& v) {
       return CUDA_CALL(cudaLaunchKernel, native(v.kernel), dim3(1), dim3(1), nullptr, 0, v.stream);
     }},

    {"cudaLaunchCooperativeKernel", "the block is empty", cudaErrorInvalidValue,
     [](Victim& v) {
       return launch(v, {.block = {0, 1, 1}}, native(v.kernel), true);
     }},
    {"cudaLaunchCooperativeKernel", "more blocks are requested than can run at once",
     cudaErrorCooperativeLaunchTooLarge,
     [](Victim& v) {
       return launch(v, {.grid = {1 << 20, 1, 1}}, native(v.kernel), true);
     }},

    {"cudaGetKernel", "the place for the kernel is null", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaGetKernel, nullptr, &v.on_the_stack); }},
    {"cudaGetKernel", "the function is not a kernel", cudaErrorInvalidDeviceFunction,
     [](Victim& v) {
       cudaKernel_t kernel = nullptr;
       return CUDA_CALL(cudaGetKernel, &kernel, static_cast<const void*>(&v.on_the_stack));
     }},
    {"cudaFuncGetName", "the place for the name is null", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaFuncGetName, nullptr, native(v.kernel)); }},
    {"cudaFuncGetParamInfo", "the place for the offset is null", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaFuncGetParamInfo, native(v.kernel), 0, nullptr, &v.size); }},
    {"cudaFuncSetCacheConfig", "the function is null", cudaErrorInvalidDeviceFunction,
     [](Victim&) {
       return CUDA_CALL(cudaFuncSetCacheConfig, static_cast<const void*>(nullptr), cudaFuncCachePreferL1);
     }},
    {"cudaFuncGetAttributes", "the place for the attributes is null", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaFuncGetAttributes, nullptr, native(v.kernel)); }},
    {"cudaFuncGetAttributes", "the function is null", cudaErrorInvalidDeviceFunction,
     [](Victim&) {
       cudaFuncAttributes attributes{};
       return CUDA_CALL(cudaFuncGetAttributes, &attributes, static_cast<const void*>(nullptr));
     }},
    {"cudaFuncSetAttribute", "there is no such attribute", cudaErrorInvalidValue,
     [](Victim& v) {
       return CUDA_CALL(cudaFuncSetAttribute, native(v.kernel), no_such<cudaFuncAttribute>(), 1);
     }},
    {"cudaFuncSetAttribute", "more shared memory is requested than the device has", cudaErrorInvalidValue,
     [](Victim& v) {
       return CUDA_CALL(cudaFuncSetAttribute, native(v.kernel), cudaFuncAttributeMaxDynamicSharedMemorySize,
                        1 << 24);
     }},
    {"cudaOccupancyMaxActiveBlocksPerMultiprocessor", "the place for the answer is null",
     cudaErrorInvalidValue,
     [](Victim& v) {
       return CUDA_CALL(cudaOccupancyMaxActiveBlocksPerMultiprocessor, nullptr, native(v.kernel), 64, 0);
     }},
    {"cudaOccupancyMaxActiveBlocksPerMultiprocessor", "the block is empty", cudaErrorInvalidValue,
     [](Victim& v) {
       return CUDA_CALL(cudaOccupancyMaxActiveBlocksPerMultiprocessor, &v.number, native(v.kernel), 0, 0);
     }},
    {"cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", "the place for the answer is null",
     cudaErrorInvalidValue,
     [](Victim& v) {
       return CUDA_CALL(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, nullptr, native(v.kernel), 64,
                        0, cudaOccupancyDefault);
     }},
    {"cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", "a flag does not exist", cudaErrorInvalidValue,
     [](Victim& v) {
       return CUDA_CALL(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, &v.number, native(v.kernel),
                        64, 0, kNoSuchFlag);
     }},

    {"cudaLibraryLoadFromFile", "there is no such file", cudaErrorFileNotFound,
     [](Victim&) { return load("/no/such/file.fatbin"); }},
    {"cudaLibraryLoadFromFile", "the name is null", cudaErrorInvalidValue,
     [](Victim&) { return load(nullptr); }},
    {"cudaLibraryGetKernel", "there is no such kernel", cudaErrorSymbolNotFound,
     [](Victim& v) { return get_kernel(v, "no_such_kernel"); }},
    {"cudaLibraryGetKernel", "the name is null", cudaErrorInvalidValue,
     [](Victim& v) { return get_kernel(v, nullptr); }},
    {"cudaLibraryGetKernel", "the place for the kernel is null", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaLibraryGetKernel, nullptr, native(v.module), "fill"); }},
    {"cudaLibraryGetGlobal", "there is no such variable", cudaErrorSymbolNotFound,
     [](Victim& v) {
       return CUDA_CALL(cudaLibraryGetGlobal, &v.pointer, &v.size, native(v.module), "no_such_variable");
     }},
    {"cudaLibraryGetGlobal", "the name is null", cudaErrorInvalidValue,
     [](Victim& v) {
       return CUDA_CALL(cudaLibraryGetGlobal, &v.pointer, &v.size, native(v.module), nullptr);
     }},
    {"cudaLibraryLoadData", "the place for the library is null", cudaErrorInvalidValue,
     [](Victim&) {
       const auto image = module_file("basic");
       return CUDA_CALL(cudaLibraryLoadData, nullptr, image.data(), nullptr, nullptr, 0, nullptr, nullptr, 0);
     }},
    {"cudaLibraryLoadData", "the image is null", cudaErrorInvalidValue,
     [](Victim&) {
       cudaLibrary_t library = nullptr;
       return CUDA_CALL(cudaLibraryLoadData, &library, nullptr, nullptr, nullptr, 0, nullptr, nullptr, 0);
     }},
    {"cudaLibraryLoadFromFile", "the place for the library is null", cudaErrorInvalidValue,
     [](Victim&) {
       return CUDA_CALL(cudaLibraryLoadFromFile, nullptr, "/no/such/file.fatbin", nullptr, nullptr, 0,
                        nullptr, nullptr, 0);
     }},
    {"cudaLibraryGetKernelCount", "the place for the count is null", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaLibraryGetKernelCount, nullptr, native(v.module)); }},
    {"cudaLibraryEnumerateKernels", "the place for the kernels is null", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaLibraryEnumerateKernels, nullptr, 1, native(v.module)); }},
    {"cudaIpcGetEventHandle", "the event is for one process alone", cudaErrorInvalidResourceHandle,
     [](Victim&) {
       const Events events;
       cudaIpcEventHandle_t handle{};
       return CUDA_CALL(cudaIpcGetEventHandle, &handle, events.first);
     }},
    {"cudaIpcOpenEventHandle", "the place for the event is null", cudaErrorInvalidValue,
     [](Victim&) {
       const Events events(cudaEventInterprocess | cudaEventDisableTiming);
       cudaIpcEventHandle_t handle{};
       CUDA_CALL(cudaIpcGetEventHandle, &handle, events.first).or_throw();
       return CUDA_CALL(cudaIpcOpenEventHandle, nullptr, handle);
     }},
    {"cudaLibraryUnload", "the library is null", cudaErrorInvalidResourceHandle,
     [](Victim&) { return CUDA_CALL(cudaLibraryUnload, nullptr); }},

    {"cudaStreamCreateWithFlags", "the place for the stream is null", cudaErrorInvalidValue,
     [](Victim&) { return CUDA_CALL(cudaStreamCreateWithFlags, nullptr, cudaStreamDefault); }},
    {"cudaStreamCreateWithFlags", "a flag does not exist", cudaErrorInvalidValue,
     [](Victim&) {
       cudaStream_t stream = nullptr;
       return CUDA_CALL(cudaStreamCreateWithFlags, &stream, kNoSuchFlag);
     }},
    {"cudaStreamDestroy", "the stream is the default stream", cudaErrorInvalidResourceHandle,
     [](Victim&) { return CUDA_CALL(cudaStreamDestroy, nullptr); }},
    {"cudaStreamDestroy", "the stream is the legacy default stream", cudaErrorInvalidResourceHandle,
     [](Victim&) { return CUDA_CALL(cudaStreamDestroy, cudaStreamLegacy); }},
    {"cudaStreamDestroy", "the stream is the thread's default stream", cudaErrorInvalidResourceHandle,
     [](Victim&) { return CUDA_CALL(cudaStreamDestroy, cudaStreamPerThread); }},
    {"cudaStreamCreate", "the place for the stream is null", cudaErrorInvalidValue,
     [](Victim&) { return CUDA_CALL(cudaStreamCreate, nullptr); }},
    {"cudaStreamCreateWithPriority", "the place for the stream is null", cudaErrorInvalidValue,
     [](Victim&) { return CUDA_CALL(cudaStreamCreateWithPriority, nullptr, cudaStreamDefault, 0); }},
    {"cudaStreamGetId", "the place for the id is null", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaStreamGetId, v.stream, nullptr); }},
    {"cudaStreamAttachMemAsync", "the memory is null", cudaErrorInvalidValue,
     [](Victim& v) {
       return CUDA_CALL(cudaStreamAttachMemAsync, v.stream, nullptr, 0, cudaMemAttachSingle);
     }},
    {"cudaStreamAttachMemAsync", "a flag does not exist", cudaErrorInvalidValue,
     [](Victim& v) {
       const Buffer managed = shared_memory(v.context, kVictimBytes);
       return CUDA_CALL(cudaStreamAttachMemAsync, v.stream, managed.data(), 0, kNoSuchFlag);
     }},
    {"cudaStreamAttachMemAsync", "two flags are set", cudaErrorInvalidValue,
     [](Victim& v) {
       const Buffer managed = shared_memory(v.context, kVictimBytes);
       return CUDA_CALL(cudaStreamAttachMemAsync, v.stream, managed.data(), 0,
                        cudaMemAttachGlobal | cudaMemAttachHost);
     }},
    {"cudaStreamWaitEvent", "a flag does not exist", cudaErrorInvalidValue,
     [](Victim& v) {
       const Events events;
       return CUDA_CALL(cudaStreamWaitEvent, v.stream, events.first, kNoSuchFlag);
     }},
    {"cudaStreamWaitEvent", "the event is null", cudaErrorInvalidResourceHandle,
     [](Victim& v) { return CUDA_CALL(cudaStreamWaitEvent, v.stream, nullptr, 0); }},
    {"cudaStreamGetFlags", "the place for the flags is null", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaStreamGetFlags, v.stream, nullptr); }},
    {"cudaStreamGetPriority", "the place for the priority is null", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaStreamGetPriority, v.stream, nullptr); }},
    {"cudaLaunchHostFunc", "the function is null", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaLaunchHostFunc, v.stream, nullptr, nullptr); }},
    {"cudaStreamAddCallback", "the function is null", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaStreamAddCallback, v.stream, nullptr, nullptr, 0); }},
    {"cudaStreamAddCallback", "a flag is set", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaStreamAddCallback, v.stream, ignore_stream, nullptr, 1); }},

    {"cudaEventCreateWithFlags", "the place for the event is null", cudaErrorInvalidValue,
     [](Victim&) { return CUDA_CALL(cudaEventCreateWithFlags, nullptr, cudaEventDefault); }},
    {"cudaEventCreateWithFlags", "a flag does not exist", cudaErrorInvalidValue,
     [](Victim&) {
       cudaEvent_t event = nullptr;
       return CUDA_CALL(cudaEventCreateWithFlags, &event, kNoSuchFlag);
     }},
    {"cudaEventCreateWithFlags", "an event for other processes keeps times", cudaErrorInvalidValue,
     [](Victim&) { return create_event(cudaEventInterprocess); }},
    {"cudaEventCreate", "the place for the event is null", cudaErrorInvalidValue,
     [](Victim&) { return CUDA_CALL(cudaEventCreate, nullptr); }},
    {"cudaEventRecordWithFlags", "a flag does not exist", cudaErrorInvalidValue,
     [](Victim& v) {
       const Events events;
       return CUDA_CALL(cudaEventRecordWithFlags, events.first, v.stream, kNoSuchFlag);
     }},
    {"cudaEventRecordWithFlags", "the event is null", cudaErrorInvalidResourceHandle,
     [](Victim& v) {
       return CUDA_CALL(cudaEventRecordWithFlags, nullptr, v.stream, cudaEventRecordDefault);
     }},
    {"cudaEventRecord", "the event is null", cudaErrorInvalidResourceHandle,
     [](Victim& v) { return CUDA_CALL(cudaEventRecord, nullptr, v.stream); }},
    {"cudaEventQuery", "the event is null", cudaErrorInvalidResourceHandle,
     [](Victim&) { return CUDA_CALL(cudaEventQuery, nullptr); }},
    {"cudaEventSynchronize", "the event is null", cudaErrorInvalidResourceHandle,
     [](Victim&) { return CUDA_CALL(cudaEventSynchronize, nullptr); }},
    {"cudaEventElapsedTime", "the place for the time is null", cudaErrorInvalidValue,
     [](Victim&) {
       const Events events;
       return CUDA_CALL(cudaEventElapsedTime, nullptr, events.first, events.second);
     }},
    {"cudaEventElapsedTime", "neither event was recorded", cudaErrorInvalidResourceHandle,
     [](Victim&) { return Events().elapsed(); }},
    {"cudaEventElapsedTime", "the first was not recorded", cudaErrorInvalidResourceHandle,
     [](Victim& v) {
       const Events events;
       CUDA_CALL(cudaEventRecord, events.second, v.stream).or_throw();
       v.queue.synchronize();
       return events.elapsed();
     }},
    {"cudaEventElapsedTime", "the second was not recorded", cudaErrorInvalidResourceHandle,
     [](Victim& v) {
       const Events events;
       CUDA_CALL(cudaEventRecord, events.first, v.stream).or_throw();
       v.queue.synchronize();
       return events.elapsed();
     }},
    {"cudaEventElapsedTime", "the events keep no times", cudaErrorInvalidResourceHandle,
     [](Victim& v) {
       const Events events(cudaEventDisableTiming);
       CUDA_CALL(cudaEventRecord, events.first, v.stream).or_throw();
       CUDA_CALL(cudaEventRecord, events.second, v.stream).or_throw();
       v.queue.synchronize();
       return events.elapsed();
     }},

    {"cudaStreamBeginCapture", "the stream is the default stream", cudaErrorStreamCaptureUnsupported,
     [](Victim&) { return CUDA_CALL(cudaStreamBeginCapture, nullptr, cudaStreamCaptureModeThreadLocal); }},
    {"cudaStreamBeginCapture", "the mode does not exist", cudaErrorInvalidValue,
     [](Victim& v) { return begin_capture(v, cudaStreamCaptureModeRelaxed + 1); }},
    {"cudaStreamIsCapturing", "the place for the answer is null", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaStreamIsCapturing, v.stream, nullptr); }},
    {"cudaStreamEndCapture", "the place for the graph is null", cudaErrorIllegalState,
     [](Victim& v) { return CUDA_CALL(cudaStreamEndCapture, v.stream, nullptr); }},
    {"cudaStreamEndCapture", "the stream does not capture", cudaErrorIllegalState,
     [](Victim& v) {
       cudaGraph_t graph = nullptr;
       return CUDA_CALL(cudaStreamEndCapture, v.stream, &graph);
     }},
    {"cudaGraphInstantiate", "the graph is null", cudaErrorInvalidValue,
     [](Victim&) {
       cudaGraphExec_t graph = nullptr;
       return CUDA_CALL(cudaGraphInstantiate, &graph, nullptr, 0);
     }},

    {"cudaGraphInstantiate", "the place for the executable graph is null", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaGraphInstantiate, nullptr, EmptyGraph(v).graph, 0); }},
    {"cudaGraphInstantiate", "a flag does not exist", cudaErrorInvalidValue,
     [](Victim& v) {
       const EmptyGraph empty(v);
       cudaGraphExec_t graph = nullptr;
       return CUDA_CALL(cudaGraphInstantiate, &graph, empty.graph, kNoSuchFlag);
     }},
    {"cudaGraphLaunch", "the graph is null", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaGraphLaunch, nullptr, v.stream); }},
    {"cudaGraphUpload", "the graph is null", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaGraphUpload, nullptr, v.stream); }},
    {"cudaGraphGetNodes", "the place for the number is null", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaGraphGetNodes, EmptyGraph(v).graph, nullptr, nullptr); }},
    {"cudaGraphGetNodes", "the graph is null", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaGraphGetNodes, nullptr, nullptr, &v.size); }},
    {"cudaGraphNodeGetType", "the node is null", cudaErrorInvalidValue,
     [](Victim&) {
       cudaGraphNodeType type{};
       return CUDA_CALL(cudaGraphNodeGetType, nullptr, &type);
     }},
    {"cudaGraphExecUpdate", "the graph is null", cudaErrorInvalidValue,
     [](Victim& v) {
       const EmptyGraph empty(v);
       cudaGraphExecUpdateResultInfo result{};
       return CUDA_CALL(cudaGraphExecUpdate, empty.runnable, nullptr, &result);
     }},
    {"cudaGraphDestroy", "the graph is null", cudaErrorInvalidValue,
     [](Victim&) { return CUDA_CALL(cudaGraphDestroy, nullptr); }},
    {"cudaGraphExecDestroy", "the graph is null", cudaErrorInvalidValue,
     [](Victim&) { return CUDA_CALL(cudaGraphExecDestroy, nullptr); }},

    {"cudaGetDevice", "the place for the device is null", cudaErrorInvalidValue,
     [](Victim&) { return CUDA_CALL(cudaGetDevice, nullptr); }},
    {"cudaGetDeviceCount", "the place for the number is null", cudaErrorInvalidValue,
     [](Victim&) { return CUDA_CALL(cudaGetDeviceCount, nullptr); }},
    {"cudaGetDeviceFlags", "the place for the flags is null", cudaErrorInvalidValue,
     [](Victim&) { return CUDA_CALL(cudaGetDeviceFlags, nullptr); }},
    {"cudaGetDeviceProperties", "the place for them is null", cudaErrorInvalidValue,
     [](Victim&) { return CUDA_CALL(cudaGetDeviceProperties, nullptr, 0); }},
    {"cudaGetDeviceProperties", "there is no such device", cudaErrorInvalidDevice,
     [](Victim&) {
       cudaDeviceProp properties{};
       return CUDA_CALL(cudaGetDeviceProperties, &properties, 99);
     }},
    {"cudaDeviceGetPCIBusId", "the place for the text is null", cudaErrorInvalidValue,
     [](Victim&) { return CUDA_CALL(cudaDeviceGetPCIBusId, nullptr, 32, 0); }},
    {"cudaDeviceGetByPCIBusId", "the place for the device is null", cudaErrorInvalidValue,
     [](Victim&) { return CUDA_CALL(cudaDeviceGetByPCIBusId, nullptr, "0000:04:00.0"); }},
    {"cudaDeviceGetByPCIBusId", "the text is null", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaDeviceGetByPCIBusId, &v.number, nullptr); }},
    {"cudaDriverGetVersion", "the place for the version is null", cudaErrorInvalidValue,
     [](Victim&) { return CUDA_CALL(cudaDriverGetVersion, nullptr); }},
    {"cudaRuntimeGetVersion", "the place for the version is null", cudaErrorInvalidValue,
     [](Victim&) { return CUDA_CALL(cudaRuntimeGetVersion, nullptr); }},

    {"cudaDeviceGetAttribute", "the place for the value is null", cudaErrorInvalidValue,
     [](Victim&) { return CUDA_CALL(cudaDeviceGetAttribute, nullptr, cudaDevAttrWarpSize, 0); }},
    {"cudaDeviceGetAttribute", "there is no such attribute", cudaErrorInvalidValue,
     [](Victim& v) { return CUDA_CALL(cudaDeviceGetAttribute, &v.number, no_such<cudaDeviceAttr>(), 0); }},
    {"cudaDeviceGetAttribute", "there is no such device", cudaErrorInvalidDevice,
     [](Victim& v) { return CUDA_CALL(cudaDeviceGetAttribute, &v.number, cudaDevAttrWarpSize, -1); }},
};

}  // namespace

PROCTOR_CHECK_EACH(
    functions_of(kBadCalls), InvalidArgument, CallReturnsDocumentedError, "K12",
    "CUDA Runtime API, Execution Control, Library, Stream and Event Management; ROCm/hip-tests, "
    "which run on NVIDIA",
    suite::kGate, {"error.wrong_code", "error.swallowed", "error.wrong_code:err=36"}) {
  expect_refusals(kBadCalls);
}

}  // namespace proctor::accel
