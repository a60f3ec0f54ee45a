// Reads and writes numbers of every collective data type as bytes in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "suites/collectives/provider.h"

namespace proctor::collectives {

using Bytes = std::vector<std::byte>;

// Writes `value`. Integer types keep the low bits; floating types round to the nearest number.
void put(Type type, std::byte* at, std::int64_t value);
// Writes a value of a floating type. Other types are not supported.
void put_real(Type type, std::byte* at, double value);

double real_of(Type type, const std::byte* at);
std::string text_of(Type type, const std::byte* at);

// Returns the difference between 1 and the next larger number of a floating type.
double epsilon_of(Type type);

}  // namespace proctor::collectives
