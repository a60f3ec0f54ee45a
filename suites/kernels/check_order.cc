// Checks of order: events, queues, waits and time stamps. To prove that something has not happened yet, a check
// holds it back with a latched kernel. No check relies on a delay.
#include <algorithm>
#include <chrono>

#include "suites/accel/check_fixture.h"
#include "suites/kernels/counter.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

using std::chrono::milliseconds;
using suite::expect_true;
using suite::kGate;
using suite::kWarn;
using suite::step;
using Clock = std::chrono::steady_clock;

constexpr const char* kEvents =
    by_vendor("Level Zero specification, Events", "CUDA Runtime API, Event Management");
constexpr const char* kTimes = by_vendor("Level Zero specification, zeEventQueryKernelTimestamp",
                                         "CUDA Runtime API, cudaEventElapsedTime");
constexpr const char* kQueues = by_vendor("Level Zero programming guide, Command Queues and Command Lists",
                                          "CUDA Programming Guide, Streams");

}  // namespace

PROCTOR_CHECK(Event, EventIsPendingUntilKernelEnds, "K39", kEvents, kGate,
              by_vendor<Texts>({"order.report_ready_early", "order.never_report_ready"},
                               {"order.report_ready_early", "order.never_report_ready",
                                "order.lost_signal"})) {
  const auto context = leased();
  Queue queue(context);
  Latch latch(context);
  const Event done(context);
  step("given a kernel that waits for the host and signals an event");
  latch.hold(queue, {.wait = {}, .signal = &done});
  expect_status(kNotReady, done.query());
  expect_true(!queue.idle(), "the queue is busy while the kernel runs");
  latch.open();
  queue.synchronize();
  expect_status(kSuccess, done.query());
  expect_true(queue.idle(), "the queue is idle afterwards");
}

PROCTOR_CHECK(Event, CompletedEventMakesWritesVisible, "S1.7", kEvents, kGate,
              {"order.signal_before_work:us=20000"}) {
  const auto context = leased();
  Queue queue(context);
  const Module module = Module::load(context, "basic");
  const Kernel fill(module, "fill");
  constexpr std::uint32_t kWords = 1 << 16;
  const Buffer out = host_memory(context, kWords * 4);
  std::fill_n(out.as<std::uint32_t>().begin(), kWords, 0u);
  const Event done(context);
  Latch latch(context);
  step("given a kernel behind a latch that fills host memory and signals an event");
  latch.hold(queue);
  queue.launch(fill, cover(kWords, 64), arguments(out, 7u, kWords), {.wait = {}, .signal = &done});
  expect_status(kNotReady, done.query());
  latch.open();
  done.synchronize();
  const std::vector<std::uint32_t> seen(out.as<std::uint32_t>().begin(), out.as<std::uint32_t>().end());
  queue.synchronize();
  expect_words("memory when the event was signalled", std::vector<std::uint32_t>(kWords, 7), seen,
               context.device());
}

// ---- queues ----

PROCTOR_CHECK(Queue, QueueWaitsForOtherQueueEvent, "S1.7", kQueues, kGate, {"order.ignore_wait_events"}) {
  const auto context = leased();
  Counter counter(context);
  Queue first(context), second(context);
  Latch latch(context);
  const Event opened(context), counted(context);
  step("given a second queue that waits for an event behind a latch in the first");
  latch.hold(first, {.wait = {}, .signal = &opened});
  counter.add_one(second, {.wait = {&opened}, .signal = &counted});
  expect_status(kNotReady, counted.try_synchronize(milliseconds(20)));
  latch.open();  // Before the count is read: queues may share an engine, and then a copy waits as well.
  second.synchronize();
  first.synchronize();
  suite::expect_same("count afterwards", "1", std::to_string(counter.value()));
}

