// Checks of CUDA streams: the default stream, priorities, waits of the host, and host functions.
#include <algorithm>
#include <set>
#include <thread>

#include "suites/accel/check_fixture.h"
#include "suites/accel/cuda/native.h"
#include "suites/accel/cuda/stream_latch.h"
#include "suites/kernels/counter.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

using suite::expect_same;
using suite::expect_true;
using suite::kGate;
using suite::step;

constexpr const char* kDefault = "CUDA Programming Guide, Default Stream";
constexpr const char* kWaits = "CUDA Runtime API, API synchronization behavior";
constexpr const char* kHostFunction = "CUDA Runtime API, cudaLaunchHostFunc";
constexpr const char* kPriority = "CUDA Runtime API, cudaStreamCreateWithPriority";

// A stream with any flags, or a default stream.
class Stream {
 public:
  static Stream legacy() { return given(cudaStreamLegacy); }
  static Stream blocking() { return made(cudaStreamDefault); }
  static Stream non_blocking() { return made(cudaStreamNonBlocking); }
  static Stream of_greatest_priority() {
    int least = 0, greatest = 0;
    CUDA_CALL(cudaDeviceGetStreamPriorityRange, &least, &greatest).or_throw();
    cudaStream_t handle = nullptr;
    CUDA_CALL(cudaStreamCreateWithPriority, &handle, cudaStreamNonBlocking, greatest).or_throw();
    return {handle, true};
  }
  static Stream given(cudaStream_t handle) { return {handle, false}; }
  ~Stream() {
    if (owned_) static_cast<void>(cudaStreamDestroy(handle_));
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  cudaStream_t handle() const { return handle_; }
  Status query() const { return CUDA_CALL(cudaStreamQuery, handle_); }
  void synchronize() const { CUDA_CALL(cudaStreamSynchronize, handle_).or_throw(); }

 private:
  Stream(cudaStream_t handle, bool owned) : handle_(handle), owned_(owned) {}
  static Stream made(unsigned flags) {
    cudaStream_t handle = nullptr;
    CUDA_CALL(cudaStreamCreateWithFlags, &handle, flags).or_throw();
    return {handle, true};
  }

  cudaStream_t handle_;
  bool owned_;
};

void expect_open(const StreamLatch& latch, const std::string& wait) {
  expect_same("the state of the kernel when " + wait + " returned (1: done)", "1",
              std::to_string(latch.done()));
}

}  // namespace

// ---- the default stream ----

PROCTOR_CHECK(DefaultStream, WorkWaitsForBlockingStreams, "K38", kDefault, kGate,
              {"order.skip_default_stream_barrier"}) {
  const auto context = leased();
  Counter counter(context);
  const Stream legacy = Stream::legacy(), blocking = Stream::blocking();
  const StreamLatch latch(context);
  step("given a blocking stream that is held, and work in the default stream");
  latch.hold(blocking.handle());
  launch(counter.kernel, legacy.handle(), 1, 64, counter.words.data(), 64u);
  expect_true(!poll_done(legacy.handle()), "the default stream waits");
  latch.open();
  legacy.synchronize();
  expect_same("count", "1", std::to_string(counter.value()));
}

PROCTOR_CHECK(DefaultStream, BlockingStreamsWaitForDefaultStream, "K38", kDefault, kGate,
              {"order.skip_default_stream_barrier"}) {
  const auto context = leased();
  Counter counter(context);
  const Stream legacy = Stream::legacy(), blocking = Stream::blocking();
  const StreamLatch latch(context);
  step("given that the default stream is held, and work in a blocking stream");
  latch.hold(legacy.handle());
  launch(counter.kernel, blocking.handle(), 1, 64, counter.words.data(), 64u);
  expect_true(!poll_done(blocking.handle()), "the blocking stream waits");
  latch.open();
  blocking.synchronize();
  expect_same("count", "1", std::to_string(counter.value()));
}

