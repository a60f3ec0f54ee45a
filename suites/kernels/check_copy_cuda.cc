// Checks of the progress of a copy or fill when its call returns. A call that must wait is made behind a kernel
// that another thread releases a little later. A call that must not wait is made behind a kernel that is still
// held.
#include <algorithm>
#include <array>
#include <chrono>
#include <optional>

#include "suites/accel/check_fixture.h"
#include "suites/accel/cuda/native.h"
#include "suites/accel/cuda/stream_latch.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

using suite::expect_same;
using suite::kGate;
using suite::step;

constexpr const char* kReturns = "CUDA Runtime API, API synchronization behavior";
constexpr std::size_t kRoom = 4096;

// Two buffers of each kind of memory, and one of managed memory.
class Ends {
 public:
  explicit Ends(const Context& context, std::size_t room = kRoom)
      : device_{device_memory(context, room), device_memory(context, room)},
        pinned_{host_memory(context, room), host_memory(context, room)},
        pageable_{std::vector<std::byte>(room), std::vector<std::byte>(room)} {
    if (context.device().properties().shared_memory) shared_ = shared_memory(context, room);
  }
  // Null if the device does not support this kind of memory.
  std::byte* at(char kind, int which) {
    if (kind == 'd') return device_[which].data();
    if (kind == 'h') return pinned_[which].data();
    if (kind == 'm') return shared_ ? shared_->data() : nullptr;
    return pageable_[which].data();
  }

 private:
  Buffer device_[2], pinned_[2];
  std::optional<Buffer> shared_;
  std::vector<std::byte> pageable_[2];
};

struct Transfer {
  std::byte* to;
  std::byte* from;
  std::size_t bytes;  // an even number, except for copies of one row
  cudaStream_t stream;

  cudaMemcpy3DParms volume() const {
    cudaMemcpy3DParms what{};
    what.srcPtr = {from, bytes / 2, bytes / 2, 2};
    what.dstPtr = {to, bytes / 2, bytes / 2, 2};
    what.extent = {bytes / 2, 2, 1};
    what.kind = cudaMemcpyDefault;
    return what;
  }
};

constexpr int kFilledWith = 0x5a;

Status copy(const Transfer& t) { return CUDA_CALL(cudaMemcpy, t.to, t.from, t.bytes, cudaMemcpyDefault); }
Status copy_async(const Transfer& t) {
  return CUDA_CALL(cudaMemcpyAsync, t.to, t.from, t.bytes, cudaMemcpyDefault, t.stream);
}
Status copy_2d(const Transfer& t) {
  return CUDA_CALL(cudaMemcpy2D, t.to, t.bytes / 2, t.from, t.bytes / 2, t.bytes / 2, 2, cudaMemcpyDefault);
}
Status copy_2d_async(const Transfer& t) {
  return CUDA_CALL(cudaMemcpy2DAsync, t.to, t.bytes / 2, t.from, t.bytes / 2, t.bytes / 2, 2,
                   cudaMemcpyDefault, t.stream);
}
Status copy_3d(const Transfer& t) {
  const auto what = t.volume();
  return CUDA_CALL(cudaMemcpy3D, &what);
}
Status copy_3d_async(const Transfer& t) {
  const auto what = t.volume();
  return CUDA_CALL(cudaMemcpy3DAsync, &what, t.stream);
}
Status fill(const Transfer& t) { return CUDA_CALL(cudaMemset, t.to, kFilledWith, t.bytes); }
Status fill_async(const Transfer& t) {
  return CUDA_CALL(cudaMemsetAsync, t.to, kFilledWith, t.bytes, t.stream);
}
Status fill_2d(const Transfer& t) {
  return CUDA_CALL(cudaMemset2D, t.to, t.bytes / 2, kFilledWith, t.bytes / 2, 2);
}
Status fill_2d_async(const Transfer& t) {
  return CUDA_CALL(cudaMemset2DAsync, t.to, t.bytes / 2, kFilledWith, t.bytes / 2, 2, t.stream);
}
Status fill_3d(const Transfer& t) {
  return CUDA_CALL(cudaMemset3D, t.volume().dstPtr, kFilledWith, t.volume().extent);
}
Status fill_3d_async(const Transfer& t) {
  return CUDA_CALL(cudaMemset3DAsync, t.volume().dstPtr, kFilledWith, t.volume().extent, t.stream);
}

