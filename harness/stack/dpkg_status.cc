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

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// `~` before the end, the end before letters, letters before all else.
int weight(char c) {
  const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  if (c == '~') return -1;
  return letter ? c : c + 256;
}

// What is no number at its beginning is taken off.
std::string_view take_words(std::string_view& text) {
  const auto end = std::find_if(text.begin(), text.end(), is_digit);
  const std::string_view words(text.begin(), end);
  text.remove_prefix(words.size());
  return words;
}

// A number at its beginning is taken off, which may be longer than any integer; without leading zeros.
std::string_view take_number(std::string_view& text) {
  const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
  std::string_view number(text.begin(), end);
  text.remove_prefix(number.size());
  number.remove_prefix(std::min(number.find_first_not_of('0'), number.size()));
  return number;
}

int compare_words(std::string_view one, std::string_view other) {
  for (std::size_t i = 0; i < std::max(one.size(), other.size()); ++i) {
    const int left = i < one.size() ? weight(one[i]) : 0;
    const int right = i < other.size() ? weight(other[i]) : 0;
    if (left != right) return left < right ? -1 : 1;
  }
  return 0;
}

int compare_numbers(std::string_view one, std::string_view other) {
  if (one.size() != other.size()) return one.size() < other.size() ? -1 : 1;
  return one.compare(other);
}

int compare_parts(std::string_view one, std::string_view other) {
  while (!one.empty() || !other.empty()) {
    if (const int words = compare_words(take_words(one), take_words(other)); words != 0) return words;
    if (const int numbers = compare_numbers(take_number(one), take_number(other)); numbers != 0)
      return numbers;
  }
  return 0;
}

struct Version {
  std::string_view epoch = "0";
  std::string_view upstream;
  std::string_view revision;  // "" is as "0"
};

Version parse_version(std::string_view text) {
  Version version;
  if (const auto colon = text.find(':'); colon != text.npos) {
    version.epoch = text.substr(0, colon);
    text.remove_prefix(colon + 1);
  }
  const auto dash = std::min(text.rfind('-'), text.size());
  version.upstream = text.substr(0, dash);
  version.revision = dash < text.size() ? text.substr(dash + 1) : "";
  return version;
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

bool is_older_version(std::string_view one, std::string_view other) {
  const Version left = parse_version(one);
  const Version right = parse_version(other);
  for (const auto part : {&Version::epoch, &Version::upstream, &Version::revision}) {
    if (const int order = compare_parts(left.*part, right.*part); order != 0) return order < 0;
  }
  return false;
}

}  // namespace proctor
