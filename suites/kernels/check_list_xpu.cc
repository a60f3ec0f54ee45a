// Command lists and fences, which only Level Zero has.
#include "suites/accel/check_fixture.h"
#include "suites/accel/xpu/native.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

using suite::kGate;
using suite::step;

constexpr const char* kLists = "Level Zero specification, Command Lists";
constexpr const char* kFences = "Level Zero specification, Fences";

// A list by hand, of a queue of its own.
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
  // `kernel` has its arguments and group size already.
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

PROCTOR_CHECK(List, RunsAgain, "K38", kLists, kGate, {"order.list_runs_once"}) {
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

PROCTOR_CHECK(List, ResetEmptiesIt, "K38", "Level Zero specification, zeCommandListReset", kGate,
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
  expect_words("what the old commands would write", std::vector<std::uint32_t>(64, 0),
               read_as<std::uint32_t>(list.queue(), context, first), context.device());
  expect_words("what the new ones write", std::vector<std::uint32_t>(64, 2),
               read_as<std::uint32_t>(list.queue(), context, second), context.device());
}

PROCTOR_CHECK(List, BarriersOrderItsCommands, "K38", "Level Zero specification, zeCommandListAppendBarrier",
              kGate, {"order.barrier_ignored"}) {
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
  expect_words("what each copy found", expected, read_as<std::uint32_t>(list.queue(), context, copies),
               context.device());
}

// No specification orders commands without a barrier or an event between them; what
// a device does is recorded.
PROCTOR_CHECK(List, NeighboursRunInOrder, "K38",
              "recorded: copies of one list run in order on Intel's devices", suite::kInfo,
              {"order.list_order_swapped"}) {
  const auto context = leased();
  List list(context);
  const auto words = device_copy(list.queue(), context, std::vector<std::uint32_t>(64));
  for (std::uint32_t i = 1; i <= 6; ++i) list.fill(words.data(), i, 256);
  list.close();
  step("given six fills of the same words, without barriers");
  list.run();
  expect_words("the words", std::vector<std::uint32_t>(64, 6),
               read_as<std::uint32_t>(list.queue(), context, words), context.device());
}

PROCTOR_CHECK(Fence, FollowsItsList, "K39", kFences, kGate,
              {"order.early_sync:api=zeFenceHostSynchronize", "order.query_lies"}) {
  const auto context = leased();
  List list(context);
  const auto words = device_copy(list.queue(), context, std::vector<std::uint32_t>(64));
  Fence fence(list.queue());
  Gate gate(context);
  list.fill(words.data(), 3, 256);
  list.close();
  step("given a fence behind a gate");
  gate.hold(list.queue());
  list.execute(fence.handle());
  expect_status("ZE_RESULT_NOT_READY", fence.query());
  expect_status("ZE_RESULT_NOT_READY", fence.try_synchronize(std::chrono::milliseconds(10)));
  gate.open();
  expect_status("ZE_RESULT_SUCCESS", fence.try_synchronize(kSynchronizeTimeout));
  expect_status("ZE_RESULT_SUCCESS", fence.query());
  expect_words("what the list wrote", std::vector<std::uint32_t>(64, 3),
               read_as<std::uint32_t>(list.queue(), context, words), context.device());
}

PROCTOR_CHECK(Fence, ResetClearsIt, "K40", kFences, kGate, {"order.reset_ignored"}) {
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

}  // namespace proctor::accel