// d: device memory, h: pinned host memory, p: pageable memory, m: managed memory.
struct Row {
  Status (*call)(const Transfer& transfer);
  char to;
  char from;  // '-': a fill
  std::size_t bytes = kRoom;
};

// Requires the bytes of the transfer in the destination.
void expect_moved(const Row& row, Queue& queue, const Context& context, const std::byte* to,
                  const std::vector<std::byte>& sent, const std::string& what) {
  auto expected = sent;
  if (row.from == '-') std::fill(expected.begin(), expected.end(), std::byte{kFilledWith});
  expected.resize(row.bytes);
  const bool reachable = row.to != 'd';
  expect_bytes(
      what, expected,
      reachable ? std::vector<std::byte>(to, to + row.bytes) : read_bytes(queue, context, to, row.bytes),
      context.device());
}

// Transfers noise behind a latch that opens a little later. Calls `afterwards` when the transfer call has
// returned.
template <typename Afterwards>
void transfer_behind_a_latch(const Context& context, const Row& row, bool asynchronous,
                             const Afterwards& afterwards) {
  Queue queue(context), other(context);
  Ends ends(context, row.bytes);
  std::byte* const to = ends.at(row.to, 0);
  std::byte* const from = row.from == '-' ? nullptr : ends.at(row.from, 1);
  if (to == nullptr) return;
  const auto sent = noise(row.bytes, 1);
  if (row.from == 'd') write(other, context, from, sent);
  if (row.from == 'h' || row.from == 'p') std::copy(sent.begin(), sent.end(), from);
  const cudaStream_t stream = asynchronous ? native(queue) : cudaStreamLegacy;
  const StreamLatch latch(context);
  latch.hold(stream);
  const Later later(latch);
  row.call({to, from, row.bytes, stream}).or_throw();
  afterwards(latch, from);
  latch.open();
  CUDA_CALL(cudaStreamSynchronize, stream).or_throw();
  expect_moved(row, other, context, to, sent, "bytes at the destination in the end");
}

std::string text(const Row& row) {
  return std::string(row.from == '-' ? "a fill of " : "a copy from ") +
         (row.from == '-' ? "" : std::string(1, row.from) + " to ") + row.to + " of " +
         std::to_string(row.bytes) + " bytes";
}

void expect_waits(const Context& context, std::span<const Row> rows, bool asynchronous) {
  for (const Row& row : rows) {
    step("given " + text(row) + " behind a kernel that is released a little later");
    transfer_behind_a_latch(context, row, asynchronous, [&](const StreamLatch& latch, const std::byte*) {
      expect_same("the state of the kernel when the call returned (1: done)", "1",
                  std::to_string(latch.done()));
    });
  }
}

}  // namespace

PROCTOR_CHECK(Transfer, SynchronousCallReturnsAfterCompletion, "M26", kReturns, kGate,
              {"order.end_wait_early:api=cudaMemcpy", "copy.skip:api=cudaMemcpy*"}) {
  const auto context = leased();
  use(context.device());
  constexpr Row kRows[] = {{copy, 'p', 'd', 1}, {copy, 'p', 'd'},    {copy, 'h', 'd'},
                           {copy, 'd', 'h'},    {copy_2d, 'p', 'd'}, {copy_3d, 'h', 'd'},
                           {fill, 'h', '-'},    {fill_2d, 'm', '-'}, {fill_3d, 'h', '-'}};
  expect_waits(context, kRows, false);
}

// Copies between a device and pageable memory are left out: they only "might be synchronous".
PROCTOR_CHECK(Transfer, PageableHostToHostCopyBlocks, "M26", kReturns, kGate,
              {"order.end_wait_early:api=cudaMemcpyAsync", "copy.skip:api=cudaMemcpy*Async"}) {
  const auto context = leased();
  use(context.device());
  constexpr Row kRows[] = {
      {copy_async, 'p', 'p', 1}, {copy_async, 'p', 'p'}, {copy_async, 'p', 'h'}, {copy_async, 'h', 'p'}};
  expect_waits(context, kRows, true);
}

