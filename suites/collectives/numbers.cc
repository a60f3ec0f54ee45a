#include "suites/collectives/numbers.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <string_view>

#include "suites/kernels/narrow.h"

namespace proctor::collectives {
namespace {

const kernels::NarrowFormat& narrow(Type type) {
  static const auto& half = kernels::narrow_format("f16");
  static const auto& bfloat = kernels::narrow_format("bf16");
  return type == Type::kF16 ? half : bfloat;
}

template <typename T>
T read(const std::byte* at) {
  T value{};
  std::memcpy(&value, at, sizeof value);
  return value;
}

template <typename T>
void write(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

}  // namespace

void put(Type type, std::byte* at, std::int64_t value) {
  if (facts_of(type).is_float) return put_real(type, at, static_cast<double>(value));
  std::memcpy(at, &value, bytes_of(type));  // little-endian: these are the low bytes
}

void put_real(Type type, std::byte* at, double value) {
  if (type == Type::kF64) {
    write(at, value);
  } else if (type == Type::kF32) {
    write(at, static_cast<float>(value));
  } else {
    write(at, static_cast<std::uint16_t>(kernels::bits_of(narrow(type), value)));
  }
}

double real_of(Type type, const std::byte* at) {
  switch (type) {
    case Type::kI8:
      return read<std::int8_t>(at);
    case Type::kU8:
      return read<std::uint8_t>(at);
    case Type::kI32:
      return read<std::int32_t>(at);
    case Type::kU32:
      return read<std::uint32_t>(at);
    case Type::kI64:
      return static_cast<double>(read<std::int64_t>(at));
    case Type::kU64:
      return static_cast<double>(read<std::uint64_t>(at));
    case Type::kF16:
    case Type::kBf16:
      return kernels::value_of(narrow(type), read<std::uint16_t>(at));
    case Type::kF32:
      return read<float>(at);
    case Type::kF64:
      return read<double>(at);
  }
  return 0;
}

std::string text_of(Type type, const std::byte* at) {
  if (type == Type::kI64) return std::to_string(read<std::int64_t>(at));
  if (type == Type::kU64) return std::to_string(read<std::uint64_t>(at));
  return fmt::format("{}", real_of(type, at));
}

double epsilon_of(Type type) { return std::ldexp(1.0, 1 - facts_of(type).digits); }

}  // namespace proctor::collectives