namespace {

// A command of each kind that waits for `count` events. The event with number `held` is signalled last.
void expect_waits(const Context& context, Latch& latch, std::size_t count, std::size_t held,
                  Queue::Mode mode) {
  const std::string what =
      std::to_string(count) + " events, of which number " + std::to_string(held) + " is the last";
  Counter counter(context);
  const Buffer words = host_memory(context, 64);
  words.as<std::uint32_t>()[0] = 0;
  Queue ready(context), latched(context), waiting(context, mode);
  // The copy reads from a device, because the host would wait for a copy within its own memory.
  const Buffer one = device_copy(ready, context, std::vector<std::uint32_t>{1});
  std::vector<Event> events;
  Sync sync;
  for (std::size_t i = 0; i < count; ++i) events.emplace_back(context);
  for (const Event& event : events) sync.wait.push_back(&event);
  step("given a command that waits for " + what);
  for (std::size_t i = 0; i < count; ++i) {
    if (i != held) ready.record(events[i]);
  }
  ready.synchronize();  // Before the latch, because no document guarantees that queues run concurrently.
  latch.hold(latched);
  latched.record(events[held]);
  switch ((count + held) % 3) {
    case 0:
      waiting.copy(words.data(), one.data(), 4, sync);
      break;
    case 1:
      waiting.barrier(sync);
      waiting.copy(words.data(), one.data(), 4);
      break;
    default:
      waiting.launch(counter.kernel, groups_of(1, 1), arguments(words, 1u), sync);
  }
  expect_status(kNotReady, waiting.try_synchronize(milliseconds(3)));
  suite::expect_same("the word before it, with " + what, "0", std::to_string(words.as<std::uint32_t>()[0]));
  latch.open();
  waiting.synchronize();
  latched.synchronize();
  suite::expect_same("the word after it, with " + what, "1", std::to_string(words.as<std::uint32_t>()[0]));
}

}  // namespace

PROCTOR_CHECK(Queue, CommandWaitsForEveryEvent, "K43", kQueues, kGate, {"order.ignore_wait_events"}) {
  const auto context = leased();
  for (std::size_t count = 2; count <= 8; ++count) {
    for (std::size_t held = 0; held < count; ++held) {
      Latch latch(context);
      expect_waits(context, latch, count, held,
                   held % 2 == 0 ? Queue::Mode::kLists : Queue::Mode::kImmediate);
    }
  }
}

PROCTOR_CHECK(Queue, EventMakesWrittenDataVisible, "S1.7", kQueues, kGate,
              {"order.signal_before_work:us=20000"}) {
  const auto context = leased();
  Queue first(context), second(context);
  const Module module = Module::load(context, "basic");
  const Kernel fill(module, "fill"), transform(module, "transform");
  constexpr std::uint32_t kWords = 1 << 14;
  const Buffer words = device_memory(context, kWords * 4);
  const auto result = device_copy(first, context, std::vector<std::uint32_t>(kWords));
  const Event filled(context);
  Latch latch(context);
  step("given a queue that reads what another one writes, ordered by an event");
  latch.hold(first);
  first.launch(fill, cover(kWords, 64), arguments(words, 5u, kWords), {.wait = {}, .signal = &filled});
  second.launch(transform, cover(kWords, 64), arguments(words, result, 1u, kWords),
                {.wait = {&filled}, .signal = nullptr});
  expect_status(kNotReady, second.try_synchronize(milliseconds(20)));
  latch.open();
  second.synchronize();
  first.synchronize();
  expect_words("words that the second queue computed", std::vector<std::uint32_t>(kWords, 16),
               read_as<std::uint32_t>(second, context, result), context.device());
}

PROCTOR_CHECK(Queue, TwoQueuesRunConcurrently, "K38", kQueues, kWarn, {"order.never_report_ready"}) {
  const auto context = leased();
  Counter counter(context);
  Queue held(context), free(context);
  Latch latch(context);
  const Event counted(context);
  step("given a queue that a latch holds, and work in a second one");
  latch.hold(held);
  counter.add_one(free, {.wait = {}, .signal = &counted});
  const Status concurrent = counted.try_synchronize(kPatience);
  latch.open();
  held.synchronize();
  free.synchronize();
  expect_status(kSuccess, counted.query());
  need_side_by_side(concurrent);
}

