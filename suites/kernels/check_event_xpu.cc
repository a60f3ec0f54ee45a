// Checks of Level Zero events: in-order lists, event pools, time stamps, counter-based events, and the release of
// destroyed objects.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>

#include "harness/base/read_file.h"
#include "suites/accel/check_fixture.h"
#include "suites/accel/free_memory.h"
#include "suites/accel/xpu/native.h"
#include "suites/kernels/counter.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

using suite::expect_same;
using suite::expect_true;
using suite::kGate;
using suite::kWarn;
using suite::step;

constexpr const char* kPools = "Level Zero specification, zeEventPoolCreate";
constexpr const char* kCounterBased = "Level Zero specification, ze_event_pool_counter_based_exp_desc_t";
constexpr const char* kWithoutPool = "intel/compute-runtime, programmers-guide/COUNTER_BASED_EVENTS.md";
constexpr const char* kRunAgain =
    "intel/compute-runtime, programmers-guide/COUNTER_BASED_EVENTS.md, Regular command list";

// Values of specifications that are newer than the headers of version 1.4.
constexpr auto kCounterBasedPool = static_cast<ze_structure_type_t>(0x00020014);
constexpr ze_command_queue_flags_t kQueueInOrder = 0x2;
constexpr ze_command_list_flags_t kListInOrder = 0x8;
constexpr std::uint32_t kForImmediate = 0x1, kForRegular = 0x2;

// An event pool and the events that were made in it.
class EventPool {
 public:
  EventPool(const Context& context, std::uint32_t count, ze_event_pool_flags_t flags,
            std::vector<ze_device_handle_t> devices = {}, const void* next = nullptr) {
    ze_event_pool_desc_t description{};
    description.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC;
    description.pNext = next;
    description.flags = flags;
    description.count = count;
    const auto of = static_cast<std::uint32_t>(devices.size());
    devices.push_back(nullptr);  // The driver must not read this element, which is past the last device.
    ZE_CALL(zeEventPoolCreate, native(context), &description, of, of == 0 ? nullptr : devices.data(), &pool_)
        .or_throw();
  }
  ~EventPool() {
    for (const auto event : events_) entry_points().zeEventDestroy(event);
    entry_points().zeEventPoolDestroy(pool_);
  }
  EventPool(const EventPool&) = delete;
  EventPool& operator=(const EventPool&) = delete;

  ze_event_handle_t make(std::uint32_t index) {
    ze_event_desc_t description{};
    description.stype = ZE_STRUCTURE_TYPE_EVENT_DESC;
    description.index = index;
    description.signal = description.wait = ZE_EVENT_SCOPE_FLAG_HOST;
    ze_event_handle_t event = nullptr;
    ZE_CALL(zeEventCreate, pool_, &description, &event).or_throw();
    events_.push_back(event);
    return event;
  }
  void destroy(ze_event_handle_t event) {
    std::erase(events_, event);
    ZE_CALL(zeEventDestroy, event).or_throw();
  }

 private:
  ze_event_pool_handle_t pool_ = nullptr;
  std::vector<ze_event_handle_t> events_;
};

bool ready(ze_event_handle_t event) { return ZE_CALL(zeEventQueryStatus, event).ok(); }

std::string states_of(const std::vector<ze_event_handle_t>& events) {
  std::string states;
  for (const auto event : events) states += ready(event) ? '1' : '0';
  return states;
}

void made(const Status& status) {
  need_valid_to_the_layer(status);
  status.or_throw();
}

// A command list with the flag for in-order execution.
class OrderedList {
 public:
  OrderedList(const Context& context, bool immediate) : immediate_(immediate), queue_(context) {
    const auto ordinal = context.device().record()->compute_group;
    if (immediate) {
      ze_command_queue_desc_t description{};
      description.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC;
      description.ordinal = ordinal;
      description.flags = kQueueInOrder;
      description.mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS;
      made(ZE_CALL(zeCommandListCreateImmediate, native(context), native(context.device()), &description,
                   &handle_));
    } else {
      ze_command_list_desc_t description{};
      description.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC;
      description.commandQueueGroupOrdinal = ordinal;
      description.flags = kListInOrder;
      made(ZE_CALL(zeCommandListCreate, native(context), native(context.device()), &description, &handle_));
    }
  }
  ~OrderedList() { entry_points().zeCommandListDestroy(handle_); }
  OrderedList(const OrderedList&) = delete;
  OrderedList& operator=(const OrderedList&) = delete;

