// Checks that measure the rates of copies between kinds of memory. The rates are measures in the report, where
// they can be compared with those of a known-good run on the same device. The checks fail only if a timed copy did
// not arrive.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "suites/accel/check_fixture.h"
#include "suites/accel/speed.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

using suite::kGate;
using suite::step;

constexpr const char* kMethod = "NVIDIA nvbandwidth: warm-up, median, every sample verified";
constexpr int kSamples = 9;

struct Path {
  const char* name;
  MemoryKind from, to;
};
constexpr Path kPaths[] = {{"host_to_device", MemoryKind::kHost, MemoryKind::kDevice},
                           {"device_to_host", MemoryKind::kDevice, MemoryKind::kHost},
                           {"device_to_device", MemoryKind::kDevice, MemoryKind::kDevice}};

std::vector<std::string> route_names() {
  std::vector<std::string> names;
  for (const Path& path : kPaths) names.emplace_back(path.name);
  return names;
}

// The duration of one copy by the device's clock, in nanoseconds. Each call uses another seed, so that a copy that
// did not run is detected.
double time_copy(Queue& queue, const Context& context, const Buffer& from, const Buffer& to, int seed) {
  const auto sent = noise(from.bytes(), static_cast<std::uint64_t>(seed));
  write(queue, context, from.data(), sent);
  const Event done(context);
  queue.copy(to.data(), from.data(), from.bytes(), {.wait = {}, .signal = &done});
  queue.synchronize();
  expect_bytes("copy " + std::to_string(seed), sent, read_bytes(queue, context, to.data(), to.bytes()),
               context.device());
  return time_of(done).duration_ns();
}

}  // namespace

PROCTOR_CHECK_EACH(
    route_names(), Bandwidth, TimedCopiesAreByteExact, "M46", kMethod, kGate,
    .faults = {"memory.corrupt_copy:at=17,after=10,times=1", "copy.skip:after=10,times=1"},
    .sizes = {.smoke = 1 << 16, .ci = 1 << 18, .full = 1 << 25, .stress = 1 << 28, .unit = "bytes"}) {
  const auto context = leased();
  Queue queue(context);
  const Path& path = *std::find_if(std::begin(kPaths), std::end(kPaths),
                                   [](const Path& each) { return each.name == suite::parameter(); });
  const auto bytes = static_cast<std::size_t>(suite::sized());
  const Buffer from(context, {.kind = path.from, .bytes = bytes});
  const Buffer to(context, {.kind = path.to, .bytes = bytes});
  step("given " + std::to_string(kSamples) + " copies of " + std::to_string(bytes) +
       " bytes after one of warm-up");
  time_copy(queue, context, from, to, 0);
  std::vector<double> times;
  for (int sample = 1; sample <= kSamples; ++sample)
    times.push_back(time_copy(queue, context, from, to, sample));
  std::sort(times.begin(), times.end());
  suite::expect_true(times.front() >= 0, "no copy ended before it began, by the device's clock");
  need(times.front() != 0, "needs:finer_clock");
  const auto rate = [&](double nanoseconds) { return static_cast<double>(bytes) / nanoseconds; };
  suite::measure(std::string("memory.bandwidth.") + path.name, rate(times[kSamples / 2]), "GB/s", kSamples,
                 rate(times.front()) - rate(times.back()));
}

// The reference for the rates of kernels: a copy between two blocks that are larger than any cache. The bytes
// count twice, as read and as written.
PROCTOR_CHECK(Bandwidth, LargeDeviceCopiesAreByteExact, "M46", kMethod, kGate,
              .faults = {"copy.skip:after=4,times=1", "memory.corrupt_copy:at=17,after=4,times=1"},
              .sizes = {.smoke = 1 << 16, .ci = 1 << 18, .full = 1LL << 31, .unit = "bytes"}) {
  const auto context = leased();
  Queue queue(context);
  const auto bytes = static_cast<std::size_t>(sized_for_speed(1 << 24));
  step("given copies of " + std::to_string(bytes) + " bytes within the device");
  report_value("memory.ceiling", copy_ceiling(queue, context, bytes), "GB/s");
}

