#include <algorithm>
#include <chrono>
#include <thread>

#include "suites/accel/accel.h"
#include "suites/accel/cuda/native.h"
#include "suites/main/skipped.h"

namespace proctor::accel {
namespace {

// Returns whether a wait uses the CUDA Runtime's own wait. That wait has no limit and ends only with the
// work, or at the runner's deadline. It is used for long limits. Waits with a shorter limit poll.
bool is_unbounded(Nanoseconds timeout) { return timeout >= kSynchronizeTimeout; }

// Polls until the result of `query` is no longer "not ready", at most for `timeout`. Returns the last result.
template <typename Query>
Status poll(const Query& query, Nanoseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (true) {
    const Status status = query();
    if (!status.not_ready() || std::chrono::steady_clock::now() >= deadline) return status;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

}  // namespace

// A stream without synchronisation with the legacy default stream, in either direction.
struct Queue::Impl {
  Impl(const Context& its_context, Device its_device)
      : context(its_context), device(its_device == Device() ? its_context.device() : its_device) {
    use(device);
    CUDA_CALL(cudaStreamCreateWithFlags, &stream, cudaStreamNonBlocking).or_throw();
  }
  // A destroyed stream ends after its work has completed.
  ~Impl() {
    if (stream != nullptr) static_cast<void>(cudaStreamDestroy(stream));
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  Status query() const { return CUDA_CALL(cudaStreamQuery, stream); }

  Context context;
  Device device;
  cudaStream_t stream = nullptr;
};

namespace {

// Waits for events before a command, and records its begin and end for the event that it signals.
class Framed {
 public:
  Framed(const Queue::Impl& queue, const Sync& sync) : queue_(queue), signal_(sync.signal) {
    use(queue.device);
    for (const Event* event : sync.wait) {
      CUDA_CALL(cudaStreamWaitEvent, queue.stream, event->impl().end, 0).or_throw();
    }
    if (signal_ != nullptr) CUDA_CALL(cudaEventRecord, signal_->impl().begin, queue.stream).or_throw();
  }
  void submitted() const {
    if (signal_ != nullptr) CUDA_CALL(cudaEventRecord, signal_->impl().end, queue_.stream).or_throw();
  }

 private:
  const Queue::Impl& queue_;
  const Event* signal_;
};

// Converts a region to the CUDA form: a "pitched pointer" has a pitch for rows and a height for slices.
cudaPitchedPtr pitched(const Pitched& at) {
  cudaPitchedPtr result{};
  result.ptr = at.pointer;
  result.pitch = at.pitch;
  result.xsize = at.pitch;
  result.ysize = at.slice_pitch / at.pitch;
  return result;
}
cudaPos position(const Pitched& at) { return {at.origin[0], at.origin[1], at.origin[2]}; }

dim3 dimensions(const std::array<std::uint32_t, 3>& sizes) { return {sizes[0], sizes[1], sizes[2]}; }

}  // namespace

Queue::Queue(const Context& context, Mode, Device device) : impl_(std::make_unique<Impl>(context, device)) {}
Queue::~Queue() = default;
Queue::Queue(Queue&&) noexcept = default;
Queue& Queue::operator=(Queue&&) noexcept = default;

void Queue::copy(void* to, const void* from, std::size_t bytes, const Sync& sync) {
  const Framed command(*impl_, sync);
  CUDA_CALL(cudaMemcpyAsync, to, from, bytes, cudaMemcpyDefault, impl_->stream).or_throw();
  command.submitted();
}

// The CUDA Runtime fills with single bytes only. A longer pattern is copied once, and the filled part is then
// doubled.
void Queue::fill(void* to, std::span<const std::byte> pattern, std::size_t bytes, const Sync& sync) {
  const Framed command(*impl_, sync);
  if (pattern.size() == 1) {
    CUDA_CALL(cudaMemsetAsync, to, std::to_integer<int>(pattern[0]), bytes, impl_->stream).or_throw();
  } else {
    auto* begin = static_cast<std::byte*>(to);
    CUDA_CALL(cudaMemcpyAsync, begin, pattern.data(), std::min(bytes, pattern.size()), cudaMemcpyDefault,
              impl_->stream)
        .or_throw();
    for (std::size_t done = pattern.size(); done < bytes; done *= 2) {
      CUDA_CALL(cudaMemcpyAsync, begin + done, begin, std::min(done, bytes - done), cudaMemcpyDefault,
                impl_->stream)
          .or_throw();
    }
  }
  command.submitted();
}

void Queue::copy_region(const Pitched& to, const Pitched& from, std::array<std::size_t, 3> size,
                        const Sync& sync) {
  const Framed command(*impl_, sync);
  cudaMemcpy3DParms what{};
  what.srcPos = position(from);
  what.srcPtr = pitched(from);
  what.dstPos = position(to);
  what.dstPtr = pitched(to);
  what.extent = {size[0], size[1], size[2]};
  what.kind = cudaMemcpyDefault;
  CUDA_CALL(cudaMemcpy3DAsync, &what, impl_->stream).or_throw();
  command.submitted();
}

void Queue::launch(const Kernel& kernel, const Launch& launch, const Arguments& arguments, const Sync& sync) {
  or_throw_named(try_launch(kernel, launch, arguments, sync), impl_->device);
}

// Local memory is not an argument of a CUDA kernel. Its size is a parameter of the launch.
Status Queue::try_launch(const Kernel& kernel, const Launch& launch, const Arguments& arguments,
                         const Sync& sync) {
  if (launch.offset != std::array<std::uint32_t, 3>{0, 0, 0})
    throw suite::Skipped("unsupported:launch_offset");
  std::vector<void*> values;
  std::size_t local_bytes = 0;
  for (const Argument& argument : arguments) {
    local_bytes += argument.local_bytes;
    // The CUDA Runtime only reads the arguments, although the parameter type is not const.
    if (argument.local_bytes == 0) values.push_back(const_cast<std::byte*>(argument.value.data()));
  }
  const Framed command(*impl_, sync);
  const dim3 groups = dimensions(launch.groups);
  const dim3 group = dimensions(launch.group);
  const Status status = launch.cooperative ? CUDA_CALL(cudaLaunchCooperativeKernel, native(kernel), groups,
                                                       group, values.data(), local_bytes, impl_->stream)
                                           : CUDA_CALL(cudaLaunchKernel, native(kernel), groups, group,
                                                       values.data(), local_bytes, impl_->stream);
  if (status.ok()) command.submitted();
  return status;
}

void Queue::barrier(const Sync& sync) { Framed(*impl_, sync).submitted(); }

Status Queue::try_synchronize(Nanoseconds timeout) {
  if (is_unbounded(timeout)) return CUDA_CALL(cudaStreamSynchronize, impl_->stream);
  return poll([&] { return impl_->query(); }, timeout);
}

void Queue::synchronize(Nanoseconds timeout) { try_synchronize(timeout).or_throw(); }

bool Queue::idle() {
  const Status status = impl_->query();
  if (!status.ok() && !status.not_ready()) throw Error(status);
  return status.ok();
}

cudaStream_t native(const Queue& queue) { return queue.impl().stream; }

namespace {

double between_ns(cudaEvent_t first, cudaEvent_t second) {
  float milliseconds = 0;
  CUDA_CALL(cudaEventElapsedTime, &milliseconds, first, second).or_throw();
  return static_cast<double>(milliseconds) * 1e6;
}

}  // namespace

Event::Event(const Context& context) : impl_(std::make_unique<Impl>()) {
  impl_->context = context.impl();
  use(context.device());
  CUDA_CALL(cudaEventCreate, &impl_->begin).or_throw();
  CUDA_CALL(cudaEventCreate, &impl_->end).or_throw();
}

Event::Impl::~Impl() {
  if (begin != nullptr) static_cast<void>(cudaEventDestroy(begin));
  if (end != nullptr) static_cast<void>(cudaEventDestroy(end));
}

Event::~Event() = default;
Event::Event(Event&&) noexcept = default;
Event& Event::operator=(Event&&) noexcept = default;

Status Event::query() const { return CUDA_CALL(cudaEventQuery, impl_->end); }

Status Event::try_synchronize(Nanoseconds timeout) const {
  if (is_unbounded(timeout)) return CUDA_CALL(cudaEventSynchronize, impl_->end);
  return poll([&] { return query(); }, timeout);
}

void Event::synchronize(Nanoseconds timeout) const { try_synchronize(timeout).or_throw(); }

void Event::reset() { throw suite::Skipped("unsupported:event_reset"); }

void Event::signal_from_host() { throw suite::Skipped("unsupported:event_signal_from_host"); }

// The CUDA Runtime reports only differences of times, so the start of the command is the origin.
Span time_of(const Event& event) { return {0, between_ns(event.impl().begin, event.impl().end)}; }

double elapsed_ns(const Event& first, const Event& second) {
  return between_ns(native(first), native(second));
}

}  // namespace proctor::accel
