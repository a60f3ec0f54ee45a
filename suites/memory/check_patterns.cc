// Most of the memory of a device, which only the device itself can write and judge in a short time.
#include <fmt/format.h>

#include <algorithm>

#include "suites/accel/check_fixture.h"
#include "suites/accel/memory_cap.h"
#include "suites/accel/speed.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

using suite::kGate;
using suite::step;

// The numbers of patterns.cl.
const std::vector<std::string> kMemoryPatterns = {"addresses", "walking_bits", "noise", "zeros_and_ones"};
constexpr std::uint64_t kPieceBytes = std::uint64_t{1} << 30;
constexpr std::size_t kBadPlaces = 16;

// Three quarters of what may be used, if that much is wanted.
std::uint64_t wanted_bytes(const Context& context) {
  need_memory(context.device(), 1 << 14);
  const auto most = available_memory(context.device()) / 4 * 3;
  return std::min(static_cast<std::uint64_t>(sized_for_speed(1 << 18)), most) / 8 * 8;
}

std::vector<Buffer> pieces_of(const Context& context, std::uint64_t bytes) {
  std::vector<Buffer> pieces;
  for (; bytes > 0; bytes -= pieces.back().bytes())
    pieces.push_back(device_memory(context, std::min(bytes, kPieceBytes)));
  return pieces;
}

std::uint32_t words_of(const Buffer& piece) {
  return static_cast<std::uint32_t>(piece.bytes() / sizeof(std::uint64_t));
}

// What the device found wrong in one piece.
struct Wrong {
  Wrong(Queue& queue, const Context& context)
      : count(device_copy(queue, context, std::vector<std::uint32_t>(1))),
        places(device_copy(queue, context, std::vector<std::uint64_t>(3 * kBadPlaces))) {}

  void report(Queue& queue, const Context& context, const std::string& what) const {
    const auto number = read_as<std::uint32_t>(queue, context, count)[0];
    if (number == 0) return;
    const auto told = read_as<std::uint64_t>(queue, context, places);
    std::size_t first = 0;
    for (std::size_t i = 1; i < std::min<std::size_t>(number, kBadPlaces); ++i)
      if (told[3 * i] < told[3 * first]) first = i;
    suite::report(
        {.message = fmt::format("wrong words of {}: {}, one of them at {:#x}", what, number, told[3 * first]),
         .expected = fmt::format("{:#018x}", told[3 * first + 1]),
         .got = fmt::format("{:#018x}", told[3 * first + 2]),
         .device = describe(context.device())});
  }

  Buffer count, places;
};

}  // namespace

// The device reads a pattern and writes its complement, and then the other way round: a bit that is stuck shows.
PROCTOR_CHECK_EACH(kMemoryPatterns, Contents, MostOfTheMemoryKeepsAPattern, "M43",
                   "NVIDIA DCGM, memtest, tests 0 to 10; moving inversions", kGate,
                   .faults = {"memory.stuck_bit:at=183500,min=8192"},
                   .sizes = {
                       .smoke = 1 << 14, .ci = 1 << 18, .full = std::int64_t{1} << 46, .unit = "bytes"}) {
  const auto context = leased();
  Queue queue(context);
  const auto which = static_cast<std::uint32_t>(std::ranges::find(kMemoryPatterns, suite::parameter()) -
                                                kMemoryPatterns.begin());
  const Module module = Module::load(context, "patterns");
  const Kernel write_pattern(module, "write_pattern"), judge_pattern(module, "judge_pattern");
  const auto pieces = pieces_of(context, wanted_bytes(context));
  const std::uint64_t bytes = kPieceBytes * (pieces.size() - 1) + pieces.back().bytes();
  step(fmt::format("given {} over {} bytes, their complements, and {} again", suite::parameter(), bytes,
                   suite::parameter()));
  for (const Buffer& piece : pieces)
    queue.launch(write_pattern, cover(words_of(piece), 256),
                 arguments(piece, which, std::uint64_t{0}, words_of(piece)));
  queue.synchronize();
  std::vector<double> rates;
  for (const std::uint64_t invert : {std::uint64_t{0}, ~std::uint64_t{0}, std::uint64_t{0}}) {
    for (const Buffer& piece : pieces) {
      const Wrong wrong(queue, context);
      const Event done(context);
      queue.launch(judge_pattern, cover(words_of(piece), 256),
                   arguments(piece, which, invert, wrong.count, wrong.places, words_of(piece)),
                   {.wait = {}, .signal = &done});
      queue.synchronize();
      wrong.report(queue, context, suite::parameter());
      rates.push_back(2.0 * static_cast<double>(piece.bytes()) / std::max(time_of(done).duration_ns(), 1.0));
    }
  }
  std::ranges::sort(rates);
  suite::measure("memory.patterns." + suite::parameter(), rates[rates.size() / 2], "GB/s",
                 static_cast<std::int64_t>(rates.size()), rates.back() - rates.front());
}

}  // namespace proctor::accel
