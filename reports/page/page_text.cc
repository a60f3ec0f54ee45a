#include "reports/page/page_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <iterator>

#include "harness/core/digest.h"
#include "harness/core/text.h"
#include "reports/formats/text_output.h"
#include "reports/resolve/log_text.h"
#include "reports/resolve/truncate.h"

namespace proctor {
namespace {

int digit_of(char hex) { return hex <= '9' ? hex - '0' : hex - 'a' + 10; }

}  // namespace

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
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string file_address(const std::string& file) {
  if (!is_below_run_directory(file)) return "";
  std::string out;
  out.reserve(file.size());
  for (const char c : file) {
    const auto byte = static_cast<unsigned char>(c);
    const bool stands =
        (byte < 0x80 && std::isalnum(byte) != 0) || c == '/' || c == '-' || c == '.' || c == '_' || c == '~';
    if (stands) {
      out += c;
    } else {
      fmt::format_to(std::back_inserter(out), "%{:02X}", byte);
    }
  }
  return out;
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
  const std::string hex = sha256_hex(text);
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes += static_cast<char>(digit_of(hex[i]) * 16 + digit_of(hex[i + 1]));
  return "'sha256-" + base64(bytes) + "'";
}

}  // namespace proctor
