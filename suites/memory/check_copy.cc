// Checks of copies and fills, byte for byte. The bytes in the range must arrive, and the bytes around it must not
// change.
#include <algorithm>
#include <array>

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

Axis kinds(std::string name) { return {std::move(name), {"device", "host"}, {}}; }
MemoryKind kind_of(const std::string& text) {
  return text == "host" ? MemoryKind::kHost : MemoryKind::kDevice;
}

}  // namespace

PROCTOR_CHECK(Copy, HostToDeviceIsByteExact, "M22", kCopy, kGate,
              {"memory.corrupt_copy:at=17", "copy.short"}) {
  copy_all_sizes({.from = MemoryKind::kHost, .to = MemoryKind::kDevice});
}

PROCTOR_CHECK(Copy, DeviceToHostIsByteExact, "M22", kCopy, kGate, {"copy.skip", "copy.overrun"}) {
  copy_all_sizes({.from = MemoryKind::kDevice, .to = MemoryKind::kHost});
}

PROCTOR_CHECK(Copy, DeviceToDeviceIsByteExact, "M22", kCopy, kGate,
              {"memory.corrupt_copy:at=17,times=1", "copy.overrun"}) {
  copy_all_sizes({.from = MemoryKind::kDevice, .to = MemoryKind::kDevice});
}

PROCTOR_CHECK(Copy, HostToHostIsByteExact, "M22", kCopy, kGate, {"memory.corrupt_copy:at=17,times=1"}) {
  copy_all_sizes({.from = MemoryKind::kHost, .to = MemoryKind::kHost});
}

PROCTOR_CHECK(Copy, UnalignedCopyIsByteExact, "M22", kCopy, kGate,
              .faults = by_vendor<Texts>({"copy.offset_ignored", "memory.corrupt_copy:at=17,min=4000",
                                          "memory.corrupt_copy:tile=1,at=17,min=4000"},
                                         {"copy.offset_ignored", "memory.corrupt_copy:at=17,min=4000"}),
              .axes = {kinds("from"), kinds("to"), guarded_bytes(), suite::axis::offset("from_offset"),
                       suite::axis::offset("to_offset")},
              .points = 160) {
  PointPlaces places(leased_device());
  suite::at_each_point([&](const suite::Point& at) {
    const Route route{.from = kind_of(at.text("from")),
                      .to = kind_of(at.text("to")),
                      .from_offset = at.size("from_offset"),
                      .to_offset = at.size("to_offset")};
    const std::size_t bytes = at.size("bytes");
    copy_between_guards(places.at(bytes + route.from_offset + route.to_offset), route, bytes);
  });
  places.record();
}

// All pairs of alignments in one check, with few bytes each.
PROCTOR_CHECK(Copy, EveryAlignmentPairIsByteExact, "M22", kCopy, kGate,
              {"copy.offset_ignored", "memory.corrupt_copy:at=0"}) {
  const auto context = leased();
  for (const MemoryKind from : {MemoryKind::kDevice, MemoryKind::kHost}) {
    for (const MemoryKind to : {MemoryKind::kDevice, MemoryKind::kHost}) {
      step(std::string("given each pair of alignments, from ") + to_string(from) + " to " + to_string(to) +
           " memory");
      copy_all_alignments(context, from, to);
    }
  }
}

PROCTOR_CHECK(
    Copy, LargeCopyIsByteExact, "M22", kCopy, kGate,
    .faults = {"memory.corrupt_copy:at=65539,times=1", "copy.short:min=65536"},
    .sizes = {
        .smoke = 1 << 16, .ci = 1 << 22, .full = 1 << 26, .stress = std::int64_t{1} << 31, .unit = "bytes"}) {
  on_device_and_tiles([&](const Context& context) {
    Queue queue(context);
    const auto bytes = static_cast<std::size_t>(suite::sized()) + 7;
    step("given " + std::to_string(bytes) + " bytes there and back");
    const auto sent = noise(bytes, 3);
    const Buffer there = device_memory(context, bytes);
    write(queue, context, there.data(), sent);
    expect_bytes("large copy", sent, read_bytes(queue, context, there.data(), bytes), context.device());
  });
}

