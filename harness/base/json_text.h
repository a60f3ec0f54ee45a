// For reading JSON that another program wrote, in which any value may have the wrong type.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace proctor {

// The string at `key`, or "" if there is none or the value is no string.
std::string text_at(const nlohmann::json& object, const char* key);

}  // namespace proctor