PROCTOR_CHECK(Queue, KernelsRunInOrder, "K38", kQueues, kGate,
              by_vendor<Texts>({"kernel.skip:after=5,times=1"},
                               {"kernel.skip:after=5,times=1", "order.list_order_swapped"})) {
  const auto context = leased();
  Queue queue(context);
  const Module module = Module::load(context, "basic");
  const Kernel transform(module, "transform");
  const auto start = noise_words(256, 1);
  const Buffer words[] = {device_copy(queue, context, start), device_memory(context, 1024)};
  step("given twelve kernels that each use the result of the one before");
  auto expected = start;
  for (std::uint32_t i = 0; i < 12; ++i) {
    queue.launch(transform, cover(256, 64), arguments(words[i % 2], words[(i + 1) % 2], i, 256u));
    for (auto& word : expected) word = word * 3 + i;
  }
  queue.synchronize();
  expect_words("after the last", expected, read_as<std::uint32_t>(queue, context, words[0]),
               context.device());
}

// ---- time ----

PROCTOR_CHECK(Timestamp, EndIsNotBeforeStart, "K41", kTimes, kGate,
              {"state.swapped_timestamps", "state.clock_backwards"}) {
  const auto context = leased();
  Counter counter(context);
  step("given eight kernels with time stamps");
  for (int i = 0; i < 8; ++i) {
    const Event done(context);
    counter.add_one(counter.queue, {.wait = {}, .signal = &done});
    counter.queue.synchronize();
    expect_true(time_of(done).duration_ns() >= 0, "kernel " + std::to_string(i) + " took " +
                                                      std::to_string(time_of(done).duration_ns()) + " ns");
  }
}

PROCTOR_CHECK(Timestamp, LaterKernelEndsLater, "K41", kTimes, kGate,
              {"state.clock_backwards", "state.timestamp_zero"}) {
  const auto context = leased();
  Counter counter(context);
  std::vector<Event> events;
  step("given eight kernels, each after the one before");
  for (int i = 0; i < 8; ++i) {
    events.emplace_back(context);
    counter.add_one(counter.queue, {.wait = {}, .signal = &events.back()});
    counter.queue.synchronize();
  }
  for (std::size_t i = 1; i < events.size(); ++i) {
    expect_true(elapsed_ns(events[i - 1], events[i]) > 0,
                "kernel " + std::to_string(i) + " ended after the one before");
  }
}

// No specification requires it, but programs compare the times of two events this way.
PROCTOR_CHECK(Timestamp, ReversedElapsedTimeIsNegative, "K41", kTimes, kWarn,
              {"state.clock_backwards", "state.timestamp_zero"}) {
  const auto context = leased();
  Counter counter(context);
  const Event first(context), second(context);
  step("given two kernels, and the time from the second to the first");
  counter.add_one(counter.queue, {.wait = {}, .signal = &first});
  counter.queue.synchronize();
  counter.add_one(counter.queue, {.wait = {}, .signal = &second});
  counter.queue.synchronize();
  expect_true(elapsed_ns(second, first) < 0,
              "the time is negative, got " + std::to_string(elapsed_ns(second, first)) + " ns");
}

PROCTOR_CHECK(Timestamp, DurationMatchesHostClock, "K41", kTimes, kGate,
              {"state.timestamp_scale", "state.timestamp_zero"}) {
  const auto context = leased();
  Queue queue(context);
  Latch latch(context);
  const Event started(context), done(context);
  const auto before = Clock::now();  // On a busy machine, this thread may be delayed while the device works.
  queue.record(started);
  latch.hold(queue, {.wait = {}, .signal = &done});
  step("given a kernel that the host holds for 30 ms");
  started.synchronize();
  const auto begin = Clock::now();
  while (Clock::now() - begin < milliseconds(30)) {
  }
  latch.open();
  queue.synchronize();
  const double host = std::chrono::duration<double, std::nano>(Clock::now() - before).count();
  const double device = elapsed_ns(started, done);
  suite::measure("kernels.timer_ratio", device / host, "1");
  // The device must measure at least the time for which the latch was closed, and not much more than the host
  // measured around it.
  expect_true(device >= 25e6 && device <= 4 * host + 100e6,
              "the device measured at least 30 ms and about the time of the host, got " +
                  std::to_string(device / 1e6) + " ms of " + std::to_string(host / 1e6));
}

}  // namespace proctor::accel
