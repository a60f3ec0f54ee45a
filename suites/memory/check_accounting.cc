// Checks of the free memory that the driver reports (on Level Zero its management interface): before, during and
// after allocations, and when memory is exhausted.
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "suites/accel/check_fixture.h"
#include "suites/accel/free_memory.h"
#include "suites/accel/memory_cap.h"
#include "suites/main/check.h"
#include "suites/main/helper.h"

namespace proctor::accel {
namespace {

using suite::expect_same;
using suite::expect_true;
using suite::Helper;
using suite::kGate;
using suite::kWarn;
using suite::step;

constexpr const char* kState =
    by_vendor("Level Zero specification, zesMemoryGetState", "CUDA Runtime API, cudaMemGetInfo");
constexpr const char* kFrees =
    by_vendor("Level Zero specification, zeMemFree", "CUDA Runtime API, cudaFree: frees the memory space");
// The source of rules about a process that ended without freeing its memory.
constexpr const char* kEnd = by_vendor("Linux DRM documentation, GEM: the end of a file releases its handles",
                                       "project rule: A process that has ended holds no memory.");
constexpr const char* kNeighbours =
    by_vendor("Level Zero programming guide, Memory: unique physical pages for each allocation",
              "project rule: A process does not change the memory of another process.");

PROCTOR_HELPER(hold_memory) {
  const auto context = leased();
  const Buffer buffer = used_memory(context, kHeld);
  suite::answer({{"uuid", context.device().properties().uuid}});
  suite::wait_for_input();
}

// Like hold_memory, while a kernel runs that never ends.
PROCTOR_HELPER(hold_memory_in_a_kernel) {
  const auto context = leased();
  const Buffer buffer = used_memory(context, kHeld);
  Queue queue(context);
  const Module module = Module::load(context, "hazard");
  const auto stop = device_copy(queue, context, std::vector<std::uint32_t>(2));
  queue.launch(Kernel(module, "spin_for_ever"), groups_of(1, 1), arguments(stop));
  const bool ended = queue.try_synchronize(std::chrono::milliseconds(50)).ok();
  suite::answer({{"ended", ended}});
  suite::wait_for_input();
}

PROCTOR_HELPER(leave_memory) {
  const auto context = leased();
  Buffer buffer = used_memory(context, kHeld);
  suite::answer({{"uuid", context.device().properties().uuid}});
  static_cast<void>(new Buffer(std::move(buffer)));  // Never freed: the end of the process must free it.
  _exit(0);
}

// Allocates pieces of memory until one is refused. `status` is the result of the last allocation.
struct Filling {
  explicit Filling(const Context& context) {
    const std::uint64_t free = available_memory(context.device());
    piece = std::clamp<std::uint64_t>(free / 16, 1 << 20, context.device().properties().largest_allocation);
    const std::uint64_t enough = free / piece * 2;  // An upper bound, in case that no allocation is refused.
    while (status.ok() && buffers.size() < enough) {
      Buffer next;
      status = Buffer::try_allocate(context, {.bytes = piece}, next);
      if (status.ok()) buffers.push_back(std::move(next));
    }
  }
  std::uint64_t bytes() const { return buffers.size() * piece; }

