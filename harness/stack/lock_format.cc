#include "harness/stack/lock_format.h"

#include <algorithm>

namespace proctor {
namespace {

constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kLower = "abcdefghijklmnopqrstuvwxyz";
constexpr std::string_view kUpper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

bool in(char c, std::string_view set) { return set.find(c) != std::string_view::npos; }
bool is_digit(char c) { return in(c, kDigits); }
bool is_alnum(char c) { return is_digit(c) || in(c, kLower) || in(c, kUpper); }

template <typename Predicate>
bool every(std::string_view text, Predicate predicate) {
  return !text.empty() && std::all_of(text.begin(), text.end(), predicate);
}

}  // namespace

bool is_stack_name(std::string_view text) {
  const auto plain = [](char c) { return is_digit(c) || in(c, kLower); };
  const auto has = [&](std::string_view part) { return text.find(part) != std::string_view::npos; };
  // The name of an image cannot contain two adjacent separators.
  return !text.empty() && plain(text.front()) && plain(text.back()) && !has("..") && !has(".-") &&
         !has("-.") && every(text, [&](char c) { return plain(c) || in(c, "-."); });
}

bool is_sha256(std::string_view text) {
  return text.size() == 64 && every(text, [](char c) { return is_digit(c) || in(c, "abcdef"); });
}

bool is_image_digest(std::string_view text) {
  return text.starts_with("sha256:") && is_sha256(text.substr(7));
}

bool is_key_fingerprint(std::string_view text) {
  return text.size() == 40 && every(text, [](char c) { return is_digit(c) || in(c, "ABCDEF"); });
}

bool is_snapshot(std::string_view text) {
  return text.size() == 16 && every(text.substr(0, 8), is_digit) && text[8] == 'T' &&
         every(text.substr(9, 6), is_digit) && text[15] == 'Z';
}

bool is_date(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return false;
  const std::string_view year = text.substr(0, 4), month = text.substr(5, 2), day = text.substr(8);
  return every(year, is_digit) && every(month, is_digit) && every(day, is_digit) && month >= "01" &&
         month <= "12" && day >= "01" && day <= "31";
}

bool is_image_with_tag(std::string_view text) {
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return false;
  const std::string_view name = text.substr(0, colon);
  const std::string_view tag = text.substr(colon + 1);
  const auto plain = [](char c) { return is_alnum(c) || in(c, "._-"); };
  return every(name, [&](char c) { return plain(c) || in(c, "/:"); }) && every(tag, plain) && tag != "latest";
}

bool is_package_name(std::string_view text) {
  return text.size() >= 2 && (is_digit(text[0]) || in(text[0], kLower)) &&
         every(text, [](char c) { return is_digit(c) || in(c, kLower) || in(c, "+-."); });
}

bool is_wheel_name(std::string_view text) {
  return !text.empty() && is_alnum(text.front()) && is_alnum(text.back()) &&
         every(text, [](char c) { return is_alnum(c) || in(c, "._-"); });
}

bool is_exact_version(std::string_view text) {
  return !text.empty() && is_digit(text[0]) &&
         every(text, [](char c) { return is_alnum(c) || in(c, ".+-~:"); });
}

bool is_web_address(std::string_view text) {
  const std::size_t scheme = text.starts_with("https://") ? 8 : text.starts_with("http://") ? 7 : 0;
  return scheme != 0 && every(text.substr(scheme), [](char c) { return is_alnum(c) || in(c, "./_-+~:%{}"); });
}

bool is_plain_word(std::string_view text) {
  return every(text, [](char c) { return is_alnum(c) || in(c, "._/-"); });
}

bool is_variable_name(std::string_view text) {
  return !text.empty() && !is_digit(text[0]) && every(text, [](char c) { return is_alnum(c) || c == '_'; });
}

bool is_size(std::string_view text) {
  return text.size() >= 2 && in(text.back(), "kmg") && every(text.substr(0, text.size() - 1), is_digit);
}

bool is_label_text(std::string_view text) {
  return every(text, [](char c) { return static_cast<unsigned char>(c) >= ' ' && !in(c, "\"'$\\`"); });
}

}  // namespace proctor
