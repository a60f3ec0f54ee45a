// The meaning of each Xid of NVIDIA's kernel driver, with the names that NVIDIA publishes.
#pragma once

#include <optional>
#include <string_view>

namespace proctor {

inline constexpr std::string_view kXidSource =
    "https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html";

// Returns none if the table lacks the number. Numbers that NVIDIA lists as unused are not in the table.
std::optional<std::string_view> xid_meaning(int number);

// Returns 79 for "xid:79"; none for any other form, for example "xid:other".
std::optional<int> xid_number(std::string_view id);

}  // namespace proctor
