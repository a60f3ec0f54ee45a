#include "suites/accel/cuda/bounded_wait.h"
#include "suites/accel/cuda/native.h"
#include "suites/main/skipped.h"

namespace proctor::accel {
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

// The runtime tells distances only: the begin of the command is the origin.
Span time_of(const Event& event) { return {0, between_ns(event.impl().begin, event.impl().end)}; }

double elapsed_ns(const Event& first, const Event& second) {
  return between_ns(native(first), native(second));
}

}  // namespace proctor::accel
