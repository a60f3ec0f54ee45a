// Checks of the errors that the CUDA Runtime keeps. The last error of each thread is returned once. After a sticky
// error, no call works. Each such error is caused in a separate process.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "suites/accel/check_fixture.h"
#include "suites/accel/cuda/native.h"
#include "suites/accel/cuda/refusal.h"
#include "suites/accel/cuda/stream_latch.h"
#include "suites/main/check.h"
#include "suites/main/helper.h"

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

Status last_error() { return CUDA_CALL(cudaGetLastError); }
Status peeked_error() { return CUDA_CALL(cudaPeekAtLastError); }

// Makes a launch that must be refused, and returns the error code. Drivers differ in this code.
std::string refused_launch(Queue& queue, const Kernel& kernel, const Buffer& words) {
  const Status refusal =
      queue.try_launch(kernel, {.groups = {0, 1, 1}, .group = {1, 1, 1}}, arguments(words, 1u, 1u));
  expect_refused("a launch of no groups", refusal);
  return refusal.name();
}

// Sends the results of several calls after a kernel has broken its context. Calls that submit work are separate
// from calls that only query.
void answer_with_what_follows(Queue& queue, const Event& event, const Status& first) {
  std::vector<std::string> work, reported;
  void* pointer = nullptr;
  cudaStream_t stream = nullptr;
  float milliseconds = 0;
  reported.push_back(peeked_error().name());
  reported.push_back(CUDA_CALL(cudaStreamQuery, native(queue)).name());
  reported.push_back(CUDA_CALL(cudaEventQuery, native(event)).name());
  reported.push_back(CUDA_CALL(cudaEventSynchronize, native(event)).name());
  reported.push_back(CUDA_CALL(cudaEventElapsedTime, &milliseconds, native(event), native(event)).name());
  reported.push_back(CUDA_CALL(cudaStreamCreate, &stream).name());
  work.push_back(CUDA_CALL(cudaEventRecord, native(event), native(queue)).name());
  work.push_back(CUDA_CALL(cudaMalloc, &pointer, 64).name());
  work.push_back(CUDA_CALL(cudaStreamSynchronize, native(queue)).name());
  work.push_back(CUDA_CALL(cudaDeviceSynchronize).name());
  // Driver 580.159.04 returns the error once, and again after the next call.
  reported.push_back(last_error().name());
  suite::answer({{"first", first.name()}, {"later", work}, {"told", reported}});
  _exit(0);  // The broken context needs no cleanup.
}

PROCTOR_HELPER(break_by_address) {
  const auto context = leased();
  Queue queue(context);
  const Event event(context);
  CUDA_CALL(cudaEventRecord, native(event), native(queue)).or_throw();
  queue.synchronize();
  const Module module = Module::load(context, "hazard");
  Status status =
      queue.try_launch(Kernel(module, "store_at"), groups_of(1, 1), arguments(std::uint64_t{0xdead0000}, 1u));
  if (status.ok()) status = CUDA_CALL(cudaStreamSynchronize, native(queue));
  answer_with_what_follows(queue, event, status);
}

// Sends the results of calls that allocate, copy and query after an illegal address. The arguments of each call
// were valid before it.
PROCTOR_HELPER(ask_after_an_illegal_address) {
  const auto context = leased();
  Queue queue(context);
  const Module module = Module::load(context, "hazard");
  const Kernel kernel(module, "store_at");
  const Buffer memory = device_memory(context, 64), host = host_memory(context, 64);
  alignas(4096) static std::byte page[4096];
  void* pointer = nullptr;
  std::size_t size = 0, total = 0;
  unsigned flags = 0;
  cudaIpcMemHandle_t handle{};
  cudaFuncAttributes attributes{};
  Status broken = queue.try_launch(kernel, groups_of(1, 1), arguments(std::uint64_t{0xdead0000}, 1u));
  if (broken.ok()) broken = CUDA_CALL(cudaStreamSynchronize, native(queue));
  const Status later[] = {
      CUDA_CALL(cudaMemcpy, host.data(), memory.data(), 64, cudaMemcpyDefault),
      CUDA_CALL(cudaMemset, memory.data(), 0, 64),
      CUDA_CALL(cudaMemGetInfo, &size, &total),
      CUDA_CALL(cudaMallocManaged, &pointer, 64, cudaMemAttachGlobal),
      CUDA_CALL(cudaMallocAsync, &pointer, 64, native(queue)),
      CUDA_CALL(cudaHostAlloc, &pointer, 64, cudaHostAllocDefault),
      CUDA_CALL(cudaHostRegister, page, sizeof page, cudaHostRegisterDefault),
      CUDA_CALL(cudaHostGetDevicePointer, &pointer, host.data(), 0),
      CUDA_CALL(cudaHostGetFlags, &flags, host.data()),
      CUDA_CALL(cudaIpcGetMemHandle, &handle, memory.data()),
      CUDA_CALL(cudaFuncGetAttributes, &attributes, native(kernel)),
      CUDA_CALL(cudaFree, memory.data()),
      CUDA_CALL(cudaFreeHost, host.data()),
  };
  auto answers = nlohmann::json::object();
  for (const Status& status : later) answers[status.call()] = status.name();
  suite::answer({{"broken", broken.name()}, {"later", answers}});
  _exit(0);  // The broken context needs no cleanup.
}

