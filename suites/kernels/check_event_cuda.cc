// Events as CUDA has them: ready until something is recorded, recorded again, and seen by other processes.
#include "harness/core/hex.h"
#include "suites/accel/check_fixture.h"
#include "suites/accel/cuda/native.h"
#include "suites/kernels/stream_gate.h"
#include "suites/main/check.h"
#include "suites/main/helper.h"

namespace proctor::accel {
namespace {

using suite::expect_same;
using suite::Helper;
using suite::kGate;
using suite::step;

constexpr const char* kUnrecorded = "CUDA Runtime API, cudaEventQuery: an event that was never recorded";

// Opens the event; then tells, each time that it is asked, whether it has happened.
PROCTOR_HELPER(watch_event) {
  const auto context = leased();
  use(context.device());
  cudaIpcEventHandle_t handle{};
  for (std::size_t i = 0; i < sizeof handle.reserved; ++i) {
    handle.reserved[i] = static_cast<char>(std::stoi(words.at(0).substr(2 * i, 2), nullptr, 16));
  }
  cudaEvent_t event = nullptr;
  suite::answer({{"opened", CUDA_CALL(cudaIpcOpenEventHandle, &event, handle).name()}});
  while (!suite::wait_for_input().empty()) {
    suite::answer({{"query", CUDA_CALL(cudaEventQuery, event).name()}});
  }
}

}  // namespace

PROCTOR_CHECK(Event, UnrecordedOneIsReady, "K40", kUnrecorded, kGate,
              {"order.query_never_ready:api=cudaEventQuery"}) {
  const auto context = leased();
  const Queue queue(context);
  step("given events that nothing was recorded in, and then something");
  for (int i = 0; i < 4; ++i) {
    const Event event(context);
    expect_status(kSuccess, event.query());
    expect_status(kSuccess, CUDA_CALL(cudaEventSynchronize, native(event)));
    CUDA_CALL(cudaEventRecord, native(event), native(queue)).or_throw();
    expect_status(kSuccess, CUDA_CALL(cudaEventSynchronize, native(event)));
    expect_status(kSuccess, event.query());
  }
}

PROCTOR_CHECK(Event, ElapsedTimeOfPendingWorkIsNotReady, "K41", "CUDA Runtime API, cudaEventElapsedTime",
              kGate,
              {"error.swallowed:api=cudaEventElapsedTime", "error.wrong_code:api=cudaEventElapsedTime"}) {
  const auto context = leased();
  const Queue queue(context);
  const Event first(context), second(context);
  const StreamGate gate(context);
  step("given that the second of two events stands behind a kernel that is held");
  CUDA_CALL(cudaEventRecord, native(first), native(queue)).or_throw();
  gate.hold(native(queue));
  CUDA_CALL(cudaEventRecord, native(second), native(queue)).or_throw();
  float milliseconds = 0;
  const Status early = CUDA_CALL(cudaEventElapsedTime, &milliseconds, native(first), native(second));
  gate.open();
  CUDA_CALL(cudaStreamSynchronize, native(queue)).or_throw();
  expect_status(kNotReady, early);
  expect_status(kSuccess, CUDA_CALL(cudaEventElapsedTime, &milliseconds, native(first), native(second)));
}

PROCTOR_CHECK(Event, RecordAgainMovesIt, "K40", "CUDA Runtime API, cudaEventRecord", kGate,
              {"order.query_lies:api=cudaEventQuery"}) {
  const auto context = leased();
  Queue queue(context);
  const Event event(context);
  const StreamGate gate(context);
  step("given an event that has happened and is recorded again behind a kernel that is held");
  CUDA_CALL(cudaEventRecord, native(event), native(queue)).or_throw();
  CUDA_CALL(cudaStreamSynchronize, native(queue)).or_throw();
  expect_status(kSuccess, event.query());
  gate.hold(native(queue));
  CUDA_CALL(cudaEventRecord, native(event), native(queue)).or_throw();
  expect_status(kNotReady, event.query());
  gate.open();
  CUDA_CALL(cudaStreamSynchronize, native(queue)).or_throw();
  expect_status(kSuccess, event.query());
}

PROCTOR_CHECK(EventIpc, OtherProcessSeesItHappen, "M41", "CUDA Runtime API, cudaIpcGetEventHandle", kGate,
              {"ipc.event_not_shared"}) {
  const auto context = leased();
  need(context.device().record()->native.ipcEventSupported != 0, "unsupported:ipc_events");
  const Queue queue(context);
  const StreamGate gate(context);
  cudaEvent_t event = nullptr;
  cudaIpcEventHandle_t handle{};
  CUDA_CALL(cudaEventCreateWithFlags, &event, cudaEventInterprocess | cudaEventDisableTiming).or_throw();
  CUDA_CALL(cudaIpcGetEventHandle, &handle, event).or_throw();
  step("given a second process that watches an event behind a kernel that is held");
  gate.hold(native(queue));
  CUDA_CALL(cudaEventRecord, event, native(queue)).or_throw();
  Helper watcher("watch_event", {to_hex(handle.reserved)});
  expect_same("the second process opens it", kSuccess, watcher.answer().at("opened").get<std::string>());
  watcher.order("query");
  expect_same("while the kernel is held", kNotReady, watcher.answer().at("query").get<std::string>());
  gate.open();
  CUDA_CALL(cudaStreamSynchronize, native(queue)).or_throw();
  watcher.order("query");
  expect_same("afterwards", kSuccess, watcher.answer().at("query").get<std::string>());
  watcher.finish();
  static_cast<void>(cudaEventDestroy(event));
}

}  // namespace proctor::accel
