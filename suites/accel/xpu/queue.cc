#include <utility>

#include "suites/accel/xpu/native.h"

namespace proctor::accel {

// The state of a queue. In mode kLists `queue` is set, and each command has its own list, which is kept until
// the queue is empty. In mode kImmediate `immediate` is set. There, synchronising appends a barrier with an
// event, because zeCommandListHostSynchronize exists only since Level Zero 1.6. In both modes a barrier
// precedes each command: neither lists nor queues order their commands (specification, Execution Barriers).
struct Queue::Impl {
  Impl(const Context& its_context, Mode mode, Device device);
  ~Impl();

  // Opens a list for one command. submit() sends it to the device.
  ze_command_list_handle_t open();
  void submit(ze_command_list_handle_t list);
  Status try_synchronize(Nanoseconds timeout);
  void retire();

  Context context;
  Device device;
  ze_command_queue_handle_t queue = nullptr;
  ze_command_list_handle_t immediate = nullptr;
  std::vector<ze_command_list_handle_t> lists;
  std::vector<Event> markers;  // the last one follows every command, unless `dirty`
  bool dirty = false;
};

Queue::Impl::Impl(const Context& its_context, Mode mode, Device its_device)
    : context(its_context), device(its_device == Device() ? its_context.device() : its_device) {
  ze_command_queue_desc_t description{};
  description.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC;
  description.ordinal = device.record()->compute_group;
  description.mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS;
  if (mode == Mode::kImmediate) {
    ZE_CALL(zeCommandListCreateImmediate, native(context), native(device), &description, &immediate)
        .or_throw();
  } else {
    ZE_CALL(zeCommandQueueCreate, native(context), native(device), &description, &queue).or_throw();
  }
}

Queue::Impl::~Impl() {
  bool empty = false;
  try {
    empty = try_synchronize(std::chrono::seconds(1)).ok();
  } catch (const std::exception&) {
    // A destructor cannot report an error. A queue in an unknown state is kept, like a busy one.
  }
  if (!empty) {
    for (Event& marker : markers)
      static_cast<void>(new Event(std::move(marker)));  // the device still uses it
    return;
  }
  if (immediate != nullptr) entry_points().zeCommandListDestroy(immediate);
  if (queue != nullptr) entry_points().zeCommandQueueDestroy(queue);
}

ze_command_list_handle_t Queue::Impl::open() {
  ze_command_list_handle_t list = immediate;
  if (immediate == nullptr) {
    ze_command_list_desc_t description{};
    description.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC;
    description.commandQueueGroupOrdinal = device.record()->compute_group;
    ZE_CALL(zeCommandListCreate, native(context), native(device), &description, &list).or_throw();
    lists.push_back(list);
  }
  ZE_CALL(zeCommandListAppendBarrier, list, nullptr, 0, nullptr).or_throw();
  return list;
}

void Queue::Impl::submit(ze_command_list_handle_t list) {
  dirty = true;
  if (immediate != nullptr) return;
  ZE_CALL(zeCommandListClose, list).or_throw();
  ZE_CALL(zeCommandQueueExecuteCommandLists, queue, 1, &list, nullptr).or_throw();
}

Status Queue::Impl::try_synchronize(Nanoseconds timeout) {
  Status status;
  if (immediate == nullptr) {
    status = ZE_CALL(zeCommandQueueSynchronize, queue, in_ze(timeout));
  } else {
    if (dirty) {
      markers.emplace_back(context);
      ZE_CALL(zeCommandListAppendBarrier, immediate, native(markers.back()), 0, nullptr).or_throw();
      dirty = false;
    }
    if (!markers.empty()) status = markers.back().try_synchronize(timeout);
  }
  if (status.ok()) retire();
  return status;
}

void Queue::Impl::retire() {
  for (const ze_command_list_handle_t list : lists) ZE_CALL(zeCommandListDestroy, list).or_throw();
  lists.clear();
  markers.clear();
}

namespace {

// The C form of a Sync.
struct Waits {
  explicit Waits(const Sync& sync) : signal(sync.signal == nullptr ? nullptr : native(*sync.signal)) {
    for (const Event* event : sync.wait) handles.push_back(native(*event));
  }
  std::uint32_t count() const { return static_cast<std::uint32_t>(handles.size()); }
  ze_event_handle_t* data() { return handles.empty() ? nullptr : handles.data(); }

