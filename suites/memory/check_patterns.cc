// Checks of most of the memory of a device with patterns. The device writes and verifies the memory, because this
// is fastest. Kernels of simulated devices are interpreted. There, the device verifies the begin, and the host
// verifies the remaining memory by copies.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "suites/accel/check_fixture.h"
#include "suites/accel/memory_cap.h"
#include "suites/main/check.h"

namespace proctor::accel {
namespace {

using suite::kGate;
using suite::step;

// The names of the patterns of patterns.cl. Their index is the number of the pattern in the kernel.
const std::vector<std::string> kMemoryPatterns = {"addresses", "walking_bits", "noise", "zeros_and_ones"};
constexpr std::uint32_t kAddresses = 0;
constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kPieceBytes = 1024 * kMiB;
constexpr std::uint64_t kLeastPiece = kMiB / 64;
constexpr std::size_t kChunkWords = 131'071;  // The host holds this many words at a time.
constexpr std::size_t kChunkBytes = kChunkWords * sizeof(std::uint64_t);
// Limits for a simulated device or tile: its kernels are interpreted, and its memory is memory of the machine.
constexpr std::uint64_t kMostByKernel = kMiB / 16;
constexpr std::uint64_t kMostSimulated = 1024 * kMiB;
constexpr std::size_t kBadPlaces = 16;

// The value of a word by its number, for the patterns other than addresses (patterns.cl).
std::uint64_t pattern_of(std::uint32_t which, std::uint64_t place) {
  if (which == 1) return std::uint64_t{1} << (place % 64);
  if (which == 3) return 0;
  std::uint64_t mixed = (place ^ (place >> 30)) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
  return mixed ^ (mixed >> 31);
}

std::uint32_t describe(const Buffer& piece) {
  return static_cast<std::uint32_t>(piece.bytes() / sizeof(std::uint64_t));
}

struct WrongWords {
  std::uint64_t count = 0;
  std::uint64_t address = 0, expected = 0, got = 0;  // of the first wrong word
};

// Writes and verifies memory by the kernels of patterns.cl. The kernel compares each word and then writes its
// complement.
class KernelJudge {
 public:
  KernelJudge(Queue& queue, const Context& context, std::uint32_t which)
      : queue_(queue), context_(context), which_(which), module_(Module::load(context, "patterns")) {}

  void write(const Buffer& piece) {
    queue_.launch(write_, cover(describe(piece), 256),
                  arguments(piece, which_, std::uint64_t{0}, describe(piece)));
    queue_.synchronize();
  }

  WrongWords judge(const Buffer& piece, bool inverted) {
    const std::uint64_t invert = inverted ? ~std::uint64_t{0} : 0;
    const auto count = device_copy(queue_, context_, std::vector<std::uint32_t>(1));
    const auto places = device_copy(queue_, context_, std::vector<std::uint64_t>(3 * kBadPlaces));
    const Event done(context_);
    queue_.launch(judge_, cover(describe(piece), 256),
                  arguments(piece, which_, invert, count, places, describe(piece)),
                  {.wait = {}, .signal = &done});
    queue_.synchronize();
    rates_.push_back(2.0 * static_cast<double>(piece.bytes()) / std::max(time_of(done).duration_ns(), 1.0));
    const auto number = read_as<std::uint32_t>(queue_, context_, count)[0];
    return number == 0 ? WrongWords{} : first_of(number, read_as<std::uint64_t>(queue_, context_, places));
  }

  const std::vector<double>& rates() const { return rates_; }  // GB/s, bytes read plus bytes written

 private:
  static WrongWords first_of(std::uint32_t number, const std::vector<std::uint64_t>& reported) {
    std::size_t first = 0;
    for (std::size_t i = 1; i < std::min<std::size_t>(number, kBadPlaces); ++i)
      if (reported[3 * i] < reported[3 * first]) first = i;
    return {number, reported[3 * first], reported[3 * first + 1], reported[3 * first + 2]};
  }