PROCTOR_HELPER(break_by_assertion) {
  const auto context = leased();
  Queue queue(context);
  const Event event(context);
  CUDA_CALL(cudaEventRecord, native(event), native(queue)).or_throw();
  queue.synchronize();
  const Module module = Module::load(context, "assertion");
  const auto value = device_copy(queue, context, std::vector<std::uint32_t>{7});
  Status status = queue.try_launch(Kernel(module, "assert_zero"), groups_of(1, 1), arguments(value));
  if (status.ok()) status = CUDA_CALL(cudaStreamSynchronize, native(queue));
  answer_with_what_follows(queue, event, status);
}

// Sends the result of the wait during which a kernel broke its context, and with the result of the next call.
PROCTOR_HELPER(break_in_a_wait) {
  const auto context = leased();
  use(context.device());
  const Event event(context);
  const Buffer memory = host_memory(context, 64);
  const Module module = Module::load(context, "hazard");
  const Kernel store(module, "store_at");
  const StreamLatch latch(context);
  latch.hold(cudaStreamLegacy);
  launch(store, cudaStreamLegacy, 1, 1, std::uint64_t{0xdead0000}, 1u);
  CUDA_CALL(cudaEventRecord, native(event), cudaStreamLegacy).or_throw();
  const Later later(latch);
  const std::string& wait = words.at(0);
  const Status first =
      wait == "cudaDeviceSynchronize"   ? CUDA_CALL(cudaDeviceSynchronize)
      : wait == "cudaStreamSynchronize" ? CUDA_CALL(cudaStreamSynchronize, cudaStreamLegacy)
      : wait == "cudaEventSynchronize"
          ? CUDA_CALL(cudaEventSynchronize, native(event))
          : CUDA_CALL(cudaMemcpy, memory.data(), memory.data() + 32, 32, cudaMemcpyHostToHost);
  suite::answer({{"first", first.name()}, {"later", {CUDA_CALL(cudaDeviceSynchronize).name()}}});
  _exit(0);  // The broken context needs no cleanup.
}

// Breaks the context, then resets the device. Sends the results of the reset, of an allocation, and of a copy to
// the device and back.
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
  _exit(0);  // The broken context needs no cleanup.
}

// Sends the errors in a process whose first call is refused before the runtime looks for devices.
PROCTOR_HELPER(err_before_devices) {
  std::vector<std::string> reported = {peeked_error().name(), last_error().name()};
  reported.push_back(CUDA_CALL(cudaRuntimeGetVersion, nullptr).name());
  for (const auto& ask : {peeked_error, peeked_error, last_error, last_error, peeked_error})
    reported.push_back(ask().name());
  suite::answer({{"told", reported}});
}

