// SHA-256 (FIPS 180-4), for ids in file names and the digests of plans and journals. It needs no library of
// the system.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace proctor {

// The SHA-256 of a text that is added in pieces. A copy is cheap.
class Sha256 {
 public:
  // `instructions`: use the SHA instructions of the processor if it has them. They are several times as fast.
  explicit Sha256(bool instructions = true) : instructions_(instructions && has_instructions()) {}

  static bool has_instructions();

  void add(std::string_view bytes);
  // Returns the digest of all bytes that were added so far, as 64 lower-case hexadecimal digits.
  std::string hex() const;

 private:
  static constexpr std::size_t kBlockBytes = 64;

  void compress(const unsigned char* block);

  std::array<std::uint32_t, 8> hash_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                        0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};  // section 5.3.3
  std::array<unsigned char, kBlockBytes> rest_{};  // the bytes of an incomplete block
  std::uint64_t bytes_ = 0;
  bool instructions_;
};

std::string sha256_hex(std::string_view bytes);

// Returns the digest of a plan. It covers the sorted case ids, one on each line, so that the order of the
// cases does not matter. It also covers `filters`: settings besides commands and options that leave tests out
// ("SUITE NAME=VALUE").
std::string digest_of_plan(std::vector<std::string> ids, const std::vector<std::string>& filters);

// ---- Bytes as two lower-case hexadecimal digits each, and back ----

std::string to_hex(std::span<const char> bytes);

// Returns false unless the text has exactly the number of digits that `bytes` needs.
bool from_hex(std::string_view text, std::span<char> bytes);

}  // namespace proctor
