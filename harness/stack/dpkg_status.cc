#include "harness/stack/dpkg_status.h"

#include <algorithm>

namespace proctor {
namespace {

struct Paragraph {
  std::string_view name;
  std::string_view version;
  std::string_view status;
};

// "Field: value" -> value, when the line is of that field. Most lines are of none, which the first letter tells: the file
// has megabytes, and the first case waits for it.
bool take(std::string_view line, std::string_view field, std::string_view& value) {
  if (line.front() != field.front() || !line.starts_with(field)) return false;
  value = line.substr(field.size());
  return true;
}

// Each paragraph is given to `use`, in the order of the file.
template <typename Use>
void each_paragraph(std::string_view text, Use use) {
  Paragraph paragraph;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    if (line.empty()) {
      use(paragraph);
      paragraph = {};
    } else if (!take(line, "Package: ", paragraph.name) && !take(line, "Version: ", paragraph.version)) {
      take(line, "Status: ", paragraph.status);
    }
  }
  use(paragraph);
}

}  // namespace

std::map<std::string, std::string> installed_packages(std::string_view status) {
  std::map<std::string, std::string> packages;
  each_paragraph(status, [&](const Paragraph& paragraph) {
    const bool installed = paragraph.status.ends_with(" installed");
    if (installed && !paragraph.name.empty())
      packages[std::string(paragraph.name)] = std::string(paragraph.version);
  });
  return packages;
}

std::map<std::string, std::set<std::string>> offered_packages(std::string_view index) {
  std::map<std::string, std::set<std::string>> packages;
  each_paragraph(index, [&](const Paragraph& paragraph) {
    if (!paragraph.name.empty()) packages[std::string(paragraph.name)].insert(std::string(paragraph.version));
  });
  return packages;
}

}  // namespace proctor
