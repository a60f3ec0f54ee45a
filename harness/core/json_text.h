// Reading JSON that somebody else wrote: no type is what it should be.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace proctor {

// The string at `key`; "" when there is none, or something else.
std::string text_at(const nlohmann::json& object, const char* key);

}  // namespace proctor
