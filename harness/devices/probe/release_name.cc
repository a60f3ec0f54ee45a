#include <fstream>
#include <iterator>
#include <regex>

#include "harness/devices/probe/describe.h"

namespace proctor::probe {

std::string release_name(const std::string& library_path, unsigned build) {
  std::ifstream file(library_path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const std::string needle = "." + std::to_string(build);
  const std::regex release(R"(\d\d\.\d\d)");
  for (auto at = bytes.find(needle); at != std::string::npos; at = bytes.find(needle, at + 1)) {
    // A whole C string of the form YY.WW.BUILD, with or without a fourth number behind it.
    if (at < 6 || bytes[at - 6] != '\0') continue;
    const char after = at + needle.size() < bytes.size() ? bytes[at + needle.size()] : '\0';
    if (after != '\0' && after != '.') continue;
    const std::string year_week = bytes.substr(at - 5, 5);
    if (std::regex_match(year_week, release)) return year_week + needle;
  }
  return {};
}

}  // namespace proctor::probe
