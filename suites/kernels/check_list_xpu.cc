// Checks of command lists and fences, which exist only for Level Zero.
#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <thread>

#include "suites/accel/check_fixture.h"
#include "suites/accel/xpu/native.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

using suite::kGate;
using suite::step;

constexpr const char* kLists = "Level Zero specification, Command Lists";
constexpr const char* kFences = "Level Zero specification, Fences";

// A regular command list with its queue. The check appends commands directly through Level Zero.
class List {
 public:
  explicit List(const Context& context) : queue_(context) {
    ze_command_list_desc_t description{};
    description.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC;
    description.commandQueueGroupOrdinal = context.device().record()->compute_group;
    ZE_CALL(zeCommandListCreate, native(context), native(context.device()), &description, &handle_)
        .or_throw();
  }
  ~List() { entry_points().zeCommandListDestroy(handle_); }
  List(const List&) = delete;
  List& operator=(const List&) = delete;

  void copy(void* to, const void* from, std::size_t bytes) {
    ZE_CALL(zeCommandListAppendMemoryCopy, handle_, to, from, bytes, nullptr, 0, nullptr).or_throw();
  }
  void fill(void* to, std::uint32_t word, std::size_t bytes) {
    ZE_CALL(zeCommandListAppendMemoryFill, handle_, to, &word, sizeof word, bytes, nullptr, 0, nullptr)
        .or_throw();
  }
  void barrier() { ZE_CALL(zeCommandListAppendBarrier, handle_, nullptr, 0, nullptr).or_throw(); }
  void signal(const Event& event) {
    ZE_CALL(zeCommandListAppendSignalEvent, handle_, native(event)).or_throw();
  }
  void reset(const Event& event) {
    ZE_CALL(zeCommandListAppendEventReset, handle_, native(event)).or_throw();
  }
  void wait(const Event& event) {
    ze_event_handle_t handle = native(event);
    ZE_CALL(zeCommandListAppendWaitOnEvents, handle_, 1, &handle).or_throw();
  }
  // The arguments and the group size of `kernel` must be set before.
  void launch(const Kernel& kernel, std::uint32_t groups) {
    const ze_group_count_t count{groups, 1, 1};
    ZE_CALL(zeCommandListAppendLaunchKernel, handle_, native(kernel), &count, nullptr, 0, nullptr).or_throw();
  }
  void close() { ZE_CALL(zeCommandListClose, handle_).or_throw(); }
  void reset() { ZE_CALL(zeCommandListReset, handle_).or_throw(); }
  void execute(ze_fence_handle_t fence = nullptr) {
    ZE_CALL(zeCommandQueueExecuteCommandLists, native(queue_), 1, &handle_, fence).or_throw();
  }
  void run() {
    execute();
    queue_.synchronize();
  }
  Queue& queue() { return queue_; }
  ze_command_list_handle_t handle() const { return handle_; }

 private:
  Queue queue_;
  ze_command_list_handle_t handle_ = nullptr;
};

class Fence {
 public:
  explicit Fence(Queue& queue) {
    ze_fence_desc_t description{};
    description.stype = ZE_STRUCTURE_TYPE_FENCE_DESC;
    ZE_CALL(zeFenceCreate, native(queue), &description, &handle_).or_throw();
  }
  ~Fence() { entry_points().zeFenceDestroy(handle_); }
  Fence(const Fence&) = delete;
  Fence& operator=(const Fence&) = delete;
  Status query() const { return ZE_CALL(zeFenceQueryStatus, handle_); }
  Status try_synchronize(Nanoseconds timeout) const {
    return ZE_CALL(zeFenceHostSynchronize, handle_, in_ze(timeout));
  }
  void reset() { ZE_CALL(zeFenceReset, handle_).or_throw(); }
  ze_fence_handle_t handle() const { return handle_; }

 private:
  ze_fence_handle_t handle_ = nullptr;
};

void set(Kernel& kernel, const Arguments& all) {
  kernel.try_group_size({64, 1, 1}).or_throw();
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    kernel.try_argument(i, all[i].value.size(), all[i].value.data()).or_throw();
  }
}

}  // namespace

