// Which vendor's devices a suite uses, and how that vendor is named.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace proctor {

enum class Backend { kCuda, kXpu, kNone };
std::string_view to_string(Backend backend);
std::optional<Backend> parse_backend(std::string_view text);
// What to write instead of a word that is no backend.
std::string backend_hint(std::string_view word);

}  // namespace proctor
