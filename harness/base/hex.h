// Bytes as two lower-case hexadecimal digits each, and back.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace proctor {

std::string to_hex(std::span<const char> bytes);

// False unless the text is exactly as many digits as `bytes` needs.
bool from_hex(std::string_view text, std::span<char> bytes);

}  // namespace proctor
