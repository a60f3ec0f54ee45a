#include "reports/report_formats.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>

#include "harness/base/text.h"
#include "harness/base/words.h"
#include "reports/accept/accept_words.h"
#include "reports/formats/ctrf.h"
#include "reports/formats/junit.h"
#include "reports/formats/metrics.h"
#include "reports/formats/otlp.h"
#include "reports/formats/report_json.h"
#include "reports/formats/summary.h"
#include "reports/page/page.h"

namespace proctor {
namespace {

// A format that needs nothing but the run.
template <void (*kWrite)(const ResolvedRun&, TextOutput&)>
void of_run(const ReportSource& source, TextOutput& output, const UseReportFile& /*use*/) {
  kWrite(source.run, output);
}

void junit_files(const ReportSource& source, TextOutput& output, const UseReportFile& use) {
  write_junit(source.run, output, [&use](const JunitFile& file) { use(file.name, file.text); });
}

void summary_file(const ReportSource& source, TextOutput& output, const UseReportFile& /*use*/) {
  const FoundAcceptReport accept = find_accept_report(source.run_dir, source.run);
  if (!accept.warning.empty()) output.pending() += fmt::format("> {}.\n\n", markdown_prose(accept.warning));
  if (!accept.report) {
    output.pending() += summary_markdown(source.run);
    return;
  }
  const std::string first = accept_summary(*accept.report);
  const std::size_t room = kJobSummaryBytes - std::min(first.size(), kJobSummaryBytes);
  output.pending() += fmt::format("{}<details><summary>Details: the cases</summary>\n\n{}\n</details>\n",
                                  first, summary_of_cases(source.run, room));
}

// The page shows ends of the logs in the run directory, and links to them.
void page_file(const ReportSource& source, TextOutput& output, const UseReportFile& /*use*/) {
  PageRequest request;
  request.files_beside = files_beside_page();
  request.runs.push_back({.resolved = source.run,
                          .run_dir = source.run_dir,
                          .link = page_link(source.directory, source.run_dir),
                          .accept = find_accept_report(source.run_dir, source.run)});
  write_page(request, output);
}

constexpr bool kByDefault = true;
constexpr bool kOnRequest = false;

constexpr std::array kFormats = {
    ReportFormat{"json", "report.json", "", kByDefault, of_run<write_report_json>},
    ReportFormat{"junit", "junit.xml", "junit", kByDefault, junit_files},
    ReportFormat{"junit-extended", "junit-extended.xml", "", kOnRequest, of_run<write_junit_extended>},
    ReportFormat{"ctrf", "ctrf.json", "", kByDefault, of_run<write_ctrf>},
    ReportFormat{"otlp", "otlp.json", "", kOnRequest, of_run<write_otlp>},
    ReportFormat{"metrics", "metrics.prom", "", kOnRequest, of_run<write_metrics>},
    ReportFormat{"markdown", "summary.md", "", kByDefault, summary_file},
    ReportFormat{"html", "index.html", "", kByDefault, page_file},
};

template <typename Member>
constexpr bool are_distinct(Member ReportFormat::*member) {
  for (std::size_t i = 0; i < kFormats.size(); ++i) {
    for (std::size_t j = i + 1; j < kFormats.size(); ++j) {
      if (kFormats[i].*member == kFormats[j].*member) return false;
    }
  }
  return true;
}
static_assert(std::ranges::none_of(kFormats, [](auto& row) { return row.write == nullptr; }),
              "a format has no writer");
static_assert(std::ranges::none_of(kFormats, [](auto& row) { return row.name.empty() || row.file.empty(); }),
              "a format has no name or no file");
static_assert(are_distinct(&ReportFormat::name), "two formats have one name");
static_assert(are_distinct(&ReportFormat::file), "two formats have one file");

std::vector<std::string> names_of(const ReportFormats& formats) {
  std::vector<std::string> names;
  for (const ReportFormat* format : formats) names.emplace_back(format->name);
  return names;
}

ReportFormats formats_where(bool (*is_meant)(const ReportFormat&)) {
  ReportFormats formats;
  for (const ReportFormat& format : kFormats) {
    if (is_meant(format)) formats.push_back(&format);
  }
  return formats;
}

}  // namespace

std::span<const ReportFormat> all_formats() { return kFormats; }

const ReportFormats& default_formats() {
  static const ReportFormats formats =
      formats_where([](const ReportFormat& format) { return format.is_default; });
  return formats;
}

Result<ReportFormats> parse_formats(const std::string& list, const std::vector<std::string>& others) {
  const ReportFormats all = formats_where([](const ReportFormat&) { return true; });
  ReportFormats formats;
  for (const std::string_view part : split(list, ',')) {
    const std::string_view word = trimmed(part);
    const std::size_t before = formats.size();
    std::ranges::copy_if(all, std::back_inserter(formats), [word](const ReportFormat* format) {
      return word == format->name || word == "all";
    });
    if (formats.size() > before) continue;
    std::vector<std::string> names = names_of(all);
    names.insert(names.begin(), "all");
    names.insert(names.end(), others.begin(), others.end());
    return Error::usage(fmt::format("read --format {}: there is no format `{}`", list, word),
                        suggestion(word, names, "formats"));
  }
  return formats;
}

std::string formats_text() {
  std::string text;
  for (const ReportFormat& format : kFormats) {
    const std::string_view type = format.file.substr(format.file.rfind('.'));
    const std::string more = format.directory.empty() ? "" : fmt::format(", {}/*{}", format.directory, type);
    text += fmt::format("{}{} ({}{})", text.empty() ? "" : ", ", format.name, format.file, more);
  }
  return fmt::format("{}; or all (default: {})", text, joined(names_of(default_formats()), ","));
}

std::vector<std::string_view> run_files() {
  std::vector<std::string_view> files = {"journal.jsonl"};
  for (const ReportFormat& format : kFormats) files.push_back(format.file);
  return files;
}

std::vector<std::string_view> files_beside_page() {
  std::vector<std::string_view> files;
  for (const ReportFormat* format : default_formats()) {
    if (format->write != page_file) files.push_back(format->file);
  }
  files.insert(files.end(), {"journal.jsonl", "logs/"});
  return files;
}

}  // namespace proctor