  ze_event_handle_t signal;
  std::vector<ze_event_handle_t> handles;
};

std::uint32_t narrow(std::size_t value) { return static_cast<std::uint32_t>(value); }

Status set_arguments(const Kernel& kernel, const Launch& launch, const Arguments& arguments) {
  Kernel::Impl& impl = *kernel.impl();
  Status status =
      ZE_CALL(zeKernelSetGroupSize, impl.handle, launch.group[0], launch.group[1], launch.group[2]);
  for (std::uint32_t i = 0; status.ok() && i < arguments.size(); ++i) {
    const Argument& argument = arguments[i];
    const bool local = argument.local_bytes != 0;
    status = ZE_CALL(zeKernelSetArgumentValue, impl.handle, i,
                     local ? argument.local_bytes : argument.value.size(),
                     local ? nullptr : argument.value.data());
  }
  const bool offset = launch.offset != std::array<std::uint32_t, 3>{0, 0, 0};
  if (status.ok() && (offset || impl.has_offset)) {
    impl.has_offset = offset;
    status = ZE_CALL(zeKernelSetGlobalOffsetExp, impl.handle, launch.offset[0], launch.offset[1],
                     launch.offset[2]);
  }
  return status;
}

}  // namespace

Queue::Queue(const Context& context, Mode mode, Device device)
    : impl_(std::make_unique<Impl>(context, mode, device)) {}
Queue::~Queue() = default;
Queue::Queue(Queue&&) noexcept = default;
Queue& Queue::operator=(Queue&&) noexcept = default;

void Queue::copy(void* to, const void* from, std::size_t bytes, const Sync& sync) {
  Waits waits(sync);
  const auto list = impl_->open();
  ZE_CALL(zeCommandListAppendMemoryCopy, list, to, from, bytes, waits.signal, waits.count(), waits.data())
      .or_throw();
  impl_->submit(list);
}

void Queue::fill(void* to, std::span<const std::byte> pattern, std::size_t bytes, const Sync& sync) {
  Waits waits(sync);
  const auto list = impl_->open();
  ZE_CALL(zeCommandListAppendMemoryFill, list, to, pattern.data(), pattern.size(), bytes, waits.signal,
          waits.count(), waits.data())
      .or_throw();
  impl_->submit(list);
}

void Queue::copy_region(const Pitched& to, const Pitched& from, std::array<std::size_t, 3> size,
                        const Sync& sync) {
  Waits waits(sync);
  const auto box = [&](const Pitched& at) {
    return ze_copy_region_t{narrow(at.origin[0]), narrow(at.origin[1]), narrow(at.origin[2]),
                            narrow(size[0]),      narrow(size[1]),      narrow(size[2])};
  };
  const ze_copy_region_t to_box = box(to);
  const ze_copy_region_t from_box = box(from);
  const auto list = impl_->open();
  ZE_CALL(zeCommandListAppendMemoryCopyRegion, list, to.pointer, &to_box, narrow(to.pitch),
          narrow(to.slice_pitch), from.pointer, &from_box, narrow(from.pitch), narrow(from.slice_pitch),
          waits.signal, waits.count(), waits.data())
      .or_throw();
  impl_->submit(list);
}

void Queue::launch(const Kernel& kernel, const Launch& launch, const Arguments& arguments, const Sync& sync) {
  try_launch(kernel, launch, arguments, sync).or_throw();
}

Status Queue::try_launch(const Kernel& kernel, const Launch& launch, const Arguments& arguments,
                         const Sync& sync) {
  Status status = set_arguments(kernel, launch, arguments);
  if (!status.ok()) return status;
  Waits waits(sync);
  const ze_group_count_t groups{launch.groups[0], launch.groups[1], launch.groups[2]};
  const auto list = impl_->open();
  status = launch.cooperative ? ZE_CALL(zeCommandListAppendLaunchCooperativeKernel, list, native(kernel),
                                        &groups, waits.signal, waits.count(), waits.data())
                              : ZE_CALL(zeCommandListAppendLaunchKernel, list, native(kernel), &groups,
                                        waits.signal, waits.count(), waits.data());
  impl_->submit(list);  // also after a refusal, with an empty list, so that all commands are handled alike
  return status;
}

void Queue::barrier(const Sync& sync) {
  Waits waits(sync);
  const auto list = impl_->open();
  ZE_CALL(zeCommandListAppendBarrier, list, waits.signal, waits.count(), waits.data()).or_throw();
  impl_->submit(list);
}

Status Queue::try_synchronize(Nanoseconds timeout) { return impl_->try_synchronize(timeout); }

void Queue::synchronize(Nanoseconds timeout) { try_synchronize(timeout).or_throw(); }

bool Queue::idle() {
  const Status status = try_synchronize(Nanoseconds::zero());
  if (!status.ok() && !status.not_ready()) throw Error(status);
  return status.ok();
}

ze_command_queue_handle_t native(const Queue& queue) { return queue.impl().queue; }

ze_command_list_handle_t immediate_list(const Queue& queue) { return queue.impl().immediate; }

namespace {

// A time range in ticks of the device clock. Only some bits of the clock are valid.
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

// Returns the shorter distance from `from` to `to` on a clock of `bits` bits.
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
