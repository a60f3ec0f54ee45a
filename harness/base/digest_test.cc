#include "harness/base/digest.h"

#include <gtest/gtest.h>

#include <array>

namespace proctor {
namespace {

// Messages and digests published with FIPS 180 (csrc.nist.gov, "Examples with Intermediate Values", and
// CAVP).
TEST(Sha256, MatchesFipsVectors) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(
      sha256_hex("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqr"
                 "lmnopqrsmnopqrstnopqrstu"),
      "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
  EXPECT_EQ(sha256_hex(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  EXPECT_EQ(sha256_hex("\xbd"), "68325720aabd7c82f30f554b313d0570c95accbb7dc4b5aae11204c08ffe732b");
}

TEST(Sha256, HardwareAndPortableImplementationsAgree) {
  std::string text;
  for (int length = 0; length < 700; ++length) {
    Sha256 plain(false);
    Sha256 fast(true);
    plain.add(text);
    fast.add(text);
    EXPECT_EQ(plain.hex(), fast.hex()) << length;
    text += static_cast<char>(length * 7 + 1);
  }
  EXPECT_EQ(Sha256(false).hex(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

// The test chains the digests of all lengths around the block and padding borders into one digest. The
// expected value is computed with Python's hashlib.
TEST(Sha256, HashesLengthsAroundPaddingBorders) {
  std::string all;
  for (std::size_t length = 0; length <= 130; ++length) all += sha256_hex(std::string(length, 'x'));
  EXPECT_EQ(sha256_hex(all), "87aca1c44bc7ba8897768170211f0a02063de70801131ff86c7edb9ce32c6a50");
}

TEST(Sha256, PiecewiseInputGivesSameDigest) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += static_cast<char>(i);
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    Sha256 digest;
    for (std::size_t at = 0; at < text.size(); at += piece)
      digest.add(std::string_view(text).substr(at, piece));
    EXPECT_EQ(digest.hex(), sha256_hex(text)) << piece;
    EXPECT_EQ(digest.hex(), sha256_hex(text)) << "asked twice";
  }
}

TEST(Hex, RoundTripsBytes) {
  const std::array<char, 4> bytes{'\0', '\x7f', '\x80', '\xff'};
  EXPECT_EQ(to_hex(bytes), "007f80ff");
  std::array<char, 4> back{};
  ASSERT_TRUE(from_hex("007f80FF", back));
  EXPECT_EQ(back, bytes);
}

TEST(Hex, RejectsWrongLengthOrNonHexDigit) {
  std::array<char, 2> bytes{};
  for (const char* text : {"", "00", "00000", "000000", "00g0", "0x00", "-100"}) {
    EXPECT_FALSE(from_hex(text, bytes)) << text;
  }
}

}  // namespace
}  // namespace proctor
