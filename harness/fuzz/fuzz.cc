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
// In libFuzzer's place now and then: a piece of the input many times over, so that depth and size come about, which it would
// need thousands of lucky steps for.

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace {

constexpr unsigned kOneIn = 8;
constexpr std::size_t kLongestPiece = 32;

// The bytes [at, at + length) stand there `times` more.
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
  // As many small numbers as large ones.
  const std::size_t scale = std::size_t{2} << random() % 18;
  return repeat(data, size, at, length, 1 + random() % std::min(most, scale));
}