// The program may change pageable memory as soon as the call returns.
PROCTOR_CHECK(Transfer, PageableSourceIsReusableAfterReturn, "M29", kReturns, suite::kWarn,
              {"copy.read_source_after_return:min=65537",
               "copy.read_source_after_return:min=65537,api=cudaMemcpy3DAsync",
               "copy.skip:api=cudaMemcpy*Async", "memory.corrupt_copy:at=17,api=cudaMemcpyAsync"}) {
  const auto context = leased();
  use(context.device());
  constexpr Row kRows[] = {{copy_async, 'd', 'p'},         {copy_async, 'd', 'p', 1},
                           {copy_async, 'd', 'p', 65'537}, {copy_async, 'd', 'p', 3 << 20},
                           {copy_2d_async, 'd', 'p'},      {copy_2d_async, 'd', 'p', 3 << 20},
                           {copy_3d_async, 'd', 'p'},      {copy_3d_async, 'd', 'p', 3 << 20}};
  for (const Row& row : kRows) {
    step("given " + text(row) + " whose source is overwritten when the call returns");
    transfer_behind_a_latch(context, row, true, [&](const StreamLatch&, std::byte* from) {
      std::fill_n(from, row.bytes, std::byte{0});
    });
  }
}

// "Any CUDA API call may block or synchronize for various reasons". Programs use these calls because they return
// without waiting.
PROCTOR_CHECK(Transfer, NonblockingTransferReturnsBeforeCompletion, "M28", kReturns, suite::kWarn,
              {"copy.skip:api=cudaMemcpy*", "copy.skip_fill"}) {
  const auto context = leased();
  use(context.device());
  constexpr Row kSynchronous[] = {{copy, 'd', 'd'}, {copy_2d, 'd', 'd'}, {copy_3d, 'd', 'd'},
                                  {fill, 'd', '-'}, {fill_2d, 'd', '-'}, {fill_3d, 'd', '-'}};
  constexpr Row kAsynchronous[] = {{copy_async, 'd', 'd'},    {copy_async, 'h', 'd'},
                                   {copy_async, 'd', 'h'},    {copy_2d_async, 'h', 'd'},
                                   {copy_3d_async, 'd', 'h'}, {fill_async, 'h', '-'},
                                   {fill_2d_async, 'h', '-'}, {fill_3d_async, 'd', '-'}};
  const auto sent = noise(kRoom, 2);
  for (const bool asynchronous : {false, true}) {
    Queue queue(context), other(context);
    const auto rows = asynchronous ? std::span<const Row>(kAsynchronous) : std::span<const Row>(kSynchronous);
    const cudaStream_t stream = asynchronous ? native(queue) : cudaStreamLegacy;
    std::vector<Ends> ends;
    for (const Row& row : rows) {
      std::byte* const from = row.from == '-' ? nullptr : ends.emplace_back(context).at(row.from, 1);
      if (row.from == '-') ends.emplace_back(context);
      if (row.from == 'd') write(other, context, from, sent);
      if (row.from == 'h') std::copy(sent.begin(), sent.end(), from);
    }
    const StreamLatch latch(context);
    step(std::string("given ") + (asynchronous ? "asynchronous" : "synchronous") +
         " transfers behind a kernel that is not released yet");
    latch.hold(stream);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::byte* const from = rows[i].from == '-' ? nullptr : ends[i].at(rows[i].from, 1);
      rows[i].call({ends[i].at(rows[i].to, 0), from, rows[i].bytes, stream}).or_throw();
    }
    expect_same("the state of the kernel when all calls have returned (0: held)", "0",
                std::to_string(latch.done()));
    expect_status(kNotReady, CUDA_CALL(cudaStreamQuery, stream));
    latch.open();
    CUDA_CALL(cudaStreamSynchronize, stream).or_throw();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      expect_moved(rows[i], other, context, ends[i].at(rows[i].to, 0), sent,
                   "what " + text(rows[i]) + " left");
    }
  }
}

}  // namespace proctor::accel