PROCTOR_CHECK(CommandList, EachExecutionRunsCommands, "K38", kLists, kGate, {"order.list_runs_once"}) {
  const auto context = leased();
  List list(context);
  const Module module = Module::load(context, "basic");
  Kernel increment(module, "increment");
  const auto words = device_copy(list.queue(), context, std::vector<std::uint32_t>(64));
  set(increment, arguments(words, 64u));
  list.launch(increment, 1);
  list.close();
  step("given a list that is executed three times");
  for (int i = 0; i < 3; ++i) list.run();
  expect_words("count", std::vector<std::uint32_t>(64, 3),
               read_as<std::uint32_t>(list.queue(), context, words), context.device());
}

PROCTOR_CHECK(CommandList, ResetRemovesCommands, "K38", "Level Zero specification, zeCommandListReset", kGate,
              {"order.list_reset_ignored"}) {
  const auto context = leased();
  List list(context);
  const auto first = device_copy(list.queue(), context, std::vector<std::uint32_t>(64));
  const auto second = device_copy(list.queue(), context, std::vector<std::uint32_t>(64));
  step("given a list that is reset before it was executed");
  list.fill(first.data(), 1, 256);
  list.close();
  list.reset();
  list.fill(second.data(), 2, 256);
  list.close();
  list.run();
  expect_words("words that the old commands would write", std::vector<std::uint32_t>(64, 0),
               read_as<std::uint32_t>(list.queue(), context, first), context.device());
  expect_words("words that the new commands write", std::vector<std::uint32_t>(64, 2),
               read_as<std::uint32_t>(list.queue(), context, second), context.device());
}

PROCTOR_CHECK(CommandList, BarriersOrderCommands, "K38",
              "Level Zero specification, zeCommandListAppendBarrier", kGate, {"order.barrier_ignored"}) {
  const auto context = leased();
  List list(context);
  const Module module = Module::load(context, "basic");
  Kernel increment(module, "increment");
  const auto words = device_copy(list.queue(), context, std::vector<std::uint32_t>(64, 99));
  const auto copies = device_copy(list.queue(), context, std::vector<std::uint32_t>(5 * 64));
  set(increment, arguments(words, 64u));
  list.fill(words.data(), 10, 256);
  std::vector<std::uint32_t> expected;
  for (std::uint32_t i = 0; i < 5; ++i) {
    list.barrier();
    list.launch(increment, 1);
    list.barrier();
    list.copy(copies.data() + 256 * i, words.data(), 256);
    expected.insert(expected.end(), 64, 11 + i);
  }
  list.close();
  step("given a fill, kernels and copies in one list, with barriers between them");
  list.run();
  expect_words("words that each copy read", expected, read_as<std::uint32_t>(list.queue(), context, copies),
               context.device());
}

// ---- events within lists ----

PROCTOR_CHECK(CommandList, EventResetHappensAtExecution, "K40",
              "Level Zero specification, zeCommandListAppendEventReset", kGate, {"order.reset_ignored"}) {
  const auto context = leased();
  List list(context);
  Event event(context);
  event.signal_from_host();
  list.reset(event);
  list.close();
  step("given a list that resets an event, before it runs and afterwards");
  expect_status("ZE_RESULT_SUCCESS", event.query());
  list.run();
  expect_status("ZE_RESULT_NOT_READY", event.query());
}

PROCTOR_CHECK(CommandList, RepeatedExecutionWaitsForResetEvent, "K40",
              "Level Zero specification, zeCommandListAppendEventReset", kGate,
              {"order.reset_ignored:api=zeCommandListAppendEventReset", "order.ignore_wait_events"}) {
  const auto context = leased();
  List list(context);
  const Buffer words = host_memory(context, 64);
  words.as<std::uint32_t>()[0] = 0;
  const Module module = Module::load(context, "basic");
  Kernel increment(module, "increment");
  set(increment, arguments(words, 1u));
  Event go(context);
  list.wait(go);
  list.launch(increment, 1);
  list.barrier();
  list.reset(go);
  list.close();
  step("given a list that waits for an event, counts, and resets the event, three times");
  for (std::uint32_t round = 0; round < 3; ++round) {
    list.execute();
    expect_status("ZE_RESULT_NOT_READY", list.queue().try_synchronize(std::chrono::milliseconds(10)));
    suite::expect_same("count while it waits", std::to_string(round),
                       std::to_string(words.as<std::uint32_t>()[0]));
    go.signal_from_host();
    list.queue().synchronize();
  }
  suite::expect_same("count in the end", "3", std::to_string(words.as<std::uint32_t>()[0]));
}

