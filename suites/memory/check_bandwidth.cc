// How fast copies are, between which kinds of memory. A measurement, not a verdict: the figures go into the
// report, where a known-good one of the same device can be compared with them. What is judged is that every
// timed copy arrived.
#include <algorithm>

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

// Nanoseconds of one copy by the device's clock. Another seed each time: an old sample
// must not pass for a new one.
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
    route_names(), Bandwidth, IsMeasuredOnCopiesThatArrive, "M46", kMethod, kGate,
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

// What the speeds of kernels are compared with: two blocks that no cache holds, and
// bytes both read and written.
PROCTOR_CHECK(Bandwidth, CeilingIsMeasuredOnCopiesThatArrive, "M46", kMethod, kGate,
              .faults = {"copy.skip:after=4,times=1", "memory.corrupt_copy:at=17,after=4,times=1"},
              .sizes = {.smoke = 1 << 16, .ci = 1 << 18, .full = 1LL << 31, .unit = "bytes"}) {
  const auto context = leased();
  Queue queue(context);
  const auto bytes = static_cast<std::size_t>(sized_for_speed(1 << 24));
  step("given copies of " + std::to_string(bytes) + " bytes within the device");
  tell("memory.ceiling", copy_ceiling(queue, context, bytes), "GB/s");
}

}  // namespace proctor::accel
