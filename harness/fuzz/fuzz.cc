#include "harness/fuzz/fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>

namespace proctor::fuzz {

File::File(std::string_view bytes) : fd_(::memfd_create("fuzz", MFD_CLOEXEC)) {
  check(fd_ >= 0 && ::write(fd_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
}

File::~File() { ::close(fd_); }

void give(const std::uint8_t* data, std::size_t size,
          const std::vector<std::function<void(const std::string&)>>& readers) {
  if (size == 0) return;
  const auto& reader = readers[static_cast<unsigned char>(data[0] - '0') % readers.size()];
  reader(std::string(reinterpret_cast<const char*>(data) + 1, size - 1));
}

}  // namespace proctor::fuzz

// ---- The mutator ----
// In one of kOneIn mutations, this mutator repeats a piece of the input many times instead of calling libFuzzer's. It
// produces depth and size, which libFuzzer reaches only after thousands of steps.

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace {

constexpr unsigned kOneIn = 8;
constexpr std::size_t kLongestPiece = 32;

// Inserts `times` more copies of the bytes [at, at + length) after them.
std::size_t repeat(std::uint8_t* data, std::size_t size, std::size_t at, std::size_t length,
                   std::size_t times) {
  std::memmove(data + at + length * (times + 1), data + at + length, size - at - length);
  for (std::size_t i = 1; i <= times; ++i) std::memcpy(data + at + i * length, data + at, length);
  return size + length * times;
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  std::minstd_rand random(seed);
  if (size == 0 || size >= max_size || random() % kOneIn != 0) return LLVMFuzzerMutate(data, size, max_size);
  const std::size_t at = random() % size;
  const std::size_t length = 1 + random() % std::min(size - at, kLongestPiece);
  const std::size_t most = (max_size - size) / length;
  if (most == 0) return LLVMFuzzerMutate(data, size, max_size);
  // Small and large counts are equally frequent.
  const std::size_t scale = std::size_t{2} << random() % 18;
  return repeat(data, size, at, length, 1 + random() % std::min(most, scale));
}
