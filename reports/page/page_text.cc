#include "reports/page/page_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <utility>

#include "harness/base/digest.h"
#include "harness/base/text.h"
#include "harness/journal/events.h"
#include "reports/formats/text_output.h"
#include "reports/resolve/log_text.h"
#include "reports/resolve/report_text.h"

namespace proctor {
namespace {

constexpr std::size_t kLongestAddress = 1000;
constexpr std::size_t kShortestCommit = 7;
constexpr std::size_t kLongestCommit = 64;

bool is_commit(std::string_view text) {
  return text.size() >= kShortestCommit && text.size() <= kLongestCommit &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// The web site of a repository.
struct Site {
  std::string address{};     // without ".git"; "": unknown
  std::string_view views{};  // the path between the address and the file
  std::string commit{};
};

// Returns the site of a known commit. An address with a user, a port or a query is not accepted.
Site site_of(const Subject& subject) {
  const std::string commit = subject.commit.value.value_or("");
  std::string address = subject.repository.value.value_or("");
  const std::size_t scheme = address.starts_with("https://") ? 8 : address.starts_with("http://") ? 7 : 0;
  if (!is_commit(commit) || scheme == 0 || address.size() > kLongestAddress) return {};
  while (address.ends_with('/')) address.pop_back();
  if (address.ends_with(".git")) address.resize(address.size() - 4);
  const std::string_view path = std::string_view(address).substr(scheme);
  const std::size_t host_ends = path.find('/');
  const bool has_name =
      host_ends != std::string_view::npos && path.find('/', host_ends + 1) < path.size() - 1;
  if (!has_name || !std::ranges::all_of(path, stands_in_address) || path.find("..") != path.npos) return {};
  const std::string_view host = path.substr(0, host_ends);
  if (host.find("github") != host.npos) return {address, "", commit};
  return host.find("gitlab") != host.npos ? Site{address, "/-", commit} : Site{};
}

// Returns the path relative to the checkout; "" if the file is not below it.
std::string file_in_checkout(const RunPlanned& plan, const std::string& file) {
  namespace fs = std::filesystem;
  const fs::path given(file);
  if (plan.subject.checkout.empty()) return given.is_absolute() ? "" : given.lexically_normal().string();
  const fs::path whole = given.is_absolute() ? given : fs::path(plan.directory) / given;
  return whole.lexically_normal().lexically_relative(plan.subject.checkout).string();
}

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

std::string source_address(const RunPlanned& plan, const std::string& file, int line) {
  const Site site = site_of(plan.subject);
  if (site.address.empty() || file.empty()) return "";
  const std::string place = file_address(file_in_checkout(plan, file));
  if (place.empty() || place == ".") return "";
  const std::string address = fmt::format("{}{}/blob/{}/{}", site.address, site.views, site.commit, place);
  return line > 0 ? fmt::format("{}#L{}", address, line) : address;
}

std::string commit_address(const Subject& subject) {
  const Site site = site_of(subject);
  if (site.address.empty()) return "";
  return fmt::format("{}{}/commit/{}", site.address, site.views, site.commit);
}

std::string comparison_address(const Subject& before, const Subject& after) {
  const Site site = site_of(after);
  const std::string old = before.commit.value.value_or("");
  if (site.address.empty() || !is_commit(old) || old == site.commit) return "";
  return fmt::format("{}{}/compare/{}...{}", site.address, site.views, old, site.commit);
}

}  // namespace proctor
