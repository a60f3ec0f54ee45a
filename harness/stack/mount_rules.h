// What of the host may lie in a container of a stack, and where in it. Each function gives the reason why not, as the
// rest of a sentence, or nothing. Example:
//
//   why_no_source("/proc/1/root");             // "the container would see all files of the host"
//   why_no_volume("/srv/models:/models:ro");   // nothing: it is fine
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace proctor {

// A directory or file of the host, wherever its links lead.
std::optional<std::string> why_no_source(const std::string& path);

// A place in the container.
std::optional<std::string> why_no_target(std::string_view place);

// The value of --volume: [SOURCE:]TARGET[:OPTIONS].
std::optional<std::string> why_no_volume(std::string_view value);

// "my-cache.1": what engines take for the name of a volume or a network, and not for a path or for more than one word.
bool is_plain_name(std::string_view text);

}  // namespace proctor
