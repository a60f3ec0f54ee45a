// The vendor-neutral device API of the suites. It covers the common features of CUDA and Level Zero as
// move-only handles. xpu/ and cuda/ both implement this header; the linker selects one implementation.
// For example:
//
//   Context context(leased_device());
//   Buffer words(context, {.kind = MemoryKind::kDevice, .bytes = 4096});
//   Queue queue(context);
//   Module module = Module::load(context, "basic");
//   Kernel fill(module, "fill");
//   queue.launch(fill, groups_of(16, 64), arguments(words, 7u, 1024u));
//   queue.synchronize();
//
// Errors. A function throws Error, which contains the vendor's call and code; check.h turns it into a
// failure. If a check is about a refusal, it uses the try_ form, which returns the Status. A feature that the
// driver or its loader lacks ends the check as a skip (suites/main/skipped.h): symbol_missing:zeMemFreeExt,
// unsupported:sysman.
//
// Threads. A Queue, an Event and a Kernel belong to one thread at a time; Device, Context and Module may be
// shared. Destructors do not wait, so an object must outlive the device work that uses it. There are two
// exceptions. A queue of Level Zero waits at most one second, because a driver may crash when a busy queue is
// destroyed. Memory of CUDA waits, because the CUDA Runtime waits when it frees memory.
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
  std::string name() const;  // the code's name in the vendor's header: "ZE_RESULT_NOT_READY"

  bool ok() const { return code_ == 0; }
  bool not_ready() const;      // the work is not done (query), or the time limit expired (synchronize)
  bool out_of_memory() const;  // no device or host memory, or the size is too large for the device
  bool device_lost() const;
  bool unsupported() const;

  void or_throw() const;  // throws Error if ok() is false

 private:
  std::uint32_t code_ = 0;
  const char* call_ = "";
};

// The exception for a failed call.
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
// Long enough for a driver that compiles in the background, and shorter than the time limit of a check.
inline constexpr std::chrono::seconds kSynchronizeTimeout{20};
// Time limit for an event that a check requires to happen at some time. It does not require a speed,
// because a machine may be busy. It is shorter than kSynchronizeTimeout, so that a wait on CUDA ends by
// itself. It is shorter than kHelperDeadline, so that a helper process can still respond.
inline constexpr std::chrono::seconds kPatience{15};

// ---- devices ----

// The properties that the driver reports for a device. Sizes are in bytes.
struct Properties {
  std::string name;
  std::string uuid;                   // 32 hex digits, in the driver's order
  std::string pci;                    // "0000:03:00.0"; "" if unavailable
  std::optional<std::uint32_t> tile;  // number of a tile on its card; none for a card
  std::uint32_t vendor_id = 0;
  std::uint32_t device_id = 0;

  std::uint64_t memory = 0;  // total memory for programs
  std::uint64_t largest_allocation = 0;
  std::uint32_t local_memory = 0;              // limit of one work-group
  std::uint32_t largest_group = 0;             // limit of a work-group, in work-items
  std::array<std::uint32_t, 3> group_limit{};  // limit of work-items on each axis
  std::array<std::uint32_t, 3> grid_limit{};   // limit of groups on each axis
  std::vector<std::uint32_t> sub_group_sizes;
  std::uint32_t argument_bytes = 0;  // limit for the sum of a kernel's arguments
  std::uint32_t compute_units = 0;
  std::uint32_t cores = 0;            // SMs or Xe-cores
  std::uint32_t threads_of_core = 1;  // threads of a core, for kernels that can read only a thread number

  bool fp16 = false;
  bool fp64 = false;
  bool int64_atomics = false;
  bool fp32_atomic_add = false;
  bool fp64_atomic_add = false;
  bool fp32_rounded_division = false;  // division and square root are correctly rounded
  bool fp32_denormals = false;         // denormal numbers are not flushed to zero
  bool fp16_denormals = false;
  bool fp16_to_nearest = false;  // halves are rounded to nearest, not to zero
  bool fp64_denormals = false;
  bool shared_memory = false;   // supports MemoryKind::kShared
  bool host_atomics = false;    // host and device may use atomics on the same host memory
  bool shared_atomics = false;  // the same for shared memory
  bool ipc = false;
  bool printf = false;
  bool display = false;  // a desktop may use the device, so its free memory changes

  std::uint64_t timer_hz = 0;  // ticks of event timestamps in a second
};

// Sizes in bytes.
struct MemoryInfo {
  std::uint64_t free = 0;
  std::uint64_t total = 0;
};

// The temperature sensor that is nearest to its limit, in degrees Celsius.
struct Heat {
  double now = 0;
  double limit = 0;
};
// A counter of the energy that the device has used since an arbitrary start.
struct Energy {
  std::uint64_t microjoules = 0;
  std::uint64_t at_us = 0;             // timestamp of the counter's own clock
  std::uint64_t limit_milliwatts = 0;  // power limit of the card; 0: not reported
};

