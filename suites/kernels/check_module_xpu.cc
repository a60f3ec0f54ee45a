// Modules of SPIR-V: what is refused, and what the build decides. Calls that may end the process (a compiler
// that cannot read its input) are made in a second one (built_apart.h).
#include <cstdlib>

#include "suites/accel/check_fixture.h"
#include "suites/kernels/built_apart.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

using suite::expect_same;
using suite::expect_true;
using suite::kGate;
using suite::kWarn;
using suite::step;

constexpr const char* kCreate = "Level Zero specification, zeModuleCreate";

Build build_damaged(const std::string& how, WithLog log = WithLog::kNo) {
  step("given a module that is " + how);
  return build_apart("basic", how, log);
}

void expect_damage_is_refused(const std::string& how) {
  const Build build = build_damaged(how);
  expect_same("the end of the process after a module that is " + how, "", build.survived ? "" : build.end);
  expect_true(!build.ok, "a module that is " + how + " is refused");
}

std::vector<std::uint32_t> run_transform(const Context& context, const Module& module) {
  Queue queue(context);
  const Kernel kernel(module, "transform");
  const auto from = device_copy(queue, context, noise_words(500, 1));
  const Buffer to = device_memory(context, 2000);
  queue.launch(kernel, cover(500, 50), arguments(from, to, 9u, 500u));
  queue.synchronize();
  return read_as<std::uint32_t>(queue, context, to);
}

std::vector<std::uint64_t> run_specialised(const Context& context, const std::vector<Constant>& constants) {
  Queue queue(context);
  const Module module = Module::load(context, "constants", {.constants = constants});
  const auto out = device_copy(queue, context, std::vector<std::uint64_t>(3));
  queue.launch(Kernel(module, "specialised"), groups_of(1, 1), arguments(out));
  queue.synchronize();
  return read_as<std::uint64_t>(queue, context, out);
}

}  // namespace

PROCTOR_CHECK(Module, GarbageIsRefused, "K03", kCreate, kWarn,
              {"kernel.corrupt_accepted", "host.exit_on_bad_module"}) {
  expect_damage_is_refused("garbage");
}

PROCTOR_CHECK(Module, TruncatedIsRefused, "K03", kCreate, kWarn,
              {"kernel.corrupt_accepted", "host.exit_on_bad_module"}) {
  expect_damage_is_refused("truncated");
}

PROCTOR_CHECK(Module, UnknownInstructionIsRefused, "K03", kCreate, kWarn, {"kernel.corrupt_accepted"}) {
  expect_damage_is_refused("bad_opcode");
}

PROCTOR_CHECK(Module, BuildLogSaysWhy, "K05", "oneapi-src/level-zero-tests, test_module.cpp", kWarn,
              {"kernel.wrong_build_log", "state.sticky_error"}) {
  const Build build = build_damaged("garbage", WithLog::kYes);
  // A loader of that time that intercepts calls hands out a log that crashes its reader.
  const bool intercepted = std::getenv("ZE_ENABLE_LOADER_INTERCEPT") != nullptr;
  if (!build.survived && intercepted) suite::skip("unsupported:build_log_through_the_loader");
  expect_true(build.survived && !build.ok, "the module is refused");
  expect_true(!build.log.empty(), "the build log is not empty");
}

PROCTOR_CHECK(Module, NativeImageComputesTheSame, "K09", "Level Zero specification, zeModuleGetNativeBinary",
              kGate, {"kernel.native_binary_wrong"}) {
  const auto context = leased();
  Queue queue(context);
  const Module first = Module::load(context, "basic");
  step("given a module made from the native image of another");
  const Module second(context, first.native_image(), {.image = Image::kNative});
  expect_words("what its kernel transform computes", run_transform(context, first),
               run_transform(context, second), context.device());
  const auto out = device_copy(queue, context, std::vector<std::uint32_t>(100));
  queue.launch(Kernel(second, "fill"), cover(100, 50), arguments(out, 7u, 100u));
  queue.synchronize();
  expect_words("what its kernel fill computes", std::vector<std::uint32_t>(100, 7),
               read_as<std::uint32_t>(queue, context, out), context.device());
}

PROCTOR_CHECK(Constants, DefaultsHoldWithoutValues, "K10", "SPIR-V specification, OpSpecConstant", kGate,
              {"kernel.wrong_result:at=0", "kernel.skip", "kernel.build_fail"}) {
  const auto context = leased();
  step("given no values");
  expect_longs("constants", std::vector<std::uint64_t>{10, 20, 0x3fc00000}, run_specialised(context, {}),
               context.device());
}

PROCTOR_CHECK(Constants, ValuesAreApplied, "K10", "Level Zero specification, ze_module_constants_t", kGate,
              {"kernel.spec_constant_ignored"}) {
  const auto context = leased();
  step("given values for three constants");
  const std::uint64_t wide = 0x123456789abcdef0;
  expect_longs("constants", std::vector<std::uint64_t>{77, wide, 0x40490fdb},
               run_specialised(context, {{0, 77, 4}, {1, wide, 8}, {2, 0x40490fdb, 4}}), context.device());
  step("given a value for one of them");
  expect_longs("constants", std::vector<std::uint64_t>{10, 21, 0x3fc00000},
               run_specialised(context, {{1, 21, 8}}), context.device());
}

}  // namespace proctor::accel
