// Checks of every command of a Level Zero command list. A command must wait for all its events, signal its end,
// and write its result and nothing else. Also checks the queues to which commands can be submitted.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <set>

#include "suites/accel/check_fixture.h"
#include "suites/accel/xpu/native.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

using suite::expect_same;
using suite::expect_true;
using suite::kGate;
using suite::kWarn;
using suite::step;

constexpr const char* kAppended = "Level Zero specification, zeCommandListAppend*: phEvents, hSignalEvent";
constexpr std::size_t kSlotBytes = 128;  // bytes of host memory for each command
constexpr std::uint32_t kTime = ~0u;     // marks a time stamp, whose value is not known before

using ImmediateAppend = ze_result_t (*)(ze_command_list_handle_t, std::uint32_t, ze_command_list_handle_t*,
                                        ze_event_handle_t, std::uint32_t, ze_event_handle_t*);

ze_command_queue_desc_t described_queue(std::uint32_t ordinal, std::uint32_t index = 0) {
  ze_command_queue_desc_t description{};
  description.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC;
  description.ordinal = ordinal;
  description.index = index;
  description.mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS;
  return description;
}

// A command list. The constructor with the description of a queue makes an immediate list.
class RawList {
 public:
  RawList(const Context& context, const ze_command_queue_desc_t& description) {
    ZE_CALL(zeCommandListCreateImmediate, native(context), native(context.device()), &description, &handle_)
        .or_throw();
  }
  RawList(const Context& context, std::uint32_t ordinal, ze_command_list_flags_t flags = 0) {
    ze_command_list_desc_t description{};
    description.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC;
    description.commandQueueGroupOrdinal = ordinal;
    description.flags = flags;
    ZE_CALL(zeCommandListCreate, native(context), native(context.device()), &description, &handle_)
        .or_throw();
  }
  ~RawList() {
    if (handle_ != nullptr) entry_points().zeCommandListDestroy(handle_);
  }
  RawList(RawList&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  RawList& operator=(RawList&&) = delete;
  ze_command_list_handle_t handle() const { return handle_; }

 private:
  ze_command_list_handle_t handle_ = nullptr;
};

class RawQueue {
 public:
  RawQueue(const Context& context, const ze_command_queue_desc_t& description) {
    ZE_CALL(zeCommandQueueCreate, native(context), native(context.device()), &description, &handle_)
        .or_throw();
  }
  ~RawQueue() { entry_points().zeCommandQueueDestroy(handle_); }
  RawQueue(const RawQueue&) = delete;
  RawQueue& operator=(const RawQueue&) = delete;
  void execute(const RawList& list) const {
    ze_command_list_handle_t handle = list.handle();
    ZE_CALL(zeCommandQueueExecuteCommandLists, handle_, 1, &handle, nullptr).or_throw();
  }
  void run(const RawList& list) const {
    execute(list);
    ZE_CALL(zeCommandQueueSynchronize, handle_, in_ze(kSynchronizeTimeout)).or_throw();
  }

 private:
  ze_command_queue_handle_t handle_ = nullptr;
};

// The address of zeCommandListImmediateAppendCommandListsExp. Loaders export it since 1.9, and Intel's driver
// returns no address for functions that the loader exports. With an older loader, only the driver's address
// exists.
ImmediateAppend immediate_append(const Context& context) {
  constexpr const char* kName = "zeCommandListImmediateAppendCommandListsExp";
  void* address = exported_function(kName);
  if (address == nullptr && has_handles_of_the_driver() &&
      !ZE_CALL(zeDriverGetExtensionFunctionAddress, driver_of(context), kName, &address).ok())
    address = nullptr;
  return reinterpret_cast<ImmediateAppend>(address);
}

// The objects that the commands of the table use.
struct Workshop {
  explicit Workshop(const Context& its_context)
      : context(its_context),
        module(Module::load(context, "basic")),
        increment(module, "increment"),
        given(host_memory(context, 64)),
        timed(context),
        append_lists(immediate_append(context)) {
    const std::uint32_t words[] = {7, 8, 9, 1, 1, 1, 1};  // the bytes to copy, one group, one launch
    std::memcpy(given.data(), words, sizeof words);
    increment.try_group_size({4, 1, 1}).or_throw();
    Queue queue(context);
    queue.barrier({.wait = {}, .signal = &timed});
    queue.synchronize();
  }

  // The kernel that adds one to each of the three words of the slot.
  ze_kernel_handle_t counting(std::byte* slot) {
    const std::uint32_t count = 3;
    increment.try_argument(0, sizeof slot, &slot).or_throw();
    increment.try_argument(1, sizeof count, &count).or_throw();
    return native(increment);
  }
  const std::uint32_t* words() const { return reinterpret_cast<const std::uint32_t*>(given.data()); }
  const ze_group_count_t* groups() const { return reinterpret_cast<const ze_group_count_t*>(words() + 3); }
  const std::uint32_t* launches() const { return words() + 6; }

