#include "reports/page/page.h"

#include <fmt/format.h>

#include "reports/page/page_cases.h"
#include "reports/page/page_data.h"
#include "reports/page/page_files.h"
#include "reports/page/page_html.h"
#include "reports/page/page_text.h"

namespace proctor {
namespace {

// What is kept for the page's own HTML. Its longest parts are 500 bad cases, 50 causes and 100 warnings, each cut.
constexpr std::size_t kHtmlBytes = 3'000'000;

std::string policy(const std::string& style) {
  return fmt::format("default-src 'none'; style-src {}; script-src {}; base-uri 'none'; form-action 'none'",
                     policy_digest(style), policy_digest(page_script()));
}

}  // namespace

void write_page(const PageRequest& request, TextOutput& output) {
  const std::vector<PageCase> cases = page_cases(request);
  const std::size_t room = request.budget > kHtmlBytes ? request.budget - kHtmlBytes : 0;
  const PageData data = page_data(request, cases, room);
  const std::string style = looks_style() + std::string(page_style());
  output.pending() += fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" "
      "content=\"no-referrer\">\n"
      "<title>{} · Proctor</title>\n<style>{}</style>\n</head>\n<body>\n",
      policy(style), html_text(page_title(request, cases)), style);
  write_page_body(request, cases, data, output);
  for (const PageBlock& block : data.blocks) {
    output.pending() +=
        "<script type=\"application/octet-stream\" id=\"data-" + block.name + "\">" + block.base64;
    output.pending() += "</script>\n";
    output.passed();
  }
  output.pending() += "<script>";
  output.pending() += page_script();
  output.pending() += "</script>\n</body>\n</html>\n";
  output.passed();
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
