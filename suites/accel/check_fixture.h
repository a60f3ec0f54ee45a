// What the checks of memory and kernels share: the leased devices, memory with known bytes, and comparisons.
// Example:
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

// The first visible device, or the first `count` of them. Without a device the check ends as skip(no_device),
// with too few as skip(needs:devices>=N).
Device leased_device();
std::vector<Device> leased_devices(std::size_t count);
inline Context leased() { return Context(leased_device()); }

// What has memory and cores of its own: each tile of the device. A device without tiles is its own only part.
std::vector<Device> parts_of(const Device& device);
// The device, and then its tiles.
std::vector<Device> with_tiles(const Device& device);
// Reports the measure covered.tiles: each tile of the device was tried. On a device without tiles, there is nothing to report.
void record_tiles(const Device& device);
// Calls `body` with a context of the leased device, and then with one of each tile.
void on_device_and_tiles(const std::function<void(const Context&)>& body);

// Ends the check as skip(reason) unless `condition`.
void need(bool condition, const std::string& reason);
// Halves that are rounded to the nearest, denormal ones too.
void need_exact_halves(const Device& device);
// `waited`: what a wait for work gives that may have to run beside work that is held. skip(unsupported:queues_side_by_side)
// where it is not done in time, which no document forbids: queues may share an engine.
void need_side_by_side(const Status& waited);

// Ends the check as skip(not_enough_memory:NEED>HAVE) when less than `bytes` of the device's memory are free.
void need_memory(const Device& device, std::uint64_t bytes);

// New memory of the device, or nothing if it has too little left. It also is nothing if the device refuses it and does not
// report how much is free, as an integrated one. A refusal though enough is free ends the check as an Error.
std::optional<Buffer> memory_if_there(const Context& context, const Allocation& wanted);
// The same, or the check ends as skip(not_enough_memory:NEED>HAVE), or as skip(not_enough_memory:NEED).
Buffer memory_or_skip(const Context& context, const Allocation& wanted);
// New memory. When the device has too little memory left, the check ends in the same way.
Buffer device_memory(const Context& context, std::size_t bytes);
Buffer host_memory(const Context& context, std::size_t bytes);
Buffer shared_memory(const Context& context, std::size_t bytes);

// Bytes that differ from their neighbours and from those of other seeds. The same seed gives the same bytes.
std::vector<std::byte> noise(std::size_t bytes, std::uint64_t seed);
std::vector<std::uint32_t> noise_words(std::size_t words, std::uint64_t seed);

// These return when the bytes are there.
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

// Those from `first` on, of which there are enough.
template <typename T>
std::vector<T> part_of(const std::vector<T>& values, std::size_t first, std::size_t count) {
  const auto begin = values.begin() + static_cast<std::ptrdiff_t>(first);
  return {begin, begin + static_cast<std::ptrdiff_t>(count)};
}

// "Simulated Intel GPU 0000:03:00.0", and ", tile 1" of a tile: the text by which a reader of a report finds the device.
std::string describe(const Device& device);

// Reports the first difference with its index, and how many differences there are. Returns whether they are equal.
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
// As expect_bytes() with the device that should have the bytes. It also records the trial, which a pass needs as well.
void expect_transfer(const std::string& what, std::span<const std::byte> expected,
                     std::span<const std::byte> got, const Device& source, const Device& target,
                     const char* file = __builtin_FILE(), int line = __builtin_LINE());
// Reports when the call did not answer with this code.
void expect_status(const std::string& expected_name, const Status& got, const char* file = __builtin_FILE(),
                   int line = __builtin_LINE());
// Reports when the call succeeded. Any failure is right, where no specification fixes the code.
void expect_refused(const std::string& what, const Status& got, const char* file = __builtin_FILE(),
                    int line = __builtin_LINE());

// Reports when a wait that nothing ended took less than its limit, or far more: ten times the limit, and at least five
// seconds. What this thread waited for a processor, on a busy machine, is not the wait's.
void expect_waited(const std::string& what, std::chrono::nanoseconds limit, const suite::Stopwatch& watch,
                   const char* file = __builtin_FILE(), int line = __builtin_LINE());

Buffer closed_flags(const Context& context);  // of a latch, in host memory

// A kernel that holds its queue until the host opens the latch. With it, a check can assert without
// waiting that something has not happened yet. Its keeper opens it in the end, so a check that fails still ends.
class Latch {
 public:
  explicit Latch(const Context& context);
  ~Latch();  // opens it, and waits at most a second for the kernel
  Latch(const Latch&) = delete;
  Latch& operator=(const Latch&) = delete;
  void hold(Queue& queue, const Sync& sync = {});
  void open();

 private:
  Module module_;
  Kernel kernel_;
  Buffer flags_;  // host memory: open, done
  bool held_ = false;
  LatchKeeper keeper_;
};

}  // namespace proctor::accel
