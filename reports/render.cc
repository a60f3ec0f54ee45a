#include "reports/render.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <string_view>

#include "harness/base/digest.h"
#include "harness/base/json.h"
#include "harness/base/replace_file.h"
#include "harness/base/text.h"
#include "harness/base/words.h"
#include "reports/accept/accept_words.h"
#include "reports/formats/formats.h"
#include "reports/formats/junit.h"
#include "reports/formats/text_output.h"
#include "reports/page/page.h"

namespace proctor {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kRenderedType = "reports_rendered";

std::string name_in(std::string_view directory, const std::string& file) {
  return fmt::format("{}/{}", directory, file);
}

// Writes the files of each format, and collects their digests and the errors. render() uses it.
class Renderer {
 public:
  explicit Renderer(const ReportSource& source) : source_(source) {}

  void write(const ReportFormat& format) {
    keep(format.file, write_in_pieces(source_.directory / format.file, [&](TextOutput& output) {
           if (!format.directory.empty()) make(source_.directory / format.directory);
           format.write(source_, output, [&](const std::string& file, const std::string& text) {
             const std::string name = name_in(format.directory, file);
             const auto written = replace_file(source_.directory / name, text);
             keep(name,
                  written ? Result<std::string>(sha256_hex(text)) : Result<std::string>(written.error()));
           });
         }));
  }

  Result<RenderedFiles> finish() const {
    if (refused_.empty() && lost_.empty()) return files_;
    std::vector<std::string> said(refused_.begin(), refused_.end());
    for (const auto& [err, names] : lost_) {
      const std::string what =
          fmt::format("write {} in {}", fmt::join(names, ", "), source_.directory.string());
      said.push_back(Error::system(what, err).what);
    }
    return Error{ErrorKind::kSystem, fmt::format("{}", fmt::join(said, "; ")), {}, 0};
  }

 private:
  // Ignores errors: the first file in the directory then reports one.
  static void make(const fs::path& directory) {
    std::error_code ignored;
    if (fs::is_symlink(fs::symlink_status(directory, ignored))) fs::remove(directory, ignored);
    fs::create_directories(directory, ignored);
  }

  void keep(std::string_view name, const Result<std::string>& digest) {
    if (digest) {
      files_.emplace(name, *digest);
    } else if (digest.error().sys_errno != 0) {
      lost_[digest.error().sys_errno].emplace_back(name);
    } else {
      refused_.insert(digest.error().what);
    }
  }

  static Result<std::string> write_in_pieces(const fs::path& path,
                                             const std::function<void(TextOutput&)>& write) {
    auto file = FileReplacement::open(path);
    if (!file) return file.error();
    Sha256 digest;
    {
      TextOutput output([&](std::string_view piece) {
        digest.add(piece);
        file->add(piece);
      });
      write(output);
    }
    if (auto put = file->put(); !put) return put.error();
    return digest.hex();
  }

  const ReportSource& source_;
  RenderedFiles files_;
  // Names of unwritten files by errno, because a full disk fails all files with the same error.
  std::map<int, std::vector<std::string>> lost_;
  std::set<std::string> refused_;
};

// Returns a closed stream if the path is not a regular file (for example a pipe) or cannot be read.
std::ifstream open_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) ? std::ifstream(path, std::ios::binary) : std::ifstream();
}

// Returns "" if the file does not exist or cannot be read.
std::string digest_of_file(const fs::path& path) {
  std::ifstream file = open_file(path);
  if (!file.is_open()) return "";
  Sha256 digest;
  std::string piece(std::size_t{1} << 16, '\0');
  while (file.read(piece.data(), static_cast<std::streamsize>(piece.size())), file.gcount() > 0)
    digest.add(std::string_view(piece).substr(0, static_cast<std::size_t>(file.gcount())));
  return file.bad() ? "" : digest.hex();
}

// Receives a report in pieces and compares them with an existing file. A path that is not
// a regular file is never equal.
class FileComparison {
 public:
  explicit FileComparison(const fs::path& path) : file_(open_file(path)) { equal_ = file_.is_open(); }