// Checks of the rates of links between devices. A link that fell back to the path through the host is much slower
// than the others.

namespace {

using suite::kWarn;
using suite::step;

constexpr const char* kLinkMethod =
    "project rule: A device has links of about the same speed as the others. NVIDIA nvbandwidth measures "
    "them without a limit.";
// A link is several times as fast as the path through the host. Noise of the machine causes smaller differences.
constexpr double kSlowerWay = 5;
constexpr int kCopies = 3;
// A busy machine can slow all copies of one device. A slow link is slow in each try.
constexpr int kMoreTries = 5;

// GB/s of the fastest of several copies. Each copy has other bytes, and all bytes are verified.
double fastest_copy(const Context& context, const Device& from, const Device& to, std::size_t bytes) {
  Queue away(context, Queue::Mode::kLists, from), home(context, Queue::Mode::kLists, to);
  const Buffer source(context, {.bytes = bytes, .device = from}),
      target(context, {.bytes = bytes, .device = to});
  double best = 0;
  for (int copy = 0; copy <= kCopies; ++copy) {
    const auto sent = block_of_noise(bytes / sizeof(std::uint32_t), static_cast<std::uint64_t>(copy));
    write_repeated(away, context, source, sent);
    const auto begin = std::chrono::steady_clock::now();
    away.copy(target.data(), source.data(), bytes);
    away.synchronize();
    const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - begin;
    expect_repeated_transfer("memory of the second device", home, context, sent, target, from, to);
    if (copy > 0) best = std::max(best, static_cast<double>(bytes) / taken.count());
  }
  return best;
}

double median_of(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

// Measures the links of this device again, in both directions. Raises `best` if a rate is higher.
void measure_again(const Context& context, const std::vector<Device>& devices, std::size_t device,
                   std::size_t bytes, double& best) {
  for (std::size_t other = 0; other < devices.size(); ++other) {
    if (other == device) continue;
    for (const auto& [from, to] : {std::pair(device, other), std::pair(other, device)}) {
      if (devices[from].reaches(devices[to]))
        best = std::max(best, fastest_copy(context, devices[from], devices[to], bytes));
    }
  }
}

}  // namespace

// With two devices there is only one link, and the slow device cannot be identified. The check therefore needs
// three.
PROCTOR_CHECK(PeerLink, EveryDeviceHasSimilarBandwidth, "M56", kLinkMethod, kWarn,
              .faults = {"copy.skip_peer_copy", "copy.delay_peer_copy:dev=1"}, .devices = 3, .needs = {"p2p"},
              .sizes = {.smoke = 1 << 14, .ci = 1 << 16, .full = 1 << 28, .unit = "bytes"}) {
  const auto devices = leased_devices(3);
  const Context context(devices);
  const auto bytes = static_cast<std::size_t>(sized_for_speed(1 << 16));
  std::vector<double> best(devices.size());
  for (std::size_t i = 0; i < devices.size(); ++i) {
    for (std::size_t j = 0; j < devices.size(); ++j) {
      if (i == j || !devices[i].reaches(devices[j])) continue;
      step(fmt::format("given copies from device {} to device {}", i, j));
      const double rate = fastest_copy(context, devices[i], devices[j], bytes);
      suite::measure(fmt::format("memory.link.{}_to_{}", i, j), rate, "GB/s", kCopies);
      best[i] = std::max(best[i], rate);
      best[j] = std::max(best[j], rate);
    }
  }
  const double median = median_of(best);
  need(median > 0, "needs:p2p");
  for (std::size_t i = 0; i < devices.size(); ++i) {
    for (int tries = 0; best[i] * kSlowerWay < median && tries < kMoreTries; ++tries)
      measure_again(context, devices, i, bytes, best[i]);
    const bool fast = best[i] * kSlowerWay >= median;
    suite::trial({{"", describe(devices[i])}}, fast);
    if (fast) continue;
    suite::report({.message = "the fastest link of a device is far slower than those of the others",
                   .expected = fmt::format("about {:.3g} GB/s", median),
                   .got = fmt::format("{:.3g} GB/s", best[i]),
                   .device = describe(devices[i])});
  }
}

}  // namespace proctor::accel
