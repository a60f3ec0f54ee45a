// Checks of stream capture: which threads may make calls that could disturb a capture, which streams and events
// belong to it, and what ends it.
#include <functional>
#include <thread>

#include "suites/accel/check_fixture.h"
#include "suites/accel/cuda/native.h"
#include "suites/accel/cuda/refusal.h"
#include "suites/accel/cuda/stream_latch.h"
#include "suites/kernels/counter.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

using suite::expect_same;
using suite::expect_true;
using suite::kGate;
using suite::kWarn;
using suite::step;

constexpr const char* kRules =
    "CUDA Programming Guide, Stream Capture: Prohibited and Unhandled Operations, Invalidation";
constexpr const char* kInvalidated = "cudaErrorStreamCaptureInvalidated";
constexpr const char* kUnsupported = "cudaErrorStreamCaptureUnsupported";
constexpr const char* kModeNames[] = {"global", "of its thread", "relaxed"};

void begin_in(cudaStream_t stream, cudaStreamCaptureMode mode = cudaStreamCaptureModeThreadLocal) {
  CUDA_CALL(cudaStreamBeginCapture, stream, mode).or_throw();
}

// Ends the capture. `nodes`: receives the number of nodes of the captured graph, if there is one.
Status end_of(cudaStream_t stream, std::size_t* nodes = nullptr) {
  auto graph = reinterpret_cast<cudaGraph_t>(std::uintptr_t{16});
  const Status status = CUDA_CALL(cudaStreamEndCapture, stream, &graph);
  if (status.ok()) {
    if (nodes != nullptr) CUDA_CALL(cudaGraphGetNodes, graph, nullptr, nodes).or_throw();
    CUDA_CALL(cudaGraphDestroy, graph).or_throw();
  } else {
    expect_true(graph == nullptr, "a failed capture returns no graph");
  }
  static_cast<void>(cudaGetLastError());
  return status;
}

std::string capture_of(cudaStream_t stream) {
  auto reported = no_such<cudaStreamCaptureStatus>(), again = reported;
  CUDA_CALL(cudaStreamIsCapturing, stream, &reported).or_throw();
  CUDA_CALL(cudaStreamGetCaptureInfo, stream, &again, nullptr).or_throw();
  expect_same("the status that cudaStreamGetCaptureInfo returns", std::to_string(reported),
              std::to_string(again));
  const char* const names[] = {"none", "active", "invalidated"};
  return reported >= 0 && reported <= 2 ? names[reported] : std::to_string(reported);
}

void record(const Event& event, cudaStream_t stream) {
  CUDA_CALL(cudaEventRecord, native(event), stream).or_throw();
}
Status wait_for(cudaStream_t stream, const Event& event) {
  return CUDA_CALL(cudaStreamWaitEvent, stream, native(event), 0);
}

// Sets the capture mode of the calling thread during the life of this object.
class ThreadMode {
 public:
  explicit ThreadMode(cudaStreamCaptureMode mode) : mode_(mode) {
    CUDA_CALL(cudaThreadExchangeStreamCaptureMode, &mode_).or_throw();
  }
  ~ThreadMode() { static_cast<void>(cudaThreadExchangeStreamCaptureMode(&mode_)); }
  ThreadMode(const ThreadMode&) = delete;
  ThreadMode& operator=(const ThreadMode&) = delete;

 private:
  cudaStreamCaptureMode mode_;
};

// Allocates memory in a thread with this mode, and returns the result. An allocation could disturb a capture.
std::string unsafe_call(cudaStreamCaptureMode mode) {
  const ThreadMode mine(mode);
  void* memory = nullptr;
  const Status status = CUDA_CALL(cudaMalloc, &memory, 4096);
  if (status.ok()) {
    const ThreadMode relaxed(cudaStreamCaptureModeRelaxed);
    CUDA_CALL(cudaFree, memory).or_throw();
  }
  static_cast<void>(cudaGetLastError());
  return status.name();
}

}  // namespace

