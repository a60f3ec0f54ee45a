// Copies and fills by the runtime's many calls: with pitch, in three dimensions,
// between devices, synchronous.
#include <algorithm>

#include "suites/accel/check_fixture.h"
#include "suites/accel/cuda/refusal.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

using suite::expect_true;
using suite::kGate;
using suite::step;

constexpr const char* kPitch = "CUDA Runtime API, cudaMallocPitch, cudaMemcpy2D, cudaMemset2D";
constexpr const char* kVolume = "CUDA Runtime API, cudaMalloc3D, cudaMemcpy3D, cudaMemset3D";
constexpr const char* kSynchronous = "CUDA Runtime API, API synchronization behavior";
constexpr const char* kPeer = "CUDA C++ Programming Guide, Peer-to-Peer Memory Access and Copy";
constexpr std::size_t kWidth = 300;  // bytes of a row, of which no pitch is a multiple
constexpr std::size_t kHeight = 21;
constexpr std::size_t kDepth = 3;

// Rows of kWidth bytes in device memory, each `pitch` bytes from the one before.
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

// The same with slices.
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

PROCTOR_CHECK(Pitch, RowsLieAtTheirPitch, "M25", kPitch, kGate,
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

PROCTOR_CHECK(Pitch, PlaneComesBack, "M25", kPitch, kGate,
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

PROCTOR_CHECK(Pitch, FillStaysInItsRows, "M27", kPitch, kGate,
              {"copy.fill_skip", "memory.corrupt_fill:at=17"}) {
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

PROCTOR_CHECK(Volume, ComesBack, "M25", kVolume, kGate,
              {"memory.corrupt_copy:at=17,times=1", "copy.slice_ignored", "copy.pitch_ignored:times=1"}) {
  const auto context = leased();
  auto sent = noise(kWidth * kHeight * kDepth, 4);
  std::vector<std::byte> got(sent.size());
  step("given a volume of three slices, copied there and back");
  const Volume volume(context);
  copy_volume(volume.pitched, dense(sent));
  copy_volume(dense(got), volume.pitched);
  expect_bytes("the volume", sent, got, context.device());
}

PROCTOR_CHECK(Volume, FillReachesAllSlices, "M27", kVolume, kGate,
              {"copy.fill_skip", "memory.corrupt_fill:at=17"}) {
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

// A synchronous copy is complete when it returns, and tells the direction by the addresses.
PROCTOR_CHECK(Synchronous, CopyIsCompleteWhenItReturns, "M26", kSynchronous, kGate,
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
  expect_bytes("what came back", sent, got, context.device());
}

PROCTOR_CHECK(Synchronous, StatedDirectionsAreFollowed, "M26", "CUDA Runtime API, cudaMemcpyKind", kGate,
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
  expect_bytes("what came back", sent, got, context.device());
}

PROCTOR_CHECK(Synchronous, DirectionsThatAreNoneAreRefused, "M26",
              "CUDA Runtime API, cudaErrorInvalidMemcpyDirection", kGate,
              {"copy.direction_ignored", "error.wrong_code:api=cudaMemcpy"}) {
  const auto context = leased();
  use(context.device());
  const Buffer there = device_memory(context, 4096);
  std::vector<std::byte> here(4096);
  step("given a direction that does not exist");
  expect_status("cudaErrorInvalidMemcpyDirection",
                CUDA_CALL(cudaMemcpy, here.data(), there.data(), 4096, no_such<cudaMemcpyKind>()));
}

// ---- between devices ----

PROCTOR_CHECK(Peer, CopyIsByteExact, "M22", kPeer, kGate,
              .faults = {"copy.peer_stale", "memory.corrupt_copy:at=17,api=cudaMemcpyPeer"}, .devices = 2) {
  const auto devices = leased_devices(2);
  const Context first(devices[0]), second(devices[1]);
  Queue here(first), there(second);
  const auto sent = noise(20000, 8);
  const auto from = device_copy(here, first, sent);
  const auto to = device_copy(there, second, noise(sent.size(), 9));
  step("given a copy from one device to another, which works with and without peer access");
  CUDA_CALL(cudaMemcpyPeer, to.data(), native(devices[1]), from.data(), native(devices[0]), sent.size())
      .or_throw();
  CUDA_CALL(cudaDeviceSynchronize).or_throw();
  expect_bytes("memory of the second device", sent, read_bytes(there, second, to.data(), sent.size()),
               devices[1]);
}

PROCTOR_CHECK(Peer, KernelReadsThePeersMemory, "M22", kPeer, kGate,
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
  expect_bytes("what it read", sent, got, devices[0]);
}

PROCTOR_CHECK(Peer, AccessIsEnabledOnceAndDisabledOnce, "M22",
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
