// Copies, byte for byte: what lies in the range arrives, what lies around it stays.
#include <algorithm>

#include "suites/accel/check_fixture.h"
#include "suites/main/check.h"
#include "suites/memory/guarded.h"

namespace proctor::accel {
namespace {

using suite::kGate;
using suite::kWarn;
using suite::step;

constexpr const char* kCopy =
    by_vendor("Level Zero specification, zeCommandListAppendMemoryCopy", "CUDA Runtime API, cudaMemcpyAsync");
constexpr const char* kRegion = by_vendor("Level Zero specification, zeCommandListAppendMemoryCopyRegion",
                                          "CUDA Runtime API, cudaMemcpy3DAsync");

}  // namespace

PROCTOR_CHECK(Copy, HostToDeviceIsByteExact, "M22", kCopy, kGate,
              {"memory.corrupt_copy:at=17", "copy.short"}) {
  copy_all_sizes({.from = Kind::kHost, .to = Kind::kDevice});
}

PROCTOR_CHECK(Copy, DeviceToHostIsByteExact, "M22", kCopy, kGate, {"copy.skip", "copy.overrun"}) {
  copy_all_sizes({.from = Kind::kDevice, .to = Kind::kHost});
}

PROCTOR_CHECK(Copy, DeviceToDeviceIsByteExact, "M22", kCopy, kGate,
              {"memory.corrupt_copy:at=17,times=1", "copy.overrun"}) {
  copy_all_sizes({.from = Kind::kDevice, .to = Kind::kDevice});
}

PROCTOR_CHECK(Copy, HostToHostIsByteExact, "M22", kCopy, kGate, {"memory.corrupt_copy:at=17,times=1"}) {
  copy_all_sizes({.from = Kind::kHost, .to = Kind::kHost});
}

PROCTOR_CHECK(Copy, OddAddressesAreByteExact, "M22", kCopy, kGate,
              {"copy.offset_ignored", "memory.corrupt_copy:at=17,times=1"}) {
  const auto context = leased();
  step("given addresses that are not multiples of anything");
  for (const std::size_t offset : {1U, 2U, 3U, 7U, 13U}) {
    copy_between_guards(context, {.from = Kind::kHost, .to = Kind::kDevice, .offset = offset}, 1001);
    copy_between_guards(context, {.from = Kind::kDevice, .to = Kind::kHost, .offset = offset}, 1001);
  }
}

PROCTOR_CHECK(
    Copy, LargeCopyIsByteExact, "M22", kCopy, kGate,
    .faults = {"memory.corrupt_copy:at=65539,times=1", "copy.short:min=65536"},
    .sizes = {
        .smoke = 1 << 16, .ci = 1 << 22, .full = 1 << 26, .stress = std::int64_t{1} << 31, .unit = "bytes"}) {
  const auto context = leased();
  Queue queue(context);
  const auto bytes = static_cast<std::size_t>(suite::sized()) + 7;
  step("given " + std::to_string(bytes) + " bytes there and back");
  const auto sent = noise(bytes, 3);
  const Buffer there = device_memory(context, bytes);
  write(queue, context, there.data(), sent);
  expect_bytes("large copy", sent, read_bytes(queue, context, there.data(), bytes), context.device());
}

// Memory of malloc: the driver stages it (the official tests do this too).
PROCTOR_CHECK(Copy, PageableMemoryIsByteExact, "M29",
              by_vendor("oneapi-src/level-zero-tests test_copy.cpp",
                        "CUDA Runtime API, API synchronization behavior"),
              by_vendor(kWarn, kGate), {"memory.corrupt_copy:at=17,times=1", "copy.short"}) {
  const auto context = leased();
  Queue queue(context);
  step("given source and destination from malloc");
  const auto sent = noise(10007, 4);
  std::vector<std::byte> got(sent.size());
  const Buffer there = device_memory(context, sent.size());
  queue.copy(there.data(), sent.data(), sent.size());
  queue.copy(got.data(), there.data(), got.size());
  queue.synchronize();
  expect_bytes("pageable memory there and back", sent, got, context.device());
}

PROCTOR_CHECK(Copy, NoBytesChangeNothing, "M23",
              by_vendor("oneapi-src/level-zero-tests test_empty_copy.cpp", "ROCm/hip-tests hipMemcpy"), kGate,
              {"copy.empty_writes"}) {
  const auto context = leased();
  step("given a copy of 0 bytes");
  copy_between_guards(context, {.from = Kind::kHost, .to = Kind::kDevice}, 0);
}

PROCTOR_CHECK(Copy, ReachesItsDestinationOnly, "M22", kCopy, kGate, {"copy.wrong_device"}) {
  const auto context = leased();
  Queue queue(context);
  std::vector<Buffer> buffers;
  std::vector<std::vector<std::byte>> contents;
  step("given sixteen buffers, each written once");
  for (std::uint64_t i = 0; i < 16; ++i) {
    buffers.push_back(device_memory(context, 4096));
    contents.push_back(noise(4096, 100 + i));
  }
  for (std::size_t i = 0; i < 16; ++i) write(queue, context, buffers[i].data(), contents[i]);
  for (std::size_t i = 0; i < 16; ++i) {
    expect_bytes("buffer " + std::to_string(i), contents[i],
                 read_bytes(queue, context, buffers[i].data(), 4096), context.device());
  }
}

PROCTOR_CHECK(Copy, StartsInsideAnAllocation, "M22", kCopy, kGate, {"copy.offset_ignored"}) {
  const auto context = leased();
  Queue queue(context);
  const auto whole = noise(8192, 5);
  const auto buffer = device_copy(queue, context, whole);
  step("given a read that begins at byte 5000");
  const auto part = std::span(whole).subspan(5000, 1000);
  expect_bytes("bytes 5000 to 5999", part, read_bytes(queue, context, buffer.data() + 5000, 1000),
               context.device());
}

// ---- regions ----

namespace {

constexpr std::size_t kPitch = 100;
constexpr std::size_t kSlice = 100 * 20;

// Copies a box of 37 bytes by 11 rows by 3 slices and compares the whole destination.
void copy_box(const Context& context, std::size_t slices) {
  Queue queue(context);
  const auto from_bytes = noise(kSlice * 5, 6);
  const auto to_bytes = noise(kSlice * 5, 7);
  const auto from = device_copy(queue, context, from_bytes);
  const auto to = device_copy(queue, context, to_bytes);
  const Pitched source{from.data(), kPitch, kSlice, {3, 2, 1}};
  const Pitched destination{to.data(), kPitch, kSlice, {5, 4, 1}};
  queue.copy_region(destination, source, {37, 11, slices});
  queue.synchronize();

  auto expected = to_bytes;
  const auto at = [](const Pitched& box, std::size_t x, std::size_t y, std::size_t z) {
    return (z + box.origin[2]) * kSlice + (y + box.origin[1]) * kPitch + x + box.origin[0];
  };
  for (std::size_t z = 0; z < slices; ++z) {
    for (std::size_t y = 0; y < 11; ++y) {
      for (std::size_t x = 0; x < 37; ++x)
        expected[at(destination, x, y, z)] = from_bytes[at(source, x, y, z)];
    }
  }
  expect_bytes("box of 37 x 11 x " + std::to_string(slices) + " with a pitch of 100", expected,
               read_bytes(queue, context, to.data(), to.bytes()), context.device());
}

}  // namespace

PROCTOR_CHECK(Copy, RegionKeepsItsPitch, "M25", kRegion, kGate, {"copy.pitch_ignored"}) {
  const auto context = leased();
  step("given a box of one slice");
  copy_box(context, 1);
}

PROCTOR_CHECK(Copy, RegionHasAllItsSlices, "M25", kRegion, kGate,
              {"copy.slice_ignored", "copy.pitch_ignored"}) {
  const auto context = leased();
  step("given a box of three slices");
  copy_box(context, 3);
}

// ---- between cards ----

PROCTOR_CHECK(Copy, BetweenDevicesIsByteExact, "S1.18",
              by_vendor("Level Zero specification, zeDeviceCanAccessPeer",
                        "CUDA C++ Programming Guide, Peer-to-Peer Memory Copy"),
              kGate, .faults = {"copy.peer_stale"}, .devices = 2, .needs = {"p2p"}) {
  const auto devices = leased_devices(2);
  need(devices[0].reaches(devices[1]), "needs:p2p");
  const Context context(devices);
  Queue queue(context);
  const auto sent = noise(20000, 8);
  const Buffer first(context, {.bytes = sent.size(), .device = devices[0]});
  const Buffer second(context, {.bytes = sent.size(), .device = devices[1]});
  write(queue, context, first.data(), sent);
  write(queue, context, second.data(), noise(sent.size(), 9));
  step("given a copy from one card to the other");
  queue.copy(second.data(), first.data(), sent.size());
  queue.synchronize();
  expect_bytes("memory of the second card", sent, read_bytes(queue, context, second.data(), sent.size()),
               devices[1]);
}

}  // namespace proctor::accel
