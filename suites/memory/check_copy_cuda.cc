// Checks of the copy and fill functions of the CUDA Runtime: with pitch, in three dimensions, between devices, and
// synchronous.
#include <unistd.h>

#include <algorithm>
#include <climits>

#include "suites/accel/check_fixture.h"
#include "suites/accel/cuda/refusal.h"
#include "suites/accel/free_memory.h"
#include "suites/main/check.h"
#include "suites/main/helper.h"

namespace proctor::accel {
namespace {

using suite::expect_same;
using suite::expect_true;
using suite::kGate;
using suite::step;

constexpr const char* kPitch = "CUDA Runtime API, cudaMallocPitch, cudaMemcpy2D, cudaMemset2D";
constexpr const char* kVolume = "CUDA Runtime API, cudaMalloc3D, cudaMemcpy3D, cudaMemset3D";
constexpr const char* kSynchronous = "CUDA Runtime API, API synchronization behavior";
constexpr const char* kPeer = "CUDA Programming Guide, Peer-to-Peer Memory Access and Copy";
constexpr std::size_t kWidth = 300;  // Bytes of a row. No pitch is a multiple of this width.
constexpr std::size_t kHeight = 21;
constexpr std::size_t kDepth = 3;

// Device memory with kHeight rows of kWidth bytes. `pitch` is the distance of two rows in bytes.
struct Plane {
  explicit Plane(const Context& context) {
    use(context.device());
    CUDA_CALL(cudaMallocPitch, &pointer, &pitch, kWidth, kHeight).or_throw();
  }
  ~Plane() { static_cast<void>(cudaFree(pointer)); }
  Plane(const Plane&) = delete;
  Plane& operator=(const Plane&) = delete;
  std::byte* row(std::size_t y) const { return static_cast<std::byte*>(pointer) + y * pitch; }
  void* pointer = nullptr;
  std::size_t pitch = 0;
};

// Like Plane, with slices.
struct Volume {
  explicit Volume(const Context& context) {
    use(context.device());
    CUDA_CALL(cudaMalloc3D, &pitched, cudaExtent{kWidth, kHeight, kDepth}).or_throw();
  }
  ~Volume() { static_cast<void>(cudaFree(pitched.ptr)); }
  Volume(const Volume&) = delete;
  Volume& operator=(const Volume&) = delete;
  cudaPitchedPtr pitched{};
};

cudaPitchedPtr dense(std::vector<std::byte>& bytes) { return {bytes.data(), kWidth, kWidth, kHeight}; }

void copy_volume(const cudaPitchedPtr& to, const cudaPitchedPtr& from) {
  cudaMemcpy3DParms what{};
  what.srcPtr = from;
  what.dstPtr = to;
  what.extent = {kWidth, kHeight, kDepth};
  what.kind = cudaMemcpyDefault;
  CUDA_CALL(cudaMemcpy3D, &what).or_throw();
}

}  // namespace

PROCTOR_CHECK(Pitch, RowsStartAtPitchMultiples, "M25", kPitch, kGate,
              {"copy.pitch_ignored:times=1", "copy.skip:times=1"}) {
  const auto context = leased();
  Queue queue(context);
  auto sent = noise(kWidth * kHeight, 1);
  step("given a plane with a pitch of the runtime's choice, written row by row");
  const Plane plane(context);
  expect_true(plane.pitch >= kWidth, "the pitch is at least a row");
  CUDA_CALL(cudaMemcpy2D, plane.pointer, plane.pitch, sent.data(), kWidth, kWidth, kHeight, cudaMemcpyDefault)
      .or_throw();
  for (std::size_t y = 0; y < kHeight; ++y) {
    expect_bytes("row " + std::to_string(y), std::span(sent).subspan(y * kWidth, kWidth),
                 read_bytes(queue, context, plane.row(y), kWidth), context.device());
  }
}

PROCTOR_CHECK(Pitch, PlaneRoundTripIsByteExact, "M25", kPitch, kGate,
              {"memory.corrupt_copy:at=17,times=1", "copy.pitch_ignored:times=1"}) {
  const auto context = leased();
  const auto sent = noise(kWidth * kHeight, 2);
  std::vector<std::byte> got(sent.size());
  step("given a plane that is copied there and back");
  const Plane plane(context);
  CUDA_CALL(cudaMemcpy2D, plane.pointer, plane.pitch, sent.data(), kWidth, kWidth, kHeight, cudaMemcpyDefault)
      .or_throw();
  CUDA_CALL(cudaMemcpy2D, got.data(), kWidth, plane.pointer, plane.pitch, kWidth, kHeight, cudaMemcpyDefault)
      .or_throw();
  expect_bytes("the plane", sent, got, context.device());
}

PROCTOR_CHECK(Pitch, FillLeavesPaddingUnchanged, "M27", kPitch, kGate,
              {"copy.skip_fill", "memory.corrupt_fill:at=17"}) {
  const auto context = leased();
  Queue queue(context);
  const Plane plane(context);
  const auto before = noise(plane.pitch * kHeight, 3);
  write(queue, context, plane.pointer, before);
  step("given a fill of a plane whose rows are shorter than its pitch");
  CUDA_CALL(cudaMemset2D, plane.pointer, plane.pitch, 0x5a, kWidth, kHeight).or_throw();
  CUDA_CALL(cudaDeviceSynchronize).or_throw();
  auto expected = before;
  for (std::size_t y = 0; y < kHeight; ++y) {
    std::fill_n(expected.begin() + static_cast<std::ptrdiff_t>(y * plane.pitch), kWidth, std::byte{0x5a});
  }
  expect_bytes("the plane and its padding", expected,
               read_bytes(queue, context, plane.pointer, expected.size()), context.device());
}

namespace {

// Copies `height` rows of `width` bytes between planes with these pitches. All other bytes must not change.
void copy_plane(const Context& context, std::size_t to_pitch, std::size_t from_pitch, std::size_t width,
                std::size_t height, bool asynchronous) {
  Queue queue(context);
  const auto sent = noise(from_pitch * height, 1);
  auto expected = noise(to_pitch * height, 2);
  const auto from = device_copy(queue, context, sent);
  const auto to = device_copy(queue, context, expected);
  (asynchronous ? CUDA_CALL(cudaMemcpy2DAsync, to.data(), to_pitch, from.data(), from_pitch, width, height,
                            cudaMemcpyDefault, native(queue))
                : CUDA_CALL(cudaMemcpy2D, to.data(), to_pitch, from.data(), from_pitch, width, height,
                            cudaMemcpyDefault))
      .or_throw();
  CUDA_CALL(cudaDeviceSynchronize).or_throw();
  for (std::size_t y = 0; y < height; ++y) {
    std::copy_n(sent.begin() + static_cast<std::ptrdiff_t>(y * from_pitch), width,
                expected.begin() + static_cast<std::ptrdiff_t>(y * to_pitch));
  }
  expect_bytes(std::to_string(height) + " rows of " + std::to_string(width) + " bytes, pitch " +
                   std::to_string(from_pitch) + " to " + std::to_string(to_pitch),
               expected, read_bytes(queue, context, to.data(), expected.size()), context.device());
}

}  // namespace

PROCTOR_CHECK(Pitch, CopyBetweenPitchesIsByteExact, "M25", kPitch, kGate,
              {"copy.pitch_ignored", "memory.corrupt_copy:at=17,api=cudaMemcpy2D*"}) {
  const auto context = leased();
  constexpr std::size_t kPadded = 512;
  for (const bool asynchronous : {false, true}) {
    for (const std::size_t width : {std::size_t{1}, kWidth, kPadded}) {
      step("given rows of " + std::to_string(width) + " bytes, " + (asynchronous ? "async" : "blocking"));
      for (const std::size_t height : {std::size_t{1}, std::size_t{2}, kHeight}) {
        copy_plane(context, width, width, width, height, asynchronous);
        copy_plane(context, width, kPadded, width, height, asynchronous);
        copy_plane(context, kPadded, width, width, height, asynchronous);
        copy_plane(context, kPadded, kPadded + 1, width, height, asynchronous);
      }
    }
  }
}

// "value: Value to set for each byte of specified memory": the value is an int, of which only the low byte is
// used.
PROCTOR_CHECK(Pitch, EveryPlaneSizeIsByteExact, "M25", kPitch, kGate,
              .faults = {"copy.pitch_ignored:times=1", "memory.corrupt_copy:at=17,api=cudaMemcpy2D*,times=1"},
              .axes = {{"width", {"1", "255", "256", "511", "512", "513", "4097", "65537"}, {}},
                       {"height", {"2", "3", "17"}, {}}}) {
  const auto context = leased();
  use(context.device());
  suite::at_each_point([&](const suite::Point& at) {
    const std::size_t width = at.size("width"), height = at.size("height");
    const auto sent = noise(width * height, width + height);
    std::vector<std::byte> got(sent.size());
    void* plane = nullptr;
    std::size_t pitch = 0;
    CUDA_CALL(cudaMallocPitch, &plane, &pitch, width, height).or_throw();
    expect_true(pitch >= width, "a row has its width, the pitch is " + std::to_string(pitch));
    const Status there =
        CUDA_CALL(cudaMemcpy2D, plane, pitch, sent.data(), width, width, height, cudaMemcpyDefault);
    const Status back =
        CUDA_CALL(cudaMemcpy2D, got.data(), width, plane, pitch, width, height, cudaMemcpyDefault);
    CUDA_CALL(cudaFree, plane).or_throw();
    expect_status(kSuccess, there);
    expect_status(kSuccess, back);
    expect_bytes("the plane there and back", sent, got, context.device());
  });
}

PROCTOR_CHECK(Fill, MemsetWritesLowByteOfValue, "M27",
              "CUDA Runtime API, cudaMemset: (unsigned char) value; ROCm/hip-tests, hipMemset", kGate,
              {"copy.saturate_fill_value", "copy.skip_fill"}) {
  const auto context = leased();
  Queue queue(context);
  constexpr std::size_t kBytes = 3 * 64;
  const Buffer buffer = device_memory(context, kBytes);
  std::byte* const to = buffer.data();
  const cudaPitchedPtr volume{to, 8, 8, 8};
  constexpr cudaExtent kWhole{8, 8, 3};
  for (const int value : {0, 1, 255, 256, 0x1a5, -1, -128, INT_MIN, INT_MAX}) {
    step("given the value " + std::to_string(value));
    const std::vector expected(kBytes, static_cast<std::byte>(value & 0xff));
    const auto expect_filled = [&](const Status& status) {
      status.or_throw();
      CUDA_CALL(cudaDeviceSynchronize).or_throw();
      expect_bytes(status.call(), expected, read_bytes(queue, context, to, kBytes), context.device());
      write(queue, context, to, noise(kBytes, 3));
    };
    const cudaStream_t stream = native(queue);
    expect_filled(CUDA_CALL(cudaMemset, to, value, kBytes));
    expect_filled(CUDA_CALL(cudaMemsetAsync, to, value, kBytes, stream));
    expect_filled(CUDA_CALL(cudaMemset2D, to, 64, value, 64, 3));
    expect_filled(CUDA_CALL(cudaMemset2DAsync, to, 64, value, 64, 3, stream));
    expect_filled(CUDA_CALL(cudaMemset3D, volume, value, kWhole));
    expect_filled(CUDA_CALL(cudaMemset3DAsync, volume, value, kWhole, stream));
  }
}

PROCTOR_CHECK(Volume, RoundTripIsByteExact, "M25", kVolume, kGate,
              {"memory.corrupt_copy:at=17,times=1", "copy.copy_first_slice_only",
               "copy.pitch_ignored:times=1"}) {
  const auto context = leased();
  auto sent = noise(kWidth * kHeight * kDepth, 4);
  std::vector<std::byte> got(sent.size());
  step("given a volume of three slices, copied there and back");
  const Volume volume(context);
  copy_volume(volume.pitched, dense(sent));
  copy_volume(dense(got), volume.pitched);
  expect_bytes("the volume", sent, got, context.device());
}

PROCTOR_CHECK(Volume, FillReachesEverySlice, "M27", kVolume, kGate,
              {"copy.skip_fill", "memory.corrupt_fill:at=17"}) {
  const auto context = leased();
  auto before = noise(kWidth * kHeight * kDepth, 5);
  const Volume volume(context);
  copy_volume(volume.pitched, dense(before));
  step("given a fill of a volume");
  CUDA_CALL(cudaMemset3D, volume.pitched, 0xa5, cudaExtent{kWidth, kHeight, kDepth}).or_throw();
  std::vector<std::byte> got(before.size());
  copy_volume(dense(got), volume.pitched);
  expect_bytes("the volume", std::vector(got.size(), std::byte{0xa5}), got, context.device());
}

namespace {

// A dense volume of memory that contains a smaller box. `ysize` is the number of rows of a slice, not of the box.
struct Box {
  static constexpr std::size_t kPitch = 48, kRows = 11, kSlices = 5;
  static constexpr std::size_t kBytes = kPitch * kRows * kSlices;
  static constexpr cudaExtent kExtent{29, 7, 3};
  cudaPos at{};

