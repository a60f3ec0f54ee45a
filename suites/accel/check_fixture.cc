#include "suites/accel/check_fixture.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <iterator>
#include <thread>

#include "suites/accel/memory_cap.h"
#include "suites/main/check.h"
#include "suites/main/skipped.h"

namespace proctor::accel {
namespace {

constexpr std::uint64_t kGateStyles = 2'000'000'000;
constexpr int kAttempts = 3;  // tries to allocate memory that another process may hold temporarily

std::uint64_t mix(std::uint64_t value) {  // splitmix64
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

std::string text(std::byte value) { return std::to_string(std::to_integer<int>(value)); }
std::string text(std::uint32_t value) { return std::to_string(value); }
std::string text(std::uint64_t value) { return std::to_string(value); }

std::string tile_of(const Device& device) {
  const auto& tile = device.properties().tile;
  return tile ? ", tile " + std::to_string(*tile) : "";
}

// Returns whether the values are equal.
template <typename T>
bool expect_equal(const std::string& what, const char* unit, std::span<const T> expected,
                  std::span<const T> got, const Device& device, const char* file, int line) {
  if (expected.size() != got.size()) {
    suite::report({.message = what + tile_of(device) + ": number of " + unit + "s",
                   .expected = std::to_string(expected.size()),
                   .got = std::to_string(got.size()),
                   .device = describe(device)},
                  file, line);
    return false;
  }
  if (expected.empty()) return true;
  if (std::memcmp(expected.data(), got.data(), expected.size_bytes()) == 0) return true;
  std::size_t wrong = 0;
  std::size_t first = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (expected[i] != got[i] && wrong++ == 0) first = i;
  }
  if (wrong == 0) return true;
  suite::report({.message = what + tile_of(device) + ": " + unit + " " + std::to_string(first) + " (" +
                            std::to_string(wrong) + " of " + std::to_string(expected.size()) + " differ)",
                 .expected = text(expected[first]),
                 .got = text(got[first]),
                 .device = describe(device)},
                file, line);
  return false;
}

// If the driver does not report free memory, the total memory is the limit.
bool lacks_memory(const Device& device, std::uint64_t bytes) {
  try {
    return available_memory(device) < bytes;
  } catch (const suite::Skipped&) {
    return device.properties().memory < bytes;
  }
}

// The free memory of an integrated device is part of host memory, which other programs use, too.
bool reports_free_memory(const Device& device) {
  try {
    available_memory(device);
    return true;
  } catch (const suite::Skipped&) {
    return false;
  }
}

Device device_of(const Context& context, const Allocation& wanted) {
  return wanted.device == Device() ? context.device() : wanted.device;
}

Buffer allocate(const Context& context, MemoryKind kind, std::size_t bytes) {
  const Allocation wanted{.kind = kind, .bytes = bytes};
  if (kind != MemoryKind::kHost) return memory_or_skip(context, wanted);
  return Buffer(context, wanted);
}

}  // namespace

Device leased_device() { return leased_devices(1).front(); }

std::vector<Device> leased_devices(std::size_t count) {
  auto devices = Device::list();
  need(!devices.empty(), "no_device");
  need(devices.size() >= count, "needs:devices>=" + std::to_string(count));
  return devices;
}

std::vector<Device> parts_of(const Device& device) {
  auto tiles = device.tiles();
  return tiles.empty() ? std::vector<Device>{device} : tiles;
}

std::vector<Device> with_tiles(const Device& device) {
  std::vector<Device> all = {device};
  std::ranges::copy(device.tiles(), std::back_inserter(all));
  return all;
}

void record_tiles(const Device& device) {
  const auto tiles = device.tiles().size();
  if (tiles > 0) suite::measure("covered.tiles", static_cast<double>(tiles), "tiles");
}

void on_device_and_tiles(const std::function<void(const Context&)>& body) {
  const Device device = leased_device();
  for (const Device& part : with_tiles(device)) {
    if (part.properties().tile) suite::step("given " + describe(part));
    body(Context(part));
  }
  record_tiles(device);
}

void need(bool condition, const std::string& reason) {
  if (!condition) suite::skip(reason);
}

void need_exact_halves(const Device& device) {
  const Properties& properties = device.properties();
  need(properties.fp16, "unsupported:fp16");
  need(properties.fp16_to_nearest, "unsupported:fp16_rounding_to_nearest");
  need(properties.fp16_denormals, "unsupported:fp16_denormals");
}

void need_side_by_side(const Status& waited) {
  need(!waited.not_ready(), "unsupported:queues_side_by_side");
  waited.or_throw();
}

void need_memory(const Device& device, std::uint64_t bytes) {
  if (!lacks_memory(device, bytes)) return;
  const std::uint64_t free = available_memory(device);
  suite::skip("not_enough_memory:" + std::to_string(bytes) + ">" + std::to_string(free));
}

std::optional<Buffer> memory_if_there(const Context& context, const Allocation& wanted) {
  const Device device = device_of(context, wanted);
  Status status;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    Buffer buffer;
    status = Buffer::try_allocate(context, wanted, buffer);
    if (status.ok() && attempt > 0)
      suite::warn(std::to_string(wanted.bytes) +
                  " bytes were refused though they were free, and then allocated");
    if (status.ok()) return buffer;
    if (!status.out_of_memory()) break;
    if (lacks_memory(device, wanted.bytes)) return std::nullopt;
  }
  if (status.out_of_memory() && !reports_free_memory(device)) return std::nullopt;
  status.or_throw();
  return std::nullopt;
}

