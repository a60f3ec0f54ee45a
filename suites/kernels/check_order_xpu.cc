// Checks of Level Zero events that the host signals and resets, of waits with a timeout, and of immediate lists.
#include <algorithm>
#include <chrono>

#include "harness/base/read_file.h"
#include "suites/accel/check_fixture.h"
#include "suites/accel/xpu/native.h"
#include "suites/kernels/counter.h"
#include "suites/main/check.h"
#include "suites/main/helper.h"

namespace proctor::accel {
namespace {

using std::chrono::milliseconds;
using suite::expect_true;
using suite::kGate;
using suite::step;

constexpr const char* kEvents = "Level Zero specification, Events";
constexpr const char* kSync = "Level Zero specification, zeCommandQueueSynchronize, timeout";

}  // namespace

PROCTOR_CHECK(Event, NewEventIsNotReady, "K40", kEvents, kGate, {"order.create_event_signaled"}) {
  const auto context = leased();
  step("given new events");
  for (int i = 0; i < 4; ++i) expect_status("ZE_RESULT_NOT_READY", Event(context).query());
}

PROCTOR_CHECK(Event, HostSignalAndResetChangeState, "K40", kEvents, kGate,
              {"order.reset_ignored", "order.never_report_ready"}) {
  const auto context = leased();
  Event event(context);
  step("given an event that the host signals and resets");
  event.signal_from_host();
  expect_status("ZE_RESULT_SUCCESS", event.query());
  event.reset();
  expect_status("ZE_RESULT_NOT_READY", event.query());
}

PROCTOR_CHECK(Event, ResetClearsKernelSignal, "K40", kEvents, kGate, {"order.reset_ignored"}) {
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

PROCTOR_CHECK(Event, HostSignalReleasesDevice, "K43", "Level Zero specification, zeEventHostSignal", kGate,
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
  suite::expect_same("the number that the kernel counted", "1", std::to_string(counter.value()));
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

PROCTOR_CHECK(Queue, SynchronizeHonorsTimeout, "K42", kSync, kGate,
              {"order.end_timed_wait_immediately", "order.end_wait_early", "order.timeout_overrun:times=1"}) {
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

PROCTOR_CHECK(Event, SynchronizeHonorsTimeout, "K42", "Level Zero specification, zeEventHostSynchronize",
              kGate,
              {"order.end_timed_wait_immediately:api=zeEventHostSynchronize", "order.end_event_wait_early",
               "order.timeout_overrun:times=1"}) {
  const auto context = leased();
  const Event never(context);
  step("given an event that is never signalled, and a limit of 30 ms");
  const suite::Stopwatch watch;
  const Status status = never.try_synchronize(milliseconds(30));
  expect_waited("a wait for an event", milliseconds(30), watch);
  expect_status("ZE_RESULT_NOT_READY", status);
}

// ---- other devices ----

PROCTOR_CHECK(Queue, QueueWaitsForOtherDeviceEvent, "K43", kEvents, kGate,
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

PROCTOR_CHECK(Timestamp, ContextDurationIsWithinGlobalDuration, "K41",
              "Level Zero specification, ze_kernel_timestamp_result_t", kGate,
              {"state.swapped_timestamps", "state.swap_context_timestamps"}) {
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
    // The clock of the context stops while others use the device.
    expect_true(whole >= 0 && active >= 0 && active <= whole + whole / 10 + 100,
                "kernel " + std::to_string(i) + " took " + std::to_string(whole) +
                    " ticks, of which its context counts " + std::to_string(active));
  }
}

// Checks of Level Zero events that two processes share.

namespace {

using suite::Helper;
using suite::kGate;
using suite::kWarn;
using suite::step;

constexpr const char* kIpc = "Level Zero specification, zeEventPoolGetIpcHandle";

// An event pool with events, created here or opened from a token.
class SharedEvents {
 public:
  SharedEvents(const Context& context, std::uint32_t count) : opened_(false) {
    ze_device_handle_t device = native(context.device());
    ze_event_pool_desc_t description{};
    description.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC;
    description.flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE | ZE_EVENT_POOL_FLAG_IPC;
    description.count = count;
    ZE_CALL(zeEventPoolCreate, native(context), &description, 1, &device, &pool_).or_throw();
    make_events(count);
  }
  SharedEvents(const Context& context, const std::string& token, std::uint32_t count) : opened_(true) {
    ze_ipc_event_pool_handle_t handle{};
    open_token(token, handle.data, [&] {
      return ZE_CALL(zeEventPoolOpenIpcHandle, native(context), handle, &pool_);
    }).or_throw();
    make_events(count);
  }
  ~SharedEvents() {
    for (const auto event : events_) entry_points().zeEventDestroy(event);
    opened_ ? entry_points().zeEventPoolCloseIpcHandle(pool_) : entry_points().zeEventPoolDestroy(pool_);
  }
  SharedEvents(const SharedEvents&) = delete;
  SharedEvents& operator=(const SharedEvents&) = delete;

  std::string token() const {
    ze_ipc_event_pool_handle_t handle{};
    ZE_CALL(zeEventPoolGetIpcHandle, pool_, &handle).or_throw();
    return ipc_token(handle.data);
  }
  void signal(std::size_t i = 0) const { ZE_CALL(zeEventHostSignal, events_[i]).or_throw(); }
  Status query(std::size_t i = 0) const { return ZE_CALL(zeEventQueryStatus, events_[i]); }
  Status try_synchronize(Nanoseconds timeout) const {
    return ZE_CALL(zeEventHostSynchronize, events_[0], in_ze(timeout));
  }
  // The states of all events. Example: "010": the second event is signalled.
  std::string states() const {
    std::string states;
    for (std::size_t i = 0; i < events_.size(); ++i) states += query(i).ok() ? '1' : '0';
    return states;
  }

 private:
  void make_events(std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      ze_event_desc_t description{};
      description.stype = ZE_STRUCTURE_TYPE_EVENT_DESC;
      description.index = i;
      description.signal = description.wait = ZE_EVENT_SCOPE_FLAG_HOST;
      events_.push_back(nullptr);
      ZE_CALL(zeEventCreate, pool_, &description, &events_.back()).or_throw();
    }
  }

  bool opened_;
  ze_event_pool_handle_t pool_ = nullptr;
  std::vector<ze_event_handle_t> events_;
};

std::int64_t mappings() { return std::ranges::count(read_file_or_empty("/proc/self/maps"), '\n'); }

// Opens TOKEN, and signals its event after an order.
PROCTOR_HELPER(signal_event) {
  const auto context = leased();
  const SharedEvents event(context, words.at(0), 1);
  suite::answer({{"ready", event.query().ok()}});
  suite::wait_for_input();
  event.signal();
  suite::answer({{"signalled", true}});
  suite::wait_for_input();
}

// Opens and closes TOKEN repeatedly. Signals the third event at the last time. Sends the states at the first and
// the last time, and the number of mappings that were not released.
PROCTOR_HELPER(open_events_again) {
  const auto context = leased();
  constexpr int kTimes = 20;
  std::string first, last;
  std::int64_t before = 0;
  for (int i = 0; i < kTimes; ++i) {
    {
      const SharedEvents events(context, words.at(0), 4);
      last = events.states();
      if (i == kTimes - 1) events.signal(2);
    }
    if (i > 0) continue;
    first = last;
    before = mappings();
  }
  suite::answer({{"first", first}, {"last", last}, {"left", mappings() - before}});
}

}  // namespace

PROCTOR_CHECK(EventIpc, SignalReachesOtherProcess, "K43", kIpc, kGate, {"ipc.event_not_shared"}) {
  const auto context = leased();
  const SharedEvents event(context, 1);
  step("given a second process that opens an event");
  Helper helper("signal_event", {event.token()});
  suite::expect_same("the state of the event in the second process", "false",
                     helper.answer().at("ready").dump());
  expect_status("ZE_RESULT_NOT_READY", event.query());
  step("then a signal by the second process");
  helper.order("now");
  helper.answer();
  expect_status("ZE_RESULT_SUCCESS", event.try_synchronize(kPatience));
}

PROCTOR_CHECK(EventIpc, ReopenedPoolKeepsEventStates, "K43",
              "Level Zero specification, zeEventPoolCloseIpcHandle", kWarn,
              {"ipc.event_not_shared", "ipc.close_ignored"}) {
  const auto context = leased();
  const SharedEvents events(context, 4);
  step(
      "given a pool of four events, the second signalled, that a second process opens and closes twenty "
      "times");
  events.signal(1);
  Helper helper("open_events_again", {events.token()});
  const auto answer = helper.answer();
  helper.finish();
  suite::expect_same("states in the second process at first", "0100", answer.at("first").get<std::string>());
  suite::expect_same("states in the second process at the end", "0100", answer.at("last").get<std::string>());
  suite::expect_true(
      answer.at("left").get<int>() < 10,
      "closed pools are no longer mapped, the mappings are " + answer.at("left").dump() + " are left");
  step("then it signalled the third");
  suite::expect_same("states here", "0110", events.states());
}

}  // namespace proctor::accel
