#include "harness/base/json.h"

#ifdef PROCTOR_JSON_TEMPLATES
PROCTOR_JSON_TEMPLATES()
#endif

namespace proctor {

nlohmann::json parse_json(std::string_view text) {
  if (!beyond_json_limits(text).empty()) return nlohmann::json(nlohmann::json::value_t::discarded);
  return nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
}

}  // namespace proctor