  void barrier(ze_event_handle_t signal, std::vector<ze_event_handle_t> waits) {
    ZE_CALL(zeCommandListAppendBarrier, handle_, signal, static_cast<std::uint32_t>(waits.size()),
            waits.empty() ? nullptr : waits.data())
        .or_throw();
  }
  void fill(void* to, std::uint32_t word, std::size_t bytes) {
    ZE_CALL(zeCommandListAppendMemoryFill, handle_, to, &word, sizeof word, bytes, nullptr, 0, nullptr)
        .or_throw();
  }
  void close() { ZE_CALL(zeCommandListClose, handle_).or_throw(); }
  void execute() {
    ZE_CALL(zeCommandQueueExecuteCommandLists, native(queue_), 1, &handle_, nullptr).or_throw();
  }
  // Starts the list. A regular list runs once. An immediate list has started already.
  void go() {
    if (immediate_) return;
    close();
    execute();
  }
  void finish() { queue_.synchronize(); }

 private:
  bool immediate_;
  Queue queue_;
  ze_command_list_handle_t handle_ = nullptr;
};

void expect_event(const std::string& what, bool expected, ze_event_handle_t event) {
  // An event that must become ready gets a long time limit. An event that must not become ready gets a short time
  // to fail.
  const auto timeout = expected ? in_ze(kSynchronizeTimeout) : in_ze(std::chrono::milliseconds(3));
  expect_same(what, expected ? "ZE_RESULT_SUCCESS" : "ZE_RESULT_NOT_READY",
              ZE_CALL(zeEventHostSynchronize, event, timeout).name());
}

void host_signal(ze_event_handle_t event) { ZE_CALL(zeEventHostSignal, event).or_throw(); }
void host_reset(ze_event_handle_t event) { ZE_CALL(zeEventHostReset, event).or_throw(); }

bool has_extension(const Context& context, const std::string& name) {
  std::uint32_t count = 0;
  ZE_CALL(zeDriverGetExtensionProperties, driver_of(context), &count, nullptr).or_throw();
  std::vector<ze_driver_extension_properties_t> all(count);
  ZE_CALL(zeDriverGetExtensionProperties, driver_of(context), &count, all.data()).or_throw();
  return std::ranges::any_of(all, [&](const auto& extension) { return name == extension.name; });
}

// The extension structure of a counter-based event pool, chained to the description of the pool.
struct CounterBased {
  explicit CounterBased(std::uint32_t its_flags) : flags(its_flags) {}

  ze_base_desc_t head{kCounterBasedPool, nullptr};
  std::uint32_t flags;
};

void need_counter_based(const Context& context) {
  need(has_extension(context, "ZE_experimental_event_pool_counter_based"),
       "unsupported:counter_based_events");
}

// Counter-based events require in-order lists. A driver with the extension therefore supports the flag.
void need_ordered_lists(const Context& context) {
  need(has_extension(context, "ZE_experimental_event_pool_counter_based"), "unsupported:in_order_lists");
}

}  // namespace

// ---- lists ----

PROCTOR_CHECK(CommandList, InOrderFlagOrdersCommands, "K38",
              "Level Zero specification, ZE_COMMAND_LIST_FLAG_IN_ORDER, ZE_COMMAND_QUEUE_FLAG_IN_ORDER",
              kGate, {"order.list_order_swapped"}) {
  const auto context = leased();
  need_ordered_lists(context);
  Queue queue(context);
  for (const bool immediate : {false, true}) {
    step(
        fmt::format("given six fills of the same words, without barriers, in {} list with the flag for order",
                    immediate ? "an immediate" : "a"));
    const auto words = device_copy(queue, context, std::vector<std::uint32_t>(64));
    EventPool pool(context, 1, ZE_EVENT_POOL_FLAG_HOST_VISIBLE);
    const ze_event_handle_t done = pool.make(0);
    OrderedList list(context, immediate);
    for (std::uint32_t i = 1; i <= 6; ++i) list.fill(words.data(), i, 256);
    list.barrier(done, {});
    list.go();
    expect_event("the barrier after them", true, done);
    list.finish();
    expect_words("the words", std::vector<std::uint32_t>(64, 6),
                 read_as<std::uint32_t>(queue, context, words), context.device());
  }
}