// Memory of malloc, which the driver stages. The official tests do this too.
PROCTOR_CHECK(Copy, PageableCopyIsByteExact, "M29",
              by_vendor("oneapi-src/level-zero-tests, test_copy.cpp",
                        "CUDA Runtime API, API synchronization behavior"),
              by_vendor(kWarn, kGate), {"memory.corrupt_copy:at=17,times=1", "copy.short"}) {
  on_device_and_tiles([&](const Context& context) {
    Queue queue(context);
    step("given source and destination from malloc");
    const auto sent = noise(10007, 4);
    std::vector<std::byte> got(sent.size());
    const Buffer there = device_memory(context, sent.size());
    queue.copy(there.data(), sent.data(), sent.size());
    queue.copy(got.data(), there.data(), got.size());
    queue.synchronize();
    expect_bytes("pageable memory there and back", sent, got, context.device());
  });
}

PROCTOR_CHECK(Copy, ZeroSizeChangesNothing, "M23",
              by_vendor("oneapi-src/level-zero-tests, test_empty_copy.cpp", "ROCm/hip-tests, hipMemcpy"),
              kGate, {"copy.write_on_empty_copy"}) {
  on_device_and_tiles([&](const Context& context) {
    step("given a copy of 0 bytes");
    copy_between_guards(context, {.from = MemoryKind::kHost, .to = MemoryKind::kDevice}, 0);
  });
}

PROCTOR_CHECK(Copy, CopyReachesOnlyTargetBuffer, "M22", kCopy, kGate, {"copy.write_to_wrong_allocation"}) {
  on_device_and_tiles([&](const Context& context) {
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
  });
}

PROCTOR_CHECK(Copy, CopyFromOffsetIsByteExact, "M22", kCopy, kGate, {"copy.offset_ignored"}) {
  on_device_and_tiles([&](const Context& context) {
    Queue queue(context);
    const auto whole = noise(8192, 5);
    const auto buffer = device_copy(queue, context, whole);
    step("given a read that begins at byte 5000");
    const auto part = std::span(whole).subspan(5000, 1000);
    expect_bytes("bytes 5000 to 5999", part, read_bytes(queue, context, buffer.data() + 5000, 1000),
                 context.device());
  });
}

// ---- regions ----

namespace {

// One side of a copy of a region: slices of `rows` rows of `pitch` bytes. The box begins at `origin`.
struct Side {
  std::size_t pitch = 100;
  std::size_t rows = 20;
  std::array<std::size_t, 3> origin{};

  std::size_t slice() const { return pitch * rows; }
  std::size_t bytes(std::size_t slices) const { return slice() * (slices + origin[2]); }
  std::size_t at(std::size_t x, std::size_t y, std::size_t z) const {
    return (z + origin[2]) * slice() + (y + origin[1]) * pitch + x + origin[0];
  }
  Pitched in(const Buffer& buffer) const { return {buffer.data(), pitch, slice(), origin}; }
};

// Copies a box and compares the whole destination.
void copy_box(const Context& context, const Side& to, const Side& from, std::array<std::size_t, 3> size) {
  Queue queue(context);
  const auto sent = noise(from.bytes(size[2]), 6);
  auto expected = noise(to.bytes(size[2]), 7);
  const auto source = device_copy(queue, context, sent);
  const auto target = device_copy(queue, context, expected);
  queue.copy_region(to.in(target), from.in(source), size);
  queue.synchronize();
  for (std::size_t z = 0; z < size[2]; ++z) {
    for (std::size_t y = 0; y < size[1]; ++y) {
      for (std::size_t x = 0; x < size[0]; ++x) expected[to.at(x, y, z)] = sent[from.at(x, y, z)];
    }
  }
  expect_bytes("box of " + std::to_string(size[0]) + " x " + std::to_string(size[1]) + " x " +
                   std::to_string(size[2]) + ", pitches " + std::to_string(from.pitch) + " and " +
                   std::to_string(to.pitch),
               expected, read_bytes(queue, context, target.data(), target.bytes()), context.device());
}

constexpr Side kFrom{.origin = {3, 2, 1}}, kTo{.origin = {5, 4, 1}};

}  // namespace

