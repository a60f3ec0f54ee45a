#include "reports/page/page_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <utility>

#include "harness/core/digest.h"
#include "harness/core/hex.h"
#include "harness/core/text.h"
#include "reports/formats/text_output.h"
#include "reports/resolve/log_text.h"
#include "reports/resolve/truncate.h"

namespace proctor {
std::string page_text(std::string_view bytes) {
  if (stands_for_itself<>(bytes)) return std::string(bytes);
  return without_hidden_controls(clean_text(bytes));
}

std::string page_line(std::string_view bytes, std::size_t limit) {
  std::string text = page_text(bytes);
  return limit == std::string::npos ? text : one_line(text, limit);
}

std::string html_escaped(std::string_view text) {
  if (stands_for_itself<'&', '<', '>', '"', '\''>(text)) return std::string(text);
  constexpr std::array<std::pair<char, std::string_view>, 5> kEntities = {
      {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}}};
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const auto* entity = std::ranges::find(kEntities, c, &std::pair<char, std::string_view>::first);
    if (entity == kEntities.end())
      out += c;
    else
      out += entity->second;
  }
  return out;
}

bool stands_in_address(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         std::string_view("-._~/").find(c) != std::string_view::npos;
}

std::string in_address(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (stands_in_address(c)) {
      out += c;
    } else {
      fmt::format_to(std::back_inserter(out), "%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

std::string file_address(const std::string& file) {
  return is_below_run_directory(file) ? in_address(file) : "";
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t have = std::min<std::size_t>(3, bytes.size() - at);
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 3; ++i)
      group = group << 8 | (i < have ? static_cast<unsigned char>(bytes[at + i]) : 0U);
    for (std::size_t i = 0; i < 4; ++i) out += i <= have ? kDigits[group >> (18 - 6 * i) & 63U] : '=';
  }
  return out;
}

std::string policy_digest(std::string_view text) {
  std::array<char, 32> bytes{};
  from_hex(sha256_hex(text), bytes);
  return "'sha256-" + base64({bytes.data(), bytes.size()}) + "'";
}

}  // namespace proctor
