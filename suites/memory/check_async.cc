// Checks of asynchronous copies. A copy is complete when its event is signalled, not earlier, and copies keep
// their order.
#include <algorithm>
#include <chrono>
#include <thread>

#include "suites/accel/check_fixture.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

using suite::expect_true;
using suite::kGate;
using suite::kWarn;
using suite::step;

constexpr const char* kEvents =
    by_vendor("Level Zero specification, Events", "CUDA Runtime API, Event Management");
constexpr const char* kCopyEngines =
    by_vendor("Level Zero programming guide, Command Queues",
              "CUDA Programming Guide, Overlap of Data Transfer and Kernel Execution");

}  // namespace

PROCTOR_CHECK(AsyncCopy, EventSignalsAfterCopyCompletes, "S1.9", kEvents, kGate,
              {"order.signal_before_work:us=20000"}) {
  const auto context = leased();
  Queue queue(context);
  const auto sent = noise(1 << 20, 1);
  const auto there = device_copy(queue, context, sent);
  const Buffer back = host_memory(context, sent.size());
  std::memset(back.data(), 0, back.bytes());
  const Event done(context);
  Latch latch(context);
  step("given a copy to the host behind a latch, that signals an event");
  latch.hold(queue);
  queue.copy(back.data(), there.data(), sent.size(), {.wait = {}, .signal = &done});
  expect_status(kNotReady, done.query());
  latch.open();
  done.synchronize();
  const std::vector<std::byte> got(back.data(), back.data() + back.bytes());
  queue.synchronize();
  expect_bytes("bytes on the host when the event is signalled", sent, got, context.device());
}

PROCTOR_CHECK(AsyncCopy, CopyWaitsForEarlierKernel, "M28", kEvents, kGate, {"order.report_ready_early"}) {
  const auto context = leased();
  Queue queue(context);
  Latch latch(context);
  const auto sent = noise(4096, 2);
  const auto from = device_copy(queue, context, sent);
  const Buffer to = host_memory(context, sent.size());
  std::memset(to.data(), 0, to.bytes());
  const Event done(context);
  step("given a copy behind a kernel that waits for the host");
  latch.hold(queue);
  queue.copy(to.data(), from.data(), sent.size(), {.wait = {}, .signal = &done});
  expect_true(done.query().not_ready(), "the copy is not done while the kernel runs");
  const bool untouched =
      std::all_of(to.data(), to.data() + to.bytes(), [](std::byte b) { return b == std::byte{0}; });
  expect_true(untouched, "no byte was copied while the kernel ran");
  latch.open();
  queue.synchronize();
  expect_true(done.query().ok(), "the copy is done after the kernel");
  expect_bytes("bytes that were copied", sent, {to.data(), to.bytes()}, context.device());
}

namespace {

// A copy in a second queue, submitted while a kernel holds the first queue.
struct CopyDuringKernel {
  explicit CopyDuringKernel(const Context& context)
      : from(host_memory(context, sent.size())),
        to(device_memory(context, sent.size())),
        done(context),
        busy(context),
        copies(context),
        latch(context) {
    std::copy(sent.begin(), sent.end(), from.data());
    step("given a copy in a second queue while a kernel holds the first");
    latch.hold(busy);
    copies.copy(to.data(), from.data(), sent.size(), {.wait = {}, .signal = &done});
  }
  void release() {
    latch.open();
    copies.synchronize();
    busy.synchronize();
  }

  std::vector<std::byte> sent = noise(70001, 3);
  Buffer from, to;
  Event done;
  Queue busy, copies;
  Latch latch;
};

}  // namespace

PROCTOR_CHECK(AsyncCopy, CopyBesideKernelIsByteExact, "S1.10", kCopyEngines, kGate,
              {"memory.corrupt_copy:at=17,min=70000,times=1", "copy.skip:min=70000"}) {
  const auto context = leased();
  CopyDuringKernel copy(context);
  copy.release();
  expect_bytes("bytes that were copied meanwhile", copy.sent,
               read_bytes(copy.copies, context, copy.to.data(), copy.to.bytes()), context.device());
}

// A device may have only one queue, which cannot overlap copy and kernel. The check is then skipped.
PROCTOR_CHECK(AsyncCopy, CopyOverlapsKernel, "S1.10", kCopyEngines, kWarn, {"order.never_report_ready"}) {
  const auto context = leased();
  CopyDuringKernel copy(context);
  // The kernel still waits for the latch.
  const Status concurrent = copy.done.try_synchronize(kPatience);
  copy.release();
  expect_status(kSuccess, copy.done.query());
  need_side_by_side(concurrent);
}

PROCTOR_CHECK(AsyncCopy, ChainedCopiesRunInOrder, "M28", kEvents, kGate,
              {"copy.skip:min=5000,after=4,times=1"}) {
  const auto context = leased();
  Queue queue(context);
  const auto sent = noise(5000, 4);
  const Buffer source = host_memory(context, sent.size());
  std::copy(sent.begin(), sent.end(), source.data());
  std::vector<Buffer> hops;
  for (int i = 0; i < 8; ++i) hops.push_back(device_memory(context, sent.size()));
  const Buffer end = host_memory(context, sent.size());
  std::memset(end.data(), 0, end.bytes());
  step("given ten copies in a row, each from where the last one went");
  const std::byte* from = source.data();
  for (const Buffer& hop : hops) {
    queue.copy(hop.data(), from, sent.size());
    from = hop.data();
  }
  queue.copy(end.data(), from, sent.size());
  queue.synchronize();
  expect_bytes("bytes at the end of the chain", sent, {end.data(), end.bytes()}, context.device());
}

// The latch opens while the host waits. If the wait returns too early, the host reads other bytes.
PROCTOR_CHECK(AsyncCopy, SynchronizeWaitsForCopy, "M28",
              by_vendor("Level Zero specification, zeCommandQueueSynchronize",
                        "CUDA Runtime API, cudaStreamQuery"),
              kGate,
              .faults = by_vendor<Texts>({"order.end_wait_early", "order.hang_in_sync"},
                                         {"order.end_wait_early:api=cudaStreamSynchronize",
                                          "order.report_ready_early", "order.hang_in_sync"}),
              .expects = suite::kHang) {
  const auto context = leased();
  Queue queue(context);
  const auto sent = noise(1 << 20, 5);
  const auto there = device_copy(queue, context, sent);
  const Buffer back = host_memory(context, sent.size());
  std::memset(back.data(), 0, back.bytes());
  Latch latch(context);
  step("given a copy to the host in a queue that a kernel holds");
  latch.hold(queue);
  queue.copy(back.data(), there.data(), sent.size());
  expect_status(kNotReady, queue.try_synchronize(std::chrono::milliseconds(20)));
  std::thread later([&latch] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    latch.open();
  });
  const Status waited = queue.try_synchronize(Nanoseconds::max());
  const std::vector<std::byte> got(back.data(), back.data() + back.bytes());
  later.join();
  queue.synchronize();
  expect_status(kSuccess, waited);
  expect_bytes("bytes on the host when the wait returns", sent, got, context.device());
}

}  // namespace proctor::accel