PROCTOR_CHECK(CopyRegion, PitchIsRespected, "M25", kRegion, kGate, {"copy.pitch_ignored"}) {
  on_device_and_tiles([&](const Context& context) {
    step("given a box of one slice");
    copy_box(context, kTo, kFrom, {37, 11, 1});
  });
}

PROCTOR_CHECK(CopyRegion, EverySliceIsCopied, "M25", kRegion, kGate,
              {"copy.copy_first_slice_only", "copy.pitch_ignored"}) {
  on_device_and_tiles([&](const Context& context) {
    step("given a box of three slices");
    copy_box(context, kTo, kFrom, {37, 11, 3});
  });
}

// Regions with many rows in one slice, and with few rows in each of many slices.
PROCTOR_CHECK(CopyRegion, EveryRowIsCopied, "M25", kRegion, kGate, {"copy.omit_last_row"}) {
  on_device_and_tiles([&](const Context& context) {
    const Side from{.rows = 310, .origin = {3, 2, 1}}, to{.rows = 305, .origin = {5, 4, 0}};
    for (const std::size_t rows : {std::size_t{64}, std::size_t{65}, std::size_t{300}}) {
      step("given a box of " + std::to_string(rows) + " rows");
      copy_box(context, to, from, {37, rows, 1});
    }
    step("given a box of 100 slices of three rows");
    copy_box(context, kTo, kFrom, {37, 3, 100});
  });
}

// Boxes as wide as the pitch or narrower, as high as a slice or lower, at the begin of the region or inside.
PROCTOR_CHECK(CopyRegion, EveryShapeIsByteExact, "M25", kRegion, kGate,
              .faults = {"copy.pitch_ignored", "memory.corrupt_copy:at=17"},
              .axes = {{"width", {"1", "3", "37", "64"}, {}},
                       {"height", {"1", "2", "11"}, {}},
                       {"depth", {"1", "2", "4"}, {}},
                       {"from_pitch", {"64", "65", "128"}, {}},
                       {"to_pitch", {"64", "67", "100"}, {}},
                       {"spare_rows", {"0", "1", "9"}, {}},
                       {"origin", {"0", "1"}, {}}},
              .points = 24) {
  const auto context = leased();
  suite::at_each_point([&](const suite::Point& at) {
    const std::size_t width = at.size("width"), height = at.size("height"), origin = at.size("origin");
    const auto side = [&](const char* pitch, std::size_t inside) {
      const std::size_t x = std::min(inside, at.size(pitch) - width);
      const std::size_t y = std::min(inside, at.size("spare_rows"));
      return Side{at.size(pitch), height + at.size("spare_rows"), {x, y, inside}};
    };
    copy_box(context, side("to_pitch", origin), side("from_pitch", 2 * origin),
             {width, height, at.size("depth")});
  });
}

// ---- between cards ----

namespace {

constexpr const char* kPeers = by_vendor("Level Zero specification, zeDeviceCanAccessPeer",
                                         "CUDA Programming Guide, Peer-to-Peer Memory Copy");

// Copies in both directions between every two cards. A wrong copy does not end the check, because only the correct
// copies show which card the wrong copies have in common.
void copy_between_every_two(const std::vector<Device>& devices) {
  const Context context(devices);
  constexpr std::size_t kBytes = 4099;
  int ways = 0;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    Queue queue(context, Queue::Mode::kLists, devices[i]);
    const auto sent = noise(kBytes, i);
    const Buffer from(context, {.bytes = kBytes, .device = devices[i]});
    write(queue, context, from.data(), sent);
    for (std::size_t j = 0; j < devices.size(); ++j) {
      if (j == i || !devices[i].reaches(devices[j])) continue;
      ++ways;
      step("given a copy from device " + std::to_string(i) + " to device " + std::to_string(j));
      Queue home(context, Queue::Mode::kLists, devices[j]);
      const Buffer to(context, {.bytes = kBytes, .device = devices[j]});
      write(home, context, to.data(), noise(kBytes, 100 + j));
      queue.copy(to.data(), from.data(), kBytes);
      queue.synchronize();
      expect_transfer("memory of the second", sent, read_bytes(home, context, to.data(), kBytes), devices[i],
                      devices[j]);
    }
  }
  need(ways > 0, "needs:p2p");
}

}  // namespace