// No document guarantees that kernels of two streams run concurrently.
PROCTOR_CHECK(DefaultStream, NonBlockingStreamsDoNotWait, "K38", kDefault, suite::kWarn,
              {"order.never_report_ready:api=cudaStreamQuery"}) {
  const auto context = leased();
  Counter counter(context);
  const Stream legacy = Stream::legacy(), free = Stream::non_blocking();
  const StreamLatch latch(context);
  step("given that the default stream is held, and work in a non-blocking stream");
  latch.hold(legacy.handle());
  launch(counter.kernel, free.handle(), 1, 64, counter.words.data(), 64u);
  const bool done = poll_done(free.handle(), kPatience);
  latch.open();
  legacy.synchronize();
  expect_true(done, "the non-blocking stream is done while the default stream is held");
}

PROCTOR_CHECK(DefaultStream, PerThreadStreamRunsEveryLaunch, "K38", kDefault, kGate,
              {"kernel.skip:kernel=increment,times=1", "kernel.run_twice:kernel=increment,times=1"}) {
  const auto context = leased();
  Counter counter(context);
  step("given two threads that each use the default stream of their own");
  const auto work = [&] {
    use(context.device());
    for (int i = 0; i < 5; ++i) launch(counter.kernel, cudaStreamPerThread, 1, 64, counter.words.data(), 64u);
    CUDA_CALL(cudaStreamSynchronize, cudaStreamPerThread).or_throw();
  };
  std::string problem;
  for (int thread = 0; thread < 2; ++thread) {  // One after the other, because the counter is not atomic.
    std::jthread([&] {
      try {
        work();
      } catch (const std::exception& error) {
        problem = error.what();
      }
    }).join();
  }
  expect_same("error in a thread", "", problem);
  expect_same("count", "10", std::to_string(counter.value()));
}

// ---- waits of the host ----

namespace {

// Every kind of stream for which a thread can wait.
const std::vector<std::string> kStreams = {"blocking", "non_blocking", "priority",
                                           "legacy",   "null",         "per_thread"};

Stream stream_of(const std::string& kind) {
  if (kind == "blocking") return Stream::blocking();
  if (kind == "non_blocking") return Stream::non_blocking();
  if (kind == "priority") return Stream::of_greatest_priority();
  return Stream::given(kind == "legacy" ? cudaStreamLegacy : kind == "null" ? nullptr : cudaStreamPerThread);
}

}  // namespace

PROCTOR_CHECK_EACH(kStreams, Synchronization, StreamSynchronizeBlocksUntilDone, "S1.4", kWaits, kGate,
                   {"order.end_wait_early:api=cudaStreamSynchronize",
                    "order.report_ready_early:api=cudaStreamQuery"}) {
  const auto context = leased();
  use(context.device());
  const Stream stream = stream_of(suite::parameter());
  const StreamLatch latch(context);
  step("given a kernel in a stream that another thread releases 30 ms later");
  latch.hold(stream.handle());
  expect_status(kNotReady, stream.query());
  const Later later(latch);
  stream.synchronize();
  expect_open(latch, "cudaStreamSynchronize");
  expect_status(kSuccess, stream.query());
}

PROCTOR_CHECK_EACH(kStreams, Synchronization, EventSynchronizeBlocksUntilDone, "S1.4", kWaits, kGate,
                   {"order.end_event_wait_early:api=cudaEventSynchronize",
                    "order.report_ready_early:api=cudaEventQuery"}) {
  const auto context = leased();
  use(context.device());
  const Stream stream = stream_of(suite::parameter());
  const Event event(context);
  const StreamLatch latch(context);
  step("given an event behind a kernel in a stream that another thread releases 30 ms later");
  latch.hold(stream.handle());
  CUDA_CALL(cudaEventRecord, native(event), stream.handle()).or_throw();
  expect_status(kNotReady, event.query());
  const Later later(latch);
  CUDA_CALL(cudaEventSynchronize, native(event)).or_throw();
  expect_open(latch, "cudaEventSynchronize");
}

