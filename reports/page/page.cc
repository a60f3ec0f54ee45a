#include "reports/page/page.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>

#include "harness/base/words.h"
#include "reports/page/page_cases.h"
#include "reports/page/page_data.h"
#include "reports/page/page_sections.h"
#include "reports/page/page_template.h"
#include "reports/page/page_text.h"

namespace proctor {
namespace {

// Bytes that are reserved for the HTML of the page. Its longest parts are 500 bad cases, 50
// causes and 100 warnings, each cut.
constexpr std::size_t kHtmlBytes = 3'000'000;

constexpr PageSection kSections[] = {
#define PAGE_SECTION(name) {#name, name##_section},
    PAGE_SECTIONS(PAGE_SECTION)
#undef PAGE_SECTION
};

}  // namespace

nlohmann::json blocks_section(const PageView& view) {
  return first_of(view.data.blocks, view.data.blocks.size(), [](const PageBlock& block) {
    return nlohmann::json::object({{"name", block.name}});
  });
}

nlohmann::json foot_section(const PageView& view) {
  std::set<std::string> versions;
  for (const PageRun& run : view.request.runs) versions.insert(run.resolved.plan.proctor_version);
  return nlohmann::json::object({{"versions", joined({versions.begin(), versions.end()}, ", ")}});
}

nlohmann::json forms_section(const PageView&) { return nlohmann::json::object({{"badge", {{"look", ""}}}}); }

std::span<const PageSection> page_sections() { return kSections; }

void write_page(const PageRequest& request, TextOutput& output) {
  const std::vector<PageCase> cases = page_cases(request);
  const std::size_t room = request.budget > kHtmlBytes ? request.budget - kHtmlBytes : 0;
  const PageData data = page_data(request, cases, room);
  PageView view{.request = request, .cases = cases, .data = data};
  const std::map<std::string, std::string, std::less<>> own = {
      {"style", std::string(page_style())},
      {"style_digest", policy_digest(page_style())},
      {"script", std::string(page_script())},
      {"script_digest", policy_digest(page_script())}};
  std::size_t block = 0;
  const auto raw = [&](const std::string& name) -> const std::string* {
    if (name == "base64" && block < data.blocks.size()) return &data.blocks[block++].base64;
    const auto found = own.find(name);
    return found == own.end() ? nullptr : &found->second;
  };
  const auto section = [&view](const std::string& name) {
    const auto* found = std::ranges::find(kSections, name, &PageSection::name);
    return found == std::end(kSections) ? nlohmann::json() : found->view(view);
  };
  fill_page({.sections = section, .raw = raw}, output, view.written);
}

std::optional<std::string> page_link(const std::filesystem::path& page_dir,
                                     const std::filesystem::path& run_dir) {
  std::error_code error;
  const auto from = std::filesystem::weakly_canonical(page_dir, error);
  if (error) return std::nullopt;
  const auto to = std::filesystem::weakly_canonical(run_dir, error);
  if (error) return std::nullopt;
  const std::filesystem::path way = to.lexically_relative(from);
  if (way.empty()) return std::nullopt;
  if (way == ".") return "";
  std::string link;
  for (const auto& part : way) link += (part == ".." ? std::string("..") : file_address(part.string())) + '/';
  return link;
}

}  // namespace proctor
