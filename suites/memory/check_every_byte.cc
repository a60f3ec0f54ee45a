// Checks that account for free memory to the last byte: the cost of each piece, the release at each way to end a
// process, and the end of memory. On a simulated device only programs take memory. On hardware, the driver rounds,
// caches and has work of its own, so a slack is allowed.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <optional>

#include "suites/accel/check_fixture.h"
#include "suites/accel/free_memory.h"
#include "suites/accel/memory_cap.h"
#include "suites/main/check.h"
#include "suites/main/helper.h"

namespace proctor::accel {
namespace {

using suite::expect_true;
using suite::Helper;
using suite::kGate;
using suite::kWarn;
using suite::step;

constexpr const char* kFreeMemory =
    by_vendor("Level Zero specification, zesMemoryGetState", "CUDA Runtime API, cudaMemGetInfo");
constexpr std::uint64_t kLargestPage = 2 << 20;  // An allocation may be rounded up to this size.

// True if every byte is counted: the devices are simulated, and none of them has a display.
bool counts_every_byte() {
  return suite::on_simgpu() && std::ranges::none_of(Device::list(), [](const Device& device) {
           return device.properties().display;
         });
}

std::uint64_t slack() { return counts_every_byte() ? 0 : kFreeSlack; }

// Requires that free memory fell by these pieces, with their rounding.
void expect_fallen(const std::string& what, std::uint64_t before, std::uint64_t after,
                   std::initializer_list<std::uint64_t> pieces) {
  std::uint64_t taken = 0;
  for (const std::uint64_t bytes : pieces) taken += bytes;
  const std::uint64_t fallen = before - std::min(before, after);
  expect_true(fallen + slack() >= taken && fallen <= taken + pieces.size() * kLargestPage + slack(),
              what + " fell by the " + std::to_string(taken) + " bytes that were allocated: from " +
                  std::to_string(before) + " to " + std::to_string(after));
}

void expect_again(const std::string& what, std::uint64_t before, std::uint64_t after, int readings = 1) {
  const std::uint64_t within = slack() * static_cast<std::uint64_t>(readings);
  expect_true(after + within >= before && before + within >= after,
              what + " is " + std::to_string(before) + " again, got " + std::to_string(after));
}

// All devices and tiles that this process sees. The tiles of a card together are the card.
std::vector<Device> devices_and_tiles(const std::vector<Device>& cards) {
  auto all = cards;
  for (const Device& card : cards) {
    for (const Device& tile : card.tiles()) all.push_back(tile);
  }
  return all;
}

std::vector<std::uint64_t> free_memory_of(const std::vector<Device>& devices) {
  std::vector<std::uint64_t> bytes;
  for (const Device& device : devices) bytes.push_back(device.memory().free);
  return bytes;
}

// Requires at least as much as before. A driver may release cached memory meanwhile.
void expect_no_less(const std::string& what, std::uint64_t before, std::uint64_t after) {
  expect_true(after + slack() >= before,
              what + " is at least " + std::to_string(before) + ", got " + std::to_string(after));
}

// Allocates two pieces, sends the free memory, and ends by the order "free", "leave" or "signal", or is killed
// from outside.
PROCTOR_HELPER(end_with_memory) {
  const auto context = leased();
  const std::uint64_t before = context.device().memory().free;
  auto many = std::make_unique<Buffer>(used_memory(context, kHeld));
  auto one = std::make_unique<Buffer>(used_memory(context, 1));
  suite::answer({{"before", before}, {"during", context.device().memory().free}});
  const std::string how = suite::wait_for_input();
  if (how == "free") {
    many.reset();
    one.reset();
  }
  if (how == "leave" || how == "free") _exit(0);
  std::raise(SIGTERM);
}

}  // namespace

// The driver may reuse memory that an earlier check freed for the small pieces. The check therefore runs in a
// process of its own.
PROCTOR_CHECK(MemoryInfo, AllocationsOfEverySizeAreCounted, "M17", kFreeMemory, kGate,
              .faults = {"alloc.leak_on_free:every=3", "sysman.freeze_free_memory"}, .alone = true) {
  const auto context = leased();
  const Buffer counted = need_counted_memory(context);
  const Device& device = context.device();
  std::optional<std::uint64_t> left;
  for (const char* round : {"first", "second"}) {
    std::vector<Buffer> pieces;
    for (const std::uint64_t bytes : {std::uint64_t{1}, std::uint64_t{65'536}, std::uint64_t{65'537},
                                      std::uint64_t{1} << 20, (std::uint64_t{2} << 20) + 1, kHeld}) {
      const std::uint64_t before = device.memory().free;
      step(std::string("given ") + std::to_string(bytes) + " bytes more, for the " + round + " time");
      pieces.push_back(used_memory(context, bytes));
      if (!left) expect_fallen("free memory", before, device.memory().free, {bytes});
    }
    const std::uint64_t now = device.memory().free;
    expect_no_less("free memory after the same allocations again", left.value_or(now), now);
    left = now;
    for (Buffer& piece : pieces) piece.try_free().or_throw();  // The driver may keep it for the second round.
  }
}

PROCTOR_CHECK(MemoryInfo, AllocationCountsOnlyOnTargetDevice, "S4.5", kFreeMemory, kGate,
              .faults = {"sysman.freeze_free_memory", "alloc.wrong_device"}, .devices = 2) {
  const auto cards = leased_devices(2);
  const Context context(cards);
  const Buffer counted = need_counted_memory(context);
  const auto all = devices_and_tiles(cards);
  for (const Device& home : all) {
    if (!home.tiles().empty()) continue;  // The tiles of this card are tried instead.
    const auto before = free_memory_of(all);
    step("given memory of " + describe(home));
    const Buffer held = used_memory(context, kHeld, home);
    const auto during = free_memory_of(all);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto tiles = all[i].tiles();
      const bool pays = all[i] == home || std::find(tiles.begin(), tiles.end(), home) != tiles.end();
      const std::string what = "free memory of " + describe(all[i]) + " (" + std::to_string(i) + ")";
      if (pays) {
        expect_fallen(what, before[i], during[i], {kHeld});
      } else {
        expect_no_less(what, before[i], during[i]);
      }
    }
  }
}

