// The vendor API that the suites are written against: what CUDA and Level Zero have in common, as move-only
// handles. xpu/ and cuda/ both implement this one header; the linker chooses.
//
//   Context context(leased_device());
//   Buffer words(context, {.kind = MemoryKind::kDevice, .bytes = 4096});
//   Queue queue(context);
//   Module module = Module::load(context, "basic");
//   Kernel fill(module, "fill");
//   queue.launch(fill, groups_of(16, 64), arguments(words, 7u, 1024u));
//   queue.synchronize();
//
// Errors. A function throws Error, which names the vendor's call and code; check.h turns it
// into a failure. Where a check is about a refusal, the try_ form returns the Status instead.
// What the driver or its loader does not have ends the check as a skip
// (suites/main/skipped.h): symbol_missing:zeMemFreeExt, unsupported:sysman.
//
// Threads. A Queue, an Event and a Kernel belong to one thread at a time; Device, Context and Module may be
// shared. Destructors do not wait, so whatever work on a device still uses must outlive that work. There are
// two exceptions: a queue of Level Zero waits at most a second, because a driver may crash when a busy queue
// is destroyed; and memory of CUDA waits, because its runtime frees memory like that.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "suites/accel/launch.h"
#include "suites/main/lease_check.h"

namespace proctor::accel {

// ---- errors ----

// The result of a call. `call` is the vendor's function ("zeMemAllocDevice").
class Status {
 public:
  Status() = default;
  Status(std::uint32_t code, const char* call) : code_(code), call_(call) {}

  std::uint32_t code() const { return code_; }
  const char* call() const { return call_; }
  std::string name() const;  // the code's name in the vendor's header, "ZE_RESULT_NOT_READY"

  bool ok() const { return code_ == 0; }
  bool not_ready() const;      // the work is not done (query), or the time is over (synchronize)
  bool out_of_memory() const;  // on the device or the host, or the size is too large for the device
  bool device_lost() const;
  bool unsupported() const;

  void or_throw() const;  // throws Error unless ok()

 private:
  std::uint32_t code_ = 0;
  const char* call_ = "";
};

class Error : public std::exception {
 public:
  explicit Error(Status status);
  const Status& status() const { return status_; }
  const char* what() const noexcept override { return text_.c_str(); }  // "zeMemAllocDevice: ZE_RESULT_..."

 private:
  Status status_;
  std::string text_;
};

using Nanoseconds = std::chrono::nanoseconds;
// Long enough for a driver that compiles in the background, and short enough to blame the right check.
inline constexpr std::chrono::seconds kSynchronizeTimeout{20};
// For what must be done at some time, in a check whose verdict is that it was. It says nothing about speed: a machine may
// be busy. Shorter than kSynchronizeTimeout, so that a wait on CUDA ends by itself, and than kHelperDeadline, so that a
// helper still answers.
inline constexpr std::chrono::seconds kPatience{15};

// ---- devices ----

// What a device says about itself. Sizes in bytes.
struct Properties {
  std::string name;
  std::string uuid;                   // 32 hex digits, as the driver orders them
  std::string pci;                    // "0000:03:00.0", "" when not obtainable
  std::optional<std::uint32_t> tile;  // of a tile, its number on the card
  std::uint32_t vendor_id = 0;
  std::uint32_t device_id = 0;

  std::uint64_t memory = 0;  // all memory that programs can use
  std::uint64_t largest_allocation = 0;
  std::uint32_t local_memory = 0;              // of one work-group
  std::uint32_t largest_group = 0;             // in work-items
  std::array<std::uint32_t, 3> group_limit{};  // work-items along each axis
  std::array<std::uint32_t, 3> grid_limit{};   // groups along each axis
  std::vector<std::uint32_t> sub_group_sizes;
  std::uint32_t argument_bytes = 0;  // largest sum of a kernel's arguments
  std::uint32_t compute_units = 0;
  std::uint32_t cores = 0;            // SMs, Xe-cores
  std::uint32_t threads_of_core = 1;  // whose numbers a kernel reads where it cannot read that of its core