// ---- pools ----

PROCTOR_CHECK(EventPool, EventsAreIndependent, "K40", kPools, kGate, {"order.reset_ignored"}) {
  const auto context = leased();
  const ze_device_handle_t device = native(context.device());
  for (const std::uint32_t count : {1u, 2u, 5u, 65u}) {
    for (const auto& devices : {std::vector<ze_device_handle_t>{}, std::vector{device}}) {
      step(fmt::format(
          "given a pool of {} events for {} devices, which the host signals and resets one by one", count,
          devices.size()));
      EventPool pool(context, count, ZE_EVENT_POOL_FLAG_HOST_VISIBLE, devices);
      std::vector<ze_event_handle_t> events;
      for (std::uint32_t i = 0; i < count; ++i) events.push_back(pool.make(i));
      std::string expected(count, '0');
      expect_same("states of new events", expected, states_of(events));
      for (std::uint32_t i = 0; i<count; i += count> 5 ? 32 : 1) {
        host_signal(events[i]);
        expected[i] = '1';
        expect_same(fmt::format("states when event {} is signalled", i), expected, states_of(events));
      }
      for (std::uint32_t i = 0; i<count; i += count> 5 ? 64 : 2) {
        host_reset(events[i]);
        expected[i] = '0';
        expect_same(fmt::format("states when event {} is reset", i), expected, states_of(events));
      }
      host_signal(events.back());
      pool.destroy(events.back());
      events.back() = pool.make(count - 1);
      expected.back() = '0';
      expect_same("states when the last is destroyed and created again", expected, states_of(events));
    }
  }
}

PROCTOR_CHECK(EventPool, DeviceSignalsEveryEvent, "K43", kPools, kGate, {"order.ignore_wait_events"}) {
  const auto context = leased();
  EventPool pool(context, 9, ZE_EVENT_POOL_FLAG_HOST_VISIBLE | ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP,
                 {native(context.device())});
  std::vector<ze_event_handle_t> events;
  for (std::uint32_t i = 0; i < 9; ++i) events.push_back(pool.make(i));
  OrderedList list(context, false);
  step(
      "given a list in which each event of a pool waits for the one before it, and the host signals the "
      "first");
  for (std::size_t i = 1; i < events.size(); ++i) list.barrier(events[i], {events[i - 1]});
  list.go();
  expect_event("the last event before that", false, events.back());
  expect_same("states before that", "000000000", states_of(events));
  host_signal(events.front());
  expect_event("the last event after that", true, events.back());
  expect_same("states after that", "111111111", states_of(events));
  list.finish();
}

PROCTOR_CHECK(Event, QueryAgreesWithTimedWait, "K42",
              "Level Zero specification, zeEventHostSynchronize, timeout", kGate,
              {"order.never_report_ready", "order.report_ready_early"}) {
  const auto context = leased();
  EventPool pool(context, 1, ZE_EVENT_POOL_FLAG_HOST_VISIBLE);
  const auto event = pool.make(0);
  for (const bool signalled : {false, true, false}) {
    step(signalled ? "given an event that is signalled" : "given an event that is not");
    signalled ? host_signal(event) : host_reset(event);
    const char* const expected = signalled ? "ZE_RESULT_SUCCESS" : "ZE_RESULT_NOT_READY";
    expect_status(expected, ZE_CALL(zeEventQueryStatus, event));
    for (const std::uint64_t limit : {0u, 1u, 1000u, 1'000'000u})
      expect_status(expected, ZE_CALL(zeEventHostSynchronize, event, limit));
    if (signalled) expect_status(expected, ZE_CALL(zeEventHostSynchronize, event, UINT64_MAX));
  }
}