// Resources of one device: pool, stream, event, memory. The test of a reset compares them before and after it.
struct Belongings {
  explicit Belongings(const Device& device) : context(device), ordinal(native(device)) {
    use(device);
    CUDA_CALL(cudaDeviceGetDefaultMemPool, &usual_pool, ordinal).or_throw();
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    properties.location.id = ordinal;
    CUDA_CALL(cudaMemPoolCreate, &pool, &properties).or_throw();
    CUDA_CALL(cudaDeviceSetMemPool, ordinal, pool).or_throw();
    CUDA_CALL(cudaStreamCreate, &stream).or_throw();
    CUDA_CALL(cudaEventCreate, &event).or_throw();
    CUDA_CALL(cudaMalloc, &memory, kBytes).or_throw();
    CUDA_CALL(cudaMallocHost, &host, kBytes).or_throw();
    CUDA_CALL(cudaHostRegister, page, kBytes, cudaHostRegisterDefault).or_throw();
    for (const cudaStream_t each : {stream, cudaStreamLegacy, cudaStreamPerThread}) {
      CUDA_CALL(cudaMemsetAsync, memory, 0x5a, kBytes, each).or_throw();
      CUDA_CALL(cudaStreamSynchronize, each).or_throw();
    }
  }
  // Uses each resource. Returns the first one that does not work, with its error, or "".
  std::string problem() const {
    use(context.device());
    std::vector<std::byte> got(kBytes);
    void* more = nullptr;
    const std::pair<const char*, Status> calls[] = {
        {"stream", CUDA_CALL(cudaMemcpyAsync, got.data(), memory, kBytes, cudaMemcpyDefault, stream)},
        {"event", CUDA_CALL(cudaEventRecord, event, stream)},
        {"wait", CUDA_CALL(cudaStreamSynchronize, stream)},
        {"pool", CUDA_CALL(cudaMallocFromPoolAsync, &more, 4096, pool, stream)},
        {"free", CUDA_CALL(cudaFreeAsync, more, stream)},
        {"thread", CUDA_CALL(cudaMemsetAsync, memory, 0x5a, kBytes, cudaStreamPerThread)},
    };
    for (const auto& [what, status] : calls)
      if (!status.ok()) return std::string(what) + ": " + status.name();
    if (got != std::vector<std::byte>(kBytes, std::byte{0x5a})) return "bytes";
    return knows(memory) && knows(host) && knows(page) ? "" : "addresses";
  }
  static bool knows(const void* address) {
    cudaPointerAttributes attributes{};
    CUDA_CALL(cudaPointerGetAttributes, &attributes, address).or_throw();
    return attributes.type != cudaMemoryTypeUnregistered;
  }

  static constexpr std::size_t kBytes = 4096;
  Context context;
  int ordinal;
  cudaMemPool_t usual_pool = nullptr, pool = nullptr;
  cudaStream_t stream = nullptr;
  cudaEvent_t event = nullptr;
  void* memory = nullptr;
  void* host = nullptr;
  alignas(kBytes) std::byte page[kBytes] = {};  // registered
};

// True if a copy to the device and back in this stream returns the same bytes.
bool works(cudaStream_t stream) {
  void* memory = nullptr;
  CUDA_CALL(cudaMalloc, &memory, 4096).or_throw();
  const auto sent = noise(4096, 3);
  std::vector<std::byte> got(4096);
  CUDA_CALL(cudaMemcpyAsync, memory, sent.data(), 4096, cudaMemcpyDefault, stream).or_throw();
  CUDA_CALL(cudaMemcpyAsync, got.data(), memory, 4096, cudaMemcpyDefault, stream).or_throw();
  CUDA_CALL(cudaStreamSynchronize, stream).or_throw();
  CUDA_CALL(cudaFree, memory).or_throw();
  return got == sent;
}

nlohmann::json settings(int ordinal) {
  unsigned flags = 0;
  std::size_t stack = 0;
  cudaMemPool_t pool = nullptr, usual = nullptr;
  std::uint64_t threshold = 99;
  CUDA_CALL(cudaGetDeviceFlags, &flags).or_throw();
  CUDA_CALL(cudaDeviceGetLimit, &stack, cudaLimitStackSize).or_throw();
  CUDA_CALL(cudaDeviceGetMemPool, &pool, ordinal).or_throw();
  CUDA_CALL(cudaDeviceGetDefaultMemPool, &usual, ordinal).or_throw();
  CUDA_CALL(cudaMemPoolGetAttribute, usual, cudaMemPoolAttrReleaseThreshold, &threshold).or_throw();
  return {{"flags", flags}, {"stack", stack}, {"usual_pool", pool == usual}, {"threshold", threshold}};
}