Buffer memory_or_skip(const Context& context, const Allocation& wanted) {
  auto buffer = memory_if_there(context, wanted);
  if (!buffer) need_memory(device_of(context, wanted), wanted.bytes);
  need(buffer.has_value(), "not_enough_memory:" + std::to_string(wanted.bytes));
  return *std::move(buffer);
}

Buffer device_memory(const Context& context, std::size_t bytes) {
  return allocate(context, MemoryKind::kDevice, bytes);
}
Buffer host_memory(const Context& context, std::size_t bytes) {
  return allocate(context, MemoryKind::kHost, bytes);
}
Buffer shared_memory(const Context& context, std::size_t bytes) {
  need(context.device().properties().shared_memory, "unsupported:shared_memory");
  return allocate(context, MemoryKind::kShared, bytes);
}

std::vector<std::byte> noise(std::size_t bytes, std::uint64_t seed) {
  std::vector<std::byte> result(bytes);
  for (std::size_t at = 0; at < bytes; at += sizeof(std::uint64_t)) {
    const std::uint64_t word = mix(seed * 0x100000001b3 + at / sizeof(word));
    std::memcpy(&result[at], &word, std::min(sizeof word, bytes - at));
  }
  return result;
}

std::vector<std::uint32_t> noise_words(std::size_t words, std::uint64_t seed) {
  std::vector<std::uint32_t> result(words);
  for (std::size_t i = 0; i < words; ++i)
    result[i] = static_cast<std::uint32_t>(mix(seed * 0x100000001b3 + i));
  return result;
}

namespace {

// Whether copies accept memory of malloc. CUDA stages such memory itself, but its calls for host memory may
// wait for work that a check blocks. Level Zero guarantees neither.
constexpr bool kCopiesTakeAnyMemory = by_vendor(false, true);

}  // namespace

void write(Queue& queue, const Context& context, void* to, std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  if (kCopiesTakeAnyMemory) {
    queue.copy(to, bytes.data(), bytes.size());
    return queue.synchronize();
  }
  const Buffer staging = host_memory(context, bytes.size());
  std::memcpy(staging.data(), bytes.data(), bytes.size());
  queue.copy(to, staging.data(), bytes.size());
  queue.synchronize();
}

