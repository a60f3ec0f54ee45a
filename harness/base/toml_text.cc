#include "harness/base/toml_text.h"

#include "harness/base/json.h"

namespace proctor {

std::string toml_text(const std::string& text) { return nlohmann::json(text).dump(); }

}  // namespace proctor
