// Events that the host signals and resets, waits with a limit, immediate lists.
#include <chrono>

#include "suites/accel/check_fixture.h"
#include "suites/accel/xpu/native.h"
#include "suites/kernels/counter.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

using std::chrono::milliseconds;
using suite::expect_true;
using suite::kGate;
using suite::step;

constexpr const char* kEvents = "Level Zero specification, Events";
constexpr const char* kSync = "Level Zero specification, zeCommandQueueSynchronize, timeout";

}  // namespace

PROCTOR_CHECK(Event, FreshOneIsNotReady, "K40", kEvents, kGate, {"order.event_born_signaled"}) {
  const auto context = leased();
  step("given new events");
  for (int i = 0; i < 4; ++i) expect_status("ZE_RESULT_NOT_READY", Event(context).query());
}

PROCTOR_CHECK(Event, HostSignalIsSeenAndResetClearsIt, "K40", kEvents, kGate,
              {"order.reset_ignored", "order.query_never_ready"}) {
  const auto context = leased();
  Event event(context);
  step("given an event that the host signals and resets");
  event.signal_from_host();
  expect_status("ZE_RESULT_SUCCESS", event.query());
  event.reset();
  expect_status("ZE_RESULT_NOT_READY", event.query());
}

PROCTOR_CHECK(Event, ResetAfterWorkClearsIt, "K40", kEvents, kGate, {"order.reset_ignored"}) {
  const auto context = leased();
  Counter counter(context);
  Event done(context);
  step("given an event that a kernel signals, twice");
  for (int i = 0; i < 2; ++i) {
    counter.add_one(counter.queue, {.wait = {}, .signal = &done});
    counter.queue.synchronize();
    expect_status("ZE_RESULT_SUCCESS", done.query());
    done.reset();
    expect_status("ZE_RESULT_NOT_READY", done.query());
  }
}

PROCTOR_CHECK(Event, HostReleasesADevice, "K43", "Level Zero specification, zeEventHostSignal", kGate,
              {"order.host_signal_lost:times=1", "order.ignore_wait_events"}) {
  const auto context = leased();
  Counter counter(context);
  Queue queue(context);
  Event go(context);
  const Event done(context);
  step("given a kernel that waits for an event of the host");
  counter.add_one(queue, {.wait = {&go}, .signal = &done});
  expect_status("ZE_RESULT_NOT_READY", done.try_synchronize(milliseconds(20)));
  go.signal_from_host();
  expect_status("ZE_RESULT_SUCCESS", done.try_synchronize(kPatience));
  go.signal_from_host();
  queue.synchronize();
  suite::expect_same("what the kernel counted", "1", std::to_string(counter.value()));
}

PROCTOR_CHECK(Queue, ImmediateListRunsInOrder, "K38",
              "Level Zero specification, zeCommandListCreateImmediate", kGate,
              .faults = {"kernel.skip:times=1", "kernel.run_twice:times=1", "order.lost_signal"},
              .expects = suite::kHang) {
  const auto context = leased();
  Counter counter(context);
  Queue queue(context, Queue::Mode::kImmediate);
  step("given twenty kernels in an immediate list");
  for (int i = 0; i < 20; ++i) counter.add_one(queue);
  queue.synchronize();
  suite::expect_same("count", "20", std::to_string(counter.value()));
}

PROCTOR_CHECK(Queue, SynchroniseKeepsItsTimeout, "K42", kSync, kGate,
              {"order.timeout_ignored", "order.early_sync", "order.timeout_overrun:times=1"}) {
  const auto context = leased();
  Queue queue(context);
  Latch latch(context);
  latch.hold(queue);
  for (const milliseconds timeout : {milliseconds(1), milliseconds(30)}) {
    step("given a busy queue and a limit of " + std::to_string(timeout.count()) + " ms");
    const suite::Stopwatch watch;
    const Status status = queue.try_synchronize(timeout);
    expect_waited("a wait for a queue", timeout, watch);
    expect_status("ZE_RESULT_NOT_READY", status);
  }
  latch.open();
  queue.synchronize(Nanoseconds::max());
}

PROCTOR_CHECK(Event, SynchroniseKeepsItsTimeout, "K42", "Level Zero specification, zeEventHostSynchronize",
              kGate,
              {"order.timeout_ignored:api=zeEventHostSynchronize", "order.early_event_sync",
               "order.timeout_overrun:times=1"}) {
  const auto context = leased();
  const Event never(context);
  step("given an event that nobody signals and a limit of 30 ms");
  const suite::Stopwatch watch;
  const Status status = never.try_synchronize(milliseconds(30));
  expect_waited("a wait for an event", milliseconds(30), watch);
  expect_status("ZE_RESULT_NOT_READY", status);
}

// ---- other devices ----

PROCTOR_CHECK(Queue, WaitsForAnEventOfAnotherDevice, "K43", kEvents, kGate,
              .faults = {"order.ignore_wait_events"}, .devices = 2) {
  const auto devices = leased_devices(2);
  const Context context({devices[1], devices[0]});
  Counter counter(context);
  Queue first(context, Queue::Mode::kLists, devices[0]), second(context, Queue::Mode::kLists, devices[1]);
  Event go(context);
  const Event passed(context), running[] = {Event(context), Event(context)};
  step("given work on the second device that waits for an event of the first, which the host holds");
  first.record(running[0]);
  first.barrier({.wait = {&go}, .signal = &passed});
  second.record(running[1]);
  counter.add_one(second, {.wait = {&passed}, .signal = nullptr});
  for (const Event& event : running) event.synchronize();
  expect_status("ZE_RESULT_NOT_READY", second.try_synchronize(milliseconds(20)));
  go.signal_from_host();
  second.synchronize();
  first.synchronize();
  suite::expect_same("count afterwards", "1", std::to_string(counter.value()));
}

// ---- time ----

PROCTOR_CHECK(Time, ContextAgreesWithGlobal, "K41", "Level Zero specification, ze_kernel_timestamp_result_t",
              kGate, {"state.swapped_timestamps", "state.context_backwards"}) {
  const auto context = leased();
  const DeviceRecord& record = *context.device().record();
  Counter counter(context);
  step("given eight kernels with time stamps of both kinds");
  for (int i = 0; i < 8; ++i) {
    const Event done(context);
    counter.add_one(counter.queue, {.wait = {}, .signal = &done});
    counter.queue.synchronize();
    ze_kernel_timestamp_result_t times{};
    ZE_CALL(zeEventQueryKernelTimestamp, native(done), &times).or_throw();
    const std::uint32_t unused = record.timestamp_bits == 0 ? 0 : 64 - record.timestamp_bits;
    const auto ticks = [&](const ze_kernel_timestamp_data_t& pair) {
      return static_cast<std::int64_t>((pair.kernelEnd - pair.kernelStart) << unused) >> unused;
    };
    const std::int64_t whole = ticks(times.global), active = ticks(times.context);
    // The time of the context stands still while others use the device.
    expect_true(whole >= 0 && active >= 0 && active <= whole + whole / 10 + 100,
                "kernel " + std::to_string(i) + " took " + std::to_string(whole) +
                    " ticks, of which its context counts " + std::to_string(active));
  }
}

}  // namespace proctor::accel