// Resets the first of two devices while both are in use and a kernel runs on the first. The kernel ends by itself.
PROCTOR_HELPER(reset_one_of_two) {
  const auto devices = leased_devices(2);
  use(devices[0]);
  const auto settings_before = settings(0);
  const Belongings mine(devices[0]), others(devices[1]);
  use(devices[0]);
  CUDA_CALL(cudaSetDeviceFlags, cudaDeviceScheduleSpin).or_throw();
  CUDA_CALL(cudaDeviceSetLimit, cudaLimitStackSize, 8192).or_throw();
  std::uint64_t all = UINT64_MAX;
  CUDA_CALL(cudaMemPoolSetAttribute, mine.usual_pool, cudaMemPoolAttrReleaseThreshold, &all).or_throw();
  static_cast<void>(cudaDeviceEnablePeerAccess(1, 0));
  const Module module = Module::load(mine.context, "litmus");
  constexpr std::uint64_t kStyles = 100'000;
  launch(Kernel(module, "gate"), mine.stream, 1, 1, static_cast<std::byte*>(mine.host),
         static_cast<std::byte*>(mine.host) + 64, kStyles);
  nlohmann::json answer = {{"reset", CUDA_CALL(cudaDeviceReset).name()}};
  answer["known"] =
      Belongings::knows(mine.memory) || Belongings::knows(mine.host) || Belongings::knows(mine.page);
  answer["settings"] = settings(0) == settings_before;
  answer["peer"] = CUDA_CALL(cudaDeviceDisablePeerAccess, 1).name();
  cudaStream_t made = nullptr;
  CUDA_CALL(cudaStreamCreate, &made).or_throw();
  answer["works"] = {works(made), works(cudaStreamLegacy), works(cudaStreamPerThread)};
  answer["others"] = others.problem();
  suite::answer(answer);
  _exit(0);  // The reset has already destroyed most of what cleanup would destroy.
}

// Resets a device that works, and sends whether memory and kernels work after the reset.
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

void expect_sticky(const std::string& helper, const std::vector<std::string>& codes,
                   const std::vector<std::string>& words = {}) {
  Helper child(helper, words);
  const auto answer = child.answer();
  const auto first = answer.at("first").get<std::string>();
  expect_true(std::find(codes.begin(), codes.end(), first) != codes.end(),
              "the wait reports " + codes.front() + ", got " + first);
  for (const auto& later : answer.at("later")) {
    expect_same("the result of every later call", first, later.get<std::string>());
  }
}

}  // namespace

PROCTOR_CHECK(LastError, ErrorIsKeptUntilRead, "M06", kLast, kGate,
              {"error.never_cleared", "state.sticky_error"}) {
  const auto context = leased();
  Queue queue(context);
  const Module module = Module::load(context, "basic");
  const Kernel kernel(module, "fill");
  const Buffer words = device_memory(context, 64);
  static_cast<void>(last_error());
  step("given a launch that is refused");
  const std::string refusal = refused_launch(queue, kernel, words);
  queue.synchronize();  // A successful call does not clear the error.
  expect_status(refusal, peeked_error());
  expect_status(refusal, peeked_error());
  expect_status(refusal, last_error());
  expect_status(kSuccess, last_error());
}

PROCTOR_CHECK(LastError, EveryThreadHasOwnError, "M06", kLast, kGate,
              {"error.share_last_error_between_threads"}) {
  const auto context = leased();
  Queue queue(context);
  const Module module = Module::load(context, "basic");
  const Kernel kernel(module, "fill");
  const Buffer words = device_memory(context, 64);
  static_cast<void>(last_error());
  step("given a launch that is refused, and another thread that queries its last error");
  const std::string refusal = refused_launch(queue, kernel, words);
  Status elsewhere;
  std::jthread([&] { elsewhere = last_error(); }).join();
  expect_status(kSuccess, elsewhere);
  expect_status(refusal, last_error());
}

PROCTOR_CHECK(LastError, NotReadyIsNotRecorded, "K39",
              "CUDA Runtime API, cudaErrorNotReady: not actually an error", kGate,
              {"error.record_not_ready"}) {
  const auto context = leased();
  Queue queue(context);
  Latch latch(context);
  static_cast<void>(last_error());
  step("given a query of a stream that is busy");
  latch.hold(queue);
  const Status busy = CUDA_CALL(cudaStreamQuery, native(queue));
  const Status kept = last_error();
  latch.open();
  queue.synchronize();
  expect_status(kNotReady, busy);
  expect_status(kSuccess, kept);
}

PROCTOR_CHECK(StickyError, IllegalAddressPersists, "K47", kSticky, kGate, {"error.not_sticky"}) {
  step("given a second process whose kernel writes to an invalid address");
  expect_sticky("break_by_address", {"cudaErrorIllegalAddress", "cudaErrorLaunchFailure"});
}