  Queue& queue_;
  const Context& context_;
  std::uint32_t which_;
  Module module_;
  Kernel write_{module_, "write_pattern"}, judge_{module_, "judge_pattern"};
  std::vector<double> rates_;
};

// Writes and verifies memory by copies of the host, in chunks. In the pattern of addresses, each chunk contains
// its own addresses. The other patterns repeat one chunk. The length of a chunk is odd, so a lost address bit
// leads to other contents.
class HostJudge {
 public:
  HostJudge(Queue& queue, const Context& context, std::uint32_t which)
      : queue_(queue),
        which_(which),
        plain_(host_memory(context, kChunkBytes)),
        complement_(host_memory(context, kChunkBytes)),
        got_(host_memory(context, kChunkBytes)) {
    set_chunk(0);
  }

  void write(const Buffer& piece) {
    each_chunk(piece, [&](std::byte* at, std::size_t bytes) { copy(at, plain_.data(), bytes); });
  }

  // If `again` is set, the complement is written after the comparison.
  WrongWords judge(const Buffer& piece, bool inverted, bool again) {
    const Buffer& expected = inverted ? complement_ : plain_;
    const Buffer& next = inverted ? plain_ : complement_;
    WrongWords wrong;
    each_chunk(piece, [&](std::byte* at, std::size_t bytes) {
      copy(got_.data(), at, bytes);
      if (std::memcmp(got_.data(), expected.data(), bytes) != 0) compare(at, expected, bytes, wrong);
      if (again) copy(at, next.data(), bytes);
    });
    return wrong;
  }

 private:
  template <typename Visit>
  void each_chunk(const Buffer& piece, const Visit& visit) {
    for (std::size_t at = 0; at < piece.bytes(); at += kChunkBytes) {
      std::byte* const chunk = piece.data() + at;
      if (which_ == kAddresses) set_chunk(reinterpret_cast<std::uintptr_t>(chunk));
      visit(chunk, std::min<std::size_t>(kChunkBytes, piece.bytes() - at));
    }
  }

  // Uses raw pointers, because this loop takes much of the time of the check.
  void set_chunk(std::uint64_t first) {
    std::uint64_t* const plain = plain_.as<std::uint64_t>().data();
    std::uint64_t* const complement = complement_.as<std::uint64_t>().data();
    for (std::size_t i = 0; i < kChunkWords; ++i) {
      plain[i] = which_ == kAddresses ? first + i * sizeof(std::uint64_t) : pattern_of(which_, i);
      complement[i] = ~plain[i];
    }
  }

  void copy(std::byte* to, const std::byte* from, std::size_t bytes) {
    queue_.copy(to, from, bytes);
    queue_.synchronize();
  }

  void compare(const std::byte* at, const Buffer& expected, std::size_t bytes, WrongWords& wrong) const {
    const auto right = expected.as<std::uint64_t>(), found = got_.as<std::uint64_t>();
    for (std::size_t i = 0; i < bytes / sizeof(std::uint64_t); ++i) {
      if (found[i] == right[i] || wrong.count++ != 0) continue;
      wrong.address = reinterpret_cast<std::uintptr_t>(at) + i * sizeof(std::uint64_t);
      wrong.expected = right[i];
      wrong.got = found[i];
    }
  }

  Queue& queue_;
  std::uint32_t which_;
  Buffer plain_, complement_, got_;
};

// Memory of one tile, or of a device without tiles. All pieces are held at the same time, so each has a different
// place. If another process took a part of the free memory, the pieces become smaller, down to a minimum.
class CoveredMemory {
 public:
  explicit CoveredMemory(const Context& context) : free_(available_memory(context.device())) {
    const auto wanted = std::min(static_cast<std::uint64_t>(suite::sized()), most());
    std::uint64_t smaller = kPieceBytes;
    for (bytes_ = 0; bytes_ < wanted;) {
      const bool by_kernel = !suite::on_simgpu() || bytes_ == 0;
      const auto limit = by_kernel && suite::on_simgpu() ? kMostByKernel : kPieceBytes;
      auto& pieces = by_kernel ? by_kernel_ : by_host_;
      auto piece = memory_if_there(context, {.bytes = std::min({limit, smaller, wanted - bytes_})});
      if (piece) {
        bytes_ += piece->bytes();
        pieces.push_back(*std::move(piece));
      } else {
        smaller = std::min(limit, smaller) / 2;
        if (smaller < kLeastPiece) break;
      }
    }
    need(bytes_ > 0, "not_enough_memory:" + std::to_string(std::min(wanted, kLeastPiece)));
  }

