// The shape and the arguments of a kernel launch.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

namespace proctor::accel {

// One kernel argument: the bytes of a value, the address of a buffer, or a size of local memory.
struct Argument {
  std::vector<std::byte> value;
  std::size_t local_bytes = 0;
};
using Arguments = std::vector<Argument>;

// An argument that reserves local memory.
struct LocalMemory {
  std::size_t bytes;
};

inline Argument argument(LocalMemory local) { return {{}, local.bytes}; }
template <typename T>
requires std::is_trivially_copyable_v<T> Argument argument(const T& value) {
  Argument result;
  result.value.resize(sizeof value);
  std::memcpy(result.value.data(), &value, sizeof value);
  return result;
}
template <typename... T>
Arguments arguments(const T&... values) {
  return {argument(values)...};
}

// The shape of a launch: groups, work-items in a group, and the offset of the first work-item, on three axes.
struct Launch {
  std::array<std::uint32_t, 3> groups{1, 1, 1};
  std::array<std::uint32_t, 3> group{1, 1, 1};
  std::array<std::uint32_t, 3> offset{0, 0, 0};
  bool cooperative = false;  // all groups run at once
};
// A one-dimensional launch of `groups` groups of `size` work-items.
inline Launch groups_of(std::uint32_t groups, std::uint32_t size) { return {{groups, 1, 1}, {size, 1, 1}}; }
// A one-dimensional launch with enough groups of `size` for n work-items.
inline Launch cover(std::uint64_t n, std::uint32_t size) {
  return groups_of(static_cast<std::uint32_t>((n + size - 1) / size), size);
}

}  // namespace proctor::accel