// Returns only the identities of all devices that this process can see, in the vendor's order. Initialises
// the vendor's API. If `with_uuid` is false, CUDA returns only PCI addresses, because reading UUIDs takes
// milliseconds.
std::vector<suite::Identity> identify_visible(bool with_uuid);

struct DeviceRecord;  // defined by each implementation

// A copyable handle of one device. All devices exist until the process ends.
class Device {
 public:
  Device() = default;
  explicit Device(const DeviceRecord* record) : record_(record) {}

  // Returns all devices that this process can see, in the vendor's order. Initialises the vendor's API.
  static std::vector<Device> list();

  const Properties& properties() const;
  std::vector<Device> tiles() const;  // sub-devices; empty on CUDA
  // Returns the memory of the whole device or tile, as all processes use it. If the driver does not report
  // it, the check ends as a skip.
  MemoryInfo memory() const;
  Heat heat() const;                       // of the card; skips the check if no sensor has a limit
  Energy energy() const;                   // of the card; skips the check if there is no counter
  bool reaches(const Device& peer) const;  // whether this device can access the memory of `peer`
  Status try_status() const;               // an error means that the device is lost
  // Resets the whole card and all work on it. The driver refuses while any process uses the card.
  Status try_reset() const;

  const DeviceRecord* record() const { return record_; }
  friend bool operator==(const Device&, const Device&) = default;

 private:
  const DeviceRecord* record_ = nullptr;
};

// A context, to which memory and modules belong. Copies share one context, which ends with the last copy.
class Context {
 public:
  explicit Context(Device device) : Context(std::vector<Device>{device}) {}
  explicit Context(std::vector<Device> devices);

  const Device& device() const;  // the first device
  const std::vector<Device>& devices() const;

  struct Impl;
  const std::shared_ptr<Impl>& impl() const { return impl_; }

 private:
  std::shared_ptr<Impl> impl_;
};

// ---- memory ----

enum class MemoryKind { kUnknown, kHost, kDevice, kShared };
const char* to_string(MemoryKind kind);

// The parameters of an allocation.
struct Allocation {
  MemoryKind kind = MemoryKind::kDevice;
  std::size_t bytes = 0;
  std::size_t alignment = 0;  // 0: the driver's choice; always on CUDA
  Device device{};            // unset: the first device of the context
  bool large = false;         // may exceed the device's reported largest allocation
};

// The driver's facts about a pointer. kUnknown means that the memory does not belong to this driver.
struct PointerInfo {
  MemoryKind kind = MemoryKind::kUnknown;
  Device device{};  // unset if the memory belongs to no device
};

// An owned or imported block of memory.
class Buffer {
 public:
  Buffer() = default;
  Buffer(const Context& context, const Allocation& allocation);
  ~Buffer();
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;

  // If the status is ok, `out` holds the memory. Otherwise `out` is unchanged.
  static Status try_allocate(const Context& context, const Allocation& allocation, Buffer& out);
  // Frees the memory now and returns the status. Afterwards the buffer is empty, also after an error.
  Status try_free();

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  // Returns host or shared memory as an array.
  template <typename T>
  std::span<T> as() const {
    return {reinterpret_cast<T*>(data_), bytes_ / sizeof(T)};
  }

 private:
  friend class Ipc;
  Buffer(Context context, MemoryKind kind, std::byte* data, std::size_t bytes, bool imported);

  // Allocate and release memory through the vendor's API.
  static Status allocate(const Context& context, const Allocation& what, void** pointer);
  Status release(void* pointer) const;

  std::shared_ptr<Context::Impl> context_;
  MemoryKind kind_ = MemoryKind::kUnknown;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  bool imported_ = false;  // memory of another process, which is closed instead of freed
};

// Passes a buffer to a kernel by its address.
inline Argument argument(const Buffer& buffer) { return argument(buffer.data()); }

// Frees memory by its address. Checks use it to test the driver's result for an invalid address.
Status try_free(const Context& context, void* pointer);

PointerInfo pointer_info(const Context& context, const void* pointer);

// Memory of another process. The class contains both sides of the transfer, because the bytes of a handle are
// not sufficient. A Level Zero handle contains a file descriptor, which the other process must fetch from the
// exporter.
class Ipc {
 public:
  // Returns the token for the other process. That process must have permission to read the exporter's
  // descriptors.
  static std::string export_memory(const Context& context, const Buffer& buffer);
  static Status try_import(const Context& context, const std::string& token, std::size_t bytes, Buffer& out);
  // Closes imported memory by its address. A Buffer does this itself. Checks use it to test the driver's
  // result for an invalid address.
  static Status try_close(const Context& context, void* pointer);
};

