#include "harness/core/toml_text.h"

#include "harness/core/json.h"

namespace proctor {

std::string toml_text(const std::string& text) { return nlohmann::json(text).dump(); }

}  // namespace proctor