  Context context;
  Module module;
  Kernel increment;
  Buffer given;
  Event timed;  // signalled by the device
  ImmediateAppend append_lists;
  std::vector<RawList> lists;        // lists that another list executes
  std::set<std::string> left_out{};  // functions of rows that are recorded as left out
};

struct EventsOf {
  ze_event_handle_t signal;
  std::uint32_t count;
  ze_event_handle_t* waits;
};

struct CommandRow {
  const char* function;
  // The first words of the slot after the command; the other words stay 0.
  std::vector<std::uint32_t> written;
  Status (*append)(Workshop&, ze_command_list_handle_t, std::byte* slot, const EventsOf&);
  bool immediate = true;  // false: another check covers immediate lists
};

const std::vector<CommandRow> kCommands = {
    {"zeCommandListAppendMemoryCopy",
     {7, 8, 9},
     [](Workshop& shop, ze_command_list_handle_t list, std::byte* slot, const EventsOf& events) {
       return ZE_CALL(zeCommandListAppendMemoryCopy, list, slot, shop.words(), 12, events.signal,
                      events.count, events.waits);
     }},
    {"zeCommandListAppendMemoryCopyFromContext",
     {7, 8, 9},
     [](Workshop& shop, ze_command_list_handle_t list, std::byte* slot, const EventsOf& events) {
       return ZE_CALL(zeCommandListAppendMemoryCopyFromContext, list, slot, native(shop.context),
                      shop.words(), 12, events.signal, events.count, events.waits);
     }},
    {"zeCommandListAppendMemoryCopyRegion",
     {7, 8, 9},
     [](Workshop& shop, ze_command_list_handle_t list, std::byte* slot, const EventsOf& events) {
       const ze_copy_region_t box{0, 0, 0, 12, 1, 0};
       return ZE_CALL(zeCommandListAppendMemoryCopyRegion, list, slot, &box, 16, 16, shop.words(), &box, 4, 4,
                      events.signal, events.count, events.waits);
     }},
    {"zeCommandListAppendMemoryFill",
     {7, 7, 7},
     [](Workshop&, ze_command_list_handle_t list, std::byte* slot, const EventsOf& events) {
       const std::uint32_t seven = 7;
       return ZE_CALL(zeCommandListAppendMemoryFill, list, slot, &seven, sizeof seven, 12, events.signal,
                      events.count, events.waits);
     }},
    {"zeCommandListAppendLaunchKernel",
     {1, 1, 1},
     [](Workshop& shop, ze_command_list_handle_t list, std::byte* slot, const EventsOf& events) {
       const ze_group_count_t one{1, 1, 1};
       return ZE_CALL(zeCommandListAppendLaunchKernel, list, shop.counting(slot), &one, events.signal,
                      events.count, events.waits);
     }},
    {"zeCommandListAppendLaunchCooperativeKernel",
     {1, 1, 1},
     [](Workshop& shop, ze_command_list_handle_t list, std::byte* slot, const EventsOf& events) {
       const ze_group_count_t one{1, 1, 1};
       return ZE_CALL(zeCommandListAppendLaunchCooperativeKernel, list, shop.counting(slot), &one,
                      events.signal, events.count, events.waits);
     }},
    {"zeCommandListAppendLaunchKernelIndirect",
     {1, 1, 1},
     [](Workshop& shop, ze_command_list_handle_t list, std::byte* slot, const EventsOf& events) {
       return ZE_CALL(zeCommandListAppendLaunchKernelIndirect, list, shop.counting(slot), shop.groups(),
                      events.signal, events.count, events.waits);
     }},
    {"zeCommandListAppendLaunchMultipleKernelsIndirect",
     {1, 1, 1},
     [](Workshop& shop, ze_command_list_handle_t list, std::byte* slot, const EventsOf& events) {
       ze_kernel_handle_t kernels[] = {shop.counting(slot), nullptr};
       return ZE_CALL(zeCommandListAppendLaunchMultipleKernelsIndirect, list, 1, kernels, shop.launches(),
                      shop.groups(), events.signal, events.count, events.waits);
     },
     false},
    {"zeCommandListAppendWriteGlobalTimestamp",
     {kTime, kTime},
     [](Workshop&, ze_command_list_handle_t list, std::byte* slot, const EventsOf& events) {
       return ZE_CALL(zeCommandListAppendWriteGlobalTimestamp, list, reinterpret_cast<std::uint64_t*>(slot),
                      events.signal, events.count, events.waits);
     }},
    {"zeCommandListAppendQueryKernelTimestamps",
     std::vector<std::uint32_t>(sizeof(ze_kernel_timestamp_result_t) / 4, kTime),
     [](Workshop& shop, ze_command_list_handle_t list, std::byte* slot, const EventsOf& events) {
       ze_event_handle_t timed[] = {native(shop.timed), nullptr};
       return ZE_CALL(zeCommandListAppendQueryKernelTimestamps, list, 1, timed, slot, nullptr, events.signal,
                      events.count, events.waits);
     }},
    {"zeCommandListAppendBarrier",
     {},
     [](Workshop&, ze_command_list_handle_t list, std::byte*, const EventsOf& events) {
       return ZE_CALL(zeCommandListAppendBarrier, list, events.signal, events.count, events.waits);
     }},
    {"zeCommandListAppendMemoryRangesBarrier",
     {},
     [](Workshop&, ze_command_list_handle_t list, std::byte* slot, const EventsOf& events) {
       const std::size_t bytes = kSlotBytes;
       const void* range = slot;
       return ZE_CALL(zeCommandListAppendMemoryRangesBarrier, list, 1, &bytes, &range, events.signal,
                      events.count, events.waits);
     }},
    {"zeCommandListAppendWaitOnEvents",
     {},
     [](Workshop&, ze_command_list_handle_t list, std::byte*, const EventsOf& events) {
       if (events.count > 0)
         ZE_CALL(zeCommandListAppendWaitOnEvents, list, events.count, events.waits).or_throw();
       return ZE_CALL(zeCommandListAppendBarrier, list, events.signal, 0, nullptr);
     }},
    {"zeCommandListImmediateAppendCommandListsExp",
     {7, 7, 7},
     [](Workshop& shop, ze_command_list_handle_t list, std::byte* slot, const EventsOf& events) {
       const std::uint32_t seven = 7;
       ze_command_list_handle_t both[] = {nullptr, nullptr, nullptr};
       for (std::size_t i = 0; i < 2; ++i) {
         shop.lists.emplace_back(shop.context, shop.context.device().record()->compute_group);
         both[i] = shop.lists.back().handle();
         ZE_CALL(zeCommandListAppendMemoryFill, both[i], slot + 4 * i, &seven, sizeof seven, 8, nullptr, 0,
                 nullptr)
             .or_throw();
         ZE_CALL(zeCommandListClose, both[i]).or_throw();
       }
       return Status(shop.append_lists(list, 2, both, events.signal, events.count, events.waits),
                     "zeCommandListImmediateAppendCommandListsExp");
     }},
};

// One command of a row, in a separate list.
struct Running {
  Running(Workshop& shop, const CommandRow& its_row, std::byte* its_slot, bool immediate)
      : row(&its_row),
        slot(its_slot),
        list(immediate ? RawList(shop.context, description_for(shop))
                       : RawList(shop.context, ordinal_for(shop))),
        done(shop.context) {
    if (!immediate) queue = std::make_unique<RawQueue>(shop.context, description_for(shop));
  }
  // Starts the command. An immediate list has started it already.
  void go() const {
    if (queue == nullptr) return;
    ZE_CALL(zeCommandListClose, list.handle()).or_throw();
    queue->execute(list);
  }

