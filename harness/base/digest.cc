#include "harness/base/digest.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstddef>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace proctor {
namespace {

// FIPS 180-4 section 4.2.2: the first 32 bits of the fractional parts of the cube roots of the first 64
// primes.
constexpr std::array<std::uint32_t, 64> kRoundConstants = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

// Compresses one block (section 6.2.2) without special instructions.
void compress_plainly(std::array<std::uint32_t, 8>& hash, const unsigned char* block) {
  std::array<std::uint32_t, 64> w;
  for (std::size_t t = 0; t < 16; ++t) {
    w[t] = std::uint32_t{block[4 * t]} << 24 | std::uint32_t{block[4 * t + 1]} << 16 |
           std::uint32_t{block[4 * t + 2]} << 8 | std::uint32_t{block[4 * t + 3]};
  }
  for (std::size_t t = 16; t < 64; ++t) {
    const std::uint32_t s0 = std::rotr(w[t - 15], 7) ^ std::rotr(w[t - 15], 18) ^ (w[t - 15] >> 3);
    const std::uint32_t s1 = std::rotr(w[t - 2], 17) ^ std::rotr(w[t - 2], 19) ^ (w[t - 2] >> 10);
    w[t] = s1 + w[t - 7] + s0 + w[t - 16];
  }
  auto [a, b, c, d, e, f, g, h] = hash;
  for (std::size_t t = 0; t < 64; ++t) {
    const std::uint32_t sum1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const std::uint32_t t1 = h + sum1 + ((e & f) ^ (~e & g)) + kRoundConstants[t] + w[t];
    const std::uint32_t sum0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const std::uint32_t t2 = sum0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
  }
  const std::array<std::uint32_t, 8> round = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < 8; ++i) hash[i] += round[i];
}

#if defined(__x86_64__)
constexpr unsigned kShaBit = 1U << 29;   // leaf 7, EBX (Intel SDM, volume 2, CPUID)
constexpr unsigned kSsse3Bit = 1U << 9;  // leaf 1, ECX
constexpr unsigned kSse41Bit = 1U << 19;

// Compresses one block with the SHA instructions. SHA256RNDS2 computes two rounds. SHA256MSG1 and SHA256MSG2
// compute four words of the message schedule. The instructions require the hash as ABEF and CDGH (Intel SDM,
// volume 2, SHA256RNDS2).
__attribute__((target("sha,ssse3,sse4.1"))) void compress_by_instructions(std::array<std::uint32_t, 8>& hash,
                                                                          const unsigned char* block) {
  const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  const auto words = [](const void* at) { return _mm_loadu_si128(static_cast<const __m128i*>(at)); };
  const __m128i cdab = _mm_shuffle_epi32(words(&hash[0]), 0xB1);
  const __m128i efgh = _mm_shuffle_epi32(words(&hash[4]), 0x1B);
  __m128i abef = _mm_alignr_epi8(cdab, efgh, 8);
  __m128i cdgh = _mm_blend_epi16(efgh, cdab, 0xF0);
  const __m128i abef_before = abef;
  const __m128i cdgh_before = cdgh;
  __m128i w[4];
  for (std::size_t i = 0; i < 4; ++i) w[i] = _mm_shuffle_epi8(words(block + 16 * i), big_endian);
  for (std::size_t i = 0; i < 16; ++i) {
    __m128i& next = w[i % 4];
    const __m128i after = w[(i + 1) % 4];
    const __m128i last = w[(i + 3) % 4];
    const __m128i sum = _mm_add_epi32(next, words(&kRoundConstants[4 * i]));
    cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
    abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0E));
    const __m128i shifted = _mm_alignr_epi8(last, w[(i + 2) % 4], 4);
    next = _mm_sha256msg2_epu32(_mm_add_epi32(_mm_sha256msg1_epu32(next, after), shifted), last);
  }
  abef = _mm_add_epi32(abef, abef_before);
  cdgh = _mm_add_epi32(cdgh, cdgh_before);
  const __m128i feba = _mm_shuffle_epi32(abef, 0x1B);
  const __m128i dchg = _mm_shuffle_epi32(cdgh, 0xB1);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(&hash[0]), _mm_blend_epi16(feba, dchg, 0xF0));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(&hash[4]), _mm_alignr_epi8(dchg, feba, 8));
}

bool processor_has_them() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & kSsse3Bit) == 0 || (c & kSse41Bit) == 0) return false;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & kShaBit) != 0;
}
#else
void compress_by_instructions(std::array<std::uint32_t, 8>& hash, const unsigned char* block) {
  compress_plainly(hash, block);
}

bool processor_has_them() { return false; }
#endif

}  // namespace

bool Sha256::has_instructions() {
  static const bool has = processor_has_them();
  return has;
}

void Sha256::compress(const unsigned char* block) {
  instructions_ ? compress_by_instructions(hash_, block) : compress_plainly(hash_, block);
}

void Sha256::add(std::string_view bytes) {
  std::size_t held = bytes_ % kBlockBytes;
  bytes_ += bytes.size();
  while (!bytes.empty()) {
    if (held == 0 && bytes.size() >= kBlockBytes) {
      compress(reinterpret_cast<const unsigned char*>(bytes.data()));
      bytes.remove_prefix(kBlockBytes);
      continue;
    }
    const std::size_t taken = std::min(kBlockBytes - held, bytes.size());
    std::memcpy(rest_.data() + held, bytes.data(), taken);
    bytes.remove_prefix(taken);
    held += taken;
    if (held < kBlockBytes) return;
    compress(rest_.data());
    held = 0;
  }
}

// The padding of section 5.1.1 is a one bit, zeros, and the length in bits in the last eight bytes.
std::string Sha256::hex() const {
  std::string end = "\x80";
  while ((bytes_ + end.size()) % kBlockBytes != kBlockBytes - 8) end += '\0';
  for (int shift = 56; shift >= 0; shift -= 8) end += static_cast<char>(bytes_ * 8 >> shift & 0xff);
  Sha256 ended = *this;
  ended.add(end);

  std::string hex;
  for (const std::uint32_t word : ended.hash_) {
    for (int shift = 28; shift >= 0; shift -= 4) hex += "0123456789abcdef"[word >> shift & 0xf];
  }
  return hex;
}

std::string sha256_hex(std::string_view bytes) {
  Sha256 whole;
  whole.add(bytes);
  return whole.hex();
}

std::string digest_of_plan(std::vector<std::string> ids, const std::vector<std::string>& filters) {
  std::ranges::sort(ids);
  std::string text;
  for (const std::string& id : ids) text += id + "\n";
  for (const std::string& filter : filters) text += "filter " + filter + "\n";
  return sha256_hex(text);
}

std::string to_hex(std::span<const char> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const char byte : bytes) {
    text += kDigits[static_cast<unsigned char>(byte) >> 4];
    text += kDigits[static_cast<unsigned char>(byte) & 15];
  }
  return text;
}

bool from_hex(std::string_view text, std::span<char> bytes) {
  if (text.size() != 2 * bytes.size()) return false;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    unsigned value = 0;
    const char* begin = text.data() + 2 * i;
    if (std::from_chars(begin, begin + 2, value, 16).ptr != begin + 2) return false;
    bytes[i] = static_cast<char>(value);
  }
  return true;
}

}  // namespace proctor