// ---- launches whose shape is in memory ----

namespace {

// Launches indirectly. The group counts are in memory of this kind, and the first command of the list writes them.
void expect_indirect_launch(MemoryKind kind, const std::array<std::uint32_t, 3>& offset = {}) {
  const auto context = leased();
  List list(context);
  const Module ids = Module::load(context, "ids"), basic = Module::load(context, "basic");
  Kernel kernel(ids, "ids"), increment(basic, "increment");
  const Buffer counts(context, {.kind = kind, .bytes = 64});
  const std::uint32_t one_less[] = {1, 2, 3};
  write(list.queue(), context, counts.data(), std::as_bytes(std::span(one_less)));
  const auto out = device_copy(list.queue(), context, std::vector<std::uint32_t>(8 * 24));
  set(increment, arguments(counts, 3u));
  kernel.try_group_size({1, 1, 1}).or_throw();
  kernel.try_argument(0, sizeof(void*), std::array{out.data()}.data()).or_throw();
  if (offset != std::array<std::uint32_t, 3>{})
    ZE_CALL(zeKernelSetGlobalOffsetExp, native(kernel), offset[0], offset[1], offset[2]).or_throw();
  list.launch(increment, 1);
  list.barrier();
  ZE_CALL(zeCommandListAppendLaunchKernelIndirect, list.handle(), native(kernel),
          reinterpret_cast<const ze_group_count_t*>(counts.data()), nullptr, 0, nullptr)
      .or_throw();
  list.close();
  step(std::string("given 2 x 3 x 4 groups by a count in memory: ") + to_string(kind));
  list.run();
  std::vector<std::uint32_t> expected;
  for (std::uint32_t i = 0; i < 24; ++i)
    expected.insert(expected.end(),
                    {i % 2 + offset[0], i / 2 % 3 + offset[1], i / 6 + offset[2], 0, i, 1, 24, 24});
  expect_words("ids (8 words a group)", expected, read_as<std::uint32_t>(list.queue(), context, out),
               context.device());
}

}  // namespace

PROCTOR_CHECK(Launch, IndirectLaunchReadsGroupCount, "K17",
              "Level Zero specification, zeCommandListAppendLaunchKernelIndirect", kGate,
              {"kernel.skip:kernel=ids", "kernel.skip_group:kernel=ids,at=23"}) {
  for (const MemoryKind kind : {MemoryKind::kDevice, MemoryKind::kHost, MemoryKind::kShared}) {
    if (kind == MemoryKind::kShared && !leased_device().properties().shared_memory) continue;
    expect_indirect_launch(kind);
  }
}

PROCTOR_CHECK(Launch, GlobalOffsetShiftsIndirectIds, "K17",
              "Level Zero specification, zeKernelSetGlobalOffsetExp", kGate,
              {"kernel.offset_ignored:api=zeCommandListAppendLaunchKernelIndirect"}) {
  expect_indirect_launch(MemoryKind::kDevice, {100, 7, 3});
}