PROCTOR_CHECK_EACH(kStreams, Synchronization, StreamWaitsForEvent, "S1.7", kWaits, kGate,
                   {"order.ignore_wait_events"}) {
  const auto context = leased();
  use(context.device());
  Counter counter(context);
  const Stream held = Stream::non_blocking(), stream = stream_of(suite::parameter());
  const Event opened(context);
  const StreamLatch latch(context);
  step("given a stream that waits for an event of another one, which is held");
  latch.hold(held.handle());
  CUDA_CALL(cudaEventRecord, native(opened), held.handle()).or_throw();
  CUDA_CALL(cudaStreamWaitEvent, stream.handle(), native(opened), 0).or_throw();
  launch(counter.kernel, stream.handle(), 1, 64, counter.words.data(), 64u);
  expect_true(!poll_done(stream.handle(), std::chrono::milliseconds(20)), "the stream waits");
  latch.open();
  stream.synchronize();
  expect_same("count", "1", std::to_string(counter.value()));
}

PROCTOR_CHECK(Synchronization, DeviceSynchronizeWaitsForEveryStream, "S1.4", kWaits, kGate,
              {"order.end_wait_early:api=cudaDeviceSynchronize"}) {
  const auto context = leased();
  const Queue first(context), second(context);
  const StreamLatch latch(context);
  step("given a kernel in the second of two streams that another thread releases 30 ms later");
  latch.hold(native(second));
  const Later later(latch);
  CUDA_CALL(cudaDeviceSynchronize).or_throw();
  expect_open(latch, "cudaDeviceSynchronize");
}

PROCTOR_CHECK(Synchronization, SynchronousCopyWaitsForDefaultStream, "S1.4", kWaits, kGate,
              {"order.end_wait_early:api=cudaMemcpy"}) {
  const auto context = leased();
  use(context.device());
  const Buffer from = device_memory(context, 4096), to = host_memory(context, 4096);
  const StreamLatch latch(context);
  step("given a synchronous copy behind a kernel in the default stream, released 30 ms later");
  latch.hold(cudaStreamLegacy);
  const Later later(latch);
  CUDA_CALL(cudaMemcpy, to.data(), from.data(), 4096, cudaMemcpyDefault).or_throw();
  expect_open(latch, "cudaMemcpy");
}

// ---- the end of a stream ----

PROCTOR_CHECK(Stream, WorkSurvivesStreamDestruction, "K38", "CUDA Runtime API, cudaStreamDestroy", kGate,
              {"kernel.skip:kernel=increment", "order.end_wait_early:api=cudaDeviceSynchronize"}) {
  const auto context = leased();
  Counter counter(context);
  const StreamLatch latch(context);
  step("given a stream that is destroyed with held work in it, which is released 30 ms later");
  {
    const Stream stream = Stream::non_blocking();
    latch.hold(stream.handle());
    for (int i = 0; i < 3; ++i) launch(counter.kernel, stream.handle(), 1, 64, counter.words.data(), 64u);
  }
  expect_same("the state of the kernel when its stream is destroyed (0: held)", "0",
              std::to_string(latch.done()));
  {
    const Later later(latch);
    CUDA_CALL(cudaDeviceSynchronize).or_throw();
    expect_open(latch, "cudaDeviceSynchronize");
  }
  expect_same("count", "3", std::to_string(counter.value()));
}

// ---- reported properties of a stream ----

namespace {

constexpr const char* kStreamManagement = "CUDA Runtime API, Stream Management";

unsigned flags_of(cudaStream_t stream) {
  unsigned flags = 0xdead;
  CUDA_CALL(cudaStreamGetFlags, stream, &flags).or_throw();
  return flags;
}
int priority_of(cudaStream_t stream) {
  int priority = 0xdead;
  CUDA_CALL(cudaStreamGetPriority, stream, &priority).or_throw();
  return priority;
}
unsigned long long id_of(cudaStream_t stream) {
  unsigned long long id = 0;
  CUDA_CALL(cudaStreamGetId, stream, &id).or_throw();
  return id;
}
int device_of(cudaStream_t stream) {
  int device = -1;
  CUDA_CALL(cudaStreamGetDevice, stream, &device).or_throw();
  return device;
}

}  // namespace