PROCTOR_CHECK(PeerCopy, TwoDevicesExchangeExactBytes, "S1.18", kPeers, kGate,
              .faults = {"copy.skip_peer_copy"}, .devices = 2, .needs = {"p2p"}) {
  copy_between_every_two(leased_devices(2));
}

// This check also copies between devices that are not neighbours in the ring of --each-device.
PROCTOR_CHECK(PeerCopy, FourDevicesExchangeExactBytes, "S1.18", kPeers, kGate,
              .faults = {"copy.skip_peer_copy_beyond_second", "copy.skip_peer_copy"}, .devices = 4,
              .needs = {"p2p"}) {
  copy_between_every_two(leased_devices(4));
}

// Checks of fills: every pattern size must fill its range completely, and nothing else.

namespace {

using suite::kGate;
using suite::kWarn;
using suite::step;

constexpr const char* kFill =
    by_vendor("Level Zero specification, zeCommandListAppendMemoryFill", "CUDA Runtime API, cudaMemsetAsync");

// Sizes of a pattern in bytes. The CUDA runtime supports one size.
const std::vector<std::string> kPatterns =
    by_vendor<Texts>({"1", "2", "4", "8", "16", "32", "64", "128"}, {"1"});

// Rounds down to whole patterns, at least one. The validation layer of Level Zero refuses parts of a pattern.
std::size_t whole_patterns(std::size_t bytes, std::size_t pattern) {
  return std::max(bytes / pattern, std::size_t{1}) * pattern;
}

constexpr std::size_t kWord = by_vendor<std::size_t>(4, 1);

}  // namespace

PROCTOR_CHECK(Fill, EveryPatternSizeIsByteExact, "M27", kFill, kGate,
              .faults = {by_vendor("copy.shift_fill_pattern", "copy.skip_fill"),
                         by_vendor("memory.corrupt_fill:tile=1,at=17", "memory.corrupt_fill:at=17")},
              .axes = {guarded_bytes(),
                       {"pattern", kPatterns, {}},
                       {"patterns_before", {"0", "1", "3", "511"}, {}}},
              .points = 112) {
  PointPlaces places(leased_device());
  suite::at_each_point([&](const suite::Point& at) {
    const std::size_t pattern = at.size("pattern"), before = at.size("patterns_before");
    const FillShape shape{
        .pattern = pattern, .bytes = whole_patterns(at.size("bytes"), pattern), .offset = before * pattern};
    fill_between_guards(places.at(at.size("bytes") + pattern + before), shape);
  });
  places.record();
}

PROCTOR_CHECK(Fill, LastPatternIsWritten, "M27", kFill, kGate,
              {"copy.omit_last_fill_pattern", "copy.skip_fill"}) {
  on_device_and_tiles([&](const Context& context) {
    for (const std::size_t times : {1U, 2U, 3U, 1000U, 1001U}) {
      step("given " + std::to_string(times) + " patterns of " + std::to_string(kWord) + " bytes");
      fill_between_guards(context, {.pattern = kWord, .bytes = kWord * times});
    }
  });
}

PROCTOR_CHECK_EACH((std::vector<std::string>{"shared", "host"}), Fill, HostAccessibleMemoryIsFilled, "M27",
                   kFill, kGate, {"copy.skip_fill", "memory.corrupt_fill:at=17"}) {
  const auto context = leased();
  Queue queue(context);
  const auto pattern = noise(kWord, 3);
  const bool shared = suite::parameter() == "shared";
  for (const std::size_t bytes : {1000U, 65536U, 200'000U}) {
    const Buffer memory = shared ? shared_memory(context, bytes) : host_memory(context, bytes);
    step("given " + std::to_string(bytes) + " bytes of " + suite::parameter() + " memory");
    queue.fill(memory.data(), pattern, memory.bytes());
    queue.synchronize();
    std::vector<std::byte> expected(bytes);
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = pattern[i % kWord];
    expect_bytes(suite::parameter() + " memory", expected, {memory.data(), memory.bytes()}, context.device());
  }
}

}  // namespace proctor::accel
