#include "reports/page/page_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "reports/page/page_text.h"

namespace proctor {
namespace {

constexpr std::size_t kLongestAddress = 1000;
constexpr std::size_t kShortestCommit = 7;
constexpr std::size_t kLongestCommit = 64;

bool is_commit(std::string_view text) {
  return text.size() >= kShortestCommit && text.size() <= kLongestCommit &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

struct Site {
  std::string address{};     // without ".git"; "" not known
  std::string_view views{};  // between the address and what it shows
};

// An address with a user, a port or a query is not one of these.
Site site_of(const Subject& subject) {
  std::string address = subject.repository.value.value_or("");
  const std::size_t scheme = address.starts_with("https://") ? 8 : address.starts_with("http://") ? 7 : 0;
  if (scheme == 0 || address.size() > kLongestAddress) return {};
  while (address.ends_with('/')) address.pop_back();
  if (address.ends_with(".git")) address.resize(address.size() - 4);
  const std::string_view path = std::string_view(address).substr(scheme);
  const std::size_t host_ends = path.find('/');
  const bool has_name =
      host_ends != std::string_view::npos && path.find('/', host_ends + 1) < path.size() - 1;
  if (!has_name || !std::ranges::all_of(path, stands_in_address) || path.find("..") != path.npos) return {};
  const std::string_view host = path.substr(0, host_ends);
  if (host.find("github") != host.npos) return {address, ""};
  return host.find("gitlab") != host.npos ? Site{address, "/-"} : Site{};
}

// Relative to the checkout; "" if it is elsewhere.
std::string file_in_checkout(const RunPlanned& plan, const std::string& file) {
  namespace fs = std::filesystem;
  const fs::path given(file);
  if (plan.subject.checkout.empty()) return given.is_absolute() ? "" : given.lexically_normal().string();
  const fs::path whole = given.is_absolute() ? given : fs::path(plan.directory) / given;
  return whole.lexically_normal().lexically_relative(plan.subject.checkout).string();
}

}  // namespace

std::string source_address(const RunPlanned& plan, const std::string& file, int line) {
  const Site site = site_of(plan.subject);
  const std::string commit = plan.subject.commit.value.value_or("");
  if (site.address.empty() || !is_commit(commit) || file.empty()) return "";
  const std::string place = file_address(file_in_checkout(plan, file));
  if (place.empty() || place == ".") return "";
  const std::string address = fmt::format("{}{}/blob/{}/{}", site.address, site.views, commit, place);
  return line > 0 ? fmt::format("{}#L{}", address, line) : address;
}

std::string commit_address(const Subject& subject) {
  const Site site = site_of(subject);
  const std::string commit = subject.commit.value.value_or("");
  if (site.address.empty() || !is_commit(commit)) return "";
  return fmt::format("{}{}/commit/{}", site.address, site.views, commit);
}

std::string comparison_address(const Subject& before, const Subject& after) {
  const Site site = site_of(after);
  const std::string old = before.commit.value.value_or("");
  const std::string now = after.commit.value.value_or("");
  if (site.address.empty() || !is_commit(old) || !is_commit(now) || old == now) return "";
  return fmt::format("{}{}/compare/{}...{}", site.address, site.views, old, now);
}

}  // namespace proctor