  const CommandRow* row;
  std::byte* slot;
  RawList list;
  Event done;
  std::unique_ptr<RawQueue> queue{};  // the queue of a regular list; null for an immediate list

 private:
  static std::uint32_t ordinal_for(const Workshop& shop) {
    return shop.context.device().record()->compute_group;
  }
  static ze_command_queue_desc_t description_for(const Workshop& shop) {
    return described_queue(ordinal_for(shop));
  }
};

// The reason for which the device, loader or driver cannot run the row; "": there is none.
std::string lacking(const Workshop& shop, const CommandRow& row) {
  const std::string_view function = row.function;
  if (function == "zeCommandListAppendLaunchCooperativeKernel" &&
      !shop.context.device().record()->cooperative)
    return "unsupported:cooperative_launch";
  if (function == kCommands.back().function && shop.append_lists == nullptr)
    return "symbol_missing:" + std::string(function);
  return {};
}

// Appends the command and starts it. Returns the reason for which the driver cannot run it, or "". `in_barrier`: a
// barrier after the command signals the event, instead of the command itself.
std::string start(Workshop& shop, const Running& command, EventsOf events, bool in_barrier) {
  const ze_command_list_handle_t list = command.list.handle();
  if (!in_barrier) events.signal = native(command.done);
  const Status appended = command.row->append(shop, list, command.slot, events);
  if (appended.unsupported() && !suite::on_simgpu())
    return "unsupported:" + std::string(command.row->function);
  appended.or_throw();
  if (in_barrier) ZE_CALL(zeCommandListAppendBarrier, list, native(command.done), 0, nullptr).or_throw();
  command.go();
  return {};
}

// Starts one command of each row that loader, driver and device support.
std::vector<Running> start_each(Workshop& shop, const Buffer& slots, std::vector<ze_event_handle_t> waits,
                                bool in_barrier = false) {
  std::memset(slots.data(), 0, slots.bytes());
  const auto count = static_cast<std::uint32_t>(waits.size());
  waits.push_back(nullptr);  // The driver must not read this element, which is past the last event.
  const EventsOf events{nullptr, count, count == 0 ? nullptr : waits.data()};
  std::vector<Running> all;
  for (const CommandRow& row : kCommands) {
    std::string lacks = lacking(shop, row);
    if (lacks.empty()) {
      all.emplace_back(shop, row, slots.data() + kSlotBytes * all.size(), row.immediate);
      lacks = start(shop, all.back(), events, in_barrier);
      if (!lacks.empty()) all.pop_back();
    }
    if (!lacks.empty() && shop.left_out.insert(row.function).second)
      suite::record(std::string("left_out.") + row.function, lacks);
  }
  need(!all.empty(), "unsupported:commands");
  return all;
}

void expect_untouched(const std::vector<Running>& all) {
  static_cast<void>(all.front().done.try_synchronize(std::chrono::milliseconds(3)));
  for (const Running& command : all) {
    const bool zero = std::all_of(command.slot, command.slot + kSlotBytes,
                                  [](std::byte byte) { return byte == std::byte{}; });
    expect_same(std::string(command.row->function) + " before its last event",
                "ZE_RESULT_NOT_READY, memory untouched",
                command.done.query().name() + ", memory " + (zero ? "untouched" : "written"));
  }
}

void expect_done(const Running& command, const Device& device) {
  command.done.synchronize();
  std::vector<std::uint32_t> got(kSlotBytes / 4), expected = command.row->written;
  std::memcpy(got.data(), command.slot, kSlotBytes);
  expected.resize(got.size());
  std::uint64_t times = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (expected[i] != kTime) continue;
    times += got[i];
    expected[i] = got[i];
  }
  const bool timed = std::ranges::count(command.row->written, kTime) > 0;
  expect_true(timed == (times > 0), std::string(command.row->function) + " writes a time, if it writes any");
  expect_words(std::string("memory behind ") + command.row->function, expected, got, device);
}

}  // namespace

