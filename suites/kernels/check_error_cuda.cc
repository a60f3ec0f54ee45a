// Errors as the CUDA Runtime keeps them: the last one of each thread, told once; and those after which
// nothing works any more, each in a process of its own.
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "suites/accel/check_fixture.h"
#include "suites/accel/cuda/native.h"
#include "suites/main/check.h"
#include "suites/main/helper.h"
#include "suites/main/observe.h"

namespace proctor::accel {
namespace {

using suite::expect_same;
using suite::expect_true;
using suite::Helper;
using suite::kGate;
using suite::kInfo;
using suite::step;

constexpr const char* kLast = "CUDA Runtime API, cudaGetLastError, cudaPeekAtLastError";
constexpr const char* kSticky =
    "CUDA Runtime API, cudaErrorIllegalAddress: any further CUDA work will return the same error";
constexpr const char* kConfiguration = "cudaErrorInvalidConfiguration";

Status last_error() { return CUDA_CALL(cudaGetLastError); }
Status peeked_error() { return CUDA_CALL(cudaPeekAtLastError); }

// A launch that is refused.
Status launch_nothing(Queue& queue, const Kernel& kernel, const Buffer& words) {
  return queue.try_launch(kernel, {.groups = {0, 1, 1}, .group = {1, 1, 1}}, arguments(words, 1u, 1u));
}

// What each of several calls says after a kernel has done something that breaks its context.
void answer_with_what_follows(Queue& queue, const Status& first) {
  std::vector<std::string> later;
  void* pointer = nullptr;
  cudaStream_t stream = nullptr;
  later.push_back(CUDA_CALL(cudaMalloc, &pointer, 64).name());
  later.push_back(CUDA_CALL(cudaStreamCreate, &stream).name());
  later.push_back(CUDA_CALL(cudaStreamSynchronize, native(queue)).name());
  later.push_back(CUDA_CALL(cudaDeviceSynchronize).name());
  later.push_back(last_error().name());
  later.push_back(last_error().name());
  suite::answer({{"first", first.name()}, {"later", later}});
  _exit(0);  // nothing that the driver still has is worth tidying up
}

PROCTOR_HELPER(break_by_address) {
  const auto context = leased();
  Queue queue(context);
  const Module module = Module::load(context, "hazard");
  Status status =
      queue.try_launch(Kernel(module, "store_at"), groups_of(1, 1), arguments(std::uint64_t{0xdead0000}, 1u));
  if (status.ok()) status = CUDA_CALL(cudaStreamSynchronize, native(queue));
  answer_with_what_follows(queue, status);
}

PROCTOR_HELPER(break_by_assertion) {
  const auto context = leased();
  Queue queue(context);
  const Module module = Module::load(context, "assertion");
  const auto value = device_copy(queue, context, std::vector<std::uint32_t>{7});
  Status status = queue.try_launch(Kernel(module, "assert_zero"), groups_of(1, 1), arguments(value));
  if (status.ok()) status = CUDA_CALL(cudaStreamSynchronize, native(queue));
  answer_with_what_follows(queue, status);
}

// The answers of a process whose kernel broke its context and which then resets its device: the reset's, and
// those of an allocation and a copy there and back.
PROCTOR_HELPER(break_and_reset) {
  const auto context = leased();
  Queue queue(context);
  const Module module = Module::load(context, "hazard");
  Status broken =
      queue.try_launch(Kernel(module, "store_at"), groups_of(1, 1), arguments(std::uint64_t{0xdead0000}, 1u));
  if (broken.ok()) broken = CUDA_CALL(cudaStreamSynchronize, native(queue));
  const Status reset = CUDA_CALL(cudaDeviceReset);
  const auto sent = noise(4096, 1);
  std::vector<std::byte> got(sent.size());
  void* memory = nullptr;
  const Status allocated = CUDA_CALL(cudaMalloc, &memory, sent.size());
  Status copied = CUDA_CALL(cudaMemcpy, memory, sent.data(), sent.size(), cudaMemcpyHostToDevice);
  if (copied.ok()) {
    copied = CUDA_CALL(cudaMemcpy, got.data(), memory, got.size(), cudaMemcpyDeviceToHost);
  }
  suite::answer({{"broken", broken.code()},
                 {"reset", reset.code()},
                 {"cudaMalloc", allocated.code()},
                 {"cudaMemcpy", copied.code()},
                 {"same", got == sent}});
  _exit(0);  // nothing that the driver still has is worth tidying up
}

// Resets a sound device, and tells whether memory and kernels work then.
PROCTOR_HELPER(reset_and_go_on) {
  const auto context = leased();
  void* before = nullptr;
  use(context.device());
  CUDA_CALL(cudaMalloc, &before, 4096).or_throw();
  const Status reset = CUDA_CALL(cudaDeviceReset);
  cudaPointerAttributes attributes{};
  CUDA_CALL(cudaPointerGetAttributes, &attributes, before).or_throw();
  Queue queue(context);
  const auto sent = noise(4096, 1);
  const auto buffer = device_copy(queue, context, sent);
  suite::answer({{"reset", reset.name()},
                 {"known", attributes.type != cudaMemoryTypeUnregistered && buffer.data() != before},
                 {"same", read_bytes(queue, context, buffer.data(), sent.size()) == sent}});
  suite::wait_for_input();
}

void expect_sticky(const std::string& helper, const std::vector<std::string>& codes) {
  Helper child(helper);
  const auto answer = child.answer();
  const auto first = answer.at("first").get<std::string>();
  expect_true(std::find(codes.begin(), codes.end(), first) != codes.end(),
              "the wait reports " + codes.front() + ", it reports " + first);
  for (const auto& later : answer.at("later")) {
    expect_same("every later call answers the same", first, later.get<std::string>());
  }
}

}  // namespace

PROCTOR_CHECK(Error, IsKeptUntilItIsTold, "M06", kLast, kGate,
              {"error.never_cleared", "state.sticky_error"}) {
  const auto context = leased();
  Queue queue(context);
  const Module module = Module::load(context, "basic");
  const Kernel kernel(module, "fill");
  const Buffer words = device_memory(context, 64);
  static_cast<void>(last_error());
  step("given a launch that is refused");
  expect_status(kConfiguration, launch_nothing(queue, kernel, words));
  queue.synchronize();  // a call that succeeds does not clear it
  expect_status(kConfiguration, peeked_error());
  expect_status(kConfiguration, peeked_error());
  expect_status(kConfiguration, last_error());
  expect_status(kSuccess, last_error());
}

PROCTOR_CHECK(Error, BelongsToItsThread, "M06", kLast, kGate, {"error.shared_by_threads"}) {
  const auto context = leased();
  Queue queue(context);
  const Module module = Module::load(context, "basic");
  const Kernel kernel(module, "fill");
  const Buffer words = device_memory(context, 64);
  static_cast<void>(last_error());
  step("given a launch that is refused, and another thread that asks for its last error");
  expect_status(kConfiguration, launch_nothing(queue, kernel, words));
  Status elsewhere;
  std::jthread([&] { elsewhere = last_error(); }).join();
  expect_status(kSuccess, elsewhere);
  expect_status(kConfiguration, last_error());
}

PROCTOR_CHECK(Error, NotReadyIsNoError, "K39", "CUDA Runtime API, cudaErrorNotReady: not actually an error",
              kGate, {"error.not_ready_kept"}) {
  const auto context = leased();
  Queue queue(context);
  Gate gate(context);
  static_cast<void>(last_error());
  step("given a query of a stream that is busy");
  gate.hold(queue);
  const Status busy = CUDA_CALL(cudaStreamQuery, native(queue));
  const Status kept = last_error();
  gate.open();
  queue.synchronize();
  expect_status(kNotReady, busy);
  expect_status(kSuccess, kept);
}

PROCTOR_CHECK(Sticky, IllegalAddressStays, "K47", kSticky, kGate, {"error.not_sticky"}) {
  step("given a second process whose kernel writes to nobody's memory");
  expect_sticky("break_by_address", {"cudaErrorIllegalAddress", "cudaErrorLaunchFailure"});
}

PROCTOR_CHECK(Sticky, FailedAssertionStays, "K46", "CUDA C++ Programming Guide, Assertion", kGate,
              {"error.not_sticky", "kernel.fault_swallowed"}) {
  step("given a second process whose kernel asserts what is not so");
  expect_sticky("break_by_assertion", {"cudaErrorAssert"});
}

PROCTOR_CHECK(Reset, FreesEverythingAndGoesOn, "K48", "CUDA Runtime API, cudaDeviceReset", kGate,
              {"state.reset_ignored"}) {
  step("given a second process that resets its device");
  Helper child("reset_and_go_on");
  const auto answer = child.answer();
  expect_same("the reset answers", kSuccess, answer.at("reset").get<std::string>());
  expect_true(!answer.at("known").get<bool>(), "memory from before is not known any more");
  expect_true(answer.at("same").get<bool>(), "new memory keeps its bytes");
}

// Documents disagree on whether a reset is enough or the process must end.
PROCTOR_CHECK(Reset, AfterAnIllegalAddressIsRecorded, "K48",
              "CUDA Runtime API, cudaDeviceReset and cudaErrorIllegalAddress, which disagree", kInfo,
              {"state.reset_ignored"}) {
  step("given a second process whose kernel writes to nobody's memory, and which then resets its device");
  Helper child("break_and_reset");
  const auto answer = child.answer();
  expect_true(answer.at("broken") != 0, "the wait for the kernel reports an error");
  for (const char* call : {"reset", "cudaMalloc", "cudaMemcpy"}) {
    suite::observe("cudaDeviceReset after an illegal address", call, answer.at(call), "cudaError_t");
    if (suite::on_simgpu()) expect_same(std::string(call) + " answers", "0", answer.at(call).dump());
  }
  // Whoever is told that the copies succeeded must have the bytes.
  if (answer.at("cudaMemcpy") == 0) {
    expect_true(answer.at("same").get<bool>(), "what was copied comes back");
  }
}

}  // namespace proctor::accel