PROCTOR_CHECK(Launch, MultipleIndirectKernelsUseOwnCounts, "K17",
              "Level Zero specification, zeCommandListAppendLaunchMultipleKernelsIndirect", kGate,
              {"kernel.skip:after=1,times=1", "kernel.run_twice:times=1"}) {
  const auto context = leased();
  const Module module = Module::load(context, "ids");
  constexpr std::uint32_t kMost = 3;
  for (std::uint32_t launches = 0; launches <= kMost; ++launches) {
    List list(context);
    std::vector<Kernel> kernels;
    std::vector<Buffer> outs;
    std::vector<ze_kernel_handle_t> handles;
    for (std::uint32_t i = 0; i < kMost; ++i) {
      outs.push_back(device_copy(list.queue(), context, std::vector<std::uint32_t>(64)));
      kernels.emplace_back(module, "count_groups");
      set(kernels.back(), arguments(outs.back()));
      handles.push_back(native(kernels.back()));
    }
    const auto counts =
        device_copy(list.queue(), context, std::vector<std::uint32_t>{2, 1, 1, 7, 1, 1, 5, 1, 1});
    const auto how_many = device_copy(list.queue(), context, std::vector<std::uint32_t>{launches});
    ZE_CALL(zeCommandListAppendLaunchMultipleKernelsIndirect, list.handle(), kMost, handles.data(),
            reinterpret_cast<const std::uint32_t*>(how_many.data()),
            reinterpret_cast<const ze_group_count_t*>(counts.data()), nullptr, 0, nullptr)
        .or_throw();
    list.close();
    step("given three kernels of 2, 7 and 5 groups, and a count in memory by which " +
         std::to_string(launches) + " run");
    list.run();
    for (std::uint32_t i = 0; i < kMost; ++i) {
      std::vector<std::uint32_t> expected(64);
      std::fill_n(expected.begin(), i >= launches ? 0 : std::array{2, 7, 5}[i], 1u);
      expect_words("groups of kernel " + std::to_string(i) + " of " + std::to_string(launches), expected,
                   read_as<std::uint32_t>(list.queue(), context, outs[i]), context.device());
    }
  }
}

// ---- fences ----

namespace {

// Executes `count` lists with one call. The list with number `held` waits for the host.
void expect_fence_after_all(const Context& context, std::size_t count, std::size_t held) {
  const std::string what =
      std::to_string(count) + " lists, of which number " + std::to_string(held) + " is held";
  Event go(context);
  std::vector<std::unique_ptr<List>> lists;
  std::vector<ze_command_list_handle_t> handles;
  for (std::size_t i = 0; i < count; ++i) {
    lists.push_back(std::make_unique<List>(context));
    if (i == held) lists.back()->wait(go);
    lists.back()->barrier();
    lists.back()->close();
    handles.push_back(lists.back()->handle());
  }
  Queue& queue = lists.front()->queue();
  Fence fence(queue);
  step("given a fence behind " + what);
  ZE_CALL(zeCommandQueueExecuteCommandLists, native(queue), static_cast<std::uint32_t>(count), handles.data(),
          fence.handle())
      .or_throw();
  const suite::Stopwatch watch;
  expect_status("ZE_RESULT_NOT_READY", fence.try_synchronize(std::chrono::milliseconds(10)));
  expect_waited("a wait for a fence", std::chrono::milliseconds(10), watch);
  go.signal_from_host();
  expect_status("ZE_RESULT_SUCCESS", fence.try_synchronize(kSynchronizeTimeout));
  queue.synchronize();
}

}  // namespace

PROCTOR_CHECK(Fence, SignalWaitsForEveryList, "K39", kFences, kGate,
              {"order.end_wait_early:api=zeFenceHostSynchronize",
               "order.timeout_overrun:api=zeFenceHostSynchronize,times=1"}) {
  const auto context = leased();
  for (std::size_t count = 1; count <= 4; ++count) {
    for (std::size_t held = 0; held < count; ++held) expect_fence_after_all(context, count, held);
  }
}

PROCTOR_CHECK(Fence, SignalFollowsListCompletion, "K39", kFences, kGate,
              {"order.end_wait_early:api=zeFenceHostSynchronize", "order.report_ready_early"}) {
  const auto context = leased();
  List list(context);
  const auto words = device_copy(list.queue(), context, std::vector<std::uint32_t>(64));
  Fence fence(list.queue());
  Latch latch(context);
  list.fill(words.data(), 3, 256);
  list.close();
  step("given a fence behind a latch");
  latch.hold(list.queue());
  list.execute(fence.handle());
  expect_status("ZE_RESULT_NOT_READY", fence.query());
  expect_status("ZE_RESULT_NOT_READY", fence.try_synchronize(std::chrono::milliseconds(10)));
  latch.open();
  expect_status("ZE_RESULT_SUCCESS", fence.try_synchronize(kSynchronizeTimeout));
  expect_status("ZE_RESULT_SUCCESS", fence.query());
  expect_words("words that the list wrote", std::vector<std::uint32_t>(64, 3),
               read_as<std::uint32_t>(list.queue(), context, words), context.device());
}

