// A check that calls for a lost device return ZE_RESULT_ERROR_DEVICE_LOST.
#include <unistd.h>

#include <chrono>

#include "suites/accel/check_fixture.h"
#include "suites/accel/xpu/native.h"
#include "suites/main/check.h"
#include "suites/main/helper.h"

namespace proctor::accel {
namespace {

using suite::expect_true;
using suite::Helper;
using suite::kWarn;
using suite::step;

// The objects of a program that loses its device: lists, queues, and an event that the device would signal.
struct Loser {
  Loser()
      : context(leased()),
        queue(context),
        waiting(context),
        module(Module::load(context, "hazard")),
        go(context),
        done(context) {
    waiting.barrier({.wait = {&go}, .signal = &done});
    const auto group = context.device().record()->compute_group;
    described_list.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC;
    described_list.commandQueueGroupOrdinal = group;
    described_queue.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC;
    described_queue.ordinal = group;
    described_queue.mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS;
    described_pool.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC;
    described_pool.count = 1;
    const auto device = native(context.device());
    for (auto* list : {&open, &closed})
      ZE_CALL(zeCommandListCreate, native(context), device, &described_list, list).or_throw();
    ZE_CALL(zeCommandListClose, closed).or_throw();
    ze_fence_desc_t described_fence{};
    described_fence.stype = ZE_STRUCTURE_TYPE_FENCE_DESC;
    ZE_CALL(zeFenceCreate, native(queue), &described_fence, &fence).or_throw();
  }

  Context context;
  Queue queue, waiting;
  Module module;
  Event go, done;
  ze_command_list_handle_t open = nullptr, closed = nullptr, list = nullptr;
  ze_command_queue_handle_t made = nullptr;
  ze_event_pool_handle_t pool = nullptr;
  ze_fence_handle_t fence = nullptr;
  ze_command_list_desc_t described_list{};
  ze_command_queue_desc_t described_queue{};
  ze_event_pool_desc_t described_pool{};
};

struct LostCall {
  const char* what;
  Status (*call)(Loser&);
};

constexpr LostCall kLostCalls[] = {
    {"creating a list",
     [](Loser& its) {
       return ZE_CALL(zeCommandListCreate, native(its.context), native(its.context.device()),
                      &its.described_list, &its.list);
     }},
    {"creating an immediate list",
     [](Loser& its) {
       return ZE_CALL(zeCommandListCreateImmediate, native(its.context), native(its.context.device()),
                      &its.described_queue, &its.list);
     }},
    {"creating a queue",
     [](Loser& its) {
       return ZE_CALL(zeCommandQueueCreate, native(its.context), native(its.context.device()),
                      &its.described_queue, &its.made);
     }},
    {"appending to a list",
     [](Loser& its) { return ZE_CALL(zeCommandListAppendBarrier, its.open, nullptr, 0, nullptr); }},
    {"executing a list",
     [](Loser& its) {
       return ZE_CALL(zeCommandQueueExecuteCommandLists, native(its.queue), 1, &its.closed, nullptr);
     }},
    {"waiting for a queue", [](Loser& its) { return its.queue.try_synchronize(std::chrono::seconds(1)); }},
    {"querying another queue", [](Loser& its) { return its.waiting.try_synchronize(Nanoseconds::zero()); }},
    {"querying a fence", [](Loser& its) { return ZE_CALL(zeFenceQueryStatus, its.fence); }},
    {"waiting for a fence",
     [](Loser& its) { return ZE_CALL(zeFenceHostSynchronize, its.fence, in_ze(std::chrono::seconds(1))); }},
    {"querying an event", [](Loser& its) { return its.done.query(); }},
    {"waiting for an event", [](Loser& its) { return its.done.try_synchronize(std::chrono::seconds(1)); }},
    {"creating events for it",
     [](Loser& its) {
       ze_device_handle_t device = native(its.context.device());
       return ZE_CALL(zeEventPoolCreate, native(its.context), &its.described_pool, 1, &device, &its.pool);
     }},
    {"creating a module",
     [](Loser& its) { return Module::try_build(its.context, module_file("basic"), {}, its.module); }},
};

PROCTOR_HELPER(call_lost_device) {
  Loser its;
  suite::answer({{"launched", true}});
  Status status = its.queue.try_launch(Kernel(its.module, "store_at"), groups_of(1, 1),
                                       arguments(std::uint64_t{0xdead0000}, 1u));
  if (status.ok()) status = its.queue.try_synchronize(kPatience);
  suite::answer({{"lost", status.device_lost()}});
  for (const LostCall& lost : kLostCalls) suite::answer({{"code", lost.call(its).name()}});
  _exit(0);  // The lost device needs no cleanup.
}

}  // namespace

PROCTOR_CHECK(LostDevice, DeviceStatusReportsLoss, "K47", "Level Zero specification, zeDeviceGetStatus",
              kWarn, {"state.report_lost_device_healthy"}) {
  step("given a second process whose kernel writes to an invalid address");
  Helper helper("store_out_of_bounds");
  helper.answer();
  const auto outcome = helper.try_answer();
  if (!outcome || outcome->at("status") != "ZE_RESULT_ERROR_DEVICE_LOST")
    suite::skip("needs:device_lost_code");
  expect_true(!outcome->at("device_ok").get<bool>(), "zeDeviceGetStatus reports the device as lost");
}

PROCTOR_CHECK(LostDevice, EveryCallReportsLoss, "K47",
              "Level Zero specification, ZE_RESULT_ERROR_DEVICE_LOST", kWarn,
              {"error.swallowed:api=zeCommandListCreate",
               "error.wrong_code:api=zeCommandListAppendBarrier,err=0x78000004"}) {
  step("given a second process whose kernel writes to an invalid address, and that continues");
  Helper helper("call_lost_device");
  helper.answer();
  const auto outcome = helper.try_answer();
  if (!outcome || !outcome->at("lost").get<bool>()) suite::skip("needs:device_lost_code");
  for (const LostCall& lost : kLostCalls) {
    step(std::string("then that process tries ") + lost.what);
    suite::expect_same(lost.what, "ZE_RESULT_ERROR_DEVICE_LOST",
                       helper.answer().at("code").get<std::string>());
  }
}

}  // namespace proctor::accel
