// Shared helpers of the checks of memory and kernels: the leased devices, memory with known bytes, and
// comparisons. Example:
//
//   const Context context = leased();
//   Queue queue(context);
//   const auto sent = noise(4096, 7);
//   const Buffer memory = device_copy(queue, context, sent);
//   const auto got = read_as<std::byte>(queue, context, memory);
//   expect_bytes("a copy to the device and back", sent, got, context.device());
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "suites/accel/accel.h"
#include "suites/accel/latch_keeper.h"
#include "suites/accel/vendor.h"
#include "suites/main/stopwatch.h"

namespace proctor::accel {

// Return the first visible device, or the first `count` of them. If there is no device, the check ends as
// skip(no_device). If there are too few, it ends as skip(needs:devices>=N).
Device leased_device();
std::vector<Device> leased_devices(std::size_t count);
inline Context leased() { return Context(leased_device()); }

// Returns the parts of a device with their own memory and cores: its tiles, or the device itself if it has
// none.
std::vector<Device> parts_of(const Device& device);
// Returns the device, followed by its tiles.
std::vector<Device> with_tiles(const Device& device);
// Reports the measure covered.tiles: each tile of the device was tested. For a device without tiles, it
// reports nothing.
void record_tiles(const Device& device);
// Calls `body` with a context of the leased device, and then with a context of each tile.
void on_device_and_tiles(const std::function<void(const Context&)>& body);

// Ends the check as skip(reason) if `condition` is false.
void need(bool condition, const std::string& reason);
// Skips the check unless the device rounds halves to nearest and keeps denormal ones.
void need_exact_halves(const Device& device);
// Skips the check as skip(unsupported:queues_side_by_side) if the wait ended with a timeout. `waited` is the
// status of a wait for work that may need to run concurrently with blocked work. No document requires such
// concurrency: queues may share an engine.
void need_side_by_side(const Status& waited);

// Ends the check as skip(not_enough_memory:NEED>HAVE) if less than `bytes` of the device's memory are free.
void need_memory(const Device& device, std::uint64_t bytes);

// Returns new memory of the device, or nothing if too little is free. It also returns nothing if the device
// refuses and does not report its free memory, for example an integrated device. If the device refuses
// although enough is free, the check ends with an Error.
std::optional<Buffer> memory_if_there(const Context& context, const Allocation& wanted);
// Returns new memory. Otherwise the check ends as skip(not_enough_memory:NEED>HAVE) or
// skip(not_enough_memory:NEED).
Buffer memory_or_skip(const Context& context, const Allocation& wanted);
// Return new memory. If the device has too little free memory, the check ends in the same way.
Buffer device_memory(const Context& context, std::size_t bytes);
Buffer host_memory(const Context& context, std::size_t bytes);
Buffer shared_memory(const Context& context, std::size_t bytes);

// Return pseudorandom data. Adjacent values differ, and seeds give different data. The same seed gives the
// same data.
std::vector<std::byte> noise(std::size_t bytes, std::uint64_t seed);
std::vector<std::uint32_t> noise_words(std::size_t words, std::uint64_t seed);

// These functions return after the transfer has completed.
void write(Queue& queue, const Context& context, void* to, std::span<const std::byte> bytes);
std::vector<std::byte> read_bytes(Queue& queue, const Context& context, const void* from, std::size_t bytes);

template <typename T>
Buffer device_copy(Queue& queue, const Context& context, const std::vector<T>& values) {
  Buffer buffer = device_memory(context, values.size() * sizeof(T));
  write(queue, context, buffer.data(), std::as_bytes(std::span(values)));
  return buffer;
}
template <typename T>
std::vector<T> read_as(Queue& queue, const Context& context, const Buffer& from) {
  const auto bytes = read_bytes(queue, context, from.data(), from.bytes());
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

// Returns `count` values from index `first` on. The vector must contain them.
template <typename T>
std::vector<T> part_of(const std::vector<T>& values, std::size_t first, std::size_t count) {
  const auto begin = values.begin() + static_cast<std::ptrdiff_t>(first);
  return {begin, begin + static_cast<std::ptrdiff_t>(count)};
}

// Returns the name of a device in reports: "Simulated Intel GPU 0000:03:00.0", with ", tile 1" for a tile.
std::string describe(const Device& device);

// Reports the first difference with its index, and the number of differences. Returns whether the bytes are
// equal.
bool expect_bytes(const std::string& what, std::span<const std::byte> expected,
                  std::span<const std::byte> got, const Device& device, const char* file = __builtin_FILE(),
                  int line = __builtin_LINE());
template <typename T>
void expect_values(const std::string& what, const std::vector<T>& expected, const std::vector<T>& got,
                   const Device& device, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  expect_bytes(what, std::as_bytes(std::span(expected)), std::as_bytes(std::span(got)), device, file, line);
}
void expect_words(const std::string& what, std::span<const std::uint32_t> expected,
                  std::span<const std::uint32_t> got, const Device& device,
                  const char* file = __builtin_FILE(), int line = __builtin_LINE());
void expect_longs(const std::string& what, std::span<const std::uint64_t> expected,
                  std::span<const std::uint64_t> got, const Device& device,
                  const char* file = __builtin_FILE(), int line = __builtin_LINE());
// Compares like expect_bytes() for a transfer to `target`. It also records the transfer, which is required
// for a pass.
void expect_transfer(const std::string& what, std::span<const std::byte> expected,
                     std::span<const std::byte> got, const Device& source, const Device& target,
                     const char* file = __builtin_FILE(), int line = __builtin_LINE());
// Reports a failure if the status does not have this code.
void expect_status(const std::string& expected_name, const Status& got, const char* file = __builtin_FILE(),
                   int line = __builtin_LINE());
// Reports a failure if the call succeeded. Any error is accepted if no specification defines the code.
void expect_refused(const std::string& what, const Status& got, const char* file = __builtin_FILE(),
                    int line = __builtin_LINE());

// Reports a failure if a wait without a signal took less than 90 % of its limit. It also reports a wait that took more
// than ten times the limit and more than five seconds. Time in which this thread waited for a processor on a
// busy machine does not count.
void expect_waited(const std::string& what, std::chrono::nanoseconds limit, const suite::Stopwatch& watch,
                   const char* file = __builtin_FILE(), int line = __builtin_LINE());

Buffer closed_flags(const Context& context);  // flags of a latch, in host memory

// A kernel that blocks its queue until the host opens the latch. A check can use it to assert, without
// waiting, that an event has not happened yet. The keeper opens the latch after a time limit, so a failing
// check still ends.
class Latch {
 public:
  explicit Latch(const Context& context);
  ~Latch();  // opens the latch and waits at most one second for the kernel
  Latch(const Latch&) = delete;
  Latch& operator=(const Latch&) = delete;
  void hold(Queue& queue, const Sync& sync = {});
  void open();

 private:
  Module module_;
  Kernel kernel_;
  Buffer flags_;  // host memory: the words open and done
  bool held_ = false;
  LatchKeeper keeper_;
};

}  // namespace proctor::accel
