#include "suites/accel/speed.h"

#include <algorithm>
#include <vector>

#include "suites/accel/check_fixture.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

constexpr int kSamples = 5;
constexpr std::size_t kMostBlockWords = 1'000'003;  // 4 MB

// Calls `visit(offset in bytes, words)` for each repetition of the block.
template <typename Visit>
void each_repetition(const Buffer& buffer, std::span<const std::uint32_t> block, const Visit& visit) {
  for (std::size_t at = 0; at < buffer.bytes(); at += block.size_bytes()) {
    visit(at, block.first(std::min(block.size(), (buffer.bytes() - at) / sizeof(std::uint32_t))));
  }
}

}  // namespace

Speed speed_of(double amount, const std::function<double()>& sample) {
  sample();
  std::vector<double> times;
  for (int i = 0; i < kSamples; ++i) times.push_back(sample());
  std::sort(times.begin(), times.end());
  suite::expect_true(times.front() >= 0, "no sample ended before it began, by the device's clock");
  need(times.front() != 0, "needs:finer_clock");
  return {.median = amount / times[kSamples / 2],
          .spread = amount / times.front() - amount / times.back(),
          .samples = kSamples};
}

std::int64_t sized_for_speed(std::int64_t simulated_most) {
  return suite::on_simgpu() ? std::min(suite::sized(), simulated_most) : suite::sized();
}

Speed copy_ceiling(Queue& queue, const Context& context, std::size_t bytes) {
  need_memory(context.device(), 2 * bytes);
  const Buffer from = device_memory(context, bytes), to = device_memory(context, bytes);
  const auto block = block_of_noise(bytes / sizeof(std::uint32_t), 1);
  write_repeated(queue, context, from, block);
  constexpr std::byte kOld{0xff};
  return speed_of(2.0 * static_cast<double>(bytes), [&] {
    queue.fill(to.data(), {&kOld, 1}, bytes);
    const Event done(context);
    queue.copy(to.data(), from.data(), bytes, {.wait = {}, .signal = &done});
    queue.synchronize();
    expect_repeated("a copy within the device", queue, context, block, to);
    return time_of(done).duration_ns();
  });
}

void report_value(const std::string& name, const Speed& speed, const std::string& unit) {
  if (speed.samples > 0) suite::measure(name, speed.median, unit, speed.samples, speed.spread);
}

void report_share(const std::string& name, double bytes_per_amount, const Speed& speed,
                  const Speed& ceiling) {
  if (speed.samples == 0 || ceiling.samples == 0) return;
  const double scale = bytes_per_amount / ceiling.median;
  suite::measure(name + ".share", speed.median * scale, "of a copy within the device", speed.samples,
                 speed.spread * scale);
}

std::vector<std::uint32_t> block_of_noise(std::size_t words, std::uint64_t seed) {
  return noise_words(std::min(words, kMostBlockWords), seed);
}

void write_repeated(Queue& queue, const Context& context, const Buffer& to,
                    std::span<const std::uint32_t> block) {
  each_repetition(to, block, [&](std::size_t at, std::span<const std::uint32_t> words) {
    write(queue, context, to.data() + at, std::as_bytes(words));
  });
}

namespace {

bool expect_repeated(const std::string& what, Queue& queue, const Context& context,
                     std::span<const std::uint32_t> block, const Buffer& from, const Device& device) {
  bool ok = true;
  each_repetition(from, block, [&](std::size_t at, std::span<const std::uint32_t> words) {
    const auto expected = std::as_bytes(words);
    const auto got = read_bytes(queue, context, from.data() + at, expected.size());
    ok = expect_bytes(what + ", from byte " + std::to_string(at), expected, got, device) && ok;
  });
  return ok;
}

}  // namespace

void expect_repeated_transfer(const std::string& what, Queue& queue, const Context& context,
                              std::span<const std::uint32_t> block, const Buffer& copy, const Device& source,
                              const Device& target) {
  const bool ok = expect_repeated(what, queue, context, block, copy, target);
  suite::trial({{"source", describe(source)}, {"target", describe(target)}}, ok);
}

void expect_repeated(const std::string& what, Queue& queue, const Context& context,
                     std::span<const std::uint32_t> block, const Buffer& from) {
  expect_repeated(what, queue, context, block, from, context.device());
}

}  // namespace proctor::accel