  bool fp16 = false;
  bool fp64 = false;
  bool int64_atomics = false;
  bool fp32_atomic_add = false;
  bool fp64_atomic_add = false;
  bool fp32_rounded_division = false;  // quotients and square roots are correctly rounded
  bool fp32_denormals = false;         // denormal numbers are kept and not flushed to zero
  bool fp16_denormals = false;
  bool fp16_to_nearest = false;  // halves are rounded to the nearest, not to zero
  bool fp64_denormals = false;
  bool shared_memory = false;   // MemoryKind::kShared
  bool host_atomics = false;    // host and device may do atomics on the same host memory
  bool shared_atomics = false;  // and on the same shared memory
  bool ipc = false;
  bool printf = false;
  bool display = false;  // a desktop may use it, too: what is free of its memory moves

  std::uint64_t timer_hz = 0;  // ticks a second of event time stamps
};

struct MemoryInfo {
  std::uint64_t free = 0;
  std::uint64_t total = 0;
};

// The temperature sensor that is nearest to its limit, in degrees Celsius.
struct Heat {
  double now = 0;
  double limit = 0;
};
// The energy that the device has used since some moment in the past.
struct Energy {
  std::uint64_t microjoules = 0;
  std::uint64_t at_us = 0;             // by the counter's own clock
  std::uint64_t limit_milliwatts = 0;  // what the card may draw at most; 0: it is not told
};

// Who the devices are that this process can see, in the vendor's order, and nothing else about them. Initialises the
// vendor's API. Without `with_uuid`, CUDA tells their addresses only: to ask for the rest takes it milliseconds.
std::vector<suite::Identity> identify_visible(bool with_uuid);

struct DeviceRecord;  // each implementation defines it

// A value that names one device; all devices live as long as the process.
class Device {
 public:
  Device() = default;
  explicit Device(const DeviceRecord* record) : record_(record) {}

  // All devices that this process can see, in the vendor's order. Initialises the vendor's API.
  static std::vector<Device> list();

  const Properties& properties() const;
  std::vector<Device> tiles() const;  // sub-devices; empty on CUDA
  // The memory of the whole device or tile, as all processes use it. Where the driver does not
  // tell, the check ends as a skip.
  MemoryInfo memory() const;
  Heat heat() const;      // of the card; the check ends as a skip where no sensor has a limit
  Energy energy() const;  // of the card; the check ends as a skip where nothing counts it
  bool reaches(const Device& peer) const;  // whether it can access the memory of `peer`
  Status try_status() const;               // not ok: the device is lost
  // Resets the whole card with everything on it. It is refused while any process uses the card.
  Status try_reset() const;

  const DeviceRecord* record() const { return record_; }
  friend bool operator==(const Device&, const Device&) = default;

 private:
  const DeviceRecord* record_ = nullptr;
};

// The context in which memory and modules live. Copies share one context, which ends with the last of them.
class Context {
 public:
  explicit Context(Device device) : Context(std::vector<Device>{device}) {}
  explicit Context(std::vector<Device> devices);

  const Device& device() const;  // the first
  const std::vector<Device>& devices() const;

  struct Impl;
  const std::shared_ptr<Impl>& impl() const { return impl_; }

 private:
  std::shared_ptr<Impl> impl_;
};

// ---- memory ----

enum class MemoryKind { kUnknown, kHost, kDevice, kShared };
const char* to_string(MemoryKind kind);

struct Allocation {
  MemoryKind kind = MemoryKind::kDevice;
  std::size_t bytes = 0;
  std::size_t alignment = 0;  // 0: the driver's choice, as always on CUDA
  Device device{};            // unset: the context's first
  bool large = false;         // may be larger than what the device calls its largest allocation
};

// What the driver knows about a pointer. kUnknown means that the memory is not from this driver.
struct PointerInfo {
  MemoryKind kind = MemoryKind::kUnknown;
  Device device{};  // unset where there is none
};

class Buffer {
 public:
  Buffer() = default;
  Buffer(const Context& context, const Allocation& allocation);
  ~Buffer();
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;