PROCTOR_CHECK(StreamCapture, CaptureModeControlsUnsafeCalls, "K45",
              "CUDA Runtime API, cudaThreadExchangeStreamCaptureMode", kGate,
              {"error.swallowed:api=cudaMalloc", "error.wrong_code:api=cudaMalloc"}) {
  const auto context = leased();
  const Queue queue(context);
  constexpr auto kGlobal = cudaStreamCaptureModeGlobal, kLocal = cudaStreamCaptureModeThreadLocal,
                 kRelaxed = cudaStreamCaptureModeRelaxed;
  for (const auto capture : {kGlobal, kLocal, kRelaxed}) {
    for (const auto mine : {kGlobal, kLocal, kRelaxed}) {
      for (const bool same_thread : {true, false}) {
        step(std::string("given a capture that is ") + kModeNames[capture] + ", and a call in " +
             (same_thread ? "its" : "another") + " thread that is " + kModeNames[mine]);
        const bool forbidden = mine != kRelaxed && capture != kRelaxed &&
                               (same_thread || (capture == kGlobal && mine == kGlobal));
        begin_in(native(queue), capture);
        std::string answer;
        if (same_thread) {
          answer = unsafe_call(mine);
        } else {
          std::jthread([&] {
            use(context.device());
            answer = unsafe_call(mine);
          }).join();
        }
        expect_same("cudaMalloc answers", forbidden ? kUnsupported : kSuccess, answer);
        expect_same("the capture is", forbidden ? "invalidated" : "active", capture_of(native(queue)));
        expect_status(forbidden ? kInvalidated : kSuccess, end_of(native(queue)));
        expect_same("the capture is then", "none", capture_of(native(queue)));
        expect_same("the result of cudaMalloc then", kSuccess, unsafe_call(kGlobal));
      }
    }
  }
  step("given a thread's mode that is exchanged");
  for (const auto& [next, last] : {std::pair{kRelaxed, kGlobal}, {kLocal, kRelaxed}, {kGlobal, kLocal}}) {
    auto mode = next;
    CUDA_CALL(cudaThreadExchangeStreamCaptureMode, &mode).or_throw();
    expect_same("the mode before", std::to_string(last), std::to_string(mode));
  }
}

PROCTOR_CHECK(StreamCapture, WaitsAndQueriesInvalidateCapture, "K45", kRules, kGate,
              {"error.swallowed:api=cudaDeviceSynchronize"}) {
  const auto context = leased();
  const Queue queue(context);
  const Event event(context);
  const std::pair<const char*, std::function<Status()>> calls[] = {
      {"cudaDeviceSynchronize", [] { return CUDA_CALL(cudaDeviceSynchronize); }},
      {"cudaStreamSynchronize", [&] { return CUDA_CALL(cudaStreamSynchronize, native(queue)); }},
      {"cudaStreamQuery", [&] { return CUDA_CALL(cudaStreamQuery, native(queue)); }},
      {"cudaStreamAddCallback",
       [&] {
         return CUDA_CALL(
             cudaStreamAddCallback, native(queue), [](cudaStream_t, cudaError_t, void*) {}, nullptr, 0);
       }},
  };
  for (const auto& [name, call] : calls) {
    step(std::string("given ") + name + " while a stream captures");
    begin_in(native(queue));
    expect_status(kUnsupported, call());
    expect_same("the capture is", "invalidated", capture_of(native(queue)));
    expect_status(kInvalidated, end_of(native(queue)));
  }
  step("given an event that was recorded in a capture, and is queried");
  for (const bool wait : {false, true}) {
    begin_in(native(queue));
    record(event, native(queue));
    expect_status("cudaErrorCapturedEvent", wait ? CUDA_CALL(cudaEventSynchronize, native(event))
                                                 : CUDA_CALL(cudaEventQuery, native(event)));
    expect_same("the capture is", "invalidated", capture_of(native(queue)));
    expect_status(kInvalidated, end_of(native(queue)));
  }
  step("given that event, recorded again where nothing is captured");
  record(event, native(queue));
  expect_status(kSuccess, CUDA_CALL(cudaEventSynchronize, native(event)));
  expect_status(kSuccess, CUDA_CALL(cudaEventQuery, native(event)));
}

PROCTOR_CHECK(StreamCapture, InvalidatedCaptureAcceptsNoWork, "K45", kRules, kGate,
              {"error.swallowed", "error.wrong_code"}) {
  const auto context = leased();
  Counter counter(context);
  const Queue queue(context), second(context);
  const Event before(context), event(context);
  step("given a capture that a wait has made invalid");
  begin_in(native(queue));
  record(before, native(queue));
  expect_status(kUnsupported, CUDA_CALL(cudaStreamSynchronize, native(queue)));
  const std::byte* words = counter.words.data();
  std::uint32_t n = 64;
  void* arguments[] = {&words, &n};
  expect_status(kInvalidated, CUDA_CALL(cudaLaunchKernel, native(counter.kernel), dim3(1), dim3(64),
                                        arguments, 0, native(queue)));
  expect_status(kInvalidated, CUDA_CALL(cudaEventRecord, native(event), native(queue)));
  expect_refused("a wait for it", wait_for(native(second), before));
  expect_same("the other stream's capture is", "none", capture_of(native(second)));
  expect_status(kInvalidated, end_of(native(queue)));
}

