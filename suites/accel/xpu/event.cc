#include <utility>

#include "suites/accel/xpu/native.h"

namespace proctor::accel {
namespace {

// Ticks of the device's clock, which has only so many bits.
struct Ticks {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

Ticks ticks_of(const Event& event) {
  ze_kernel_timestamp_result_t answer{};
  ZE_CALL(zeEventQueryKernelTimestamp, native(event), &answer).or_throw();
  return {answer.global.kernelStart, answer.global.kernelEnd};
}

const DeviceRecord& record_of(const Event& event) { return *event.impl().context->devices.front().record(); }

double in_ns(std::int64_t ticks, const DeviceRecord& record) {
  return static_cast<double>(ticks) * 1e9 / static_cast<double>(record.properties.timer_hz);
}

// The shorter way from `from` to `to` on a clock of `bits` bits.
std::int64_t distance(std::uint64_t from, std::uint64_t to, std::uint32_t bits) {
  const std::uint32_t unused = bits == 0 || bits > 64 ? 0 : 64 - bits;
  return static_cast<std::int64_t>((to - from) << unused) >> unused;
}

}  // namespace

Event::Event(const Context& context) : impl_(std::make_unique<Impl>()) {
  impl_->context = context.impl();
  std::vector<ze_device_handle_t> devices;
  for (const Device& device : context.devices()) devices.push_back(native(device));
  ze_event_pool_desc_t pool{};
  pool.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC;
  pool.flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE | ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP;
  pool.count = 1;
  ZE_CALL(zeEventPoolCreate, native(context), &pool, static_cast<std::uint32_t>(devices.size()),
          devices.data(), &impl_->pool)
      .or_throw();
  ze_event_desc_t event{};
  event.stype = ZE_STRUCTURE_TYPE_EVENT_DESC;
  event.signal = ZE_EVENT_SCOPE_FLAG_HOST;
  event.wait = ZE_EVENT_SCOPE_FLAG_HOST;
  ZE_CALL(zeEventCreate, impl_->pool, &event, &impl_->handle).or_throw();
}

Event::Impl::~Impl() {
  if (handle != nullptr) entry_points().zeEventDestroy(handle);
  if (pool != nullptr) entry_points().zeEventPoolDestroy(pool);
}

Event::~Event() = default;
Event::Event(Event&&) noexcept = default;
Event& Event::operator=(Event&&) noexcept = default;

Status Event::query() const { return ZE_CALL(zeEventQueryStatus, impl_->handle); }

Status Event::try_synchronize(Nanoseconds timeout) const {
  return ZE_CALL(zeEventHostSynchronize, impl_->handle, in_ze(timeout));
}

void Event::synchronize(Nanoseconds timeout) const { try_synchronize(timeout).or_throw(); }

void Event::reset() { ZE_CALL(zeEventHostReset, impl_->handle).or_throw(); }

void Event::signal_from_host() { ZE_CALL(zeEventHostSignal, impl_->handle).or_throw(); }

Span time_of(const Event& event) {
  const DeviceRecord& record = record_of(event);
  const Ticks ticks = ticks_of(event);
  const double begin = in_ns(static_cast<std::int64_t>(ticks.begin), record);
  return {begin, begin + in_ns(distance(ticks.begin, ticks.end, record.timestamp_bits), record)};
}

double elapsed_ns(const Event& first, const Event& second) {
  const DeviceRecord& record = record_of(first);
  return in_ns(distance(ticks_of(first).end, ticks_of(second).end, record.timestamp_bits), record);
}

}  // namespace proctor::accel
