// Checks of CUDA events: an unrecorded event is ready, an event can be recorded again, and other processes can
// open it.
#include <chrono>

#include "harness/base/digest.h"
#include "suites/accel/check_fixture.h"
#include "suites/accel/cuda/native.h"
#include "suites/accel/cuda/stream_latch.h"
#include "suites/main/check.h"
#include "suites/main/helper.h"

namespace proctor::accel {
namespace {

using suite::expect_same;
using suite::Helper;
using suite::kGate;
using suite::kWarn;
using suite::step;

constexpr const char* kUnrecorded = "CUDA Runtime API, cudaEventQuery: an event that was never recorded";

// Opens the event. For each order, sends whether the event has happened.
PROCTOR_HELPER(watch_event) {
  const auto context = leased();
  use(context.device());
  cudaIpcEventHandle_t handle{};
  for (std::size_t i = 0; i < sizeof handle.reserved; ++i) {
    handle.reserved[i] = static_cast<char>(std::stoi(words.at(0).substr(2 * i, 2), nullptr, 16));
  }
  cudaEvent_t event = nullptr;
  suite::answer({{"opened", CUDA_CALL(cudaIpcOpenEventHandle, &event, handle).name()}});
  while (!suite::wait_for_input().empty()) {
    suite::answer({{"query", CUDA_CALL(cudaEventQuery, event).name()}});
  }
}

}  // namespace

PROCTOR_CHECK(Event, UnrecordedEventIsReady, "K40", kUnrecorded, kGate,
              {"order.never_report_ready:api=cudaEventQuery"}) {
  const auto context = leased();
  const Queue queue(context);
  step("given events that nothing was recorded in, and then something");
  for (int i = 0; i < 4; ++i) {
    const Event event(context);
    expect_status(kSuccess, event.query());
    expect_status(kSuccess, CUDA_CALL(cudaEventSynchronize, native(event)));
    CUDA_CALL(cudaEventRecord, native(event), native(queue)).or_throw();
    expect_status(kSuccess, CUDA_CALL(cudaEventSynchronize, native(event)));
    expect_status(kSuccess, event.query());
  }
}

PROCTOR_CHECK(Event, PendingEventHasNoElapsedTime, "K41", "CUDA Runtime API, cudaEventElapsedTime", kGate,
              {"error.swallowed:api=cudaEventElapsedTime", "error.wrong_code:api=cudaEventElapsedTime"}) {
  const auto context = leased();
  const Queue queue(context);
  const Event first(context), second(context);
  const StreamLatch latch(context);
  step("given that the second of two events stands behind a kernel that is held");
  CUDA_CALL(cudaEventRecord, native(first), native(queue)).or_throw();
  latch.hold(native(queue));
  CUDA_CALL(cudaEventRecord, native(second), native(queue)).or_throw();
  float milliseconds = 0;
  const Status early = CUDA_CALL(cudaEventElapsedTime, &milliseconds, native(first), native(second));
  latch.open();
  CUDA_CALL(cudaStreamSynchronize, native(queue)).or_throw();
  expect_status(kNotReady, early);
  expect_status(kSuccess, CUDA_CALL(cudaEventElapsedTime, &milliseconds, native(first), native(second)));
}

PROCTOR_CHECK(Event, SecondRecordMakesEventPending, "K40", "CUDA Runtime API, cudaEventRecord", kGate,
              {"order.report_ready_early:api=cudaEventQuery"}) {
  const auto context = leased();
  Queue queue(context);
  const Event event(context);
  const StreamLatch latch(context);
  step("given an event that has happened and is recorded again behind a kernel that is held");
  CUDA_CALL(cudaEventRecord, native(event), native(queue)).or_throw();
  CUDA_CALL(cudaStreamSynchronize, native(queue)).or_throw();
  expect_status(kSuccess, event.query());
  latch.hold(native(queue));
  CUDA_CALL(cudaEventRecord, native(event), native(queue)).or_throw();
  expect_status(kNotReady, event.query());
  latch.open();
  CUDA_CALL(cudaStreamSynchronize, native(queue)).or_throw();
  expect_status(kSuccess, event.query());
}

// The latest record of an event counts, also if an earlier one is pending. The two records are in the same stream,
// or in two streams.
PROCTOR_CHECK(Event, LatestRecordDeterminesCompletion, "K40", "CUDA Runtime API, cudaEventRecord", kGate,
              {"order.keep_first_event_record", "order.keep_first_event_record:after=1"}) {
  const auto context = leased();
  for (const bool same_stream : {true, false}) {
    Queue queue(context), other(context), waiting(context);
    Queue& second = same_stream ? queue : other;
    const Event event(context), first_happened(context);
    const StreamLatch first_latch(context), second_latch(context);
    step(std::string(
             "given an event that is recorded behind a kernel that is held, and again behind another in ") +
         (same_stream ? "the same stream" : "another stream"));
    first_latch.hold(native(queue));
    CUDA_CALL(cudaEventRecord, native(event), native(queue)).or_throw();
    CUDA_CALL(cudaEventRecord, native(first_happened), native(queue)).or_throw();
    second_latch.hold(native(second));
    CUDA_CALL(cudaEventRecord, native(event), native(second)).or_throw();
    CUDA_CALL(cudaStreamWaitEvent, native(waiting), native(event), 0).or_throw();
    first_latch.open();
    first_happened.synchronize();
    const Status early = event.query(), wait_early = CUDA_CALL(cudaStreamQuery, native(waiting));
    second_latch.open();
    CUDA_CALL(cudaDeviceSynchronize).or_throw();
    expect_status(kNotReady, early);
    expect_status(kNotReady, wait_early);
    expect_status(kSuccess, event.query());
  }
}

namespace {

// An event with any flags.
struct FlaggedEvent {
  explicit FlaggedEvent(unsigned flags) { CUDA_CALL(cudaEventCreateWithFlags, &handle, flags).or_throw(); }
  ~FlaggedEvent() { static_cast<void>(cudaEventDestroy(handle)); }
  FlaggedEvent(const FlaggedEvent&) = delete;
  FlaggedEvent& operator=(const FlaggedEvent&) = delete;
  cudaEvent_t handle = nullptr;
};

float milliseconds(cudaEvent_t first, cudaEvent_t second) {
  float result = 0;
  CUDA_CALL(cudaEventElapsedTime, &result, first, second).or_throw();
  return result;
}

}  // namespace

PROCTOR_CHECK(Event, EveryEventKindCompletesInOrder, "K40", "CUDA Runtime API, cudaEventCreateWithFlags",
              kGate,
              {"order.report_ready_early:api=cudaEventQuery",
               "order.end_event_wait_early:api=cudaEventSynchronize"}) {
  const auto context = leased();
  const Queue queue(context), waiting(context);
  step("given events of each kind behind a kernel that is held");
  constexpr unsigned kShared = cudaEventInterprocess | cudaEventDisableTiming;
  for (const unsigned flags : {0U, 0U + cudaEventBlockingSync, 0U + cudaEventDisableTiming, kShared,
                               kShared + cudaEventBlockingSync}) {
    if ((flags & cudaEventInterprocess) != 0 && !context.device().properties().ipc) continue;
    const FlaggedEvent event(flags);
    expect_status(kSuccess, CUDA_CALL(cudaEventQuery, event.handle));
    // The event is not recorded, so the stream does not wait.
    CUDA_CALL(cudaStreamWaitEvent, native(waiting), event.handle, 0).or_throw();
    expect_status(kSuccess, CUDA_CALL(cudaStreamSynchronize, native(waiting)));
    const StreamLatch latch(context);
    latch.hold(native(queue));
    CUDA_CALL(cudaEventRecord, event.handle, native(queue)).or_throw();
    expect_status(kNotReady, CUDA_CALL(cudaEventQuery, event.handle));
    CUDA_CALL(cudaStreamWaitEvent, native(waiting), event.handle, 0).or_throw();
    expect_status(kNotReady, CUDA_CALL(cudaStreamQuery, native(waiting)));
    {
      const Later later(latch);
      CUDA_CALL(cudaEventSynchronize, event.handle).or_throw();
      expect_same("the state of the kernel when cudaEventSynchronize returned (1: done)", "1",
                  std::to_string(latch.done()));
    }
    expect_status(kSuccess, CUDA_CALL(cudaEventQuery, event.handle));
    expect_status(kSuccess, CUDA_CALL(cudaStreamSynchronize, native(waiting)));
  }
}

PROCTOR_CHECK(Event, ElapsedTimeMatchesKernelDuration, "K41", "CUDA Runtime API, cudaEventElapsedTime", kGate,
              {"state.timestamp_zero", "state.swapped_timestamps", "state.timestamp_scale"}) {
  const auto context = leased();
  const Queue queue(context);
  const FlaggedEvent first(cudaEventDefault), second(cudaEventDefault), third(cudaEventDefault);
  const StreamLatch latch(context);
  step("given events before and behind a kernel that is held for 30 ms");
  const auto begin = std::chrono::steady_clock::now();
  CUDA_CALL(cudaEventRecord, first.handle, native(queue)).or_throw();
  CUDA_CALL(cudaEventSynchronize, first.handle).or_throw();
  latch.hold(native(queue));
  CUDA_CALL(cudaEventRecord, second.handle, native(queue)).or_throw();
  {
    const Later later(latch);
    CUDA_CALL(cudaEventRecord, third.handle, native(queue)).or_throw();
    CUDA_CALL(cudaStreamSynchronize, native(queue)).or_throw();
  }
  const std::chrono::duration<float, std::milli> most = std::chrono::steady_clock::now() - begin;
  const float held = milliseconds(first.handle, second.handle),
              both = milliseconds(first.handle, third.handle);
  suite::expect_true(held >= 29 && held <= most.count() + 1,
                     "the kernel took " + std::to_string(held) + " ms");
  suite::expect_true(both >= held && both <= most.count() + 1, "all took " + std::to_string(both) + " ms");
  suite::expect_true(milliseconds(second.handle, first.handle) <= -29, "backwards the time is negative");
}

PROCTOR_CHECK(Event, CrossDeviceRecordAndTimingFail, "K20",
              "CUDA Programming Guide, Multi-Device: Stream and Event Behavior", kGate,
              .faults = {"error.wrong_code", "error.swallowed"}, .devices = 2) {
  const auto devices = leased_devices(2);
  const Queue here{Context(devices[0])}, there{Context(devices[1])};
  use(devices[0]);
  const FlaggedEvent first(cudaEventDefault), untimed(cudaEventDisableTiming);
  use(devices[1]);
  const FlaggedEvent second(cudaEventDefault);
  step("given events of two devices");
  use(devices[0]);
  expect_status("cudaErrorInvalidResourceHandle", CUDA_CALL(cudaEventRecord, first.handle, native(there)));
  CUDA_CALL(cudaEventRecord, first.handle, native(here)).or_throw();
  CUDA_CALL(cudaEventRecord, untimed.handle, native(here)).or_throw();
  CUDA_CALL(cudaEventRecord, second.handle, native(there)).or_throw();
  for (const auto& event : {first.handle, untimed.handle, second.handle})
    CUDA_CALL(cudaEventSynchronize, event).or_throw();
  float time = 0;
  expect_status("cudaErrorInvalidResourceHandle",
                CUDA_CALL(cudaEventElapsedTime, &time, first.handle, second.handle));
  expect_status("cudaErrorInvalidResourceHandle",
                CUDA_CALL(cudaEventElapsedTime, &time, first.handle, untimed.handle));
  expect_status("cudaErrorInvalidResourceHandle",
                CUDA_CALL(cudaEventElapsedTime, &time, untimed.handle, first.handle));
}

PROCTOR_CHECK(Event, ExternalFlagOutsideCaptureIsRejected, "K12",
              "CUDA Driver API, CU_EVENT_RECORD_EXTERNAL: invalid outside", kWarn,
              {"error.swallowed:api=cudaEventRecordWithFlags", "error.swallowed:api=cudaStreamWaitEvent"}) {
  const auto context = leased();
  const Queue queue(context);
  const FlaggedEvent event(cudaEventDefault);
  step("given flags for events of a capture in a stream that does not capture");
  expect_refused("the record",
                 CUDA_CALL(cudaEventRecordWithFlags, event.handle, native(queue), cudaEventRecordExternal));
  expect_refused("the wait",
                 CUDA_CALL(cudaStreamWaitEvent, native(queue), event.handle, cudaEventWaitExternal));
}

PROCTOR_CHECK(EventIpc, OnlyInterprocessEventsHaveHandles, "M41", "CUDA Runtime API, cudaIpcGetEventHandle",
              kGate, {"error.swallowed:api=cudaIpcGetEventHandle"}) {
  const auto context = leased();
  need(context.device().record()->native.ipcEventSupported != 0, "unsupported:ipc_events");
  use(context.device());
  const FlaggedEvent ordinary(cudaEventDisableTiming);
  const FlaggedEvent shared(cudaEventInterprocess | cudaEventDisableTiming);
  cudaIpcEventHandle_t handle{};
  step("given an event of this process and one for others");
  expect_status("cudaErrorInvalidResourceHandle", CUDA_CALL(cudaIpcGetEventHandle, &handle, ordinary.handle));
  expect_status(kSuccess, CUDA_CALL(cudaIpcGetEventHandle, &handle, shared.handle));
  step("given an empty handle");
  cudaEvent_t event = nullptr;
  expect_refused("cudaIpcOpenEventHandle", CUDA_CALL(cudaIpcOpenEventHandle, &event, cudaIpcEventHandle_t{}));
}

PROCTOR_CHECK(EventIpc, OtherProcessSeesCompletion, "M41", "CUDA Runtime API, cudaIpcGetEventHandle", kGate,
              {"ipc.event_not_shared"}) {
  const auto context = leased();
  need(context.device().record()->native.ipcEventSupported != 0, "unsupported:ipc_events");
  const Queue queue(context);
  const StreamLatch latch(context);
  cudaEvent_t event = nullptr;
  cudaIpcEventHandle_t handle{};
  CUDA_CALL(cudaEventCreateWithFlags, &event, cudaEventInterprocess | cudaEventDisableTiming).or_throw();
  CUDA_CALL(cudaIpcGetEventHandle, &handle, event).or_throw();
  step("given a second process that watches an event behind a kernel that is held");
  latch.hold(native(queue));
  CUDA_CALL(cudaEventRecord, event, native(queue)).or_throw();
  Helper watcher("watch_event", {to_hex(handle.reserved)});
  expect_same("the second process opens it", kSuccess, watcher.answer().at("opened").get<std::string>());
  watcher.order("query");
  expect_same("while the kernel is held", kNotReady, watcher.answer().at("query").get<std::string>());
  latch.open();
  CUDA_CALL(cudaStreamSynchronize, native(queue)).or_throw();
  watcher.order("query");
  expect_same("afterwards", kSuccess, watcher.answer().at("query").get<std::string>());
  watcher.finish();
  static_cast<void>(cudaEventDestroy(event));
}

}  // namespace proctor::accel