PROCTOR_CHECK(ProcessExit, EveryExitReleasesAllMemory, "M19",
              by_vendor("Linux DRM documentation, GEM: the end of a file releases its handles",
                        "project rule: A process that has ended holds no memory."),
              by_vendor(kGate, kWarn), {"sysman.leak_after_exit"}) {
  const Device device = leased_device();
  const Buffer counted = need_counted_memory(Context(device));
  std::optional<std::uint64_t> taken;
  for (const char* end : {"kill", "free", "leave", "signal", "leave"}) {
    const std::uint64_t before = device.memory().free;
    step(std::string("given a second process that allocates memory, and then: ") + end);
    Helper holder("end_with_memory");
    const auto held = holder.answer();
    const auto during = held.at("during").get<std::uint64_t>();
    expect_fallen("free memory in the second process", held.at("before").get<std::uint64_t>(), during,
                  {kHeld, 1});
    expect_again("free memory in this process, compared with the other process,", during,
                 device.memory().free);
    // The amount includes the context of the process, which is equal in each process. Each amount is the
    // difference of two readings.
    const std::uint64_t fallen = before - std::min(before, during);
    expect_again("memory that each process uses", taken.value_or(fallen), fallen, 2);
    taken = fallen;
    if (end == std::string("kill")) {
      holder.kill();
    } else {
      holder.order(end);
      holder.finish();
    }
    if (suite::on_simgpu()) expect_again("free memory afterwards", before, device.memory().free);
    expect_returned(device, before);
  }
}

namespace {

// Allocates all of `wanted`, in pieces of at most the largest allocation. Each piece is written, because a driver
// may take memory at its first use.
std::vector<Buffer> take_all(Queue& queue, const Context& context, const Device& device,
                             std::uint64_t wanted) {
  std::vector<Buffer> pieces;
  const std::uint64_t largest = device.properties().largest_allocation;
  while (wanted > 0) {
    const std::uint64_t bytes = std::min(wanted, largest);
    Buffer piece;
    const Status status = Buffer::try_allocate(context, {.bytes = bytes, .device = device}, piece);
    suite::expect_same(std::to_string(bytes) + " of the " + std::to_string(wanted) + " bytes that are free",
                       kSuccess, status.name());
    if (!status.ok()) break;
    write(queue, context, piece.data(), noise(std::min<std::uint64_t>(bytes, 4096), 1));
    pieces.push_back(std::move(piece));
    wanted -= bytes;
  }
  return pieces;
}

}  // namespace

// A driver may reuse freed memory, which does not count as free. The check therefore runs in a process of its own.
PROCTOR_CHECK(OutOfMemory, FreeMemoryIsAllocatableTwice, "M07", "NVIDIA DCGM, memory plugin: 75 % of free",
              kWarn, .faults = {"alloc.capacity_ignored", "alloc.leak_on_free"}, .alone = true) {
  const auto context = leased();
  need(!MemoryCap::of_process().is_set(), kNeedsNoCap);
  const auto tiles = context.device().tiles();
  const Device device = tiles.empty() ? context.device() : tiles.back();
  const Buffer counted = need_counted_memory(context);
  Queue queue(context, Queue::Mode::kLists, device);
  const std::uint64_t free = device.memory().free;
  for (const char* round : {"first", "second"}) {
    step(std::string("given that all free memory is taken, a ") + round + " time");
    auto pieces = take_all(queue, context, device, counts_every_byte() ? free : free / 4 * 3);
    if (!counts_every_byte()) continue;
    suite::expect_same("free memory", "0", std::to_string(device.memory().free));
    Buffer more;
    const Status beyond = Buffer::try_allocate(context, {.bytes = 1, .device = device}, more);
    expect_true(beyond.out_of_memory(), "one byte more is refused as out of memory, got " + beyond.name());
    step("then that a piece is freed");
    if (pieces.empty()) return;
    const std::size_t bytes = pieces.back().bytes();
    pieces.back().try_free().or_throw();
    const Status larger = Buffer::try_allocate(context, {.bytes = bytes + 1, .device = device}, more);
    expect_true(!larger.ok(), "an allocation of one byte more than the freed piece is refused");
    const Status again = Buffer::try_allocate(context, {.bytes = bytes, .device = device}, more);
    suite::expect_same("a piece of that size", kSuccess, again.name());
  }
}

}  // namespace proctor::accel