PROCTOR_CHECK(Stream, FlagsAndPriorityMatchCreation, "K38", kStreamManagement, kGate,
              {"order.priority_lost", "error.swallowed:api=cudaStreamCreateWithFlags"}) {
  use(leased_device());
  int least = 0xdead, greatest = 0xdead;
  CUDA_CALL(cudaDeviceGetStreamPriorityRange, &least, &greatest).or_throw();
  step("given streams of each kind");
  expect_true(greatest <= 0 && least >= 0, "the usual priority, 0, is within " + std::to_string(greatest) +
                                               " to " + std::to_string(least));
  int once = 0xdead;
  expect_status(kSuccess, CUDA_CALL(cudaDeviceGetStreamPriorityRange, nullptr, &once));
  expect_same("the greatest priority alone", std::to_string(greatest), std::to_string(once));
  expect_status(kSuccess, CUDA_CALL(cudaDeviceGetStreamPriorityRange, &once, nullptr));
  expect_same("the least priority alone", std::to_string(least), std::to_string(once));
  const auto expect = [&](const std::string& what, cudaStream_t stream, unsigned flags, int priority) {
    expect_same("flags and priority of " + what, std::to_string(flags) + " " + std::to_string(priority),
                std::to_string(flags_of(stream)) + " " + std::to_string(priority_of(stream)));
  };
  cudaStream_t plain = nullptr;
  CUDA_CALL(cudaStreamCreate, &plain).or_throw();
  expect("a stream", plain, cudaStreamDefault, 0);
  CUDA_CALL(cudaStreamDestroy, plain).or_throw();
  expect("a blocking stream", Stream::blocking().handle(), cudaStreamDefault, 0);
  expect("a non-blocking stream", Stream::non_blocking().handle(), cudaStreamNonBlocking, 0);
  for (const cudaStream_t usual : {cudaStream_t{nullptr}, cudaStreamLegacy, cudaStreamPerThread})
    expect("a default stream", usual, cudaStreamDefault, 0);
  for (int wanted = greatest - 2; wanted <= least + 2; ++wanted) {
    for (const unsigned flags : {cudaStreamDefault, cudaStreamNonBlocking}) {
      cudaStream_t stream = nullptr;
      CUDA_CALL(cudaStreamCreateWithPriority, &stream, flags, wanted).or_throw();
      expect("a stream of priority " + std::to_string(wanted), stream, flags,
             std::clamp(wanted, greatest, least));
      CUDA_CALL(cudaStreamDestroy, stream).or_throw();
    }
  }
  cudaStream_t none = nullptr;
  expect_status("cudaErrorInvalidValue", CUDA_CALL(cudaStreamCreateWithFlags, &none, 2));
}

PROCTOR_CHECK(Stream, IdIsUniqueAndDeviceMatches, "K38",
              "CUDA Runtime API, cudaStreamGetId, cudaStreamGetDevice", kGate,
              .faults = {"error.swallowed:api=cudaStreamGetId"}, .devices = 2) {
  const auto devices = leased_devices(2);
  use(devices[1]);
  const Stream elsewhere = Stream::non_blocking();
  use(devices[0]);
  const Stream first = Stream::blocking(), second = Stream::blocking();
  step("given streams of two devices, and the default streams of two threads");
  std::set<unsigned long long> ids;
  for (const cudaStream_t stream :
       {first.handle(), second.handle(), elsewhere.handle(), cudaStreamLegacy, cudaStreamPerThread}) {
    const auto id = id_of(stream);
    expect_true(ids.insert(id).second, "no other stream has the id " + std::to_string(id));
    expect_same("the id when queried again", std::to_string(id), std::to_string(id_of(stream)));
    const Device& device = stream == elsewhere.handle() ? devices[1] : devices[0];
    expect_same("the stream's device", std::to_string(native(device)), std::to_string(device_of(stream)));
  }
  expect_same("the id of stream 0, the legacy default stream", std::to_string(id_of(cudaStreamLegacy)),
              std::to_string(id_of(nullptr)));
  std::jthread([&] {
    use(devices[0]);
    const auto id = id_of(cudaStreamPerThread);
    expect_true(ids.insert(id).second, "another thread's stream has another id than " + std::to_string(id));
  }).join();
  unsigned long long* const nowhere = nullptr;
  expect_status("cudaErrorInvalidValue", CUDA_CALL(cudaStreamGetId, first.handle(), nowhere));
}

