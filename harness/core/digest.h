// SHA-256 (FIPS 180-4) for ids in file names and for the plan's digest; no vendor or
// system library behind it.
#pragma once

#include <string>
#include <string_view>

namespace proctor {

// 64 lower-case hex digits.
std::string sha256_hex(std::string_view bytes);

}  // namespace proctor
