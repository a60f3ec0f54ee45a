// Checks of launches that exist only for Level Zero: a global offset, a group size that the kernel requires, and
// arguments that are set one by one.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "suites/accel/check_fixture.h"
#include "suites/accel/xpu/native.h"
#include "suites/kernels/ids.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

using suite::kGate;
using suite::kWarn;
using suite::step;

}  // namespace

PROCTOR_CHECK(Launch, GlobalOffsetShiftsIds, "K17", "Level Zero specification, zeKernelSetGlobalOffsetExp",
              kGate, {"kernel.offset_ignored"}) {
  expect_ids({.groups = {3, 2, 2}, .group = {4, 2, 1}, .offset = {100, 7, 3}});
}

// The offset applies "when a zeCommandListAppendLaunchKernel() variant is called".
PROCTOR_CHECK(Launch, GlobalOffsetShiftsCooperativeIds, "K17",
              "Level Zero specification, zeKernelSetGlobalOffsetExp", kGate,
              {"kernel.offset_ignored:api=zeCommandListAppendLaunchCooperativeKernel"}) {
  const auto context = leased();
  Kernel kernel(Module::load(context, "ids"), "ids");
  need(kernel.cooperative_groups(8) >= 12, "needs:cooperative_groups>=12");
  expect_ids({.groups = {3, 2, 2}, .group = {4, 2, 1}, .offset = {100, 7, 3}, .cooperative = true});
}

PROCTOR_CHECK(Launch, LinearIdsCountEveryDimension, "K17",
              "OpenCL C specification, get_global_linear_id; SPIR-V specification, GlobalLinearId", kGate,
              {"kernel.linear_id_wrong"}) {
  const auto context = leased();
  Queue queue(context);
  const Kernel kernel(Module::load(context, "ids"), "linear_ids");
  for (const Launch& launch : {Launch{.groups = {5, 1, 1}, .group = {7, 1, 1}, .offset = {9, 0, 0}},
                               Launch{.groups = {3, 5, 1}, .group = {4, 2, 1}, .offset = {1, 2, 0}},
                               Launch{.groups = {3, 2, 4}, .group = {2, 3, 2}, .offset = {5, 6, 7}},
                               Launch{.groups = {1, 1, 5}, .group = {1, 1, 3}}}) {
    const auto& [groups, group, offset, cooperative] = launch;
    const std::uint32_t in_group = group[0] * group[1] * group[2];
    const std::uint32_t items = groups[0] * groups[1] * groups[2] * in_group;
    step("given " + std::to_string(items) + " work-items, offset " + std::to_string(offset[0]));
    const Buffer out = device_copy(queue, context, std::vector<std::uint32_t>(2 * items));
    queue.launch(kernel, launch, arguments(out));
    queue.synchronize();
    std::vector<std::uint32_t> expected;
    for (std::uint32_t i = 0; i < items; ++i) {
      const std::uint32_t width = groups[0] * group[0], height = groups[1] * group[1];
      const std::uint32_t x = i % width, y = i / width % height, z = i / width / height;
      expected.push_back(i);
      expected.push_back(x % group[0] + group[0] * (y % group[1] + group[1] * (z % group[2])));
    }
    expect_words("global and local linear ids", expected, read_as<std::uint32_t>(queue, context, out),
                 context.device());
  }
}

PROCTOR_CHECK(Launch, OnlyRequiredGroupSizeIsAccepted, "K13",
              "Level Zero specification, zeKernelSetGroupSize", kWarn,
              {"error.swallowed:api=zeKernelSetGroupSize", "kernel.wrong_result:kernel=group_8_4_2,at=1"}) {
  const auto context = leased();
  Queue queue(context);
  const Module module = Module::load(context, "group_sizes");
  Kernel kernel(module, "group_8_4_2");
  ze_kernel_properties_t properties{};
  properties.stype = ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES;
  ZE_CALL(zeKernelGetProperties, native(kernel), &properties).or_throw();
  expect_words("the size that it requires", std::vector<std::uint32_t>{8, 4, 2},
               std::vector{properties.requiredGroupSizeX, properties.requiredGroupSizeY,
                           properties.requiredGroupSizeZ},
               context.device());
  const std::array<std::uint32_t, 3> others[] = {{8, 4, 1},  {4, 8, 2}, {2, 4, 8},
                                                 {64, 1, 1}, {1, 1, 1}, {16, 4, 2}};
  for (const auto& [x, y, z] : others) {
    step(fmt::format("given groups of {} x {} x {} for a kernel that requires 8 x 4 x 2", x, y, z));
    expect_status("ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION", kernel.try_group_size({x, y, z}));
  }
  step("given groups of the size that it requires");
  const auto out = device_copy(queue, context, std::vector<std::uint32_t>(3));
  queue.launch(kernel, {.groups = {3, 1, 1}, .group = {8, 4, 2}}, arguments(out));
  queue.synchronize();
  expect_words("the sizes that groups see", std::vector<std::uint32_t>(3, 20408),
               read_as<std::uint32_t>(queue, context, out), context.device());
}

