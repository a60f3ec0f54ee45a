#include "harness/stack/dpkg_status.h"

#include <algorithm>

namespace proctor {
namespace {

struct Paragraph {
  std::string_view name;
  std::string_view version;
  std::string_view status;
};

// "Field: value" -> value, when the line is of that field.
bool take(std::string_view line, std::string_view field, std::string_view& value) {
  if (!line.starts_with(field)) return false;
  value = line.substr(field.size());
  return true;
}

void store(const Paragraph& paragraph, std::map<std::string, std::string>& packages) {
  const bool installed = paragraph.status.ends_with(" installed");
  if (installed && !paragraph.name.empty())
    packages[std::string(paragraph.name)] = std::string(paragraph.version);
}

}  // namespace

std::map<std::string, std::string> installed_packages(std::string_view status) {
  std::map<std::string, std::string> packages;
  Paragraph paragraph;
  for (std::size_t at = 0; at < status.size();) {
    const auto end = std::min(status.find('\n', at), status.size());
    const std::string_view line = status.substr(at, end - at);
    at = end + 1;
    if (line.empty()) {
      store(paragraph, packages);
      paragraph = {};
    } else if (!take(line, "Package: ", paragraph.name) && !take(line, "Version: ", paragraph.version)) {
      take(line, "Status: ", paragraph.status);
    }
  }
  store(paragraph, packages);
  return packages;
}

}  // namespace proctor