  void add(std::string_view piece) {
    if (!equal_) return;
    there_.resize(piece.size());
    file_.read(there_.data(), static_cast<std::streamsize>(piece.size()));
    equal_ = file_.gcount() == static_cast<std::streamsize>(piece.size()) && there_ == piece;
  }
  // Returns whether the file ends at this place and all pieces were equal.
  bool ends_equal() { return equal_ && file_.peek() == std::ifstream::traits_type::eof(); }

 private:
  std::ifstream file_;
  std::string there_;
  bool equal_ = false;
};

}  // namespace

std::string rendered_record(const RenderedFiles& files) {
  const std::string text =
      nlohmann::json(files).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return fmt::format(R"({{"v":{},"type":"{}","files":{}}})", kJournalVersion, kRenderedType, text);
}

std::optional<RenderedFiles> rendered_in(std::string_view record) {
  if (record.find(kRenderedType) == record.npos) return std::nullopt;
  const auto json = parse_json(record);
  if (!json.is_object() || !json.contains("type") || json["type"] != kRenderedType) return std::nullopt;
  RenderedFiles files;
  if (!json.contains("files") || !json["files"].is_object()) return files;
  for (const auto& [name, digest] : json["files"].items()) {
    if (digest.is_string()) files.emplace(name, digest.get<std::string>());
  }
  return files;
}

Result<RenderedFiles> render(const ResolvedRun& run, const fs::path& directory, const ReportFormats& formats,
                             const fs::path& run_dir) {
  const ReportSource source{run, directory, run_dir.empty() ? directory : run_dir};
  Renderer renderer(source);
  for (const ReportFormat& format : all_formats()) {
    if (std::ranges::find(formats, &format) != formats.end()) renderer.write(format);
  }
  return renderer.finish();
}

std::vector<std::string> reports_in(const fs::path& directory) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const ReportFormat& format : all_formats()) {
    if (fs::exists(fs::symlink_status(directory / format.file, ignored))) names.emplace_back(format.file);
    if (format.directory.empty()) continue;
    for (const auto& entry : fs::directory_iterator(directory / format.directory, ignored))
      names.push_back(name_in(format.directory, entry.path().filename().string()));
  }
  return names;
}

std::vector<std::string> files_changed_since(const RenderedFiles& rendered, const fs::path& directory) {
  std::vector<std::string> names = reports_in(directory);
  std::erase_if(names, [&](const std::string& name) {
    const auto found = rendered.find(name);
    return found != rendered.end() && !found->second.empty() &&
           found->second == digest_of_file(directory / name);
  });
  return names;
}

std::vector<std::string> files_not_rendered_so(const ResolvedRun& run, const fs::path& directory,
                                               const std::vector<std::string>& names) {
  // Names stay in the set unless the rendered text equals the file. A file of a suite that
  // the journal does not have stays.
  std::set<std::string> different(names.begin(), names.end());
  const ReportSource source{run, directory, directory};
  for (const ReportFormat& format : all_formats()) {
    const auto is_of_format = [&](const std::string& name) {
      return name == format.file ||
             (!format.directory.empty() && name.starts_with(name_in(format.directory, "")));
    };
    if (std::ranges::none_of(different, is_of_format)) continue;
    FileComparison file(directory / format.file);
    {
      TextOutput output([&file](std::string_view piece) { file.add(piece); });
      format.write(source, output, [&](const std::string& part, const std::string& text) {
        FileComparison comparison(directory / name_in(format.directory, part));
        comparison.add(text);
        if (comparison.ends_equal()) different.erase(name_in(format.directory, part));
      });
    }
    if (file.ends_equal()) different.erase(std::string(format.file));
  }
  return {different.begin(), different.end()};
}

namespace {

// Adapts a writer that needs only the run.
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

// The page shows the ends of the logs in the run directory, and links to these logs.
void page_file(const ReportSource& source, TextOutput& output, const UseReportFile& /*use*/) {
  PageRequest request;
  request.sibling_files = sibling_files_of_page();
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

std::vector<std::string_view> sibling_files_of_page() {
  std::vector<std::string_view> files;
  for (const ReportFormat* format : default_formats()) {
    if (format->write != page_file) files.push_back(format->file);
  }
  files.insert(files.end(), {"journal.jsonl", "logs/"});
  return files;
}

}  // namespace proctor