PROCTOR_CHECK(Stream, OnlyWholeManagedAllocationAttaches, "M37", "CUDA Runtime API, cudaStreamAttachMemAsync",
              kGate, {"error.swallowed:api=cudaStreamAttachMemAsync"}) {
  const auto context = leased();
  const Queue queue(context);
  const Buffer managed = shared_memory(context, 1 << 16), ordinary = device_memory(context, 1 << 16);
  need(context.device().record()->native.concurrentManagedAccess != 0,
       "unsupported:concurrent_managed_access");
  const auto sent = noise(managed.bytes(), 5);
  std::copy(sent.begin(), sent.end(), managed.data());
  const auto attach = [&](void* memory, std::size_t bytes, unsigned flags) {
    return CUDA_CALL(cudaStreamAttachMemAsync, native(queue), memory, bytes, flags);
  };
  step("given managed memory that is attached to a stream, to the host and to all streams");
  for (const unsigned flags : {cudaMemAttachSingle, cudaMemAttachHost, cudaMemAttachGlobal})
    for (const std::size_t bytes : {std::size_t{0}, managed.bytes()})
      expect_status(kSuccess, attach(managed.data(), bytes, flags));
  expect_status("cudaErrorInvalidValue", attach(managed.data(), managed.bytes() - 1, cudaMemAttachSingle));
  expect_status("cudaErrorInvalidValue", attach(ordinary.data(), 0, cudaMemAttachSingle));
  CUDA_CALL(cudaStreamSynchronize, native(queue)).or_throw();
  expect_bytes("bytes of the memory", sent, {managed.data(), managed.bytes()}, context.device());
}

// ---- priorities and host functions ----

PROCTOR_CHECK(Stream, PriorityIsClampedToRange, "K38", kPriority, kGate, {"order.priority_lost"}) {
  const auto context = leased();
  use(context.device());
  int least = 0, greatest = 0;
  CUDA_CALL(cudaDeviceGetStreamPriorityRange, &least, &greatest).or_throw();
  need(greatest < least, "unsupported:stream_priorities");
  step("given streams of the greatest priority, and of one beyond");
  for (const int wanted : {greatest, greatest - 100}) {
    cudaStream_t stream = nullptr;
    CUDA_CALL(cudaStreamCreateWithPriority, &stream, cudaStreamNonBlocking, wanted).or_throw();
    int got = least + 1;
    const Status status = CUDA_CALL(cudaStreamGetPriority, stream, &got);
    static_cast<void>(cudaStreamDestroy(stream));
    expect_status(kSuccess, status);
    expect_same("priority", std::to_string(greatest), std::to_string(got));
  }
}

namespace {

// The word that a host function reads when it runs.
struct Witness {
  const std::uint32_t* word;
  std::uint32_t seen = 0xdead;
};
void observe(void* data) {
  auto* witness = static_cast<Witness*>(data);
  witness->seen = *static_cast<const volatile std::uint32_t*>(witness->word);
}
void observe_callback(cudaStream_t, cudaError_t, void* data) { observe(data); }

}  // namespace

