// Events that two processes share. Level Zero only.
#include <algorithm>

#include "harness/base/read_file.h"
#include "suites/accel/check_fixture.h"
#include "suites/accel/xpu/ipc_token.h"
#include "suites/accel/xpu/native.h"
#include "suites/main/check.h"
#include "suites/main/helper.h"

namespace proctor::accel {
namespace {

using suite::Helper;
using suite::kGate;
using suite::kWarn;
using suite::step;

constexpr const char* kIpc = "Level Zero specification, zeEventPoolGetIpcHandle";

// A pool with events, made here or opened from a token.
class SharedEvents {
 public:
  SharedEvents(const Context& context, std::uint32_t count) : opened_(false) {
    ze_device_handle_t device = native(context.device());
    ze_event_pool_desc_t description{};
    description.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC;
    description.flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE | ZE_EVENT_POOL_FLAG_IPC;
    description.count = count;
    ZE_CALL(zeEventPoolCreate, native(context), &description, 1, &device, &pool_).or_throw();
    make_events(count);
  }
  SharedEvents(const Context& context, const std::string& token, std::uint32_t count) : opened_(true) {
    ze_ipc_event_pool_handle_t handle{};
    open_token(token, handle.data, [&] {
      return ZE_CALL(zeEventPoolOpenIpcHandle, native(context), handle, &pool_);
    }).or_throw();
    make_events(count);
  }
  ~SharedEvents() {
    for (const auto event : events_) entry_points().zeEventDestroy(event);
    opened_ ? entry_points().zeEventPoolCloseIpcHandle(pool_) : entry_points().zeEventPoolDestroy(pool_);
  }
  SharedEvents(const SharedEvents&) = delete;
  SharedEvents& operator=(const SharedEvents&) = delete;

  std::string token() const {
    ze_ipc_event_pool_handle_t handle{};
    ZE_CALL(zeEventPoolGetIpcHandle, pool_, &handle).or_throw();
    return ipc_token(handle.data);
  }
  void signal(std::size_t i = 0) const { ZE_CALL(zeEventHostSignal, events_[i]).or_throw(); }
  Status query(std::size_t i = 0) const { return ZE_CALL(zeEventQueryStatus, events_[i]); }
  Status try_synchronize(Nanoseconds timeout) const {
    return ZE_CALL(zeEventHostSynchronize, events_[0], in_ze(timeout));
  }
  // "010": the second one is signalled.
  std::string states() const {
    std::string states;
    for (std::size_t i = 0; i < events_.size(); ++i) states += query(i).ok() ? '1' : '0';
    return states;
  }

 private:
  void make_events(std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      ze_event_desc_t description{};
      description.stype = ZE_STRUCTURE_TYPE_EVENT_DESC;
      description.index = i;
      description.signal = description.wait = ZE_EVENT_SCOPE_FLAG_HOST;
      events_.push_back(nullptr);
      ZE_CALL(zeEventCreate, pool_, &description, &events_.back()).or_throw();
    }
  }

  bool opened_;
  ze_event_pool_handle_t pool_ = nullptr;
  std::vector<ze_event_handle_t> events_;
};

std::int64_t mappings() { return std::ranges::count(read_file_or_empty("/proc/self/maps"), '\n'); }

// Opens TOKEN and signals its event when it is told to.
PROCTOR_HELPER(signal_event) {
  const auto context = leased();
  const SharedEvents event(context, words.at(0), 1);
  suite::answer({{"ready", event.query().ok()}});
  suite::wait_for_input();
  event.signal();
  suite::answer({{"signalled", true}});
  suite::wait_for_input();
}

// Opens TOKEN again and again, signals the third of its events the last time, and tells what it saw and what is left.
PROCTOR_HELPER(open_events_again) {
  const auto context = leased();
  constexpr int kTimes = 20;
  std::string first, last;
  std::int64_t before = 0;
  for (int i = 0; i < kTimes; ++i) {
    {
      const SharedEvents events(context, words.at(0), 4);
      last = events.states();
      if (i == kTimes - 1) events.signal(2);
    }
    if (i > 0) continue;
    first = last;
    before = mappings();
  }
  suite::answer({{"first", first}, {"last", last}, {"left", mappings() - before}});
}

}  // namespace

PROCTOR_CHECK(Event, IsSharedByTwoProcesses, "K43", kIpc, kGate, {"ipc.event_not_shared"}) {
  const auto context = leased();
  const SharedEvents event(context, 1);
  step("given a second process that opens an event");
  Helper helper("signal_event", {event.token()});
  suite::expect_same("it is signalled there", "false", helper.answer().at("ready").dump());
  expect_status("ZE_RESULT_NOT_READY", event.query());
  step("then it signals it");
  helper.order("now");
  helper.answer();
  expect_status("ZE_RESULT_SUCCESS", event.try_synchronize(kPatience));
}

PROCTOR_CHECK(Event, OpenedAgainIsAsItWas, "K43", "Level Zero specification, zeEventPoolCloseIpcHandle",
              kWarn, {"ipc.event_not_shared", "ipc.close_ignored"}) {
  const auto context = leased();
  const SharedEvents events(context, 4);
  step(
      "given a pool of four events, the second signalled, that a second process opens and closes twenty "
      "times");
  events.signal(1);
  Helper helper("open_events_again", {events.token()});
  const auto answer = helper.answer();
  helper.finish();
  suite::expect_same("states there at first", "0100", answer.at("first").get<std::string>());
  suite::expect_same("states there in the end", "0100", answer.at("last").get<std::string>());
  suite::expect_true(answer.at("left").get<int>() < 10,
                     "closed pools are mapped no more, but " + answer.at("left").dump() + " are left");
  step("then it signalled the third");
  suite::expect_same("states here", "0110", events.states());
}

}  // namespace proctor::accel
