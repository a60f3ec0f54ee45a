// Events that two processes share. Level Zero only.
#include <unistd.h>

#include "suites/accel/check_fixture.h"
#include "suites/accel/xpu/ipc_token.h"
#include "suites/accel/xpu/native.h"
#include "suites/main/check.h"
#include "suites/main/helper.h"

namespace proctor::accel {
namespace {

using suite::Helper;
using suite::kGate;
using suite::step;

constexpr const char* kIpc = "Level Zero specification, zeEventPoolGetIpcHandle";

ze_event_handle_t first_event(ze_event_pool_handle_t pool) {
  ze_event_desc_t description{};
  description.stype = ZE_STRUCTURE_TYPE_EVENT_DESC;
  description.signal = ZE_EVENT_SCOPE_FLAG_HOST;
  description.wait = ZE_EVENT_SCOPE_FLAG_HOST;
  ze_event_handle_t event = nullptr;
  ZE_CALL(zeEventCreate, pool, &description, &event).or_throw();
  return event;
}

// A pool with one event, made here or opened from a token.
class SharedEvent {
 public:
  explicit SharedEvent(const Context& context) : opened_(false) {
    ze_device_handle_t device = native(context.device());
    ze_event_pool_desc_t description{};
    description.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC;
    description.flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE | ZE_EVENT_POOL_FLAG_IPC;
    description.count = 1;
    ZE_CALL(zeEventPoolCreate, native(context), &description, 1, &device, &pool_).or_throw();
    event_ = first_event(pool_);
  }
  SharedEvent(const Context& context, const std::string& token) : opened_(true) {
    ze_ipc_event_pool_handle_t handle{};
    if (handle_from_token(token, handle.data) < 0) suite::fail_because("setup", "no token: " + token);
    ZE_CALL(zeEventPoolOpenIpcHandle, native(context), handle, &pool_).or_throw();
    event_ = first_event(pool_);
  }
  ~SharedEvent() {
    entry_points().zeEventDestroy(event_);
    opened_ ? entry_points().zeEventPoolCloseIpcHandle(pool_) : entry_points().zeEventPoolDestroy(pool_);
  }
  SharedEvent(const SharedEvent&) = delete;
  SharedEvent& operator=(const SharedEvent&) = delete;

  std::string token() const {
    ze_ipc_event_pool_handle_t handle{};
    ZE_CALL(zeEventPoolGetIpcHandle, pool_, &handle).or_throw();
    return ipc_token(handle.data);
  }
  void signal() { ZE_CALL(zeEventHostSignal, event_).or_throw(); }
  Status query() const { return ZE_CALL(zeEventQueryStatus, event_); }
  Status try_synchronize(Nanoseconds timeout) const {
    return ZE_CALL(zeEventHostSynchronize, event_, in_ze(timeout));
  }

 private:
  bool opened_;
  ze_event_pool_handle_t pool_ = nullptr;
  ze_event_handle_t event_ = nullptr;
};

// Opens TOKEN and signals its event when it is told to.
PROCTOR_HELPER(signal_event) {
  const auto context = leased();
  SharedEvent event(context, words.at(0));
  suite::answer({{"ready", event.query().ok()}});
  suite::wait_for_input();
  event.signal();
  suite::answer({{"signalled", true}});
  suite::wait_for_input();
}

}  // namespace

PROCTOR_CHECK(Event, IsSharedByTwoProcesses, "K43", kIpc, kGate, {"ipc.event_not_shared"}) {
  const auto context = leased();
  const SharedEvent event(context);
  step("given a second process that opens an event");
  Helper helper("signal_event", {event.token()});
  suite::expect_same("it is signalled there", "false", helper.answer().at("ready").dump());
  expect_status("ZE_RESULT_NOT_READY", event.query());
  step("then it signals it");
  helper.order("now");
  helper.answer();
  expect_status("ZE_RESULT_SUCCESS", event.try_synchronize(std::chrono::seconds(5)));
}

}  // namespace proctor::accel