PROCTOR_CHECK(HostFunction, FunctionsRunInStreamOrder, "K44", kHostFunction, kGate,
              {"order.host_function_lost", "kernel.skip:times=1"}) {
  const auto context = leased();
  const Queue queue(context);
  const Module module = Module::load(context, "basic");
  const Kernel increment(module, "increment");
  const Buffer words = host_memory(context, 4);
  words.as<std::uint32_t>()[0] = 0;
  Witness witnesses[3] = {};
  step("given functions of the host between kernels that count");
  for (Witness& witness : witnesses) {
    witness.word = words.as<std::uint32_t>().data();
    launch(increment, native(queue), 1, 1, words.data(), 1u);
    CUDA_CALL(cudaLaunchHostFunc, native(queue), observe, &witness).or_throw();
  }
  CUDA_CALL(cudaStreamSynchronize, native(queue)).or_throw();
  expect_words("counts that they saw", std::vector<std::uint32_t>{1, 2, 3},
               std::vector{witnesses[0].seen, witnesses[1].seen, witnesses[2].seen}, context.device());
}

PROCTOR_CHECK(HostFunction, CallbackRunsAfterKernel, "K44", "CUDA Runtime API, cudaStreamAddCallback", kGate,
              {"order.host_function_lost", "kernel.skip:times=1"}) {
  const auto context = leased();
  const Queue queue(context);
  const Module module = Module::load(context, "basic");
  const Kernel increment(module, "increment");
  const Buffer words = host_memory(context, 4);
  words.as<std::uint32_t>()[0] = 41;
  Witness witness{words.as<std::uint32_t>().data()};
  step("given a callback behind a kernel");
  launch(increment, native(queue), 1, 1, words.data(), 1u);
  CUDA_CALL(cudaStreamAddCallback, native(queue), observe_callback, &witness, 0).or_throw();
  CUDA_CALL(cudaStreamSynchronize, native(queue)).or_throw();
  expect_same("the value that it read", "42", std::to_string(witness.seen));
}

// ---- other devices ----

PROCTOR_CHECK(Stream, OtherDeviceStreamLaunchIsRejected, "K20",
              "ROCm/hip-tests, which run on NVIDIA; cudaErrorInvalidResourceHandle", kGate,
              .faults = {"error.wrong_code", "error.swallowed"}, .devices = 2) {
  const auto devices = leased_devices(2);
  const Context first(devices[0]);
  const Queue elsewhere{Context(devices[1])};
  const Module module = Module::load(first, "basic");
  const Kernel fill(module, "fill");
  const Buffer words = device_memory(first, 64);
  step("given a launch on the first device with a stream of the second");
  use(devices[0]);
  const std::byte* pointer = words.data();
  std::uint32_t value = 5, n = 1;
  void* arguments[] = {&pointer, &value, &n};
  expect_status("cudaErrorInvalidResourceHandle",
                CUDA_CALL(cudaLaunchKernel, native(fill), dim3(1), dim3(1), arguments, 0, native(elsewhere)));
}

PROCTOR_CHECK(Stream, StreamWaitsForOtherDeviceEvent, "K43",
              "CUDA Programming Guide, Multi-Device: Stream and Event Behavior", kGate,
              .faults = {"order.ignore_wait_events"}, .devices = 2) {
  const auto devices = leased_devices(2);
  const Context first(devices[0]), second(devices[1]);
  Counter counter(second);
  const Queue held(first);
  Queue waiting(second);
  const Event opened(first);
  use(devices[0]);
  const StreamLatch latch(first);
  step("given a stream of the second device that waits for an event of the first, which is held");
  latch.hold(native(held));
  CUDA_CALL(cudaEventRecord, native(opened), native(held)).or_throw();
  use(devices[1]);
  CUDA_CALL(cudaStreamWaitEvent, native(waiting), native(opened), 0).or_throw();
  launch(counter.kernel, native(waiting), 1, 64, counter.words.data(), 64u);
  expect_true(!poll_done(native(waiting), std::chrono::milliseconds(20)), "the stream waits");
  latch.open();
  waiting.synchronize();
  expect_same("count", "1", std::to_string(counter.value()));
}

}  // namespace proctor::accel
