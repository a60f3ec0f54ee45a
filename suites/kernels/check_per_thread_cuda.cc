// Checks of the functions that programs compiled with -default-stream per-thread call. These functions have other
// names, and their stream 0 is the default stream of the calling thread.
#include <algorithm>

#include "suites/accel/check_fixture.h"
#include "suites/accel/cuda/native.h"
#include "suites/accel/cuda/stream_latch.h"
#include "suites/main/check.h"

// The functions are declared here, because the macro of the header would rename the calls of all other checks.
extern "C" {
decltype(cudaEventRecord) cudaEventRecord_ptsz;
decltype(cudaEventRecordWithFlags) cudaEventRecordWithFlags_ptsz;
decltype(cudaFreeAsync) cudaFreeAsync_ptsz;
decltype(cudaGraphLaunch) cudaGraphLaunch_ptsz;
decltype(cudaGraphUpload) cudaGraphUpload_ptsz;
decltype(cudaLaunchCooperativeKernel) cudaLaunchCooperativeKernel_ptsz;
decltype(cudaLaunchHostFunc) cudaLaunchHostFunc_ptsz;
decltype(cudaLaunchKernel) cudaLaunchKernel_ptsz;
decltype(cudaLaunchKernelExC) cudaLaunchKernelExC_ptsz;
decltype(cudaMallocAsync) cudaMallocAsync_ptsz;
decltype(cudaMallocFromPoolAsync) cudaMallocFromPoolAsync_ptsz;
decltype(cudaMemcpy) cudaMemcpy_ptds;
decltype(cudaMemcpy2D) cudaMemcpy2D_ptds;
decltype(cudaMemcpy2DAsync) cudaMemcpy2DAsync_ptsz;
decltype(cudaMemcpy3D) cudaMemcpy3D_ptds;
decltype(cudaMemcpy3DAsync) cudaMemcpy3DAsync_ptsz;
decltype(cudaMemcpyAsync) cudaMemcpyAsync_ptsz;
decltype(cudaMemset) cudaMemset_ptds;
decltype(cudaMemset2D) cudaMemset2D_ptds;
decltype(cudaMemset2DAsync) cudaMemset2DAsync_ptsz;
decltype(cudaMemset3D) cudaMemset3D_ptds;
decltype(cudaMemset3DAsync) cudaMemset3DAsync_ptsz;
decltype(cudaMemsetAsync) cudaMemsetAsync_ptsz;
decltype(cudaStreamAddCallback) cudaStreamAddCallback_ptsz;
decltype(cudaStreamBeginCapture) cudaStreamBeginCapture_ptsz;
decltype(cudaStreamEndCapture) cudaStreamEndCapture_ptsz;
decltype(cudaStreamGetFlags) cudaStreamGetFlags_ptsz;
decltype(cudaStreamGetPriority) cudaStreamGetPriority_ptsz;
decltype(cudaStreamIsCapturing) cudaStreamIsCapturing_ptsz;
decltype(cudaStreamQuery) cudaStreamQuery_ptsz;
decltype(cudaStreamSynchronize) cudaStreamSynchronize_ptsz;
decltype(cudaStreamWaitEvent) cudaStreamWaitEvent_ptsz;
}

namespace proctor::accel {
namespace {

using suite::expect_same;
using suite::expect_true;
using suite::kGate;
using suite::step;

constexpr const char* kOwnStream =
    "CUDA Runtime API, API synchronization behavior: the per-thread default stream";
constexpr std::size_t kApartBytes = 4096;

// A blocking stream that is held. Work in the legacy default stream waits for it, and work in the default stream
// of the thread does not.
class HeldBlockingStream {
 public:
  explicit HeldBlockingStream(const Context& context) : latch_(context) {
    use(context.device());
    CUDA_CALL(cudaStreamCreate, &stream_).or_throw();
    latch_.hold(stream_);
  }
  ~HeldBlockingStream() {
    latch_.open();
    static_cast<void>(cudaStreamDestroy(stream_));
  }
  HeldBlockingStream(const HeldBlockingStream&) = delete;
  HeldBlockingStream& operator=(const HeldBlockingStream&) = delete;

