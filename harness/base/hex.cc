#include "harness/base/hex.h"

#include <charconv>
#include <cstddef>

namespace proctor {

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