  std::uint64_t piece = 0;
  std::vector<Buffer> buffers{};
  Status status{};
};

PROCTOR_HELPER(exhaust_memory) {
  const auto context = leased();
  const Filling filling(context);
  suite::answer({{"refused", !filling.status.ok()}, {"bytes", filling.bytes()}});
}

}  // namespace

PROCTOR_CHECK(MemoryInfo, FreeIsAtMostTotal, "M16", kState, kGate,
              {by_vendor("sysman.understate_memory_size", "sysman.freeze_free_memory")}) {
  const Device device = leased_device();
  step("given the state of the device's memory");
  const MemoryInfo info = device.memory();
  expect_true(info.free > 0, "some memory is free");
  expect_true(info.free <= info.total, "free is at most the total");
  if (kVendor == Vendor::kNvidia)
    expect_true(info.free < info.total, "the context of this process uses memory");
  expect_true(device.properties().memory <= info.total,
              "programs can use at most the memory of the device: " +
                  std::to_string(device.properties().memory) + " of " + std::to_string(info.total));
}

// The driver may reuse memory that an earlier check freed. The check therefore runs in a process of its own.
PROCTOR_CHECK(MemoryInfo, FreeFallsByAllocatedSize, "M17", kState, kGate,
              .faults = {"sysman.freeze_free_memory"}, .alone = true) {
  const auto context = leased();
  const Buffer counted = need_counted_memory(context);
  const std::uint64_t before = context.device().memory().free;
  step("given 320 MiB of device memory");
  const Buffer held = used_memory(context, kHeld);
  const std::uint64_t fallen = before - std::min(before, context.device().memory().free);
  expect_true(fallen + kFreeSlack >= kHeld && fallen <= kHeld + kFreeSlack,
              "free memory fell by 320 MiB, within 80 MiB: by " + std::to_string(fallen));
}

// Like FreeFallsByWhatIsTaken, for half of the free memory, piece by piece. A page of each piece is written,
// because a driver may take memory at its first use.
PROCTOR_CHECK(MemoryInfo, FreeFallsByEachLargeAllocation, "M17", kState, kWarn,
              .faults = {"sysman.limit_reported_memory_use"}, .alone = true) {
  const auto context = leased();
  const Buffer counted = need_counted_memory(context);
  const std::uint64_t before = context.device().memory().free;
  const std::uint64_t piece =
      std::min(available_memory(context.device()) / 16, context.device().properties().largest_allocation);
  std::vector<Buffer> held;
  step("given half of the free memory, in eight pieces of " + std::to_string(piece) + " bytes");
  for (std::uint64_t taken = piece; taken <= 8 * piece; taken += piece) {
    held.push_back(used_memory(context, piece));
    const std::uint64_t fallen = before - std::min(before, context.device().memory().free);
    expect_true(
        fallen + kFreeSlack >= taken && fallen <= taken + kFreeSlack,
        "free memory fell by " + std::to_string(taken) + ", within 80 MiB: by " + std::to_string(fallen));
  }
}

// A driver may keep freed memory for the next allocation of the same size. The check therefore compares after the
// first cycle.
PROCTOR_CHECK(MemoryInfo, FreedMemoryCountsAsFree, "M17", kState, kGate, {"alloc.leak_on_free"}) {
  const auto context = leased();
  const Buffer counted = need_counted_memory(context);
  const auto take_and_free = [&] { used_memory(context, kHeld).try_free().or_throw(); };
  step("given 320 MiB of device memory that is taken and freed, and then the same again");
  take_and_free();
  const std::uint64_t before = context.device().memory().free;
  take_and_free();
  expect_returned(context.device(), before);
}

// Detects losses that are each below the slack by their sum. The first cycles run before the measurement, because
// a driver may keep memory from them for later cycles.
PROCTOR_CHECK(MemoryLeak, CreateDestroyCyclesLeakNothing, "M18", kFrees, kGate,
              .faults = {"alloc.leak_on_free:every=3"},
              .sizes = {.smoke = 20, .ci = 60, .full = 1000, .unit = "cycles"}) {
  const auto context = leased();
  const Buffer counted = need_counted_memory(context);
  const auto cycles = suite::sized();
  const auto cycle = [&] {
    const Module module = Module::load(context, "patterns");
    const Kernel kernel(module, "write_pattern");
    Queue queue(context);
    const Event event(context);
    const Buffer buffer = device_memory(context, 16 << 20);
    queue.fill(buffer.data(), noise(4, 1), 1 << 20, {.wait = {}, .signal = &event});
    queue.synchronize();
  };
  for (int i = 0; i < 3; ++i) cycle();  // The driver creates its own objects in these cycles.
  const std::uint64_t before = context.device().memory().free;
  step("given " + std::to_string(cycles) + " cycles of module, kernel, buffer, queue and event");
  for (std::int64_t i = 0; i < cycles; ++i) cycle();
  const std::uint64_t after = context.device().memory().free;
  const std::uint64_t lost = before - std::min(before, after);
  suite::measure("memory.slope", static_cast<double>(lost) / static_cast<double>(cycles), "B/cycle", cycles);
  expect_true(lost <= kFreeSlack, std::to_string(cycles) + " cycles lose at most the slack: " +
                                      std::to_string(lost) + " bytes of 16 MiB each");
}

PROCTOR_CHECK(MemoryInfo, AllocationLeavesOtherDevicesUnchanged, "S4.5", kState, kGate,
              .faults = {"sysman.freeze_free_memory"}, .devices = 2, .alone = true) {
  const auto devices = leased_devices(2);
  const Context context(devices[0]);
  const Buffer counted = need_counted_memory(context);
  const std::uint64_t first = devices[0].memory().free;
  const std::uint64_t second = devices[1].memory().free;
  step("given 320 MiB on the first of two devices");
  const Buffer held = used_memory(context, kHeld);
  expect_true(devices[0].memory().free + kHeld <= first + kFreeSlack,
              "the first device has less free memory");
  expect_true(devices[1].memory().free + kFreeSlack >= second,
              "the second device has as much free memory as before");
}

// The driver may release memory of an earlier check meanwhile. The check therefore runs in a process of its own.
PROCTOR_CHECK(MemoryInfo, OtherProcessReducesFreeMemory, "M17", kState, kGate,
              .faults = {"sysman.freeze_free_memory"}, .alone = true) {
  const Device device = leased_device();
  const Buffer counted = need_counted_memory(Context(device));
  const std::uint64_t before = device.memory().free;
  step("given a second process with 320 MiB");
  Helper holder("hold_memory");
  expect_same("its device", device.properties().uuid, holder.answer().at("uuid").get<std::string>());
  expect_true(device.memory().free + kHeld <= before + kFreeSlack, "this process sees less free memory");
  holder.finish();
}

PROCTOR_CHECK(ProcessExit, ExitReleasesMemory, "M19", kEnd, by_vendor(kGate, kWarn),
              {"sysman.leak_after_exit"}) {
  const Device device = leased_device();
  const Buffer counted = need_counted_memory(Context(device));
  const std::uint64_t before = device.memory().free;
  step("given a second process that ends without freeing its 320 MiB");
  Helper leaver("leave_memory");
  leaver.answer();
  leaver.finish();
  expect_returned(device, before);
}

PROCTOR_CHECK(ProcessExit, SigkillReleasesMemory, "S2.9", kEnd, by_vendor(kGate, kWarn),
              {"sysman.leak_after_exit"}) {
  const Device device = leased_device();
  const Buffer counted = need_counted_memory(Context(device));
  const std::uint64_t before = device.memory().free;
  step("given a second process with 320 MiB that is killed");
  Helper holder("hold_memory");
  holder.answer();
  holder.kill();
  expect_returned(device, before);
}

PROCTOR_CHECK(ProcessExit, SigkillDuringKernelReleasesMemory, "M20", kEnd, by_vendor(kGate, kWarn),
              {"sysman.leak_after_exit"}) {
  const Device device = leased_device();
  const Buffer counted = need_counted_memory(Context(device));
  const std::uint64_t before = device.memory().free;
  step("given a second process with 320 MiB that is killed while its kernel runs");
  Helper holder("hold_memory_in_a_kernel");
  expect_true(!holder.answer().at("ended").get<bool>(), "the kernel runs");
  holder.kill();
  expect_returned(device, before);
}

// ---- exhausted memory; a driver that moves data to the host never reports it ----

PROCTOR_CHECK(OutOfMemory, AllocationSucceedsAgainAfterFree, "M06",
              "NVIDIA DCGM, memory plugin; nothing of this is sticky", kGate,
              {"alloc.capacity_ignored", "alloc.leak_on_free"}) {
  const auto context = leased();
  Queue queue(context);
  step("given allocations until one is refused");
  auto filling = std::make_unique<Filling>(context);
  const std::uint64_t piece = filling->piece;
  expect_true(!filling->buffers.empty(), "at least one allocation succeeds");
  expect_true(!filling->status.ok() || !suite::on_simgpu(),
              "an allocation is refused at the end of the memory, after " + std::to_string(filling->bytes()) +
                  " bytes none was");
  expect_true(filling->status.ok() || filling->status.out_of_memory(),
              "the refusal is an out-of-memory error, got " + filling->status.name());
  filling.reset();
  step("then one allocation again");
  Buffer again;
  const Status status = Buffer::try_allocate(context, {.bytes = piece}, again);
  expect_true(status.ok(), "an allocation succeeds again, got " + status.name());
  if (!status.ok()) return;
  const auto sent = noise(4096, 1);
  write(queue, context, again.data(), sent);
  expect_bytes("bytes of the new allocation", sent, read_bytes(queue, context, again.data(), 4096),
               context.device());
}

PROCTOR_CHECK(OutOfMemory, ThreeQuartersOfFreeAreAllocatable, "M07",
              "NVIDIA DCGM, memory plugin: 75 % of free", kWarn, {"alloc.leak_on_free"}) {
  const auto context = leased();
  const std::uint64_t free = available_memory(context.device());
  for (const char* round : {"first", "second"}) {
    step(std::string("given the ") + round + " filling of the memory");
    const Filling filling(context);
    suite::measure("memory.reachable", static_cast<double>(filling.bytes()), "B");
    expect_true(filling.bytes() >= free / 4 * 3, std::string(round) + " filling reaches 75 % of " +
                                                     std::to_string(free) + ", it reached " +
                                                     std::to_string(filling.bytes()));
  }
}

PROCTOR_CHECK(OutOfMemory, ExhaustionKeepsOtherProcessContents, "M08", kNeighbours, by_vendor(kGate, kWarn),
              {"alloc.capacity_ignored"}) {
  const auto context = leased();
  // The cap applies to each process, so it does not exhaust the device.
  need(!MemoryCap::of_process().is_set(), kNeedsNoCap);
  Queue queue(context);
  const auto mine = noise(1 << 20, 2);
  const auto buffer = device_copy(queue, context, mine);
  step("given a second process that allocates all free memory");
  Helper eater("exhaust_memory");
  const auto eaten = eater.answer();
  expect_true(eaten.at("bytes").get<std::uint64_t>() > 0, "the second process allocates memory");
  expect_true(eaten.at("refused").get<bool>() || !suite::on_simgpu(),
              "an allocation of the second process is refused");
  eater.finish();
  expect_bytes("this process's buffer", mine, read_bytes(queue, context, buffer.data(), buffer.bytes()),
               context.device());
}

}  // namespace proctor::accel
