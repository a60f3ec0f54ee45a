#pragma once

#include <nlohmann/json_fwd.hpp>

namespace proctor::probe {

// Writes the document as one line. False if it could not be written.
bool write_line(int fd, const nlohmann::json& document);

}  // namespace proctor::probe