 private:
  StreamLatch latch_;
  cudaStream_t stream_ = nullptr;
};

cudaPitchedPtr pitched_at(std::byte* pointer, std::size_t pitch, std::size_t rows) {
  cudaPitchedPtr result{};
  result.ptr = pointer;
  result.pitch = result.xsize = pitch;
  result.ysize = rows;
  return result;
}

cudaMemcpy3DParms box(std::byte* to, std::byte* from) {
  cudaMemcpy3DParms what{};
  what.dstPtr = pitched_at(to, 64, 9);
  what.dstPos = {5, 1, 1};
  what.srcPtr = pitched_at(from, 48, 7);
  what.srcPos = {3, 2, 1};
  what.extent = {31, 4, 3};
  what.kind = cudaMemcpyHostToDevice;
  return what;
}

// The expected memory after each call, computed on the host.
using Bytes = std::vector<std::byte>;
void copy_rows(Bytes& to, const Bytes& from) {
  for (std::size_t y = 0; y < 5; ++y) std::copy_n(&from[7 + y * 80], 70, &to[100 + y * 96]);
}
void copy_box(Bytes& to, const Bytes& from) {
  for (std::size_t z = 0; z < 3; ++z)
    for (std::size_t y = 0; y < 4; ++y)
      std::copy_n(&from[3 + (y + 2) * 48 + (z + 1) * 48 * 7], 31, &to[5 + (y + 1) * 64 + (z + 1) * 64 * 9]);
}
void fill_rows(Bytes& to, const Bytes&) {
  for (std::size_t y = 0; y < 6; ++y) std::fill_n(&to[11 + y * 90], 41, std::byte{0x33});
}
void fill_box(Bytes& to, const Bytes&) {
  for (std::size_t z = 0; z < 3; ++z)
    for (std::size_t y = 0; y < 5; ++y) std::fill_n(&to[13 + y * 50 + z * 50 * 7], 31, std::byte{0x3c});
}

struct Transfer {
  const char* name;
  Status (*call)(std::byte* to, std::byte* from);
  void (*model)(Bytes& to, const Bytes& from);
};

constexpr Transfer kTransfers[] = {
    {"cudaMemcpy",
     [](std::byte* to, std::byte* from) {
       return CUDA_CALL(cudaMemcpy_ptds, to + 64, from + 129, 301, cudaMemcpyHostToDevice);
     },
     [](Bytes& to, const Bytes& from) { std::copy_n(&from[129], 301, &to[64]); }},
    {"cudaMemcpyAsync",
     [](std::byte* to, std::byte* from) {
       return CUDA_CALL(cudaMemcpyAsync_ptsz, to + 65, from + 127, 303, cudaMemcpyHostToDevice, nullptr);
     },
     [](Bytes& to, const Bytes& from) { std::copy_n(&from[127], 303, &to[65]); }},
    {"cudaMemcpy2D",
     [](std::byte* to, std::byte* from) {
       return CUDA_CALL(cudaMemcpy2D_ptds, to + 100, 96, from + 7, 80, 70, 5, cudaMemcpyHostToDevice);
     },
     copy_rows},
    {"cudaMemcpy2DAsync",
     [](std::byte* to, std::byte* from) {
       return CUDA_CALL(cudaMemcpy2DAsync_ptsz, to + 100, 96, from + 7, 80, 70, 5, cudaMemcpyHostToDevice,
                        nullptr);
     },
     copy_rows},
    {"cudaMemcpy3D",
     [](std::byte* to, std::byte* from) {
       const auto what = box(to, from);
       return CUDA_CALL(cudaMemcpy3D_ptds, &what);
     },
     copy_box},
    {"cudaMemcpy3DAsync",
     [](std::byte* to, std::byte* from) {
       const auto what = box(to, from);
       return CUDA_CALL(cudaMemcpy3DAsync_ptsz, &what, nullptr);
     },
     copy_box},
    {"cudaMemset", [](std::byte* to, std::byte*) { return CUDA_CALL(cudaMemset_ptds, to + 10, 0x5a, 77); },
     [](Bytes& to, const Bytes&) { std::fill_n(&to[10], 77, std::byte{0x5a}); }},
    {"cudaMemsetAsync",
     [](std::byte* to, std::byte*) { return CUDA_CALL(cudaMemsetAsync_ptsz, to + 9, 0x5a, 79, nullptr); },
     [](Bytes& to, const Bytes&) { std::fill_n(&to[9], 79, std::byte{0x5a}); }},
    {"cudaMemset2D",
     [](std::byte* to, std::byte*) { return CUDA_CALL(cudaMemset2D_ptds, to + 11, 90, 0x33, 41, 6); },
     fill_rows},
    {"cudaMemset2DAsync",
     [](std::byte* to, std::byte*) {
       return CUDA_CALL(cudaMemset2DAsync_ptsz, to + 11, 90, 0x33, 41, 6, nullptr);
     },
     fill_rows},
    {"cudaMemset3D",
     [](std::byte* to, std::byte*) {
       return CUDA_CALL(cudaMemset3D_ptds, pitched_at(to + 13, 50, 7), 0x3c, cudaExtent{31, 5, 3});
     },
     fill_box},
    {"cudaMemset3DAsync",
     [](std::byte* to, std::byte*) {
       return CUDA_CALL(cudaMemset3DAsync_ptsz, pitched_at(to + 13, 50, 7), 0x3c, cudaExtent{31, 5, 3},
                        nullptr);
     },
     fill_box},
};

}  // namespace

// No document guarantees that the work of two streams runs concurrently. Three of these checks are therefore
// warnings.
PROCTOR_CHECK(PerThreadStream, TransfersBypassBusyBlockingStream, "K38", kOwnStream, suite::kWarn,
              {"copy.skip", "copy.skip_fill"}) {
  const auto context = leased();
  Queue queue(context);
  const auto before = noise(kApartBytes, 1), sent = noise(kApartBytes, 2);
  const Buffer to = device_copy(queue, context, before), from = host_memory(context, kApartBytes);
  std::copy(sent.begin(), sent.end(), from.data());
  const HeldBlockingStream held(context);
  for (const Transfer& transfer : kTransfers) {
    step(std::string("given ") + transfer.name + " in stream 0, and a blocking stream that is held");
    write(queue, context, to.data(), before);
    transfer.call(to.data(), from.data()).or_throw();
    expect_true(poll_done(cudaStreamPerThread, kPatience), "the work is done while the other stream is held");
    auto expected = before;
    transfer.model(expected, sent);
    expect_bytes(transfer.name, expected, read_bytes(queue, context, to.data(), kApartBytes),
                 context.device());
  }
}

PROCTOR_CHECK(PerThreadStream, SynchronousCopyWaitsForKernel, "S1.4", kOwnStream, kGate,
              {"order.end_wait_early"}) {
  const auto context = leased();
  use(context.device());
  const Buffer from = device_memory(context, kApartBytes), to = host_memory(context, kApartBytes);
  const StreamLatch latch(context);
  step("given a synchronous copy behind a kernel in the thread's stream, which is released 30 ms later");
  latch.hold(cudaStreamPerThread);
  expect_status(kNotReady, CUDA_CALL(cudaStreamQuery_ptsz, nullptr));
  {
    const Later later(latch);
    CUDA_CALL(cudaMemcpy_ptds, to.data(), from.data(), kApartBytes, cudaMemcpyDeviceToHost).or_throw();
    expect_same("the state of the kernel when cudaMemcpy returned (1: done)", "1",
                std::to_string(latch.done()));
  }
  expect_status("cudaErrorInvalidValue",
                CUDA_CALL(cudaMemcpy_ptds, nullptr, from.data(), kApartBytes, cudaMemcpyDefault));
}

namespace {

// The kernel reverse_local() reverses the words of each block in shared memory of the same size.
struct Reversal {
  explicit Reversal(const Context& its_context)
      : context(its_context),
        queue(context),
        module(Module::load(context, "group_local")),
        kernel(module, "reverse_local"),
        in(device_copy(queue, context, noise_words(kWords, 3))),
        out(device_copy(queue, context, std::vector<std::uint32_t>(kWords))) {}
  void expect(const std::string& call) {
    expect_true(poll_done(cudaStreamPerThread, kPatience), call + " is done at once");
    auto expected = noise_words(kWords, 3);
    for (auto block = expected.begin(); block != expected.end(); block += kBlock)
      std::reverse(block, block + kBlock);
    expect_words("what " + call + " wrote", expected, read_as<std::uint32_t>(queue, context, out),
                 context.device());
    write(queue, context, out.data(), std::vector<std::byte>(out.bytes()));
  }

