// Freeing memory that submitted work still uses: what each policy promises.
#include "suites/accel/check_fixture.h"
#include "suites/accel/free_memory.h"
#include "suites/accel/xpu/native.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

using suite::expect_true;
using suite::kGate;
using suite::step;

constexpr const char* kPolicies = "Level Zero specification, ze_driver_memory_free_policy_ext_flag_t";
constexpr std::uint64_t kLooks = 100'000;  // long enough to be seen running, and it ends by itself

void need_policy(const Context& context, ze_driver_memory_free_policy_ext_flags_t policy) {
  ze_driver_memory_free_ext_properties_t free{};
  free.stype = ZE_STRUCTURE_TYPE_DRIVER_MEMORY_FREE_EXT_PROPERTIES;
  ze_driver_properties_t properties{};
  properties.stype = ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES;
  properties.pNext = &free;
  ZE_CALL(zeDriverGetProperties, driver_of(context), &properties).or_throw();
  need((free.freePolicies & policy) != 0, "unsupported:free_policy");
}

void free_with(const Context& context, ze_driver_memory_free_policy_ext_flags_t policy, void* pointer) {
  ze_memory_free_ext_desc_t description{};
  description.stype = ZE_STRUCTURE_TYPE_MEMORY_FREE_EXT_DESC;
  description.freePolicy = policy;
  ZE_CALL(zeMemFreeExt, native(context), &description, pointer).or_throw();
}

// Memory with known bytes, and a queue in which a copy of it waits behind a kernel that
// looks at a flag for a while.
struct Used {
  explicit Used(const Context& its_context) : context(its_context), queue(context), done(context) {
    std::memset(flags.data(), 0, flags.bytes());
    need_memory(context.device(), kHeld);
    ZE_CALL(zeMemAllocDevice, native(context), &kDescription, kHeld, 0, native(context.device()), &pointer)
        .or_throw();
    write(queue, context, pointer, sent);
  }
  void submit() {
    queue.launch(Kernel(module, "gate"), groups_of(1, 1), arguments(flags, flags.data() + 64, kLooks));
    queue.copy(copied.data(), pointer, sent.size(), {.wait = {}, .signal = &done});
  }
  void expect_copied() {
    queue.synchronize();
    expect_bytes("what the copy read", sent, {copied.data(), copied.bytes()}, context.device());
  }

  static constexpr ze_device_mem_alloc_desc_t kDescription = {ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC,
                                                              nullptr, 0, 0};
  Context context;
  Queue queue;
  Event done;
  Module module = Module::load(context, "litmus");
  std::vector<std::byte> sent = noise(65536, 1);
  Buffer flags = host_memory(context, 128);
  Buffer copied = host_memory(context, sent.size());
  void* pointer = nullptr;  // freed by the check
};

}  // namespace

PROCTOR_CHECK(FreePolicy, BlockingFreeWaitsForTheWork, "M14", kPolicies, kGate,
              {"order.early_sync:api=zeMemFreeExt"}) {
  const auto context = leased();
  need_policy(context, ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_BLOCKING_FREE);
  Used used(context);
  step("given a blocking free of memory that is yet to be copied");
  used.submit();
  free_with(context, ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_BLOCKING_FREE, used.pointer);
  expect_true(used.done.query().ok(), "the copy is done when the free returns");
  used.expect_copied();
}

PROCTOR_CHECK(FreePolicy, DeferredFreeKeepsTheBytesForTheWork, "M14", kPolicies, kGate,
              {"memory.corrupt_copy:at=17,after=1,times=1", "copy.skip:after=1"}) {
  const auto context = leased();
  need_policy(context, ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_DEFER_FREE);
  Used used(context);
  step("given a deferred free of memory that is yet to be copied");
  used.submit();
  free_with(context, ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_DEFER_FREE, used.pointer);
  used.expect_copied();
}

PROCTOR_CHECK(FreePolicy, DeferredFreeDoesNotWait, "M14", kPolicies, kGate, {"order.event_born_signaled"}) {
  const auto context = leased();
  need_policy(context, ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_DEFER_FREE);
  step("given a deferred free of memory that is copied when the host says so");
  Used used(context);
  Latch latch(context);
  latch.hold(used.queue);
  used.queue.copy(used.copied.data(), used.pointer, used.sent.size(), {.wait = {}, .signal = &used.done});
  free_with(context, ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_DEFER_FREE, used.pointer);
  expect_true(used.done.query().not_ready(), "the copy is yet to come when the free returns");
  latch.open();
  used.expect_copied();
}

PROCTOR_CHECK(FreePolicy, DeferredFreeGivesTheMemoryBack, "M14", kPolicies, kGate,
              {"alloc.leak_on_free:min=16777216"}) {
  const auto context = leased();
  need_policy(context, ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_DEFER_FREE);
  const Buffer counted = need_counted_memory(context);
  const auto use_and_free = [&] {
    Used used(context);
    used.submit();
    free_with(context, ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_DEFER_FREE, used.pointer);
    used.queue.synchronize();
  };
  step("given a deferred free, after the work, and the same again");
  use_and_free();
  const std::uint64_t before = context.device().memory().free;
  use_and_free();
  expect_returned(context.device(), before);
}

}  // namespace proctor::accel
