#include <fmt/format.h>

#include <regex>

#include "harness/base/read_file.h"
#include "suites/probe/describe.h"

namespace proctor::probe {
namespace {

// The YY.WW before `needle` in a whole C string YY.WW.BUILD, with or without a fourth number behind it.
std::string year_and_week(const std::string& bytes, const std::string& needle) {
  const std::regex release(R"(\d\d\.\d\d)");
  for (auto at = bytes.find(needle); at != std::string::npos; at = bytes.find(needle, at + 1)) {
    if (at < 6 || bytes[at - 6] != '\0') continue;
    const char after = at + needle.size() < bytes.size() ? bytes[at + needle.size()] : '\0';
    if (after != '\0' && after != '.') continue;
    auto text = bytes.substr(at - 5, 5);
    if (std::regex_match(text, release)) return text;
  }
  return {};
}

}  // namespace

std::string release_name(const std::string& library_path, unsigned build) {
  const std::string bytes = read_file_or_empty(library_path);
  // Debian's 26.27 writes the build with six digits.
  for (const auto& needle : {fmt::format(".{}", build), fmt::format(".{:06}", build)}) {
    const auto release = year_and_week(bytes, needle);
    if (!release.empty()) return fmt::format("{}.{}", release, build);
  }
  return {};
}

}  // namespace proctor::probe