PROCTOR_CHECK(Command, EachWaitEventBlocksCommand, "K43", kAppended, kGate, {"order.ignore_wait_events"}) {
  const auto context = leased();
  Workshop shop(context);
  const Buffer slots = host_memory(context, kSlotBytes * kCommands.size());
  for (const std::size_t count : {std::size_t{1}, std::size_t{3}}) {
    for (std::size_t held = 0; held < count; ++held) {
      step(fmt::format("given each command with {} events, of which the host signals number {} last", count,
                       held));
      std::vector<Event> events;
      std::vector<ze_event_handle_t> handles;
      for (std::size_t i = 0; i < count; ++i) {
        events.emplace_back(context);
        handles.push_back(native(events.back()));
      }
      const auto all = start_each(shop, slots, handles);
      for (std::size_t i = 0; i < count; ++i) {
        if (i != held) events[i].signal_from_host();
      }
      expect_untouched(all);
      events[held].signal_from_host();
      for (const Running& command : all) expect_done(command, context.device());
    }
  }
}

PROCTOR_CHECK(Command, CommandRunsWithoutWaitEvents, "K43", kAppended, kGate,
              {"order.signal_before_work:us=20000",
               "copy.omit_last_fill_pattern:api=zeCommandListAppendMemoryFill"}) {
  const auto context = leased();
  Workshop shop(context);
  const Buffer slots = host_memory(context, kSlotBytes * kCommands.size());
  step("given each command without an event to wait for");
  for (const Running& command : start_each(shop, slots, {})) expect_done(command, context.device());
  step("given each command that also signals none");
  for (const Running& command : start_each(shop, slots, {}, true)) expect_done(command, context.device());
}

