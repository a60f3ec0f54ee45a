// What each Xid of NVIDIA's kernel driver means, by the names that NVIDIA publishes.
#pragma once

#include <optional>
#include <string_view>

namespace proctor {

inline constexpr std::string_view kXidSource =
    "https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html";

// None if the table lacks the number. Numbers that NVIDIA lists as unused are not in it.
std::optional<std::string_view> xid_meaning(int number);

// The number of "xid:79"; none if `id` is anything else, for example "xid:other".
std::optional<int> xid_number(std::string_view id);

}  // namespace proctor