std::vector<std::byte> read_bytes(Queue& queue, const Context& context, const void* from, std::size_t bytes) {
  if (bytes == 0) return {};
  if (kCopiesTakeAnyMemory) {
    std::vector<std::byte> result(bytes);
    queue.copy(result.data(), from, bytes);
    queue.synchronize();
    return result;
  }
  const Buffer staging = host_memory(context, bytes);
  queue.copy(staging.data(), from, bytes);
  queue.synchronize();
  return {staging.data(), staging.data() + bytes};
}

std::string describe(const Device& device) {
  const Properties& properties = device.properties();
  return properties.name + " " + (properties.pci.empty() ? properties.uuid : properties.pci) +
         tile_of(device);
}

bool expect_bytes(const std::string& what, std::span<const std::byte> expected,
                  std::span<const std::byte> got, const Device& device, const char* file, int line) {
  return expect_equal(what, "byte", expected, got, device, file, line);
}

void expect_transfer(const std::string& what, std::span<const std::byte> expected,
                     std::span<const std::byte> got, const Device& source, const Device& target,
                     const char* file, int line) {
  const bool ok = expect_equal(what, "byte", expected, got, target, file, line);
  suite::trial({{"source", describe(source)}, {"target", describe(target)}}, ok);
}

void expect_words(const std::string& what, std::span<const std::uint32_t> expected,
                  std::span<const std::uint32_t> got, const Device& device, const char* file, int line) {
  expect_equal(what, "word", expected, got, device, file, line);
}

void expect_longs(const std::string& what, std::span<const std::uint64_t> expected,
                  std::span<const std::uint64_t> got, const Device& device, const char* file, int line) {
  expect_equal(what, "word", expected, got, device, file, line);
}

void expect_status(const std::string& expected_name, const Status& got, const char* file, int line) {
  suite::expect_same(std::string(got.call()) + " answers", expected_name, got.name(), file, line);
}

void expect_refused(const std::string& what, const Status& got, const char* file, int line) {
  if (!got.ok()) return;
  suite::report({.message = what + ": " + got.call(), .expected = "a refusal", .got = got.name()}, file,
                line);
}

void expect_waited(const std::string& what, std::chrono::nanoseconds limit, const suite::Stopwatch& watch,
                   const char* file, int line) {
  using Milliseconds = std::chrono::duration<double, std::milli>;
  const std::chrono::nanoseconds most =
      std::max<std::chrono::nanoseconds>(10 * limit, std::chrono::seconds(5));
  const auto waited = watch.by_clock(), of_thread = watch.of_thread();
  if (waited >= limit * 9 / 10 && of_thread <= most) return;
  suite::report(
      {.message = what + " keeps its limit of " + std::to_string(Milliseconds(limit).count()) + " ms",
       .expected =
           "at most " + std::to_string(Milliseconds(most).count()) + " ms, and no less than the limit",
       .got = std::to_string(Milliseconds(waited).count()) +
              " ms, without the time that the thread waited for a CPU, which was " +
              std::to_string(Milliseconds(of_thread).count()) + " ms"},
      file, line);
}

Buffer closed_flags(const Context& context) {
  Buffer flags = host_memory(context, 128);
  std::memset(flags.data(), 0, flags.bytes());
  return flags;
}

Latch::Latch(const Context& context)
    : module_(Module::load(context, "litmus")),
      kernel_(module_, "gate"),
      flags_(closed_flags(context)),
      keeper_(flags_.as<std::uint32_t>()[0]) {}

Latch::~Latch() {
  open();
  if (!held_) return;
  const std::atomic_ref done(flags_.as<std::uint32_t>()[16]);
  for (int i = 0; i < 1000 && done.load(std::memory_order_acquire) == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  // The kernel may still poll the flags, so their memory is leaked on purpose.
  if (done.load(std::memory_order_acquire) == 0) static_cast<void>(new Buffer(std::move(flags_)));
}

void Latch::hold(Queue& queue, const Sync& sync) {
  held_ = true;
  queue.launch(kernel_, groups_of(1, 1), arguments(flags_, flags_.data() + 64, kGateStyles), sync);
}

void Latch::open() { keeper_.open(); }

}  // namespace proctor::accel
