#include "harness/base/json.h"

#ifdef PROCTOR_JSON_TEMPLATES
PROCTOR_JSON_TEMPLATES()
#endif

namespace proctor {

nlohmann::json parse_json(std::string_view text) {
  if (!beyond_json_limits(text).empty()) return nlohmann::json(nlohmann::json::value_t::discarded);
  return nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
}

std::string text_at(const nlohmann::json& object, const char* key) {
  if (!object.is_object()) return {};
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::string toml_text(const std::string& text) { return nlohmann::json(text).dump(); }

}  // namespace proctor