  // When the status is ok, `out` holds the memory. Otherwise `out` is unchanged.
  static Status try_allocate(const Context& context, const Allocation& allocation, Buffer& out);
  // Frees the memory now and returns the answer. Whatever the answer, the buffer is empty afterwards.
  Status try_free();

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  // Host or shared memory as an array.
  template <typename T>
  std::span<T> as() const {
    return {reinterpret_cast<T*>(data_), bytes_ / sizeof(T)};
  }

 private:
  friend class Ipc;
  Buffer(Context context, MemoryKind kind, std::byte* data, std::size_t bytes, bool imported);

  // The allocation itself, by the vendor's interface.
  static Status allocate(const Context& context, const Allocation& what, void** pointer);
  Status release(void* pointer) const;

  std::shared_ptr<Context::Impl> context_;
  MemoryKind kind_ = MemoryKind::kUnknown;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  bool imported_ = false;  // from another process: closed, not freed
};

// A kernel gets a buffer by its address.
inline Argument argument(const Buffer& buffer) { return argument(buffer.data()); }

// Frees memory by its address. Checks use it to see what a driver answers to a bad address.
Status try_free(const Context& context, void* pointer);

PointerInfo pointer_info(const Context& context, const void* pointer);

// Memory of another process. Both sides of the transfer are here, because the bytes of a
// handle are not enough: a Level Zero handle contains a file descriptor, which the other
// process must fetch from the exporter.
class Ipc {
 public:
  // The text that is sent to the other process, which must be allowed to read the exporter's descriptors.
  static std::string export_memory(const Context& context, const Buffer& buffer);
  static Status try_import(const Context& context, const std::string& token, std::size_t bytes, Buffer& out);
  // Closes imported memory by its address. A Buffer does that itself; checks see what a driver answers to a bad address.
  static Status try_close(const Context& context, void* pointer);
};

// ---- modules and kernels ----

// The contents of the build's file kernels/NAME.spv, or NAME.fatbin on CUDA (NAME.ptx on CUDA 12). When it was not built,
// the check ends as skip(spirv_missing:NAME), skip(fatbin_missing:NAME) or skip(ptx_missing:NAME).
std::vector<std::byte> module_file(const std::string& name);

enum class Image { kPortable, kNative };

struct Constant {  // a specialization constant
  std::uint32_t id = 0;
  std::uint64_t value = 0;
  std::size_t bytes = 4;
};

// On CUDA `flags` and `constants` have no effect: they are fixed when the file is compiled.
struct ModuleOptions {
  Image image = Image::kPortable;
  std::string flags{};
  std::vector<Constant> constants{};
};

class Module {
 public:
  Module() = default;
  Module(const Context& context, std::span<const std::byte> image, const ModuleOptions& options = {});
  ~Module();
  Module(Module&& other) noexcept;
  Module& operator=(Module&& other) noexcept;

  static Module load(const Context& context, const std::string& name, const ModuleOptions& options = {});
  // `log` receives the build log, whatever the answer. Pass null to request no log: when a build fails,
  // loaders up to 1.8 that intercept calls return a handle that crashes any reader of the log.
  static Status try_build(const Context& context, std::span<const std::byte> image,
                          const ModuleOptions& options, Module& out, std::string* log = nullptr);

  std::vector<std::string> kernel_names() const;
  std::vector<std::byte> native_image() const;  // for Image::kNative
  Status try_global(const std::string& name, void** pointer, std::size_t* bytes) const;

  struct Impl;
  const std::shared_ptr<Impl>& impl() const { return impl_; }

 private:
  std::shared_ptr<Impl> impl_;
};

class Kernel {
 public:
  Kernel() = default;
  Kernel(const Module& module, const std::string& name);
  static Status try_create(const Module& module, const std::string& name, Kernel& out);