PROCTOR_CHECK(Event, TimestampsAppearAfterCompletion, "K41",
              "Level Zero specification, zeEventQueryKernelTimestamp", kGate, {"state.timestamp_zero"}) {
  const auto context = leased();
  Counter counter(context);
  Event event(context);
  step("given the times of an event before its kernel, after it, and after its reset, three times");
  ze_kernel_timestamp_result_t times{};
  std::uint64_t last = 0;
  for (int round = 0; round < 3; ++round) {
    expect_status("ZE_RESULT_NOT_READY", ZE_CALL(zeEventQueryKernelTimestamp, native(event), &times));
    counter.add_one(counter.queue, {.wait = {}, .signal = &event});
    counter.queue.synchronize();
    expect_status("ZE_RESULT_SUCCESS", ZE_CALL(zeEventQueryKernelTimestamp, native(event), &times));
    expect_true(times.global.kernelStart != last,
                fmt::format("kernel {} has times of its own, {} to {}", round, times.global.kernelStart,
                            times.global.kernelEnd));
    last = times.global.kernelStart;
    event.reset();
  }
}

// ---- counter-based events, which refer to the last command that was appended with them ----

namespace {

// Counter-based events, and a normal event by which the host holds the commands that signal them.
struct HeldCounters {
  HeldCounters(const Context& context, std::uint32_t flags, std::uint32_t count)
      : mode(flags),
        pool(context, count, ZE_EVENT_POOL_FLAG_HOST_VISIBLE, {}, &mode),
        latches(context, 1, ZE_EVENT_POOL_FLAG_HOST_VISIBLE),
        latch(latches.make(0)) {}

  // Verifies one round. `begin` appends or runs the command that signals the event after the latch opens.
  void expect_round(int round, ze_event_handle_t event, const std::function<void()>& begin) const {
    host_reset(latch);
    begin();
    expect_event(fmt::format("while round {} is held", round), false, event);
    host_signal(latch);
    expect_event(fmt::format("after round {}", round), true, event);
  }

  CounterBased mode;
  EventPool pool, latches;
  ze_event_handle_t latch;
};

constexpr int kRounds = 3;

}  // namespace

PROCTOR_CHECK(CounterBasedEvent, CompletionTracksLatestAppend, "K64", kCounterBased, kGate,
              {"order.ignore_wait_events", "order.end_event_wait_early"}) {
  const auto context = leased();
  need_counter_based(context);
  for (const std::uint32_t flags : {kForImmediate, 0u, kForImmediate | kForRegular}) {
    step(fmt::format("given an event with the flags {} that counts, in an immediate list", flags));
    HeldCounters held(context, flags, 1);
    const auto event = held.pool.make(0);
    OrderedList list(context, true);
    for (int round = 0; round < kRounds; ++round) {
      held.expect_round(round, event, [&] { list.barrier(event, {held.latch}); });
      list.finish();
    }
  }
  for (const std::uint32_t flags : {kForRegular, kForImmediate | kForRegular}) {
    step(fmt::format("given events with the flags {} that count, each in a regular list of its own", flags));
    HeldCounters held(context, flags, static_cast<std::uint32_t>(kRounds));
    for (int round = 0; round < kRounds; ++round) {
      const auto event = held.pool.make(static_cast<std::uint32_t>(round));
      OrderedList list(context, false);
      list.barrier(event, {held.latch});
      held.expect_round(round, event, [&] { list.go(); });
      list.finish();
    }
  }
}

PROCTOR_CHECK(CounterBasedEvent, EventIsPendingDuringEachRun, "K64", kRunAgain, kGate,
              {"order.ignore_wait_events", "order.end_event_wait_early"}) {
  const auto context = leased();
  need_counter_based(context);
  for (const std::uint32_t flags : {kForRegular, kForImmediate | kForRegular}) {
    step(fmt::format("given an event with the flags {} that counts, in a regular list that runs again",
                     flags));
    HeldCounters held(context, flags, 1);
    const auto event = held.pool.make(0);
    OrderedList list(context, false);
    list.barrier(event, {held.latch});
    list.close();
    for (int round = 0; round < kRounds; ++round) {
      held.expect_round(round, event, [&] { list.execute(); });
      list.finish();
    }
  }
}