// "An immediate command list is used for low-latency submission of commands" (zeCommandListCreateImmediate). The
// launch is for any list of a group that supports compute.
PROCTOR_CHECK(Command, ImmediateListLaunchesMultipleKernelsIndirectly, "K17",
              "Level Zero specification, zeCommandListAppendLaunchMultipleKernelsIndirect", kGate,
              {"kernel.skip:kernel=increment", "order.ignore_wait_events"}) {
  const auto context = leased();
  Workshop shop(context);
  const Buffer slots = host_memory(context, kSlotBytes);
  std::memset(slots.data(), 0, slots.bytes());
  const auto row = std::ranges::find_if(kCommands, [](const CommandRow& each) { return !each.immediate; });
  Event held(context);
  step("given an immediate list, to which the launch of several kernels is appended behind an event");
  const Running command(shop, *row, slots.data(), true);
  ze_event_handle_t waits[] = {native(held), nullptr};
  const std::string lacks = start(shop, command, {nullptr, 1, waits}, false);
  need(lacks.empty(), lacks);
  expect_status("ZE_RESULT_NOT_READY", command.done.try_synchronize(std::chrono::milliseconds(3)));
  held.signal_from_host();
  const Status waited = command.done.try_synchronize(kPatience);
  expect_status(kSuccess, waited);
  if (waited.ok()) expect_done(command, context.device());
}

// ---- time ----

namespace {

// The ticks between two time stamps of the device, of which only `bits` bits are valid.
std::int64_t ticks_between(std::uint32_t bits, std::uint64_t first, std::uint64_t second) {
  const std::uint32_t unused = bits == 0 || bits > 64 ? 0 : 64 - bits;
  return static_cast<std::int64_t>((second - first) << unused) >> unused;
}
std::int64_t ticks_of(const Context& context, const ze_kernel_timestamp_data_t& times) {
  return ticks_between(context.device().record()->timestamp_bits, times.kernelStart, times.kernelEnd);
}

// The global clock of the device, as commands and the host read it. Both readings have the same number of valid
// bits.
struct DeviceClock {
  explicit DeviceClock(const Context& context) : device(native(context.device())) {
    ze_device_properties_t properties{};
    properties.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES;
    ZE_CALL(zeDeviceGetProperties, device, &properties).or_throw();
    bits = properties.timestampValidBits;
  }
  std::uint64_t now() const {
    std::uint64_t host = 0, ticks = 0;
    ZE_CALL(zeDeviceGetGlobalTimestamps, device, &host, &ticks).or_throw();
    return ticks;
  }
  std::int64_t between(std::uint64_t first, std::uint64_t second) const {
    return ticks_between(bits, first, second);
  }

  ze_device_handle_t device;
  std::uint32_t bits = 64;
};

}  // namespace

PROCTOR_CHECK(Timestamp, WrittenTimestampLiesBetweenHostQueries, "K41",
              "Level Zero specification, zeCommandListAppendWriteGlobalTimestamp", kGate,
              {"state.clock_backwards"}) {
  const auto context = leased();
  const DeviceClock clock(context);
  const auto ordinal = context.device().record()->compute_group;
  const RawList list(context, ordinal);
  const RawQueue queue(context, described_queue(ordinal));
  const Buffer memory = host_memory(context, 64);
  std::ranges::fill(memory.as<std::uint64_t>(), 0x5a5a5a5a5a5a5a5a);
  for (std::size_t i = 0; i < 3; ++i) {
    ZE_CALL(zeCommandListAppendWriteGlobalTimestamp, list.handle(), &memory.as<std::uint64_t>()[2 * i],
            nullptr, 0, nullptr)
        .or_throw();
    ZE_CALL(zeCommandListAppendBarrier, list.handle(), nullptr, 0, nullptr).or_throw();
  }
  ZE_CALL(zeCommandListClose, list.handle()).or_throw();
  for (int run = 0; run < 3; ++run) {
    step("given a list that writes three time stamps, between two that the host reads");
    const std::uint64_t before = clock.now();
    queue.run(list);
    const auto words = memory.as<std::uint64_t>();
    const std::uint64_t times[] = {before, words[0], words[2], words[4], clock.now()};
    for (std::size_t i = 1; i < std::size(times); ++i)
      expect_true(clock.between(times[i - 1], times[i]) >= 0,
                  fmt::format("time {} is {}, not before {}", i, times[i], times[i - 1]));
    for (const std::size_t other : {1u, 3u, 5u})
      expect_same("the word beside a time stamp", "5a5a5a5a5a5a5a5a", fmt::format("{:x}", words[other]));
  }
}