PROCTOR_CHECK(StreamCapture, CaptureBelongsToStreamAndThread, "K45",
              "CUDA Runtime API, cudaStreamBeginCapture, cudaStreamEndCapture", kGate,
              {"error.swallowed", "error.wrong_code"}) {
  const auto context = leased();
  const Queue queue(context), second(context);
  const Event forked(context), joined(context);
  // The documents do not specify the state of a capture after such a mistake.
  step("given a capture that begins twice");
  begin_in(native(queue));
  expect_refused("the second begin",
                 CUDA_CALL(cudaStreamBeginCapture, native(queue), cudaStreamCaptureModeRelaxed));
  static_cast<void>(end_of(native(queue)));
  step("given a capture that ends in another thread");
  begin_in(native(queue));
  std::jthread([&] {
    use(context.device());
    expect_status("cudaErrorStreamCaptureWrongThread", end_of(native(queue)));
  }).join();
  static_cast<void>(end_of(native(queue)));
  step("given a capture that ends in another stream");
  begin_in(native(queue));
  record(forked, native(queue));
  wait_for(native(second), forked).or_throw();
  expect_status("cudaErrorStreamCaptureUnmatched", end_of(native(second)));
  static_cast<void>(end_of(native(queue)));
  step("given a capture that a second stream joins");
  begin_in(native(queue));
  expect_same("the capture is", "active", capture_of(native(queue)));
  expect_same("the capture of another stream is", "none", capture_of(native(second)));
  record(forked, native(queue));
  wait_for(native(second), forked).or_throw();
  expect_same("the capture of a stream that joined is", "active", capture_of(native(second)));
  unsigned long long ids[2] = {};
  auto status = cudaStreamCaptureStatusNone;
  CUDA_CALL(cudaStreamGetCaptureInfo, native(queue), &status, &ids[0]).or_throw();
  CUDA_CALL(cudaStreamGetCaptureInfo, native(second), &status, &ids[1]).or_throw();
  expect_same("the id of the capture in the second stream", std::to_string(ids[0]), std::to_string(ids[1]));
  record(joined, native(second));
  wait_for(native(queue), joined).or_throw();
  expect_status(kSuccess, end_of(native(queue)));
  expect_same("the capture of the second stream is then", "none", capture_of(native(second)));
  step("given a relaxed capture, which may end in another thread");
  begin_in(native(queue), cudaStreamCaptureModeRelaxed);
  unsigned long long later = 0;
  CUDA_CALL(cudaStreamGetCaptureInfo, native(queue), &status, &later).or_throw();
  expect_true(later != ids[0], "each capture has an id of its own");
  std::jthread([&] {
    use(context.device());
    expect_status(kSuccess, end_of(native(queue)));
  }).join();
  for (const cudaStream_t legacy : {cudaStream_t{nullptr}, cudaStreamLegacy})
    expect_status(kUnsupported, CUDA_CALL(cudaStreamBeginCapture, legacy, cudaStreamCaptureModeRelaxed));
  begin_in(cudaStreamPerThread);
  expect_status(kSuccess, end_of(cudaStreamPerThread));
}

PROCTOR_CHECK(StreamCapture, EveryForkedStreamMustRejoin, "K45",
              "CUDA Programming Guide, Cross-stream Dependencies and Events", kGate,
              {"error.swallowed", "error.wrong_code"}) {
  const auto context = leased();
  Counter counter(context);
  const Queue first(context), second(context);
  const Event forked(context), early(context), late(context);
  const auto work = [&](const Queue& queue) {
    launch(counter.kernel, native(queue), 1, 64, counter.words.data(), 64u);
  };
  const auto fork = [&] {
    begin_in(native(first));
    record(forked, native(first));
    wait_for(native(second), forked).or_throw();
  };
  const auto join = [&](const Event& event) { wait_for(native(first), event).or_throw(); };
  constexpr const char* kUnjoined = "cudaErrorStreamCaptureUnjoined";
  std::size_t nodes = 0;
  step("given a stream that joins a capture, works and never comes back");
  fork();
  work(second);
  expect_status(kUnjoined, end_of(native(first)));
  step("given one that comes back with nothing done");
  fork();
  record(late, native(second));
  join(late);
  expect_status(kSuccess, end_of(native(first), &nodes));
  expect_same("nodes", "0", std::to_string(nodes));
  step("given one that comes back before its work");
  fork();
  record(early, native(second));
  work(second);
  join(early);
  expect_status(kUnjoined, end_of(native(first)));
  step("given one that does more when it has come back");
  fork();
  work(second);
  record(late, native(second));
  join(late);
  work(second);
  expect_status(kUnjoined, end_of(native(first)));
  step("given one that comes back twice, and work of the first stream before, between and behind");
  fork();
  work(first);
  work(second);
  record(early, native(second));
  join(early);
  work(first);
  work(second);
  record(late, native(second));
  join(late);
  work(first);
  expect_status(kSuccess, end_of(native(first), &nodes));
  expect_same("nodes", "5", std::to_string(nodes));
  step("given work in both streams when all captures have ended");
  work(first);
  CUDA_CALL(cudaStreamSynchronize, native(first)).or_throw();
  work(second);
  CUDA_CALL(cudaStreamSynchronize, native(second)).or_throw();
  expect_same("count", "2", std::to_string(counter.value()));
}