PROCTOR_CHECK(CounterBasedEvent, WaitIgnoresLaterAppends, "K64", kCounterBased, kGate,
              {"order.ignore_wait_events"}) {
  const auto context = leased();
  need_counter_based(context);
  CounterBased mode(kForImmediate);
  EventPool pool(context, 2, ZE_EVENT_POOL_FLAG_HOST_VISIBLE, {}, &mode);
  EventPool latches(context, 2, ZE_EVENT_POOL_FLAG_HOST_VISIBLE);
  const auto event = pool.make(0), done = pool.make(1), first = latches.make(0), second = latches.make(1);
  OrderedList signalling(context, true), waiting(context, true);
  step("given a wait for an event that counts, which is appended again behind the wait");
  signalling.barrier(event, {first});
  waiting.barrier(done, {event});
  signalling.barrier(event, {second});
  expect_event("the wait before the first append is done", false, done);
  host_signal(first);
  expect_event("the wait after the first append is done", true, done);
  expect_event("the event before the second append is done", false, event);
  host_signal(second);
  expect_event("the event after the second append is done", true, event);
}

PROCTOR_CHECK(CounterBasedEvent, EventWithoutPoolWorks, "K64", kWithoutPool, kGate,
              {"order.end_event_wait_early", "state.timestamp_zero"}) {
  const auto context = leased();
  struct Description {
    ze_base_desc_t head;
    std::uint32_t flags;
    ze_event_scope_flags_t signal, wait;
  };
  using Create =
      ze_result_t (*)(ze_context_handle_t, ze_device_handle_t, const Description*, ze_event_handle_t*);
  Create create = nullptr;
  const Status found = ZE_CALL(zeDriverGetExtensionFunctionAddress, driver_of(context),
                               "zexCounterBasedEventCreate2", reinterpret_cast<void**>(&create));
  need(found.ok() && create != nullptr, "symbol_missing:zexCounterBasedEventCreate2");
  need(has_handles_of_the_driver(), "unsupported:extensions_through_the_loader");
  constexpr std::uint32_t kHostVisible = 0x4, kTimed = 0x10, kMapped = 0x20;
  EventPool latches(context, 1, ZE_EVENT_POOL_FLAG_HOST_VISIBLE);
  const auto latch = latches.make(0);
  for (const std::uint32_t flags :
       {kForImmediate, kForImmediate | kTimed, kForImmediate | kMapped, kForRegular, kForRegular | kTimed,
        kForImmediate | kForRegular | kTimed}) {
    step(fmt::format("given an event without a pool, with the flags {:#x}", flags));
    const Description description{{static_cast<ze_structure_type_t>(0x0003001c), nullptr},
                                  flags | kHostVisible,
                                  ZE_EVENT_SCOPE_FLAG_HOST,
                                  ZE_EVENT_SCOPE_FLAG_HOST};
    ze_event_handle_t event = nullptr;
    Status(create(native(context), native(context.device()), &description, &event),
           "zexCounterBasedEventCreate2")
        .or_throw();
    OrderedList list(context, (flags & kForImmediate) != 0);
    host_reset(latch);
    list.barrier(event, {latch});
    list.go();
    expect_event("while it is held", false, event);
    host_signal(latch);
    expect_event("when it is released", true, event);
    if ((flags & (kTimed | kMapped)) != 0) {
      ze_kernel_timestamp_result_t times{};
      expect_status(kSuccess, ZE_CALL(zeEventQueryKernelTimestamp, event, &times));
      expect_true(times.global.kernelEnd != 0, "the event has a time");
    }
    list.finish();
    ZE_CALL(zeEventDestroy, event).or_throw();
  }
}

// ---- release of destroyed objects ----

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;  // A sanitizer keeps freed memory for a while.
#else
constexpr bool kSanitized = false;
#endif

// Resources of this process, as the operating system counts them.
struct Held {
  std::int64_t threads = 0, files = 0, mappings = 0, kilobytes = 0;
};

std::int64_t lines_of(const std::string& text) { return std::ranges::count(text, '\n'); }

Held held_now() {
  const auto entries = [](const char* directory) {
    return std::distance(std::filesystem::directory_iterator(directory),
                         std::filesystem::directory_iterator());
  };
  const std::string status = read_file_or_empty("/proc/self/status");
  const auto resident = status.find("VmRSS:");
  return {entries("/proc/self/task"), entries("/proc/self/fd"),
          lines_of(read_file_or_empty("/proc/self/maps")),
          resident == std::string::npos ? 0 : std::stoll(status.substr(resident + 6))};
}