PROCTOR_CHECK(Fence, ResetClearsSignal, "K40", kFences, kGate, {"order.reset_ignored"}) {
  const auto context = leased();
  List list(context);
  const auto words = device_copy(list.queue(), context, std::vector<std::uint32_t>(64));
  Fence fence(list.queue());
  list.fill(words.data(), 3, 256);
  list.close();
  step("given a fence that is signalled and reset");
  list.execute(fence.handle());
  expect_status("ZE_RESULT_SUCCESS", fence.try_synchronize(kSynchronizeTimeout));
  fence.reset();
  expect_status("ZE_RESULT_NOT_READY", fence.query());
}

// ---- queues that wait for their work ----

namespace {

// Signals the event a little later. A call that does not wait returns before that.
class Later {
 public:
  explicit Later(Event& event)
      : thread_([&event] {
          std::this_thread::sleep_for(std::chrono::milliseconds(20));
          event.signal_from_host();
        }) {}

 private:
  std::jthread thread_;
};

ze_command_queue_desc_t synchronous(const Context& context) {
  ze_command_queue_desc_t description{};
  description.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC;
  description.ordinal = context.device().record()->compute_group;
  description.mode = ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS;
  return description;
}

}  // namespace

PROCTOR_CHECK(Queue, SynchronousQueueBlocksUntilDone, "K38",
              "Level Zero specification, ze_command_queue_mode_t", kGate,
              {"order.end_wait_early:api=zeCommandQueueSynchronize"}) {
  const auto context = leased();
  Event go(context);
  const Event done(context);
  List list(context);
  list.wait(go);
  list.signal(done);
  list.close();
  const auto description = synchronous(context);
  ze_command_queue_handle_t queue = nullptr;
  ZE_CALL(zeCommandQueueCreate, native(context), native(context.device()), &description, &queue).or_throw();
  ze_command_list_handle_t handle = list.handle();
  step("given a list in a synchronous queue that the host lets go 20 ms later");
  Status executed, seen;
  {
    const Later later(go);
    executed = ZE_CALL(zeCommandQueueExecuteCommandLists, queue, 1, &handle, nullptr);
    seen = done.query();
  }
  static_cast<void>(ZE_CALL(zeCommandQueueSynchronize, queue, in_ze(kSynchronizeTimeout)));
  static_cast<void>(ZE_CALL(zeCommandQueueDestroy, queue));
  expect_status("ZE_RESULT_SUCCESS", executed);
  expect_status("ZE_RESULT_SUCCESS", seen);
}

PROCTOR_CHECK(Queue, SynchronousListBlocksUntilDone, "K38",
              "Level Zero specification, ze_command_queue_mode_t", kGate,
              {"order.end_wait_early:api=zeCommandQueueSynchronize"}) {
  const auto context = leased();
  Event go(context);
  const Event done(context);
  const auto description = synchronous(context);
  ze_command_list_handle_t list = nullptr;
  ZE_CALL(zeCommandListCreateImmediate, native(context), native(context.device()), &description, &list)
      .or_throw();
  ze_event_handle_t wait = native(go);
  step("given a command in a synchronous immediate list that the host lets go 20 ms later");
  Status appended, seen;
  {
    const Later later(go);
    appended = ZE_CALL(zeCommandListAppendBarrier, list, native(done), 1, &wait);
    seen = done.query();
  }
  static_cast<void>(done.try_synchronize(kSynchronizeTimeout));
  static_cast<void>(ZE_CALL(zeCommandListDestroy, list));
  expect_status("ZE_RESULT_SUCCESS", appended);
  expect_status("ZE_RESULT_SUCCESS", seen);
}

}  // namespace proctor::accel
