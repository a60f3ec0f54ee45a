#pragma once

#include <string>

namespace proctor {

// The text as a basic string of a TOML file, with its quotes. It must be clean (base/text.h): then TOML escapes what JSON
// does, and nothing else.
std::string toml_text(const std::string& text);

}  // namespace proctor