  static constexpr std::uint32_t kBlock = 32, kBlocks = 3, kWords = kBlock * kBlocks;
  Context context;
  Queue queue;
  Module module;
  Kernel kernel;
  Buffer in, out;
};

}  // namespace

PROCTOR_CHECK(PerThreadStream, LaunchesBypassBusyBlockingStream, "K16", kOwnStream, suite::kWarn,
              {"kernel.skip:kernel=reverse_local", "kernel.wrong_argument:arg=1"}) {
  const auto context = leased();
  Reversal reversal(context);
  const HeldBlockingStream held(context);
  const std::byte* from = reversal.in.data();
  const std::byte* to = reversal.out.data();
  void* arguments[] = {&from, &to};
  constexpr std::size_t kShared = Reversal::kBlock * 4;
  step("given launches in stream 0, and a blocking stream that is held");
  CUDA_CALL(cudaLaunchKernel_ptsz, native(reversal.kernel), dim3(Reversal::kBlocks), dim3(Reversal::kBlock),
            arguments, kShared, nullptr)
      .or_throw();
  reversal.expect("cudaLaunchKernel");
  CUDA_CALL(cudaLaunchCooperativeKernel_ptsz, native(reversal.kernel), dim3(Reversal::kBlocks),
            dim3(Reversal::kBlock), arguments, kShared, nullptr)
      .or_throw();
  reversal.expect("cudaLaunchCooperativeKernel");
  cudaLaunchConfig_t configuration{};
  configuration.gridDim = dim3(Reversal::kBlocks);
  configuration.blockDim = dim3(Reversal::kBlock);
  configuration.dynamicSmemBytes = kShared;
  CUDA_CALL(cudaLaunchKernelExC_ptsz, &configuration, native(reversal.kernel), arguments).or_throw();
  reversal.expect("cudaLaunchKernelExC");
  const std::size_t most = context.device().record()->native.sharedMemPerBlock;
  for (const bool cooperative : {false, true}) {
    const auto refused = cooperative
                             ? CUDA_CALL(cudaLaunchCooperativeKernel_ptsz, native(reversal.kernel), dim3(1),
                                         dim3(Reversal::kBlock), arguments, most + 1, nullptr)
                             : CUDA_CALL(cudaLaunchKernel_ptsz, native(reversal.kernel), dim3(1),
                                         dim3(Reversal::kBlock), arguments, most + 1, nullptr);
    expect_refused("more shared memory than there is", refused);
  }
  step("given a graph that is captured from stream 0, and launched there");
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t runnable = nullptr;
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  CUDA_CALL(cudaStreamBeginCapture_ptsz, nullptr, cudaStreamCaptureModeThreadLocal).or_throw();
  CUDA_CALL(cudaLaunchKernel_ptsz, native(reversal.kernel), dim3(Reversal::kBlocks), dim3(Reversal::kBlock),
            arguments, kShared, nullptr)
      .or_throw();
  CUDA_CALL(cudaStreamIsCapturing_ptsz, nullptr, &capture).or_throw();
  CUDA_CALL(cudaStreamEndCapture_ptsz, nullptr, &graph).or_throw();
  expect_same("the stream's capture (1: active)", "1", std::to_string(capture));
  CUDA_CALL(cudaGraphInstantiate, &runnable, graph, 0).or_throw();
  CUDA_CALL(cudaGraphUpload_ptsz, runnable, nullptr).or_throw();
  CUDA_CALL(cudaGraphLaunch_ptsz, runnable, nullptr).or_throw();
  reversal.expect("cudaGraphLaunch");
  CUDA_CALL(cudaGraphExecDestroy, runnable).or_throw();
  CUDA_CALL(cudaGraphDestroy, graph).or_throw();
}

PROCTOR_CHECK(PerThreadStream, PoolAllocationsBypassBusyBlockingStream, "K38", kOwnStream, suite::kWarn,
              {"copy.skip_fill", "memory.corrupt_copy:at=17"}) {
  const auto context = leased();
  need(context.device().record()->native.memoryPoolsSupported != 0, "unsupported:memory_pools");
  Queue queue(context);
  cudaMemPool_t pool = nullptr;
  CUDA_CALL(cudaDeviceGetDefaultMemPool, &pool, native(context.device())).or_throw();
  const HeldBlockingStream held(context);
  step("given memory of a pool that is allocated, filled and freed in stream 0");
  for (const bool from_pool : {false, true}) {
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{1} << 16}) {
      void* memory = nullptr;
      if (from_pool) {
        CUDA_CALL(cudaMallocFromPoolAsync_ptsz, &memory, bytes, pool, nullptr).or_throw();
      } else {
        CUDA_CALL(cudaMallocAsync_ptsz, &memory, bytes, nullptr).or_throw();
      }
      expect_status(kSuccess, CUDA_CALL(cudaMemsetAsync_ptsz, memory, 0x77, bytes, nullptr));
      expect_true(poll_done(cudaStreamPerThread, kPatience), "the work is done at once");
      expect_bytes("bytes of the memory", std::vector<std::byte>(bytes, std::byte{0x77}),
                   read_bytes(queue, context, memory, bytes), context.device());
      CUDA_CALL(cudaFreeAsync_ptsz, memory, nullptr).or_throw();
    }
  }
  CUDA_CALL(cudaStreamSynchronize_ptsz, nullptr).or_throw();
}