PROCTOR_CHECK(KernelArgument, NullValueMeansNullPointer, "K16",
              "Level Zero specification, zeKernelSetArgumentValue, pArgValue", kGate,
              {"kernel.wrong_result:kernel=tell_null,at=0"}) {
  const auto context = leased();
  Queue queue(context);
  const Module module = Module::load(context, "arguments");
  Kernel kernel(module, "tell_null");
  const auto out = device_copy(queue, context, std::vector<std::uint32_t>(1));
  const void *const there = out.data(), *const null = nullptr;
  const struct {
    const char* what;
    const void* value;
    std::uint32_t expected;
  } rows[] = {{"no value", nullptr, 1},
              {"an address", &there, 2},
              {"no value again", nullptr, 1},
              {"a null pointer", &null, 1}};
  for (const auto& row : rows) {
    step(std::string("given ") + row.what + " for a pointer");
    kernel.try_argument(1, sizeof(void*), row.value).or_throw();
    queue.launch(kernel, groups_of(1, 1), arguments(out));
    queue.synchronize();
    expect_words("1 for null, 2 for an address", std::vector{row.expected},
                 read_as<std::uint32_t>(queue, context, out), context.device());
  }
}

PROCTOR_CHECK(KernelArgument, UnknownIndexIsRejected, "K16",
              "measured: Intel compute-runtime 26.27 refuses it", kWarn, {"error.swallowed"}) {
  const auto context = leased();
  const Module module = Module::load(context, "basic");
  Kernel kernel(module, "fill");
  const std::uint32_t value = 1;
  step("given argument 99 of 3");
  expect_refused("argument 99", kernel.try_argument(99, sizeof value, &value));
}

// A check that the group size that the driver suggests can be launched and does all of the work.

namespace {

using suite::expect_true;
using suite::kGate;
using suite::step;

constexpr const char* kGroupSize = "Level Zero specification, zeKernelSuggestGroupSize";
constexpr const char* kGroupCount = "Level Zero specification, zeKernelSuggestMaxCooperativeGroupCount";

std::uint32_t suggested_size(const Kernel& kernel, std::uint32_t n) {
  std::uint32_t x = 0, y = 0, z = 0;
  ZE_CALL(zeKernelSuggestGroupSize, native(kernel), n, 1, 1, &x, &y, &z).or_throw();
  return x;
}

}  // namespace

PROCTOR_CHECK(Occupancy, SuggestedGroupSizeRunsEveryItem, "K19", kGroupSize, kGate,
              {"kernel.skip_group", "kernel.run_twice"}) {
  const auto context = leased();
  const auto& properties = context.device().properties();
  Queue queue(context);
  const Module module = Module::load(context, "basic");
  const Kernel increment(module, "increment");
  for (const std::uint32_t n : {1u, 7u, 64u, 1000u, 4096u, 5040u}) {
    step("given " + std::to_string(n) + " work-items in groups of the suggested size");
    const std::uint32_t size = suggested_size(increment, n);
    expect_true(size > 0 && size <= properties.largest_group && size <= properties.group_limit[0],
                "the size is within the device's limits, it is " + std::to_string(size));
    if (size == 0) return;
    const auto words = device_copy(queue, context, std::vector<std::uint32_t>(n));
    queue.launch(increment, cover(n, size), arguments(words, n));
    queue.synchronize();
    expect_words("words, each to be incremented once", std::vector<std::uint32_t>(n, 1),
                 read_as<std::uint32_t>(queue, context, words), context.device());
  }
}

// If the driver reports that a number of groups can run at the same time, every group must see the arrival of all
// others.
PROCTOR_CHECK(Occupancy, SuggestedCooperativeGroupsRunConcurrently, "K19", kGroupCount, kGate,
              {"kernel.serialize_cooperative_groups"}) {
  const auto context = leased();
  Queue queue(context);
  const Module module = Module::load(context, "litmus");
  Kernel kernel(module, "grid_barrier");
  const std::uint32_t groups = kernel.cooperative_groups(8);
  need(groups > 0, "unsupported:cooperative_launch");
  const auto arrived = device_copy(queue, context, std::vector<std::uint32_t>(1));
  const auto out = device_copy(queue, context, std::vector<std::uint32_t>(groups));
  step("given a cooperative launch of " + std::to_string(groups) + " groups, as many as the driver suggests");
  queue.launch(kernel, {.groups = {groups, 1, 1}, .group = {8, 1, 1}, .cooperative = true},
               arguments(arrived, out, 2u, 20000u));
  queue.synchronize();
  expect_words("arrivals that each group saw in the end", std::vector<std::uint32_t>(groups, 2 * groups),
               read_as<std::uint32_t>(queue, context, out), context.device());
}

}  // namespace proctor::accel