// Runs the loop once to warm up and once to count. A leak of one object in each iteration exceeds `kilobytes`.
void expect_nothing_left(const std::string& what, int times, std::int64_t kilobytes,
                         const std::function<void()>& make_and_destroy) {
  step(fmt::format("given {}, made and destroyed {} times", what, times));
  for (int i = 0; i < times; ++i) make_and_destroy();
  const Held before = held_now();
  for (int i = 0; i < times; ++i) make_and_destroy();
  const Held after = held_now();
  expect_true(after.threads - before.threads < times / 2 && after.files - before.files < times / 2 &&
                  after.mappings - before.mappings < times / 2 &&
                  (kSanitized || after.kilobytes - before.kilobytes <= kilobytes),
              fmt::format("{} leave nothing behind, but {} threads, {} files, {} mappings and {} KiB are new",
                          what, after.threads - before.threads, after.files - before.files,
                          after.mappings - before.mappings, after.kilobytes - before.kilobytes));
}

}  // namespace

PROCTOR_CHECK(DriverObject, DestructionReleasesEveryResource, "K63", "Level Zero specification, Objects",
              kWarn, {"alloc.leak_on_free"}) {
  const auto context = leased();
  Queue queue(context);
  const auto constants = module_file("constants");
  const Module module = Module::load(context, "basic");
  const auto ordinal = context.device().record()->compute_group;
  constexpr int kSmall = 2000;
  constexpr std::int64_t kSmallLimit = 80;

  expect_nothing_left("a kernel", kSmall, kSmallLimit, [&] { const Kernel kernel(module, "fill"); });
  expect_nothing_left("a list", kSmall, kSmallLimit, [&] {
    ze_command_list_desc_t description{};
    description.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC;
    description.commandQueueGroupOrdinal = ordinal;
    ze_command_list_handle_t list = nullptr;
    ZE_CALL(zeCommandListCreate, native(context), native(context.device()), &description, &list).or_throw();
    ZE_CALL(zeCommandListDestroy, list).or_throw();
  });
  expect_nothing_left("a fence", kSmall, kSmallLimit, [&] {
    ze_fence_desc_t description{};
    description.stype = ZE_STRUCTURE_TYPE_FENCE_DESC;
    ze_fence_handle_t fence = nullptr;
    ZE_CALL(zeFenceCreate, native(queue), &description, &fence).or_throw();
    ZE_CALL(zeFenceDestroy, fence).or_throw();
  });
  EventPool pool(context, 1, ZE_EVENT_POOL_FLAG_HOST_VISIBLE);
  expect_nothing_left("an event", kSmall, kSmallLimit, [&] { pool.destroy(pool.make(0)); });
  expect_nothing_left("a pool of events", 100, 1000,
                      [&] { const EventPool one(context, 1, ZE_EVENT_POOL_FLAG_HOST_VISIBLE); });
  expect_nothing_left("an immediate list with work", 20, 1000, [&] {
    Queue one(context, Queue::Mode::kImmediate);
    one.barrier();
    one.synchronize();
  });
  expect_nothing_left("a queue with work", 20, 1000, [&] {
    Queue one(context);
    one.barrier();
    one.synchronize();
  });
  const Buffer counted = need_counted_memory(context);
  const auto build = [&] {
    Module one;
    std::string log;
    Module::try_build(context, constants, {.flags = "-proctor-no-such-flag"}, one, &log).or_throw();
  };
  build();  // A driver may keep the memory of the first build for the next.
  const std::uint64_t free_before = context.device().memory().free;
  expect_nothing_left("a module with a variable", 24, 100, build);
  const std::uint64_t free_now = context.device().memory().free;
  const std::uint64_t missing = free_before > free_now ? free_before - free_now : 0;
  expect_true(missing < (suite::on_simgpu() ? 1 << 20 : kFreeSlack),
              fmt::format("memory of the device is as before, the missing bytes are {}", missing));
}

}  // namespace proctor::accel