PROCTOR_CHECK(Timestamp, DeviceQueryMatchesHostQuery, "K41",
              "Level Zero specification, zeCommandListAppendQueryKernelTimestamps", kGate,
              {"state.swapped_timestamps"}) {
  const auto context = leased();
  Queue queue(context);
  const Module module = Module::load(context, "basic");
  const Kernel fill(module, "fill");
  const auto out = device_copy(queue, context, std::vector<std::uint32_t>(64));
  step("given three kernels whose events have times");
  constexpr std::size_t kEvents = 3, kBytes = sizeof(ze_kernel_timestamp_result_t);
  std::vector<Event> events;
  std::vector<ze_event_handle_t> handles;
  for (std::size_t i = 0; i < kEvents; ++i) {
    events.emplace_back(context);
    handles.push_back(native(events.back()));
    queue.launch(fill, groups_of(4, 16), arguments(out, 5u, 64u), {.wait = {}, .signal = &events.back()});
  }
  queue.synchronize();
  handles.push_back(nullptr);
  std::vector<ze_kernel_timestamp_result_t> times(kEvents);
  for (std::size_t i = 0; i < kEvents; ++i) {
    ZE_CALL(zeEventQueryKernelTimestamp, handles[i], &times[i]).or_throw();
    expect_true(ticks_of(context, times[i].global) >= 0, "the kernel ended after it began");
  }
  const RawList list(context, described_queue(context.device().record()->compute_group));
  const Buffer memory = host_memory(context, 1024);
  const std::vector<std::size_t> placed{4 * kBytes, 0, 2 * kBytes}, packed{0, kBytes, 2 * kBytes};
  for (const auto& offsets : {packed, placed}) {
    for (const std::uint32_t count : {1u, 3u}) {
      step(fmt::format("given a query of {} of them to {}", count,
                       offsets == placed ? "places of their own" : "one after the other"));
      std::memset(memory.data(), 0x5a, memory.bytes());
      std::vector<std::byte> expected(memory.bytes(), std::byte{0x5a});
      for (std::size_t i = 0; i < count; ++i) std::memcpy(expected.data() + offsets[i], &times[i], kBytes);
      const Event done(context);
      ZE_CALL(zeCommandListAppendQueryKernelTimestamps, list.handle(), count, handles.data(), memory.data(),
              offsets == placed ? offsets.data() : nullptr, native(done), 0, nullptr)
          .or_throw();
      done.synchronize();
      expect_bytes("the times", expected, memory.as<std::byte>(), context.device());
    }
  }
}

namespace {

// A completed kernel and its time stamps.
struct TimedKernel {
  explicit TimedKernel(const Context& its_context) : context(its_context), done(its_context) {
    Queue queue(context);
    const Module module = Module::load(context, "basic");
    const auto out = device_copy(queue, context, std::vector<std::uint32_t>(64));
    queue.launch(Kernel(module, "fill"), groups_of(4, 16), arguments(out, 5u, 64u),
                 {.wait = {}, .signal = &done});
    queue.synchronize();
  }
  ze_kernel_timestamp_result_t whole() const {
    ze_kernel_timestamp_result_t times{};
    ZE_CALL(zeEventQueryKernelTimestamp, native(done), &times).or_throw();
    return times;
  }
  // Lists at most `count` time stamps. `count` becomes the number that the driver returns.
  std::vector<ze_kernel_timestamp_result_t> listed(std::uint32_t& count) const {
    std::vector<ze_kernel_timestamp_result_t> times(count + 1);
    ZE_CALL(zeEventQueryTimestampsExp, native(done), native(context.device()), &count,
            count == 0 ? nullptr : times.data())
        .or_throw();
    return times;
  }
  std::uint32_t how_many() const {
    std::uint32_t count = 0;
    listed(count);
    return count;
  }

  Context context;
  Event done;
};

}  // namespace

PROCTOR_CHECK(Timestamp, TimestampListMatchesEventQuery, "K41",
              "Level Zero specification, zeEventQueryTimestampsExp", kGate, {"state.swapped_timestamps"}) {
  const auto context = leased();
  step("given the times of a kernel, by the list and by the query");
  const TimedKernel kernel(context);
  const ze_kernel_timestamp_result_t whole = kernel.whole();
  const std::uint32_t there = kernel.how_many();
  expect_true(there > 0, "the event has a time");
  std::uint32_t count = there;
  const auto times = kernel.listed(count);
  expect_same("times that are listed", std::to_string(there), std::to_string(count));
  for (std::uint32_t i = 0; i < there; ++i)
    expect_true(ticks_of(context, times[i].global) >= 0, "the kernel ended after it began");
  expect_true(times[there].global.kernelEnd == 0, "no byte after them is written");
  if (there == 1)
    expect_bytes("the only time", std::as_bytes(std::span(&whole, 1)),
                 std::as_bytes(std::span(times).first(1)), context.device());
  std::uint32_t more = there + 3;
  kernel.listed(more);
  expect_same("the count after one that is too large", std::to_string(there), std::to_string(more));
}

