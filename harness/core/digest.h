// SHA-256 (FIPS 180-4), for ids in file names and for the digest of a plan. It needs
// no library of the system.
#pragma once

#include <string>
#include <string_view>

namespace proctor {

// The digest as 64 hexadecimal digits in lower case.
std::string sha256_hex(std::string_view bytes);

}  // namespace proctor
