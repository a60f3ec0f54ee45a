#pragma once

#include <nlohmann/json_fwd.hpp>

namespace proctor::probe {

// The document as one line. False: it could not be written.
bool write_line(int fd, const nlohmann::json& document);

}  // namespace proctor::probe