// "if count is greater than the number of timestamps available, then the driver shall update the value with the
// correct number of timestamps available". The specification does not require that the driver then writes the
// times.
PROCTOR_CHECK(Timestamp, OversizedListHoldsAvailableTimestamps, "K41",
              "Level Zero specification, zeEventQueryTimestampsExp, pCount", kWarn,
              {"state.swapped_timestamps"}) {
  const auto context = leased();
  step("given the times of a kernel, in lists with exactly enough and with too much room");
  const TimedKernel kernel(context);
  const std::uint32_t there = kernel.how_many();
  std::uint32_t exact = there, more = there + 3;
  const auto enough = kernel.listed(exact), too_many = kernel.listed(more);
  expect_bytes("the times", std::as_bytes(std::span(enough).first(there)),
               std::as_bytes(std::span(too_many).first(there)), context.device());
  for (std::uint32_t i = 0; i < there; ++i)
    expect_true(ticks_of(context, too_many[i].global) >= 0, "the kernel ended after it began");
  for (std::size_t i = there; i < too_many.size(); ++i)
    expect_true(too_many[i].global.kernelEnd == 0, "no byte after them is written");
}

// ---- queues ----

PROCTOR_CHECK(QueueGroup, EveryQueueFillsMemory, "K38",
              "Level Zero specification, zeDeviceGetCommandQueueGroupProperties", kGate,
              {"copy.omit_last_fill_pattern"}) {
  const auto context = leased();
  const auto device = native(context.device());
  std::uint32_t groups = 0;
  ZE_CALL(zeDeviceGetCommandQueueGroupProperties, device, &groups, nullptr).or_throw();
  std::vector<ze_command_queue_group_properties_t> all(groups);
  for (auto& group : all) group.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES;
  ZE_CALL(zeDeviceGetCommandQueueGroupProperties, device, &groups, all.data()).or_throw();
  const Buffer memory = host_memory(context, 64);
  for (std::uint32_t ordinal = 0; ordinal < groups; ++ordinal) {
    if ((all[ordinal].flags & ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY) == 0) continue;
    const std::size_t pattern = std::min<std::size_t>(all[ordinal].maxMemoryFillPatternSize, 16);
    for (std::uint32_t index = 0; index < all[ordinal].numQueues; ++index) {
      for (const bool immediate : {false, true}) {
        step(fmt::format("given {} {} of group {}, for fills with patterns of 1 and {} bytes",
                         immediate ? "an immediate list for queue" : "queue", index, ordinal, pattern));
        std::memset(memory.data(), 0, memory.bytes());
        const auto description = described_queue(ordinal, index);
        const RawList list = immediate ? RawList(context, description) : RawList(context, ordinal);
        const auto bytes = noise(16, index + 1);
        const Event done(context);
        ZE_CALL(zeCommandListAppendMemoryFill, list.handle(), memory.data(), bytes.data(), pattern, 16,
                nullptr, 0, nullptr)
            .or_throw();
        ZE_CALL(zeCommandListAppendMemoryFill, list.handle(), memory.data() + 16, bytes.data(), 1, 3, nullptr,
                0, nullptr)
            .or_throw();
        ZE_CALL(zeCommandListAppendBarrier, list.handle(), native(done), 0, nullptr).or_throw();
        if (immediate) {
          done.synchronize();
        } else {
          ZE_CALL(zeCommandListClose, list.handle()).or_throw();
          RawQueue(context, description).run(list);
        }
        std::vector<std::byte> expected(64);
        for (std::size_t i = 0; i < 16; ++i) expected[i] = bytes[i % pattern];
        std::fill_n(expected.begin() + 16, 3, bytes[0]);
        expect_bytes("the memory", expected, memory.as<std::byte>(), context.device());
      }
    }
  }
}