// The documents require the error from any work, but do not list which calls are work. They also state that
// cudaGetLastError resets the error.
PROCTOR_CHECK(StickyError, EveryCallReportsIllegalAddress, "K47", kSticky, suite::kWarn,
              {"error.not_sticky"}) {
  step("given a second process whose kernel writes to an invalid address, and which makes more calls");
  Helper child("ask_after_an_illegal_address");
  const auto answer = child.answer();
  const auto broken = answer.at("broken").get<std::string>();
  for (const auto& later : answer.at("later").items()) {
    expect_same("the result of " + later.key(), broken, later.value().get<std::string>());
  }
  Helper queries("break_by_address");
  const auto reported = queries.answer();
  for (const auto& answered : reported.at("told"))
    expect_same("the result of every query", reported.at("first"), answered.get<std::string>());
}

PROCTOR_CHECK(StickyError, FailedAssertionPersists, "K46", "CUDA Programming Guide, Assertion", kGate,
              {"error.not_sticky", "kernel.hide_out_of_bounds_access"}) {
  step("given a second process whose kernel fails an assertion");
  expect_sticky("break_by_assertion", {"cudaErrorAssert"});
}

namespace {

const std::vector<std::string> kBrokenWaits = {"cudaDeviceSynchronize", "cudaStreamSynchronize",
                                               "cudaEventSynchronize", "cudaMemcpy"};

}  // namespace

PROCTOR_CHECK_EACH(kBrokenWaits, StickyError, WaitReportsIllegalAddress, "K47", kSticky, kGate,
                   {"kernel.skip:kernel=store_at"}) {
  step("given a second process that waits by " + suite::parameter() +
       " when its kernel writes to an invalid address");
  expect_sticky("break_in_a_wait", {"cudaErrorIllegalAddress", "cudaErrorLaunchFailure"},
                {suite::parameter()});
}

PROCTOR_CHECK(DeviceReset, ResetFreesMemoryAndDeviceWorks, "K48", "CUDA Runtime API, cudaDeviceReset", kGate,
              {"state.reset_ignored"}) {
  step("given a second process that resets its device");
  Helper child("reset_and_go_on");
  const auto answer = child.answer();
  expect_same("the result of the reset", kSuccess, answer.at("reset").get<std::string>());
  expect_true(!answer.at("known").get<bool>(), "memory from before the reset is unknown");
  expect_true(answer.at("same").get<bool>(), "new memory keeps its bytes");
}

PROCTOR_CHECK(DeviceReset, ResetAffectsOnlyCurrentDevice, "K48",
              "CUDA Runtime API, cudaDeviceReset: the current device", kGate,
              .faults = {"state.reset_ignored"}, .devices = 2) {
  leased_devices(2);
  step("given a second process that uses two devices and resets one of them");
  Helper child("reset_one_of_two");
  const auto answer = child.answer();
  expect_same("the result of the reset", kSuccess, answer.at("reset").get<std::string>());
  expect_same("memory from before the reset is known", "false", answer.at("known").dump());
  expect_same("flags, limits and pools are those of the beginning", "true", answer.at("settings").dump());
  const std::string peer = answer.at("peer");
  expect_true(peer == "cudaErrorPeerAccessNotEnabled",
              "peer access ended with the reset, disabling it returned " + peer);
  expect_same("a new stream, the legacy default stream and the thread's work", "[true,true,true]",
              answer.at("works").dump());
  expect_same("errors on the other device", "", answer.at("others").get<std::string>());
}

PROCTOR_CHECK(LastError, ErrorIsKeptBeforeInitialization, "M06", kLast, kGate, {"error.never_cleared"}) {
  const auto context = leased();
  Queue queue(context);
  const Module module = Module::load(context, "basic");
  step("given a call with a null pointer for the result, the first of its process");
  Helper child("err_before_devices");
  const nlohmann::json expected = {kSuccess,
                                   kSuccess,
                                   "cudaErrorInvalidValue",
                                   "cudaErrorInvalidValue",
                                   "cudaErrorInvalidValue",
                                   "cudaErrorInvalidValue",
                                   kSuccess,
                                   kSuccess};
  expect_same("results of the calls", expected.dump(), child.answer().at("told").dump());
  step("given a launch that is refused, and its error");
  const std::string refusal = refused_launch(queue, Kernel(module, "fill"), device_memory(context, 64));
  expect_status(refusal, last_error());
  expect_status(kSuccess, peeked_error());
}