PROCTOR_CHECK(StreamCapture, ConcurrentCapturesAreIsolated, "K45", kRules, kGate,
              {"error.swallowed", "error.wrong_code"}) {
  const auto context = leased();
  const Queue first(context), second(context);
  const Event of_first(context), outside(context);
  step("given two captures of which one waits for an event of the other");
  begin_in(native(first));
  begin_in(native(second));
  record(of_first, native(first));
  expect_status("cudaErrorStreamCaptureMerge", wait_for(native(second), of_first));
  expect_same("the first capture is", "invalidated", capture_of(native(first)));
  expect_same("the second capture is", "invalidated", capture_of(native(second)));
  expect_status(kInvalidated, end_of(native(first)));
  expect_status(kInvalidated, end_of(native(second)));
  step("given a capture that waits for an event recorded outside of it");
  record(outside, native(second));
  begin_in(native(first));
  expect_status("cudaErrorStreamCaptureIsolation", wait_for(native(first), outside));
  static_cast<void>(end_of(native(first)));
  step("given two captures that do not meet");
  begin_in(native(first));
  begin_in(native(second));
  expect_status(kSuccess, end_of(native(first)));
  expect_same("the second capture is", "active", capture_of(native(second)));
  expect_same("the result of a call that could disturb it", kUnsupported,
              unsafe_call(cudaStreamCaptureModeGlobal));
  expect_status(kInvalidated, end_of(native(second)));
}

PROCTOR_CHECK(StreamCapture, EndedCaptureEventIsRejected, "K45", "CUDA Runtime API, cudaErrorCapturedEvent",
              kWarn, {"error.swallowed", "error.wrong_code"}) {
  const auto context = leased();
  const Queue first(context), second(context);
  const Event event(context);
  step("given an event of a capture that has ended");
  begin_in(native(first));
  record(event, native(first));
  expect_status(kSuccess, end_of(native(first)));
  expect_refused("a wait for it", wait_for(native(second), event));
  expect_same("the stream's capture is", "none", capture_of(native(second)));
}

PROCTOR_CHECK(StreamCapture, LegacyStreamWorkInvalidatesBlockingCapture, "K45",
              "CUDA Runtime API, cudaErrorStreamCaptureImplicit: the legacy default stream", kGate,
              {"error.swallowed", "error.wrong_code"}) {
  const auto context = leased();
  use(context.device());
  Counter counter(context);
  cudaStream_t blocking = nullptr;
  CUDA_CALL(cudaStreamCreate, &blocking).or_throw();
  const Queue free(context);
  const std::byte* words = counter.words.data();
  std::uint32_t n = 64;
  void* arguments[] = {&words, &n};
  const auto work = [&] {
    return CUDA_CALL(cudaLaunchKernel, native(counter.kernel), dim3(1), dim3(64), arguments, 0,
                     cudaStreamLegacy);
  };
  step("given work in the default stream while a blocking stream captures");
  begin_in(blocking);
  expect_status("cudaErrorStreamCaptureImplicit", work());
  expect_same("the capture is", "invalidated", capture_of(blocking));
  expect_status(kInvalidated, end_of(blocking));
  step("given a wait for the default stream while a blocking stream captures");
  begin_in(blocking);
  expect_refused("the wait", CUDA_CALL(cudaStreamSynchronize, cudaStreamLegacy));
  expect_status(kInvalidated, end_of(blocking));
  step("given work in the default stream while a non-blocking stream captures");
  // In other modes, no stream can be synchronized during a capture.
  begin_in(native(free), cudaStreamCaptureModeRelaxed);
  expect_status(kSuccess, work());
  expect_status(kSuccess, CUDA_CALL(cudaStreamSynchronize, cudaStreamLegacy));
  expect_same("the capture is", "active", capture_of(native(free)));
  const Event forked(context);
  record(forked, native(free));
  expect_refused("a wait of the default stream for it", wait_for(cudaStreamLegacy, forked));
  static_cast<void>(end_of(native(free)));
  CUDA_CALL(cudaStreamDestroy, blocking).or_throw();
  expect_same("count", "1", std::to_string(counter.value()));
}

}  // namespace proctor::accel