// ---- modules and kernels ----

// Returns the contents of the build's file kernels/NAME.spv, or NAME.fatbin on CUDA (NAME.ptx on CUDA 12). If
// it was not built, the check ends as skip(spirv_missing:NAME), skip(fatbin_missing:NAME) or
// skip(ptx_missing:NAME).
std::vector<std::byte> module_file(const std::string& name);

enum class Image { kPortable, kNative };

struct Constant {  // a specialization constant
  std::uint32_t id = 0;
  std::uint64_t value = 0;
  std::size_t bytes = 4;
};

// Options of a module build. On CUDA `flags` and `constants` have no effect, because they are fixed when the
// file is compiled.
struct ModuleOptions {
  Image image = Image::kPortable;
  std::string flags{};
  std::vector<Constant> constants{};
};

// A loaded module of kernels.
class Module {
 public:
  Module() = default;
  Module(const Context& context, std::span<const std::byte> image, const ModuleOptions& options = {});
  ~Module();
  Module(Module&& other) noexcept;
  Module& operator=(Module&& other) noexcept;

  static Module load(const Context& context, const std::string& name, const ModuleOptions& options = {});
  // Builds a module. `log` receives the build log, also after an error. Pass null to request no log. When a
  // build fails, loaders up to 1.8 that intercept calls return a handle that crashes any reader of the log.
  static Status try_build(const Context& context, std::span<const std::byte> image,
                          const ModuleOptions& options, Module& out, std::string* log = nullptr);

  std::vector<std::string> kernel_names() const;
  std::vector<std::byte> native_image() const;  // image for Image::kNative
  Status try_global(const std::string& name, void** pointer, std::size_t* bytes) const;

  struct Impl;
  const std::shared_ptr<Impl>& impl() const { return impl_; }

 private:
  std::shared_ptr<Impl> impl_;
};

// A kernel of a module, which a queue can launch.
class Kernel {
 public:
  Kernel() = default;
  Kernel(const Module& module, const std::string& name);
  static Status try_create(const Module& module, const std::string& name, Kernel& out);

  struct Facts {
    std::uint32_t arguments = 0;
    std::uint32_t sub_group = 0;     // size of the largest sub-group, in work-items
    std::uint32_t local_memory = 0;  // bytes of one work-group
  };
  Facts facts() const;

  // The separate steps of a launch, for checks of refused calls.
  Status try_group_size(std::array<std::uint32_t, 3> size);
  // Returns how many groups of `size` work-items can run at once and wait for each other; 0: none. The kernel
  // may keep that group size.
  std::uint32_t cooperative_groups(std::uint32_t size);
  Status try_argument(std::uint32_t index, std::size_t bytes, const void* value);

  struct Impl;
  const std::shared_ptr<Impl>& impl() const { return impl_; }

 private:
  std::shared_ptr<Impl> impl_;
};

// ---- queues and events ----

// A point in a queue. On Level Zero an event is not ready when it is new and after reset(). On CUDA it is
// ready until the command that signals it is submitted. On CUDA the host can neither reset nor signal it.
class Event {
 public:
  explicit Event(const Context& context);
  ~Event();
  Event(Event&& other) noexcept;
  Event& operator=(Event&& other) noexcept;

  Status query() const;  // ok or not_ready()
  Status try_synchronize(Nanoseconds timeout) const;
  void synchronize(Nanoseconds timeout = kSynchronizeTimeout) const;
  void reset();
  void signal_from_host();

  struct Impl;
  Impl& impl() const { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

// The start and end of the command that signalled the event, in nanoseconds of the device clock, which may
// wrap. On CUDA they count from the start of the command.
struct Span {
  double begin_ns = 0;
  double end_ns = 0;
  double duration_ns() const { return end_ns - begin_ns; }
};
Span time_of(const Event& event);
// Returns the time from the end of `first` to the end of `second`. It is negative if `second` ended first.
double elapsed_ns(const Event& first, const Event& second);

// The events that a command waits for before it begins, and the event that it signals at its end.
struct Sync {
  std::vector<const Event*> wait{};
  const Event* signal = nullptr;
};

// A region of memory with rows and slices. `origin` counts x in bytes, y in rows and z in slices.
struct Pitched {
  void* pointer = nullptr;
  std::size_t pitch = 0;        // bytes between rows
  std::size_t slice_pitch = 0;  // bytes between slices
  std::array<std::size_t, 3> origin{0, 0, 0};
};

// An in-order queue: each command begins after the previous one has ended. Different queues can run
// concurrently.
class Queue {
 public:
  enum class Mode {
    kLists,      // each command has its own list, which a queue executes
    kImmediate,  // immediate command lists of Level Zero; same as kLists on CUDA
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