PROCTOR_CHECK(Queue, EveryDescriptorIsAccepted, "K38", "Level Zero specification, ze_command_queue_desc_t",
              kGate, {"copy.skip_fill"}) {
  const auto context = leased();
  const auto ordinal = context.device().record()->compute_group;
  const Buffer memory = host_memory(context, 64);
  const auto expect_works = [&](const std::string& what, const RawList& list, const RawQueue* queue) {
    step("given " + what);
    const std::uint32_t seven = 7;
    const Event done(context);
    memory.as<std::uint32_t>()[0] = 0;
    ZE_CALL(zeCommandListAppendMemoryFill, list.handle(), memory.data(), &seven, 4, 4, native(done), 0,
            nullptr)
        .or_throw();
    if (queue != nullptr) {
      ZE_CALL(zeCommandListClose, list.handle()).or_throw();
      queue->run(list);
    }
    done.synchronize();
    expect_same("the word that a fill wrote", "7", std::to_string(memory.as<std::uint32_t>()[0]));
  };
  for (const auto mode : {ZE_COMMAND_QUEUE_MODE_DEFAULT, ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS,
                          ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS}) {
    for (const auto priority : {ZE_COMMAND_QUEUE_PRIORITY_NORMAL, ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_LOW,
                                ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_HIGH}) {
      for (const ze_command_queue_flags_t flags : {0u, std::uint32_t{ZE_COMMAND_QUEUE_FLAG_EXPLICIT_ONLY}}) {
        auto description = described_queue(ordinal);
        description.mode = mode;
        description.priority = priority;
        description.flags = flags;
        const auto what = fmt::format("mode {}, priority {} and flags {} of ", static_cast<int>(mode),
                                      static_cast<int>(priority), flags);
        const RawQueue queue(context, description);
        expect_works(what + "a queue", RawList(context, ordinal), &queue);
        expect_works(what + "an immediate list", RawList(context, description), nullptr);
      }
    }
  }
  for (const ze_command_list_flags_t flags :
       {ZE_COMMAND_LIST_FLAG_RELAXED_ORDERING, ZE_COMMAND_LIST_FLAG_MAXIMIZE_THROUGHPUT,
        ZE_COMMAND_LIST_FLAG_EXPLICIT_ONLY}) {
    const RawQueue queue(context, described_queue(ordinal));
    expect_works(fmt::format("flags {} of a list", flags), RawList(context, ordinal, flags), &queue);
  }
}

// ---- waiting ----

PROCTOR_CHECK(Queue, SynchronizeReturnsAfterEachExecution, "K42",
              "Level Zero specification, zeCommandQueueSynchronize", kGate,
              {"kernel.skip:kernel=increment,after=100,times=1"}) {
  const auto context = leased();
  const auto ordinal = context.device().record()->compute_group;
  const Module module = Module::load(context, "basic");
  Kernel increment(module, "increment");
  const Buffer words = host_memory(context, 64);
  words.as<std::uint32_t>()[0] = 0;
  const std::uint32_t one = 1;
  const void* const place = words.data();
  increment.try_group_size({1, 1, 1}).or_throw();
  increment.try_argument(0, sizeof place, &place).or_throw();
  increment.try_argument(1, sizeof one, &one).or_throw();
  const RawList list(context, ordinal);
  const ze_group_count_t groups{1, 1, 1};
  ZE_CALL(zeCommandListAppendLaunchKernel, list.handle(), native(increment), &groups, nullptr, 0, nullptr)
      .or_throw();
  ZE_CALL(zeCommandListClose, list.handle()).or_throw();
  const RawQueue queue(context, described_queue(ordinal));
  constexpr std::uint32_t kTimes = 1000;  // A wait that is not woken ends late, so the check would time out.
  step("given a kernel that is executed and waited for, a thousand times");
  for (std::uint32_t i = 0; i < kTimes; ++i) queue.run(list);
  expect_same("how often it ran", std::to_string(kTimes), std::to_string(words.as<std::uint32_t>()[0]));
}

PROCTOR_CHECK(Fence, CreationFlagSetsInitialState, "K40",
              "Level Zero specification, ze_fence_desc_t, ZE_FENCE_FLAG_SIGNALED", kGate,
              {"order.never_report_ready", "order.reset_ignored:api=zeFenceReset"}) {
  const auto context = leased();
  const Queue queue(context);
  for (const ze_fence_flags_t flags : {0u, std::uint32_t{ZE_FENCE_FLAG_SIGNALED}}) {
    step(fmt::format("given a fence with the flags {}, before and after its reset", flags));
    ze_fence_desc_t description{};
    description.stype = ZE_STRUCTURE_TYPE_FENCE_DESC;
    description.flags = flags;
    ze_fence_handle_t fence = nullptr;
    ZE_CALL(zeFenceCreate, native(queue), &description, &fence).or_throw();
    const char* const born = flags == 0 ? "ZE_RESULT_NOT_READY" : "ZE_RESULT_SUCCESS";
    expect_status(born, ZE_CALL(zeFenceQueryStatus, fence));
    expect_status(born, ZE_CALL(zeFenceHostSynchronize, fence, 0));
    expect_status(born, ZE_CALL(zeFenceHostSynchronize, fence, 1000));
    ZE_CALL(zeFenceReset, fence).or_throw();
    expect_status("ZE_RESULT_NOT_READY", ZE_CALL(zeFenceQueryStatus, fence));
    ZE_CALL(zeFenceDestroy, fence).or_throw();
  }
}

}  // namespace proctor::accel
