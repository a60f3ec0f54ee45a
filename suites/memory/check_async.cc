// Copies that run by themselves: finished when their event says so, not earlier, and in order.
#include <algorithm>

#include "suites/accel/check_fixture.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

using suite::expect_true;
using suite::kGate;
using suite::step;

constexpr const char* kEvents =
    by_vendor("Level Zero specification, Events", "CUDA Runtime API, Event Management");
constexpr const char* kCopyEngines =
    by_vendor("Level Zero programming guide, Command Queues",
              "CUDA C++ Programming Guide, Overlap of Data Transfer and Kernel Execution");

}  // namespace

PROCTOR_CHECK(Async, EventMeansThatTheBytesAreThere, "S1.9", kEvents, kGate,
              {"order.signal_before_work:us=20000"}) {
  const auto context = leased();
  Queue queue(context);
  const auto sent = noise(1 << 20, 1);
  const auto there = device_copy(queue, context, sent);
  const Buffer back = host_memory(context, sent.size());
  std::memset(back.data(), 0, back.bytes());
  const Event done(context);
  Gate gate(context);
  step("given a copy to the host behind a gate, that signals an event");
  gate.hold(queue);
  queue.copy(back.data(), there.data(), sent.size(), {.wait = {}, .signal = &done});
  expect_status(kNotReady, done.query());
  gate.open();
  done.synchronize();
  const std::vector<std::byte> got(back.data(), back.data() + back.bytes());
  queue.synchronize();
  expect_bytes("what lies on the host when the event is signalled", sent, got, context.device());
}

PROCTOR_CHECK(Async, CopyWaitsForTheKernelBeforeIt, "M28", kEvents, kGate, {"order.query_lies"}) {
  const auto context = leased();
  Queue queue(context);
  Gate gate(context);
  const auto sent = noise(4096, 2);
  const auto from = device_copy(queue, context, sent);
  const Buffer to = host_memory(context, sent.size());
  std::memset(to.data(), 0, to.bytes());
  const Event done(context);
  step("given a copy behind a kernel that waits for the host");
  gate.hold(queue);
  queue.copy(to.data(), from.data(), sent.size(), {.wait = {}, .signal = &done});
  expect_true(done.query().not_ready(), "the copy is not done while the kernel runs");
  const bool untouched =
      std::all_of(to.data(), to.data() + to.bytes(), [](std::byte b) { return b == std::byte{0}; });
  expect_true(untouched, "nothing was copied while the kernel runs");
  gate.open();
  queue.synchronize();
  expect_true(done.query().ok(), "the copy is done after the kernel");
  expect_bytes("what was copied", sent, {to.data(), to.bytes()}, context.device());
}

PROCTOR_CHECK(Async, CopyOverlapsAKernel, "S1.10", kCopyEngines, kGate,
              {"memory.corrupt_copy:at=17,min=70000,times=1", "copy.skip:min=70000"}) {
  const auto context = leased();
  Queue busy(context);
  Queue copies(context);
  Gate gate(context);
  const auto sent = noise(70001, 3);
  const Buffer from = host_memory(context, sent.size());
  std::copy(sent.begin(), sent.end(), from.data());
  const Buffer to = device_memory(context, sent.size());
  step("given a copy in a second queue while a kernel holds the first");
  gate.hold(busy);
  copies.copy(to.data(), from.data(), sent.size());
  gate.open();
  copies.synchronize();
  busy.synchronize();
  expect_bytes("what was copied meanwhile", sent, read_bytes(copies, context, to.data(), to.bytes()),
               context.device());
}

PROCTOR_CHECK(Async, ChainKeepsItsOrder, "M28", kEvents, kGate, {"copy.skip:min=5000,after=4,times=1"}) {
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
  expect_bytes("what came out of the chain", sent, {end.data(), end.bytes()}, context.device());
}

PROCTOR_CHECK(Async, SynchroniseMeansThatTheBytesAreThere, "S1.4",
              by_vendor("Level Zero specification, zeCommandQueueSynchronize",
                        "CUDA Runtime API, cudaStreamQuery"),
              kGate,
              .faults = by_vendor<Texts>({"order.early_sync", "order.hang_in_sync"},
                                         {"order.query_lies", "order.hang_in_sync"}),
              .expects = suite::kHang) {
  const auto context = leased();
  Queue queue(context);
  Gate gate(context);
  step("given a queue that a kernel holds");
  gate.hold(queue);
  const Status early = queue.try_synchronize(std::chrono::milliseconds(20));
  expect_status(kNotReady, early);
  gate.open();
  expect_status(kSuccess, queue.try_synchronize(kSynchronizeTimeout));
}

}  // namespace proctor::accel
