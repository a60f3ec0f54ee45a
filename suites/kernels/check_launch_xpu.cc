// What only a launch of Level Zero has: a global offset, and arguments that are set one by one.
#include "suites/accel/check_fixture.h"
#include "suites/kernels/ids.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

using suite::kGate;
using suite::kWarn;
using suite::step;

}  // namespace

PROCTOR_CHECK(Launch, OffsetsAreAdded, "K17", "Level Zero specification, zeKernelSetGlobalOffsetExp", kGate,
              {"kernel.offset_ignored"}) {
  expect_ids({.groups = {3, 2, 2}, .group = {4, 2, 1}, .offset = {100, 7, 3}});
}

PROCTOR_CHECK(Arguments, UnknownIndexIsRefused, "K16", "measured: Intel compute-runtime 26.27 refuses it",
              kWarn, {"error.swallowed"}) {
  const auto context = leased();
  const Module module = Module::load(context, "basic");
  Kernel kernel(module, "fill");
  const std::uint32_t value = 1;
  step("given argument 99 of 3");
  expect_refused("argument 99", kernel.try_argument(99, sizeof value, &value));
}

}  // namespace proctor::accel
