// Numbers of every type that collectives have, as bytes in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "suites/collectives/provider.h"

namespace proctor::collectives {

using Bytes = std::vector<std::byte>;

// Writes `value`. Integer types keep the low bits that fit; floating types get the nearest number.
void put(Type type, std::byte* at, std::int64_t value);
// Floating types only.
void put_real(Type type, std::byte* at, double value);

double real_of(Type type, const std::byte* at);
std::string text_of(Type type, const std::byte* at);

// The distance of 1 from the next number of a floating type.
double epsilon_of(Type type);

}  // namespace proctor::collectives
