#include "harness/base/perfmon.h"

#include <cstdint>
#include <cstdlib>
#include <sstream>

#include "harness/base/read_file.h"

namespace proctor {
namespace {

constexpr unsigned kSysAdmin = 21, kPerfmon = 38;  // linux/capability.h

bool is_first_namespace(const std::string& uid_map) {
  std::istringstream words(uid_map);
  std::uint64_t inside = 1, outside = 1, count = 0;
  return words >> inside >> outside >> count && inside == 0 && outside == 0 && count == 0xffff'ffff;
}

}  // namespace

bool may_see_memory_use(const std::string& status, const std::string& uid_map) {
  constexpr const char* kName = "CapEff:";
  const auto at = status.find(kName);
  if (at == std::string::npos || !is_first_namespace(uid_map)) return false;
  const std::uint64_t held =
      std::strtoull(status.c_str() + at + std::char_traits<char>::length(kName), nullptr, 16);
  return (held >> kSysAdmin & 1) != 0 || (held >> kPerfmon & 1) != 0;
}

bool this_process_may_see_memory_use() {
  return may_see_memory_use(read_file_or_empty("/proc/self/status"),
                            read_file_or_empty("/proc/self/uid_map"));
}

}  // namespace proctor