namespace {

// The number of calls of host functions and callbacks, and the stream that was passed to a callback.
struct Called {
  int functions = 0, callbacks = 0;
  cudaStream_t stream = nullptr;
};
void note_function(void* data) { ++static_cast<Called*>(data)->functions; }
void note_callback(cudaStream_t stream, cudaError_t, void* data) {
  ++static_cast<Called*>(data)->callbacks;
  static_cast<Called*>(data)->stream = stream;
}

}  // namespace

PROCTOR_CHECK(PerThreadStream, EventsAndCallbacksRunInOrder, "K44", kOwnStream, kGate,
              {"order.host_function_lost", "order.report_ready_early:api=cudaEventQuery"}) {
  const auto context = leased();
  use(context.device());
  const Event first(context), second(context), elsewhere(context);
  const Queue other(context);
  const StreamLatch latch(context);
  Called called;
  step("given events and functions of the host in stream 0, behind a kernel that is held");
  latch.hold(cudaStreamPerThread);
  CUDA_CALL(cudaEventRecord_ptsz, native(first), nullptr).or_throw();
  CUDA_CALL(cudaLaunchHostFunc_ptsz, nullptr, note_function, &called).or_throw();
  CUDA_CALL(cudaStreamAddCallback_ptsz, nullptr, note_callback, &called, 0).or_throw();
  CUDA_CALL(cudaEventRecord, native(elsewhere), native(other)).or_throw();
  CUDA_CALL(cudaStreamWaitEvent_ptsz, nullptr, native(elsewhere), 0).or_throw();
  CUDA_CALL(cudaEventRecordWithFlags_ptsz, native(second), nullptr, cudaEventRecordDefault).or_throw();
  expect_status(kNotReady, first.query());
  expect_status(kNotReady, second.query());
  latch.open();
  CUDA_CALL(cudaStreamSynchronize_ptsz, nullptr).or_throw();
  expect_status(kSuccess, first.query());
  expect_status(kSuccess, second.query());
  expect_same("functions and callbacks that ran", "1 1",
              std::to_string(called.functions) + " " + std::to_string(called.callbacks));
  unsigned flags = 99;
  int priority = 99;
  expect_status(kSuccess, CUDA_CALL(cudaStreamGetFlags_ptsz, nullptr, &flags));
  expect_status(kSuccess, CUDA_CALL(cudaStreamGetPriority_ptsz, nullptr, &priority));
  expect_same("the stream's flags and priority", "0 0",
              std::to_string(flags) + " " + std::to_string(priority));
}

}  // namespace proctor::accel
