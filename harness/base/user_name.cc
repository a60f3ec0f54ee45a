#include "harness/base/user_name.h"

#include <algorithm>
#include <string_view>

#include "harness/base/read_file.h"

namespace proctor {

// A line is NAME:PASSWORD:UID:... (passwd(5)).
std::string user_name(uid_t uid) {
  const std::string number = std::to_string(uid);
  const std::string users = read_file_or_empty("/etc/passwd");
  for (std::size_t at = 0; at < users.size();) {
    const auto end = std::min(users.find('\n', at), users.size());
    const std::string_view line = std::string_view(users).substr(at, end - at);
    at = end + 1;
    const auto name_end = line.find(':');
    const auto password_end = line.find(':', name_end + 1);
    if (name_end == line.npos || password_end == line.npos) continue;
    const std::string_view rest = line.substr(password_end + 1);
    if (rest.substr(0, rest.find(':')) == number)
      return std::string(line.substr(0, name_end)) + " (uid " + number + ")";
  }
  return "uid " + number;
}

bool is_roots(uid_t uid) {
  if (uid == 0) return true;
  // The first user namespace maps all ids to themselves (user_namespaces(7)).
  std::string map = read_file_or_empty("/proc/self/uid_map");
  std::erase_if(map, [](char c) { return c == ' ' || c == '\n'; });
  const std::string nobody = read_file_or_empty("/proc/sys/kernel/overflowuid");
  return map != "004294967295" && nobody == std::to_string(uid) + "\n";
}

}  // namespace proctor