  struct Facts {
    std::uint32_t arguments = 0;
    std::uint32_t sub_group = 0;     // the largest sub-group, in work-items
    std::uint32_t local_memory = 0;  // bytes that one work-group uses
  };
  Facts facts() const;

  // The steps of a launch one by one, for checks of refused calls.
  Status try_group_size(std::array<std::uint32_t, 3> size);
  // How many groups of so many work-items can wait for each other; 0: none. It may leave the kernel with that size.
  std::uint32_t cooperative_groups(std::uint32_t size);
  Status try_argument(std::uint32_t index, std::size_t bytes, const void* value);

  struct Impl;
  const std::shared_ptr<Impl>& impl() const { return impl_; }

 private:
  std::shared_ptr<Impl> impl_;
};

// ---- queues and events ----

// A moment in a queue. On Level Zero an event is not ready when it is new and after reset(). On CUDA it is
// ready until the command that signals it is submitted, and the host can neither reset nor signal it.
class Event {
 public:
  explicit Event(const Context& context);
  ~Event();
  Event(Event&& other) noexcept;
  Event& operator=(Event&& other) noexcept;

  Status query() const;  // ok, or not_ready()
  Status try_synchronize(Nanoseconds timeout) const;
  void synchronize(Nanoseconds timeout = kSynchronizeTimeout) const;
  void reset();
  void signal_from_host();

  struct Impl;
  Impl& impl() const { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

// The start and the end of the command that signalled the event, in nanoseconds of the device's clock, which
// may wrap. On CUDA they count from the start of the command.
struct Span {
  double begin_ns = 0;
  double end_ns = 0;
  double duration_ns() const { return end_ns - begin_ns; }
};
Span time_of(const Event& event);
// The time from the end of `first` to the end of `second`. It is negative when `second` ended first.
double elapsed_ns(const Event& first, const Event& second);

// The events that a command waits for before it begins, and the event that it signals at its end.
struct Sync {
  std::vector<const Event*> wait{};
  const Event* signal = nullptr;
};

// A region of memory with rows and slices. `origin` counts x in bytes, y in rows and z in slices.
struct Pitched {
  void* pointer = nullptr;
  std::size_t pitch = 0;        // bytes from row to row
  std::size_t slice_pitch = 0;  // bytes from slice to slice
  std::array<std::size_t, 3> origin{0, 0, 0};
};

// A queue executes work in order: each command begins when the one before it has ended.
// Different queues run at the same time.
class Queue {
 public:
  enum class Mode {
    kLists,      // each command in a list of its own, executed by a queue
    kImmediate,  // Level Zero's immediate lists; on CUDA the same as kLists
  };
  explicit Queue(const Context& context, Mode mode = Mode::kLists, Device device = {});
  ~Queue();
  Queue(Queue&& other) noexcept;
  Queue& operator=(Queue&& other) noexcept;

  void copy(void* to, const void* from, std::size_t bytes, const Sync& sync = {});
  void fill(void* to, std::span<const std::byte> pattern, std::size_t bytes, const Sync& sync = {});
  void copy_region(const Pitched& to, const Pitched& from, std::array<std::size_t, 3> size,
                   const Sync& sync = {});
  void launch(const Kernel& kernel, const Launch& launch, const Arguments& arguments, const Sync& sync = {});
  Status try_launch(const Kernel& kernel, const Launch& launch, const Arguments& arguments,
                    const Sync& sync = {});
  void record(const Event& event) { barrier({.wait = {}, .signal = &event}); }
  void wait(const Event& event) { barrier({.wait = {&event}, .signal = nullptr}); }
  void barrier(const Sync& sync = {});

  Status try_synchronize(Nanoseconds timeout);
  void synchronize(Nanoseconds timeout = kSynchronizeTimeout);
  bool idle();

  struct Impl;
  Impl& impl() const { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace proctor::accel