  std::uint64_t bytes() const { return bytes_; }
  double percent() const { return 100.0 * static_cast<double>(bytes_) / static_cast<double>(free_); }
  const std::vector<Buffer>& by_kernel() const { return by_kernel_; }
  const std::vector<Buffer>& by_host() const { return by_host_; }

 private:
  // Three quarters of the free memory, rounded up to a page.
  std::uint64_t most() const {
    constexpr std::uint64_t kPage = 4096;
    const std::uint64_t three_quarters = (free_ / 4 * 3 / kPage + 1) * kPage;
    return suite::on_simgpu() ? std::min(three_quarters, kMostSimulated) : three_quarters;
  }

  std::uint64_t free_;
  std::uint64_t bytes_ = 0;
  std::vector<Buffer> by_kernel_, by_host_;
};

std::string of_tile(const Device& device) {
  const auto& tile = device.properties().tile;
  return tile ? fmt::format(", tile {}", *tile) : "";
}

void report(const WrongWords& wrong, const Device& device) {
  if (wrong.count == 0) return;
  suite::report({.message = fmt::format("wrong words of {}{}: {}, one of them at {:#x}", suite::parameter(),
                                        of_tile(device), wrong.count, wrong.address),
                 .expected = fmt::format("{:#018x}", wrong.expected),
                 .got = fmt::format("{:#018x}", wrong.got),
                 .device = describe(device)});
}

// Writes and verifies one pattern in the memory of `part`. Returns the rates of the kernels.
std::vector<double> try_pattern(const Device& part) {
  const auto which = static_cast<std::uint32_t>(std::ranges::find(kMemoryPatterns, suite::parameter()) -
                                                kMemoryPatterns.begin());
  need_memory(part, 1 << 14);
  const Context context(part);
  Queue queue(context);
  KernelJudge by_kernel(queue, context, which);
  HostJudge by_host(queue, context, which);
  const CoveredMemory covered(context);
  step(fmt::format("given {} over {} bytes of {}, their complements, and {} again", suite::parameter(),
                   covered.bytes(), describe(part), suite::parameter()));
  for (const Buffer& piece : covered.by_kernel()) by_kernel.write(piece);
  for (const Buffer& piece : covered.by_host()) by_host.write(piece);
  for (const int round : {0, 1, 2}) {
    const bool inverted = round == 1, again = round != 2;
    for (const Buffer& piece : covered.by_kernel()) report(by_kernel.judge(piece, inverted), part);
    for (const Buffer& piece : covered.by_host()) report(by_host.judge(piece, inverted, again), part);
  }
  const auto& tile = part.properties().tile;
  suite::measure(tile ? fmt::format("covered.memory.tile{}", *tile) : "covered.memory", covered.percent(),
                 "%");
  return by_kernel.rates();
}

}  // namespace

// The check reads the pattern, then its complement, and then the pattern again. A stuck bit fails in one of them.
PROCTOR_CHECK_EACH(kMemoryPatterns, Contents, MostMemoryKeepsPattern, "M43",
                   "NVIDIA DCGM, memtest, tests 0 to 10; moving inversions", kGate,
                   .faults = by_vendor<Texts>({"memory.stuck_bit:at=52428,min=8192,max=65536",
                                               "memory.stuck_bit:at=183500,min=70000",
                                               "memory.stuck_bit:tile=1,at=183500,min=70000"},
                                              {"memory.stuck_bit:at=52428,min=8192,max=65536",
                                               "memory.stuck_bit:at=183500,min=70000"}),
                   .sizes = {
                       .smoke = 1 << 14, .ci = 1 << 18, .full = std::int64_t{1} << 46, .unit = "bytes"}) {
  const Device device = leased_device();
  std::vector<double> rates;
  for (const Device& part : parts_of(device)) std::ranges::copy(try_pattern(part), std::back_inserter(rates));
  record_tiles(device);
  std::ranges::sort(rates);
  suite::measure("memory.patterns." + suite::parameter(), rates[rates.size() / 2], "GB/s",
                 static_cast<std::int64_t>(rates.size()), rates.back() - rates.front());
}

}  // namespace proctor::accel
