// Checks of the error codes of Level Zero for bad arguments of calls about modules, kernels, queues and events,
// under the loader's validation layer.
#include "suites/accel/xpu/refusal.h"
#include "suites/main/check.h"
#include "suites/main/helper.h"

namespace proctor::accel {
namespace {

constexpr ze_group_count_t kOneGroup = {1, 1, 1};
constexpr std::uint8_t kNoModule[4] = {};

ze_context_handle_t context_of(const Victim& victim) { return native(victim.context); }

template <typename Description>
Description described(ze_structure_type_t type) {
  Description description{};
  description.stype = type;
  return description;
}

ze_module_desc_t module_description() {
  auto description = described<ze_module_desc_t>(ZE_STRUCTURE_TYPE_MODULE_DESC);
  description.format = ZE_MODULE_FORMAT_IL_SPIRV;
  description.inputSize = sizeof kNoModule;
  description.pInputModule = kNoModule;
  return description;
}

Status create_module(Victim& victim, const ze_module_desc_t& description) {
  ze_module_handle_t made = nullptr;
  return ZE_CALL(zeModuleCreate, context_of(victim), victim.device, &description, &made, nullptr);
}

Status create_kernel(Victim& victim, const char* name, std::uint32_t flags) {
  auto description = described<ze_kernel_desc_t>(ZE_STRUCTURE_TYPE_KERNEL_DESC);
  description.flags = flags;
  description.pKernelName = name;
  ze_kernel_handle_t made = nullptr;
  return ZE_CALL(zeKernelCreate, native(victim.module), &description, &made);
}

ze_command_queue_desc_t queue_description() {
  return described<ze_command_queue_desc_t>(ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC);
}

Status create_queue(Victim& victim, const ze_command_queue_desc_t& description) {
  ze_command_queue_handle_t made = nullptr;
  return ZE_CALL(zeCommandQueueCreate, context_of(victim), victim.device, &description, &made);
}

Status create_events(Victim& victim, std::uint32_t count, std::uint32_t flags) {
  auto description = described<ze_event_pool_desc_t>(ZE_STRUCTURE_TYPE_EVENT_POOL_DESC);
  description.count = count;
  description.flags = flags;
  ze_event_pool_handle_t made = nullptr;
  return ZE_CALL(zeEventPoolCreate, context_of(victim), &description, 0, nullptr, &made);
}

Status create_event(Victim& victim, std::uint32_t signal) {
  auto description = described<ze_event_desc_t>(ZE_STRUCTURE_TYPE_EVENT_DESC);
  description.signal = signal;
  ze_event_handle_t made = nullptr;
  return ZE_CALL(zeEventCreate, victim.event.impl().pool, &description, &made);
}

// Bad calls and their codes, which the specification lists under each function. Each row is one call with one bad
// argument.
constexpr BadCall kBadCalls[] = {
    {"zeModuleCreate", "the description is null", kNullPointer,
     [](Victim& v) {
       ze_module_handle_t made = nullptr;
       return ZE_CALL(zeModuleCreate, context_of(v), v.device, nullptr, &made, nullptr);
     }},
    {"zeModuleCreate", "the context is null", kNullHandle,
     [](Victim& v) {
       ze_module_handle_t made = nullptr;
       const auto description = module_description();
       return ZE_CALL(zeModuleCreate, nullptr, v.device, &description, &made, nullptr);
     }},
    {"zeModuleCreate", "the place for the handle is null", kNullPointer,
     [](Victim& v) {
       const auto description = module_description();
       return ZE_CALL(zeModuleCreate, context_of(v), v.device, &description, nullptr, nullptr);
     }},
    {"zeModuleCreate", "the image is null", kNullPointer,
     [](Victim& v) {
       auto description = module_description();
       description.pInputModule = nullptr;
       return create_module(v, description);
     }},
    {"zeModuleCreate", "the format does not exist", kEnumeration,
     [](Victim& v) {
       auto description = module_description();
       description.format = static_cast<ze_module_format_t>(99);
       return create_module(v, description);
     }},
    {"zeModuleDestroy", "the module is null", kNullHandle,
     [](Victim&) { return ZE_CALL(zeModuleDestroy, nullptr); }},
    {"zeModuleGetKernelNames", "the place for the count is null", kNullPointer,
     [](Victim& v) { return ZE_CALL(zeModuleGetKernelNames, native(v.module), nullptr, nullptr); }},
    {"zeModuleGetNativeBinary", "the place for the size is null", kNullPointer,
     [](Victim& v) { return ZE_CALL(zeModuleGetNativeBinary, native(v.module), nullptr, nullptr); }},
    {"zeModuleGetGlobalPointer", "the name is null", kNullPointer,
     [](Victim& v) {
       return ZE_CALL(zeModuleGetGlobalPointer, native(v.module), nullptr, &v.size, &v.pointer);
     }},

    {"zeKernelCreate", "the module is null", kNullHandle,
     [](Victim&) {
       const auto description = described<ze_kernel_desc_t>(ZE_STRUCTURE_TYPE_KERNEL_DESC);
       ze_kernel_handle_t made = nullptr;
       return ZE_CALL(zeKernelCreate, nullptr, &description, &made);
     }},
    {"zeKernelCreate", "the name is null", kNullPointer,
     [](Victim& v) { return create_kernel(v, nullptr, 0); }},
    {"zeKernelCreate", "a flag does not exist", kEnumeration,
     [](Victim& v) { return create_kernel(v, "fill", kNoSuchFlag); }},
    {"zeKernelSetGroupSize", "the kernel is null", kNullHandle,
     [](Victim&) { return ZE_CALL(zeKernelSetGroupSize, nullptr, 1, 1, 1); }},
    {"zeKernelSetArgumentValue", "the kernel is null", kNullHandle,
     [](Victim&) { return ZE_CALL(zeKernelSetArgumentValue, nullptr, 0, 8, nullptr); }},
    {"zeKernelSetIndirectAccess", "a flag does not exist", kEnumeration,
     [](Victim& v) { return ZE_CALL(zeKernelSetIndirectAccess, native(v.kernel), kNoSuchFlag); }},
    {"zeKernelGetProperties", "the place for the properties is null", kNullPointer,
     [](Victim& v) { return ZE_CALL(zeKernelGetProperties, native(v.kernel), nullptr); }},
    {"zeKernelSuggestGroupSize", "a place for the answer is null", kNullPointer,
     [](Victim& v) {
       std::uint32_t x = 0, y = 0;
       return ZE_CALL(zeKernelSuggestGroupSize, native(v.kernel), 64, 1, 1, &x, &y, nullptr);
     }},
    {"zeKernelSuggestMaxCooperativeGroupCount", "the place for the count is null", kNullPointer,
     [](Victim& v) { return ZE_CALL(zeKernelSuggestMaxCooperativeGroupCount, native(v.kernel), nullptr); }},

    {"zeCommandQueueCreate", "the device is null", kNullHandle,
     [](Victim& v) {
       const auto description = queue_description();
       ze_command_queue_handle_t made = nullptr;
       return ZE_CALL(zeCommandQueueCreate, context_of(v), nullptr, &description, &made);
     }},
    {"zeCommandQueueCreate", "a flag does not exist", kEnumeration,
     [](Victim& v) {
       auto description = queue_description();
       description.flags = kNoSuchFlag;
       return create_queue(v, description);
     }},
    {"zeCommandQueueCreate", "the mode does not exist", kEnumeration,
     [](Victim& v) {
       auto description = queue_description();
       description.mode = static_cast<ze_command_queue_mode_t>(99);
       return create_queue(v, description);
     }},
    {"zeCommandQueueCreate", "the priority does not exist", kEnumeration,
     [](Victim& v) {
       auto description = queue_description();
       description.priority = static_cast<ze_command_queue_priority_t>(99);
       return create_queue(v, description);
     }},
    {"zeCommandQueueExecuteCommandLists", "the lists are at null", kNullPointer,
     [](Victim& v) {
       const Queue queue(v.context);
       return ZE_CALL(zeCommandQueueExecuteCommandLists, native(queue), 1, nullptr, nullptr);
     }},
    {"zeCommandQueueExecuteCommandLists", "there are 0 lists", kInvalidSize,
     [](Victim& v) {
       const Queue queue(v.context);
       return ZE_CALL(zeCommandQueueExecuteCommandLists, native(queue), 0, &v.list, nullptr);
     }},
    {"zeCommandQueueSynchronize", "the queue is null", kNullHandle,
     [](Victim&) { return ZE_CALL(zeCommandQueueSynchronize, nullptr, 0); }},
    {"zeCommandListCreate", "a flag does not exist", kEnumeration,
     [](Victim& v) {
       auto description = described<ze_command_list_desc_t>(ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC);
       description.flags = kNoSuchFlag;
       ze_command_list_handle_t made = nullptr;
       return ZE_CALL(zeCommandListCreate, context_of(v), v.device, &description, &made);
     }},
    {"zeCommandListClose", "the list is null", kNullHandle,
     [](Victim&) { return ZE_CALL(zeCommandListClose, nullptr); }},
    {"zeCommandListAppendLaunchKernel", "the kernel is null", kNullHandle,
     [](Victim& v) {
       return ZE_CALL(zeCommandListAppendLaunchKernel, v.list, nullptr, &kOneGroup, nullptr, 0, nullptr);
     }},
    {"zeCommandListAppendLaunchKernel", "the number of groups is at null", kNullPointer,
     [](Victim& v) {
       return ZE_CALL(zeCommandListAppendLaunchKernel, v.list, native(v.kernel), nullptr, nullptr, 0,
                      nullptr);
     }},
    {"zeCommandListAppendLaunchKernel", "the list of one event to wait for is null", kInvalidSize,
     [](Victim& v) {
       return ZE_CALL(zeCommandListAppendLaunchKernel, v.list, native(v.kernel), &kOneGroup, nullptr, 1,
                      nullptr);
     }},
    {"zeCommandListAppendBarrier", "the list of one event to wait for is null", kInvalidSize,
     [](Victim& v) { return ZE_CALL(zeCommandListAppendBarrier, v.list, nullptr, 1, nullptr); }},
    {"zeCommandListAppendWaitOnEvents", "the events are at null", kNullPointer,
     [](Victim& v) { return ZE_CALL(zeCommandListAppendWaitOnEvents, v.list, 1, nullptr); }},
    {"zeCommandListAppendSignalEvent", "the event is null", kNullHandle,
     [](Victim& v) { return ZE_CALL(zeCommandListAppendSignalEvent, v.list, nullptr); }},

    {"zeEventPoolCreate", "the count is 0", kInvalidSize, [](Victim& v) { return create_events(v, 0, 0); }},
    {"zeEventPoolCreate", "a flag does not exist", kEnumeration,
     [](Victim& v) { return create_events(v, 1, kNoSuchFlag); }},
    {"zeEventCreate", "a scope of the signal does not exist", kEnumeration,
     [](Victim& v) { return create_event(v, kNoSuchFlag); }},
    {"zeEventHostSynchronize", "the event is null", kNullHandle,
     [](Victim&) { return ZE_CALL(zeEventHostSynchronize, nullptr, 0); }},
    {"zeEventQueryStatus", "the event is null", kNullHandle,
     [](Victim&) { return ZE_CALL(zeEventQueryStatus, nullptr); }},
    {"zeEventHostSignal", "the event is null", kNullHandle,
     [](Victim&) { return ZE_CALL(zeEventHostSignal, nullptr); }},
    {"zeEventQueryKernelTimestamp", "the place for the times is null", kNullPointer,
     [](Victim& v) { return ZE_CALL(zeEventQueryKernelTimestamp, native(v.event), nullptr); }},
    {"zeFenceCreate", "the queue is null", kNullHandle,
     [](Victim&) {
       const auto description = described<ze_fence_desc_t>(ZE_STRUCTURE_TYPE_FENCE_DESC);
       ze_fence_handle_t made = nullptr;
       return ZE_CALL(zeFenceCreate, nullptr, &description, &made);
     }},
    {"zeFenceHostSynchronize", "the fence is null", kNullHandle,
     [](Victim&) { return ZE_CALL(zeFenceHostSynchronize, nullptr, 0); }},

    {"zeDeviceGetProperties", "the place for the properties is null", kNullPointer,
     [](Victim& v) { return ZE_CALL(zeDeviceGetProperties, v.device, nullptr); }},
    {"zeDeviceGetComputeProperties", "the device is null", kNullHandle,
     [](Victim&) {
       auto properties =
           described<ze_device_compute_properties_t>(ZE_STRUCTURE_TYPE_DEVICE_COMPUTE_PROPERTIES);
       return ZE_CALL(zeDeviceGetComputeProperties, nullptr, &properties);
     }},
    {"zeDeviceCanAccessPeer", "the place for the answer is null", kNullPointer,
     [](Victim& v) { return ZE_CALL(zeDeviceCanAccessPeer, v.device, v.device, nullptr); }},
    {"zeDeviceGetSubDevices", "the place for the count is null", kNullPointer,
     [](Victim& v) { return ZE_CALL(zeDeviceGetSubDevices, v.device, nullptr, nullptr); }},
};

PROCTOR_HELPER(bad_kernel_call) { make_bad_calls(kBadCalls, words); }

}  // namespace

PROCTOR_CHECK_EACH(functions_of(kBadCalls), InvalidArgument, CallReturnsDocumentedError, "B.0",
                   "Level Zero specification, return values of each function; validation layer", suite::kGate,
                   {"memory.corrupt_copy:at=17,times=1", "copy.skip"}) {
  expect_refusals(kBadCalls, "bad_kernel_call");
}

}  // namespace proctor::accel