namespace {

struct Named {
  cudaError_t code;
  const char* name;
};
#define NAMED(code) \
  { code, #code }
constexpr Named kNamed[] = {
    NAMED(cudaSuccess),
    NAMED(cudaErrorInvalidValue),
    NAMED(cudaErrorMemoryAllocation),
    NAMED(cudaErrorInitializationError),
    NAMED(cudaErrorInvalidConfiguration),
    NAMED(cudaErrorInvalidPitchValue),
    NAMED(cudaErrorInvalidSymbol),
    NAMED(cudaErrorInvalidMemcpyDirection),
    NAMED(cudaErrorInsufficientDriver),
    NAMED(cudaErrorInvalidDeviceFunction),
    NAMED(cudaErrorNoDevice),
    NAMED(cudaErrorInvalidDevice),
    NAMED(cudaErrorInvalidKernelImage),
    NAMED(cudaErrorNoKernelImageForDevice),
    NAMED(cudaErrorECCUncorrectable),
    NAMED(cudaErrorUnsupportedLimit),
    NAMED(cudaErrorPeerAccessUnsupported),
    NAMED(cudaErrorFileNotFound),
    NAMED(cudaErrorInvalidResourceHandle),
    NAMED(cudaErrorIllegalState),
    NAMED(cudaErrorSymbolNotFound),
    NAMED(cudaErrorNotReady),
    NAMED(cudaErrorIllegalAddress),
    NAMED(cudaErrorPeerAccessAlreadyEnabled),
    NAMED(cudaErrorPeerAccessNotEnabled),
    NAMED(cudaErrorAssert),
    NAMED(cudaErrorHostMemoryAlreadyRegistered),
    NAMED(cudaErrorHostMemoryNotRegistered),
    NAMED(cudaErrorLaunchFailure),
    NAMED(cudaErrorCooperativeLaunchTooLarge),
    NAMED(cudaErrorNotPermitted),
    NAMED(cudaErrorNotSupported),
    NAMED(cudaErrorStreamCaptureUnsupported),
    NAMED(cudaErrorStreamCaptureInvalidated),
    NAMED(cudaErrorStreamCaptureMerge),
    NAMED(cudaErrorStreamCaptureUnmatched),
    NAMED(cudaErrorStreamCaptureUnjoined),
    NAMED(cudaErrorStreamCaptureIsolation),
    NAMED(cudaErrorStreamCaptureImplicit),
    NAMED(cudaErrorCapturedEvent),
    NAMED(cudaErrorStreamCaptureWrongThread),
    NAMED(cudaErrorGraphExecUpdateFailure),
    NAMED(cudaErrorUnknown),
};
#undef NAMED

}  // namespace

PROCTOR_CHECK(ErrorCode, EveryCodeHasNameAndText, "M06",
              "CUDA Runtime API, cudaGetErrorName, cudaGetErrorString", kGate, {"error.wrong_code"}) {
  constexpr const char* kUnknown = "unrecognized error code";
  step("given codes that documents name, and one that does not exist");
  for (const Named& each : kNamed) {
    expect_same("the name of " + std::to_string(each.code), each.name, cudaGetErrorName(each.code));
    const std::string text = cudaGetErrorString(each.code);
    expect_true(!text.empty() && text != kUnknown && text != each.name,
                std::string(each.name) + " has a text");
  }
  expect_same("the name of a code that does not exist", kUnknown, cudaGetErrorName(no_such<cudaError_t>()));
  expect_same("the text of a code that does not exist", kUnknown, cudaGetErrorString(no_such<cudaError_t>()));
  use(leased().device());
  expect_status("cudaErrorInvalidValue", CUDA_CALL(cudaEventCreate, nullptr));
  static_cast<void>(last_error());
}

// The documents disagree: after the error, either a reset is sufficient or the process must end.
PROCTOR_CHECK(DeviceReset, OutcomeAfterIllegalAddressIsLogged, "K48",
              "CUDA Runtime API, cudaDeviceReset and cudaErrorIllegalAddress, which disagree", kInfo,
              {"state.reset_ignored"}) {
  step("given a second process whose kernel writes to an invalid address, and which then resets its device");
  Helper child("break_and_reset");
  const auto answer = child.answer();
  expect_true(answer.at("broken") != 0, "the wait for the kernel reports an error");
  for (const char* call : {"reset", "cudaMalloc", "cudaMemcpy"}) {
    suite::observe("cudaDeviceReset after an illegal address", call, answer.at(call), "cudaError_t");
    if (suite::on_simgpu()) expect_same("the result of " + std::string(call), "0", answer.at(call).dump());
  }
  // If the copies are reported as successful, the bytes must be correct.
  if (answer.at("cudaMemcpy") == 0) {
    expect_true(answer.at("same").get<bool>(), "the copied bytes are unchanged");
  }
}

}  // namespace proctor::accel
