// The group size that the driver suggests can be launched, and does all of the work.
#include <algorithm>
#include <numeric>

#include "suites/accel/check_fixture.h"
#include "suites/accel/xpu/native.h"
#include "suites/main/check.h"

namespace proctor::accel {
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

PROCTOR_CHECK(Occupancy, SuggestedGroupSizeFits, "K19", kGroupSize, kGate,
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

// What is said to run at once does: every group sees all others arrive.
PROCTOR_CHECK(Occupancy, SuggestedGroupsRunAtOnce, "K19", kGroupCount, kGate,
              {"kernel.grid_barrier_broken"}) {
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