  static cudaPitchedPtr in(std::byte* memory) { return {memory, kPitch, kPitch, kRows}; }
  std::size_t index(std::size_t x, std::size_t y, std::size_t z) const {
    return ((at.z + z) * kRows + at.y + y) * kPitch + at.x + x;
  }
  template <typename Visit>
  static void each(const Visit& visit) {
    for (std::size_t z = 0; z < kExtent.depth; ++z)
      for (std::size_t y = 0; y < kExtent.height; ++y)
        for (std::size_t x = 0; x < kExtent.width; ++x) visit(x, y, z);
  }
};

}  // namespace

PROCTOR_CHECK(Volume, FillWritesOnlyBox, "M27", kVolume, kGate,
              {"copy.skip_fill", "copy.omit_last_fill_pattern"}) {
  const auto context = leased();
  Queue queue(context);
  auto expected = noise(Box::kBytes, 6);
  const auto memory = device_copy(queue, context, expected);
  const Box box;
  step("given a fill of a box that is smaller than its volume in every direction");
  CUDA_CALL(cudaMemset3D, Box::in(memory.data()), 0x3c, Box::kExtent).or_throw();
  CUDA_CALL(cudaDeviceSynchronize).or_throw();
  Box::each([&](auto... at) { expected[box.index(at...)] = std::byte{0x3c}; });
  expect_bytes("the volume around the box and in it", expected,
               read_bytes(queue, context, memory.data(), Box::kBytes), context.device());
}

PROCTOR_CHECK(Volume, CopyWritesOnlyBox, "M25", kVolume, kGate,
              {"copy.copy_first_slice_only", "copy.pitch_ignored"}) {
  const auto context = leased();
  Queue queue(context);
  const auto sent = noise(Box::kBytes, 7);
  const Box source{{3, 1, 2}}, target{{11, 4, 0}};
  const auto from = device_copy(queue, context, sent);
  for (const bool asynchronous : {false, true}) {
    auto expected = noise(Box::kBytes, 8);
    const auto to = device_copy(queue, context, expected);
    step(std::string("given a box inside one volume that goes to another place in another, ") +
         (asynchronous ? "async" : "blocking"));
    cudaMemcpy3DParms what{};
    what.srcPtr = Box::in(from.data());
    what.srcPos = source.at;
    what.dstPtr = Box::in(to.data());
    what.dstPos = target.at;
    what.extent = Box::kExtent;
    what.kind = cudaMemcpyDefault;
    (asynchronous ? CUDA_CALL(cudaMemcpy3DAsync, &what, native(queue)) : CUDA_CALL(cudaMemcpy3D, &what))
        .or_throw();
    CUDA_CALL(cudaDeviceSynchronize).or_throw();
    Box::each([&](auto... at) { expected[target.index(at...)] = sent[source.index(at...)]; });
    expect_bytes("the volume around the box and in it", expected,
                 read_bytes(queue, context, to.data(), Box::kBytes), context.device());
  }
}

// A synchronous copy is complete when it returns. The addresses determine its direction.
PROCTOR_CHECK(SynchronousCopy, CopyCompletesBeforeReturn, "M26", kSynchronous, kGate,
              {"copy.short", "memory.corrupt_copy:at=17,times=1"}) {
  const auto context = leased();
  use(context.device());
  const auto sent = noise(70001, 6);
  std::vector<std::byte> got(sent.size());
  const Buffer first = device_memory(context, sent.size());
  const Buffer second = device_memory(context, sent.size());
  step("given copies from the host over two places on the device and back, of no stated direction");
  CUDA_CALL(cudaMemcpy, first.data(), sent.data(), sent.size(), cudaMemcpyDefault).or_throw();
  CUDA_CALL(cudaMemcpy, second.data(), first.data(), sent.size(), cudaMemcpyDefault).or_throw();
  CUDA_CALL(cudaMemcpy, got.data(), second.data(), sent.size(), cudaMemcpyDefault).or_throw();
  expect_bytes("bytes that were copied back", sent, got, context.device());
}

PROCTOR_CHECK(SynchronousCopy, EveryMemcpyKindIsByteExact, "M26", "CUDA Runtime API, cudaMemcpyKind", kGate,
              {"copy.skip:after=1,times=1", "memory.corrupt_copy:at=17,times=1"}) {
  const auto context = leased();
  use(context.device());
  const auto sent = noise(5001, 7);
  const std::vector<std::byte> first = sent;
  std::vector<std::byte> second(sent.size()), got(sent.size());
  const Buffer there = device_memory(context, sent.size());
  const Buffer further = device_memory(context, sent.size());
  step("given a copy in each of the four directions");
  CUDA_CALL(cudaMemcpy, second.data(), first.data(), sent.size(), cudaMemcpyHostToHost).or_throw();
  CUDA_CALL(cudaMemcpy, there.data(), second.data(), sent.size(), cudaMemcpyHostToDevice).or_throw();
  CUDA_CALL(cudaMemcpy, further.data(), there.data(), sent.size(), cudaMemcpyDeviceToDevice).or_throw();
  CUDA_CALL(cudaMemcpy, got.data(), further.data(), sent.size(), cudaMemcpyDeviceToHost).or_throw();
  expect_bytes("bytes that were copied back", sent, got, context.device());
}

PROCTOR_CHECK(SynchronousCopy, UnknownMemcpyKindIsRejected, "M26",
              "CUDA Runtime API, cudaErrorInvalidMemcpyDirection", kGate,
              {"copy.accept_wrong_direction", "error.wrong_code:api=cudaMemcpy"}) {
  const auto context = leased();
  use(context.device());
  const Buffer there = device_memory(context, 4096);
  std::vector<std::byte> here(4096);
  step("given a direction that does not exist");
  expect_status("cudaErrorInvalidMemcpyDirection",
                CUDA_CALL(cudaMemcpy, here.data(), there.data(), 4096, no_such<cudaMemcpyKind>()));
}

namespace {

// A call that copies or fills a region of at most two slices with three rows of eight bytes. Synchronous calls
// ignore the stream.
struct RegionCall {
  const char* name;
  bool fills;
  bool flat;  // without depth
  Status (*call)(const cudaPitchedPtr& to, const cudaPitchedPtr& from, const cudaExtent& extent,
                 cudaStream_t stream);
};

cudaMemcpy3DParms region(const cudaPitchedPtr& to, const cudaPitchedPtr& from, const cudaExtent& extent) {
  cudaMemcpy3DParms what{};
  what.srcPtr = from;
  what.dstPtr = to;
  what.extent = extent;
  what.kind = cudaMemcpyDefault;
  return what;
}

using Pitched = const cudaPitchedPtr&;
using Extent = const cudaExtent&;
constexpr int kValue = 0x77;
constexpr RegionCall kRegionCalls[] = {
    {"cudaMemcpy2D", false, true,
     [](Pitched to, Pitched from, Extent e, cudaStream_t) {
       return CUDA_CALL(cudaMemcpy2D, to.ptr, to.pitch, from.ptr, from.pitch, e.width, e.height,
                        cudaMemcpyDefault);
     }},
    {"cudaMemcpy2DAsync", false, true,
     [](Pitched to, Pitched from, Extent e, cudaStream_t stream) {
       return CUDA_CALL(cudaMemcpy2DAsync, to.ptr, to.pitch, from.ptr, from.pitch, e.width, e.height,
                        cudaMemcpyDefault, stream);
     }},
    {"cudaMemcpy3D", false, false,
     [](Pitched to, Pitched from, Extent e, cudaStream_t) {
       const auto what = region(to, from, e);
       return CUDA_CALL(cudaMemcpy3D, &what);
     }},
    {"cudaMemcpy3DAsync", false, false,
     [](Pitched to, Pitched from, Extent e, cudaStream_t stream) {
       const auto what = region(to, from, e);
       return CUDA_CALL(cudaMemcpy3DAsync, &what, stream);
     }},
    {"cudaMemset2D", true, true,
     [](Pitched to, Pitched, Extent e, cudaStream_t) {
       return CUDA_CALL(cudaMemset2D, to.ptr, to.pitch, kValue, e.width, e.height);
     }},
    {"cudaMemset2DAsync", true, true,
     [](Pitched to, Pitched, Extent e, cudaStream_t stream) {
       return CUDA_CALL(cudaMemset2DAsync, to.ptr, to.pitch, kValue, e.width, e.height, stream);
     }},
    {"cudaMemset3D", true, false,
     [](Pitched to, Pitched, Extent e, cudaStream_t) { return CUDA_CALL(cudaMemset3D, to, kValue, e); }},
    {"cudaMemset3DAsync", true, false,
     [](Pitched to, Pitched, Extent e, cudaStream_t stream) {
       return CUDA_CALL(cudaMemset3DAsync, to, kValue, e, stream);
     }},
};

}  // namespace

PROCTOR_CHECK(PitchedMemory, CopyAndFillWriteOnlyExtent, "M25",
              "CUDA Runtime API, cudaMemcpy2D, cudaMemcpy3D, cudaMemset2D, cudaMemset3D; ROCm/hip-tests "
              "hipMemcpy2D and hipMemcpy3D with a width, height or depth of 0",
              kGate, {"copy.skip_fill", "copy.skip:api=cudaMemcpy2D", "error.swallowed:api=cudaMemcpy*D*"}) {
  const auto context = leased();
  Queue queue(context);
  constexpr std::size_t kPitchBytes = 8, kRows = 3, kSlices = 2, kBytes = kPitchBytes * kRows * kSlices;
  const auto sent = noise(kBytes, 12), before = noise(kBytes, 13);
  const auto from = device_copy(queue, context, sent);
  const auto to = device_copy(queue, context, before);
  const cudaPitchedPtr source{from.data(), kPitchBytes, kPitchBytes, kRows};
  const cudaPitchedPtr target{to.data(), kPitchBytes, kPitchBytes, kRows};
  for (const auto& each : kRegionCalls) {
    step(std::string("given ") + each.name + " of all bytes, one, and none in each direction");
    for (const cudaExtent extent :
         {cudaExtent{8, 3, 2}, cudaExtent{1, 1, 1}, cudaExtent{8, 1, 1}, cudaExtent{1, 3, 1},
          cudaExtent{0, 3, 2}, cudaExtent{8, 0, 2}, cudaExtent{8, 3, 0}, cudaExtent{0, 0, 0}}) {
      write(queue, context, to.data(), before);
      auto expected = before;
      for (std::size_t z = 0; z < (each.flat ? 1 : extent.depth); ++z) {
        for (std::size_t y = 0; y < extent.height; ++y) {
          const auto at = static_cast<std::ptrdiff_t>((z * kRows + y) * kPitchBytes);
          if (each.fills) std::fill_n(expected.begin() + at, extent.width, std::byte{kValue});
          if (!each.fills) std::copy_n(sent.begin() + at, extent.width, expected.begin() + at);
        }
      }
      expect_status(kSuccess, each.call(target, source, extent, native(queue)));
      CUDA_CALL(cudaDeviceSynchronize).or_throw();
      expect_bytes(std::to_string(extent.width) + " x " + std::to_string(extent.height) + " x " +
                       std::to_string(extent.depth),
                   expected, read_bytes(queue, context, to.data(), kBytes), context.device());
    }
    step(std::string("given ") + each.name + " of rows that are a byte longer than the pitch");
    cudaPitchedPtr narrow = target;
    narrow.pitch = kPitchBytes - 1;
    expect_refused("it", each.call(narrow, source, {kPitchBytes, 2, 1}, native(queue)));
    static_cast<void>(cudaGetLastError());
  }
}

// Rows of three bytes: many rows in one slice, and, for calls with slices, few rows in each of many slices.
PROCTOR_CHECK(PitchedMemory, CopyAndFillWriteEveryRow, "M25",
              "CUDA Runtime API, cudaMemcpy2D, cudaMemcpy3D, cudaMemset2D, cudaMemset3D", kGate,
              {"copy.omit_last_row:api=cudaMemset2D", "copy.omit_last_row:api=cudaMemcpy3DAsync",
               "copy.skip_fill"}) {
  const auto context = leased();
  Queue queue(context);
  constexpr std::size_t kPitchBytes = 4, kWide = 3, kMostRows = 1000, kBytes = kPitchBytes * kMostRows;
  const auto sent = noise(kBytes, 15), before = noise(kBytes, 16);
  const auto from = device_copy(queue, context, sent);
  const auto to = device_copy(queue, context, before);
  for (const auto& each : kRegionCalls) {
    for (const auto& [rows, slices] :
         {std::pair<std::size_t, std::size_t>{64, 1}, {65, 1}, {kMostRows, 1}, {3, 99}}) {
      if (each.flat && slices > 1) continue;
      step(std::string("given ") + each.name + " of " + std::to_string(slices) + " slices of " +
           std::to_string(rows) + " rows");
      write(queue, context, to.data(), before);
      auto expected = before;
      for (std::size_t row = 0; row < rows * slices; ++row) {
        const auto at = static_cast<std::ptrdiff_t>(row * kPitchBytes);
        if (each.fills) std::fill_n(expected.begin() + at, kWide, std::byte{kValue});
        if (!each.fills) std::copy_n(sent.begin() + at, kWide, expected.begin() + at);
      }
      each.call({to.data(), kPitchBytes, kPitchBytes, rows}, {from.data(), kPitchBytes, kPitchBytes, rows},
                {kWide, rows, slices}, native(queue))
          .or_throw();
      CUDA_CALL(cudaDeviceSynchronize).or_throw();
      expect_bytes("the rows and the bytes between them", expected,
                   read_bytes(queue, context, to.data(), kBytes), context.device());
    }
  }
}

PROCTOR_CHECK(PitchedMemory, EveryMemcpyKindIsByteExact, "M26", "CUDA Runtime API, cudaMemcpyKind", kGate,
              {"copy.skip:after=1,times=1,api=cudaMemcpy*D*",
               "memory.corrupt_copy:at=17,times=1,api=cudaMemcpy*D*"}) {
  const auto context = leased();
  Queue queue(context);
  constexpr std::size_t kPitchBytes = 8, kRows = 5, kBytes = kPitchBytes * kRows;
  const auto sent = noise(kBytes, 14);
  const Buffer there = device_memory(context, kBytes), further = device_memory(context, kBytes);
  for (const bool flat : {true, false}) {
    for (const bool asynchronous : {false, true}) {
      step(std::string("given ") + (flat ? "rows" : "a volume") + " copied in each of the four directions, " +
           (asynchronous ? "async" : "blocking"));
      const auto copy = [&](void* to, void* from, cudaMemcpyKind kind) {
        if (flat) {
          (asynchronous
               ? CUDA_CALL(cudaMemcpy2DAsync, to, kPitchBytes, from, kPitchBytes, kPitchBytes, kRows, kind,
                           native(queue))
               : CUDA_CALL(cudaMemcpy2D, to, kPitchBytes, from, kPitchBytes, kPitchBytes, kRows, kind))
              .or_throw();
        } else {
          auto what = region({to, kPitchBytes, kPitchBytes, kRows}, {from, kPitchBytes, kPitchBytes, kRows},
                             {kPitchBytes, kRows, 1});
          what.kind = kind;
          (asynchronous ? CUDA_CALL(cudaMemcpy3DAsync, &what, native(queue)) : CUDA_CALL(cudaMemcpy3D, &what))
              .or_throw();
        }
        CUDA_CALL(cudaDeviceSynchronize).or_throw();
      };
      auto first = sent;
      std::vector<std::byte> second(kBytes), got(kBytes);
      copy(second.data(), first.data(), cudaMemcpyHostToHost);
      copy(there.data(), second.data(), cudaMemcpyHostToDevice);
      copy(further.data(), there.data(), cudaMemcpyDeviceToDevice);
      copy(got.data(), further.data(), cudaMemcpyDeviceToHost);
      expect_bytes("bytes that were copied back", sent, got, context.device());
    }
  }
}

// The reference does not define access past the end of an allocation. Drivers detect it and return an error
// instead of causing a fault on the device.
PROCTOR_CHECK(AllocationBounds, OverlongCopyOrFillIsRejected, "M22",
              "CUDA Runtime API, cudaMemcpy: cudaErrorInvalidValue", suite::kWarn,
              {"error.swallowed:api=cudaMemcpy*", "error.swallowed:api=cudaMemset*"}) {
  const auto context = leased();
  use(context.device());
  constexpr std::size_t kSmall = 4 << 20, kLarge = 64 << 20, kRow = 1 << 20;
  const Buffer small = device_memory(context, kSmall), large = device_memory(context, kLarge);
  const cudaStream_t none = nullptr;
  step("given copies and fills of 4 MiB of memory that begin in it and end beyond it");
  for (const std::size_t offset : {std::size_t{0}, kSmall - kRow}) {
    const std::size_t bytes = kSmall - offset + kRow;
    std::byte* const begin = small.data() + offset;
    expect_refused("a copy from it", CUDA_CALL(cudaMemcpy, large.data(), begin, bytes, cudaMemcpyDefault));
    expect_refused("a copy to it", CUDA_CALL(cudaMemcpy, begin, large.data(), bytes, cudaMemcpyDefault));
    expect_refused("a fill of it", CUDA_CALL(cudaMemset, begin, 0, bytes));
  }
  const cudaPitchedPtr rows{small.data(), kRow, kRow, 2}, enough{large.data(), kRow, kRow, 2};
  for (const auto& each : kRegionCalls) {
    const cudaExtent beyond = each.flat ? cudaExtent{4096, 5, 1} : cudaExtent{4096, 1, 3};
    expect_refused(std::string(each.name) + " to it", each.call(rows, enough, beyond, none));
    if (!each.fills)
      expect_refused(std::string(each.name) + " from it", each.call(enough, rows, beyond, none));
  }
  static_cast<void>(cudaGetLastError());
  CUDA_CALL(cudaDeviceSynchronize).or_throw();
}

// If the device cannot access pageable memory, the direction in the call names the side that is device memory.
PROCTOR_CHECK(SynchronousCopy, MismatchedMemcpyKindIsRejected, "M26", "CUDA Runtime API, cudaMemcpyKind",
              suite::kWarn, {"copy.accept_wrong_direction", "error.swallowed:api=cudaMemcpy"}) {
  const auto context = leased();
  need(context.device().record()->native.pageableMemoryAccess == 0, "needs:no_pageable_memory_access");
  use(context.device());
  const Buffer there = device_memory(context, 4096), pinned = host_memory(context, 4096);
  std::vector<std::byte> here(4096), more(4096);
  step("given pageable memory, and a direction for device memory");
  expect_refused("a copy to it from pinned memory",
                 CUDA_CALL(cudaMemcpy, here.data(), pinned.data(), 4096, cudaMemcpyHostToDevice));
  expect_refused("a copy to it from the device",
                 CUDA_CALL(cudaMemcpy, here.data(), there.data(), 4096, cudaMemcpyDeviceToDevice));
  expect_refused("a copy from it to pinned memory",
                 CUDA_CALL(cudaMemcpy, pinned.data(), here.data(), 4096, cudaMemcpyDeviceToHost));
  expect_refused("a copy from it to the device",
                 CUDA_CALL(cudaMemcpy, there.data(), here.data(), 4096, cudaMemcpyDeviceToDevice));
  expect_refused("a fill of it", CUDA_CALL(cudaMemset, here.data(), 0, 4096));
  static_cast<void>(cudaGetLastError());
}

PROCTOR_CHECK(Pitch, PitchMatchesDeviceAlignment, "M25", kPitch, kGate,
              {"error.swallowed:api=cudaMallocPitch", "error.swallowed:api=cudaMalloc3D"}) {
  const auto context = leased();
  use(context.device());
  const auto alignment = context.device().record()->native.texturePitchAlignment;
  for (const std::size_t width : {std::size_t{1}, std::size_t{511}, std::size_t{512}, std::size_t{1025}}) {
    step("given rows of " + std::to_string(width) + " bytes");
    void* plane = nullptr;
    std::size_t pitch = 0;
    CUDA_CALL(cudaMallocPitch, &plane, &pitch, width, 3).or_throw();
    CUDA_CALL(cudaFree, plane).or_throw();
    cudaPitchedPtr volume{};
    CUDA_CALL(cudaMalloc3D, &volume, cudaExtent{width, 3, 2}).or_throw();
    CUDA_CALL(cudaFree, volume.ptr).or_throw();
    expect_true(pitch >= width && pitch % alignment == 0,
                "the pitch is a multiple of the device's alignment");
    expect_true(volume.pitch >= width && volume.pitch % alignment == 0,
                "the pitch of a volume is a multiple of it too");
    expect_same("the width of the volume", std::to_string(width), std::to_string(volume.xsize));
    expect_same("the height of the volume", "3", std::to_string(volume.ysize));
  }
  step("given a plane and a volume of more bytes than can be counted");
  constexpr std::size_t kMany = std::size_t{1} << 40;
  void* none = nullptr;
  std::size_t pitch = 0;
  cudaPitchedPtr volume{};
  expect_refused("the plane", CUDA_CALL(cudaMallocPitch, &none, &pitch, kMany, kMany));
  expect_refused("a row of as many", CUDA_CALL(cudaMallocPitch, &none, &pitch, SIZE_MAX, 1));
  expect_refused("the volume", CUDA_CALL(cudaMalloc3D, &volume, cudaExtent{kMany, kMany, 1}));
  static_cast<void>(cudaGetLastError());
}

PROCTOR_CHECK(SynchronousCopy, ZeroSizeAcceptsNullPointers, "M23", "ROCm/hip-tests, hipMemcpy", suite::kWarn,
              {"error.swallowed:api=cudaMemcpy"}) {
  const auto context = leased();
  use(context.device());
  std::byte here{17};
  step("given copies and fills of zero bytes, from and to a null pointer");
  expect_status(kSuccess, CUDA_CALL(cudaMemcpy, nullptr, nullptr, 0, cudaMemcpyDefault));
  expect_status(kSuccess, CUDA_CALL(cudaMemcpy, &here, nullptr, 0, cudaMemcpyDefault));
  expect_status(kSuccess, CUDA_CALL(cudaMemcpy, nullptr, &here, 0, cudaMemcpyDefault));
  expect_status(kSuccess, CUDA_CALL(cudaMemset, nullptr, 0, 0));
  expect_refused("a copy of one byte from a null pointer",
                 CUDA_CALL(cudaMemcpy, &here, nullptr, 1, cudaMemcpyDefault));
  expect_refused("a copy of one byte to a null pointer",
                 CUDA_CALL(cudaMemcpy, nullptr, &here, 1, cudaMemcpyDefault));
  static_cast<void>(cudaGetLastError());
  expect_same("the byte", "17", std::to_string(std::to_integer<int>(here)));
}

// ---- between devices ----

PROCTOR_CHECK(PeerCopy, MemcpyPeerIsByteExact, "M22", kPeer, kGate,
              .faults = {"copy.skip_peer_copy", "memory.corrupt_copy:at=17,api=cudaMemcpyPeer",
                         "copy.skip:api=cudaMemcpyPeerAsync"},
              .devices = 2) {
  const auto devices = leased_devices(2);
  const Context first(devices[0]), second(devices[1]);
  Queue here(first), there(second);
  const auto sent = noise(70'001, 8);
  const auto from = device_copy(here, first, sent);
  for (const bool asynchronous : {false, true}) {
    const auto to = device_copy(there, second, noise(sent.size(), 9));
    step(std::string("given a copy from one device to another, which works with and without peer access, ") +
         (asynchronous ? "async" : "blocking"));
    (asynchronous ? CUDA_CALL(cudaMemcpyPeerAsync, to.data(), native(devices[1]), from.data(),
                              native(devices[0]), sent.size(), native(here))
                  : CUDA_CALL(cudaMemcpyPeer, to.data(), native(devices[1]), from.data(), native(devices[0]),
                              sent.size()))
        .or_throw();
    here.synchronize();
    CUDA_CALL(cudaDeviceSynchronize).or_throw();
    expect_transfer("memory of the second device", sent, read_bytes(there, second, to.data(), sent.size()),
                    devices[0], devices[1]);
  }
}

PROCTOR_CHECK(PeerAccess, KernelReadsPeerMemory, "M22", kPeer, kGate,
              .faults = {"kernel.wrong_result:arg=1,at=17", "kernel.skip"}, .devices = 2, .needs = {"p2p"}) {
  const auto devices = leased_devices(2);
  need(devices[0].reaches(devices[1]), "needs:p2p");
  const Context first(devices[0]), second(devices[1]);
  Queue here(first), there(second);
  const auto sent = noise(4096, 10);
  const auto from = device_copy(there, second, sent);
  const Buffer to = device_memory(first, sent.size());
  const Module module = Module::load(first, "basic");
  use(devices[0]);
  CUDA_CALL(cudaDeviceEnablePeerAccess, native(devices[1]), 0).or_throw();
  step("given a kernel on one device that reads memory of another");
  here.launch(Kernel(module, "copy"), cover(4096, 64), arguments(from, to, 4096u));
  here.synchronize();
  const auto got = read_bytes(here, first, to.data(), sent.size());
  CUDA_CALL(cudaDeviceDisablePeerAccess, native(devices[1])).or_throw();
  expect_transfer("bytes that it read", sent, got, devices[1], devices[0]);
}

// The address identifies the device of the memory. Any current device may copy and free the memory.
PROCTOR_CHECK(UnifiedAddressing, CopyAndFreeIgnoreCurrentDevice, "M22",
              "CUDA Programming Guide, Unified Virtual Address Space", kGate,
              .faults = {"copy.skip_fill", "copy.skip:api=cudaMemcpy", "alloc.leak_on_free"}, .devices = 2) {
  const auto devices = leased_devices(2);
  const Context first(devices[0]), second(devices[1]);
  constexpr std::size_t kBytes = 70'001;
  const std::uint64_t before = devices[1].memory().free;
  Buffer there = memory_or_skip(second, {.bytes = kHeld});
  const auto sent = noise(kBytes, 11);
  std::vector<std::byte> got(kBytes);
  step("given memory that the second device has filled, while the first one is current");
  use(devices[1]);
  CUDA_CALL(cudaMemset, there.data(), 0x5a, kHeld).or_throw();
  CUDA_CALL(cudaDeviceSynchronize).or_throw();
  use(devices[0]);
  CUDA_CALL(cudaMemcpy, got.data(), there.data(), kBytes, cudaMemcpyDefault).or_throw();
  expect_bytes("bytes that were filled", std::vector(kBytes, std::byte{0x5a}), got, devices[1]);
  CUDA_CALL(cudaMemcpy, there.data() + 3, sent.data(), kBytes, cudaMemcpyDefault).or_throw();
  CUDA_CALL(cudaMemcpy, got.data(), there.data() + 3, kBytes, cudaMemcpyDefault).or_throw();
  expect_bytes("bytes that were copied", sent, got, devices[1]);
  there.try_free().or_throw();
  expect_returned(devices[1], before);
}

namespace {

// Runs a kernel on one device that reads memory of the other. Access was never enabled ("never"), or was enabled
// and disabled again ("disabled").
PROCTOR_HELPER(read_a_closed_peer) {
  auto devices = leased_devices(2);
  if (words.at(1) == "back") std::swap(devices[0], devices[1]);
  need(devices[0].reaches(devices[1]), "needs:p2p");
  const Context first(devices[0]), second(devices[1]);
  Queue here(first), there(second);
  const auto from = device_copy(there, second, noise(4096, 10));
  const Buffer to = device_memory(first, 4096);
  const Module module = Module::load(first, "basic");
  use(devices[0]);
  if (words.at(0) == "disabled") {
    CUDA_CALL(cudaDeviceEnablePeerAccess, native(devices[1]), 0).or_throw();
    CUDA_CALL(cudaDeviceDisablePeerAccess, native(devices[1])).or_throw();
  }
  Status status = here.try_launch(Kernel(module, "copy"), cover(4096, 64), arguments(from, to, 4096u));
  if (status.ok()) status = here.try_synchronize(kPatience);
  suite::answer({{"status", status.name()}});
  _exit(0);  // The broken context needs no cleanup.
}

}  // namespace

// Closely linked cards may have access without a request. The guide forbids programs to rely on it.
PROCTOR_CHECK(PeerAccess, KernelNeedsEnabledAccess, "M51", kPeer, suite::kWarn,
              .faults = {"kernel.allow_disabled_peer_access"}, .devices = 2, .needs = {"p2p"}) {
  for (const char* access : {"never", "disabled"}) {
    step(std::string("given a kernel that reads a peer's memory, access to which was ") +
         (access == std::string("never") ? "never enabled" : "disabled again"));
    for (const char* way : {"there", "back"}) {
      suite::Helper reader("read_a_closed_peer", {access, way});
      expect_same("the result of the kernel", "cudaErrorIllegalAddress",
                  reader.answer().at("status").get<std::string>());
      reader.finish();
    }
  }
}

PROCTOR_CHECK(PeerAccess, SecondEnableOrDisableIsRejected, "M22",
              "CUDA Runtime API, cudaErrorPeerAccessAlreadyEnabled, cudaErrorPeerAccessNotEnabled", kGate,
              .faults = {"error.wrong_code", "error.swallowed"}, .devices = 2, .needs = {"p2p"}) {
  const auto devices = leased_devices(2);
  need(devices[0].reaches(devices[1]), "needs:p2p");
  use(devices[0]);
  const int peer = native(devices[1]);
  step("given that access to a peer is enabled twice and disabled twice");
  expect_status(kSuccess, CUDA_CALL(cudaDeviceEnablePeerAccess, peer, 0));
  expect_status("cudaErrorPeerAccessAlreadyEnabled", CUDA_CALL(cudaDeviceEnablePeerAccess, peer, 0));
  expect_status(kSuccess, CUDA_CALL(cudaDeviceDisablePeerAccess, peer));
  expect_status("cudaErrorPeerAccessNotEnabled", CUDA_CALL(cudaDeviceDisablePeerAccess, peer));
}

}  // namespace proctor::accel
