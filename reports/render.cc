#include "reports/render.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <string_view>

#include "harness/core/digest.h"
#include "harness/core/json.h"
#include "harness/core/replace_file.h"
#include "harness/core/text.h"
#include "harness/core/words.h"
#include "reports/formats/ctrf.h"
#include "reports/formats/junit.h"
#include "reports/formats/metrics.h"
#include "reports/formats/otlp.h"
#include "reports/formats/report_json.h"
#include "reports/formats/summary.h"
#include "reports/model/run_results.h"
#include "reports/page/page.h"

namespace proctor {
namespace {

namespace fs = std::filesystem;

constexpr const char* kJunitDirectory = "junit";
constexpr std::string_view kRenderedType = "reports_rendered";

// One file of a run, written in pieces. JUnit has a directory of files beside its own. The page also reads logs: it has
// no function here.
struct Format {
  ReportFormat format;
  std::string_view name;
  std::string_view file;
  void (*write)(const RunModel& model, TextOutput& output);
};

void write_summary(const RunModel& model, TextOutput& output) { output.pending() += summary_markdown(model); }

constexpr std::array kFormats = {
    Format{ReportFormat::kJson, "json", "report.json", write_report_json},
    Format{ReportFormat::kJunit, "junit", "junit.xml", write_junit_run},
    Format{ReportFormat::kJunitExtended, "junit-extended", "junit-extended.xml", write_junit_extended},
    Format{ReportFormat::kCtrf, "ctrf", "ctrf.json", write_ctrf},
    Format{ReportFormat::kOpenTelemetry, "otlp", "otlp.json", write_otlp},
    Format{ReportFormat::kOpenMetrics, "metrics", "metrics.prom", write_metrics},
    Format{ReportFormat::kMarkdown, "markdown", "summary.md", write_summary},
    Format{ReportFormat::kHtml, "html", "index.html", nullptr},
};

// The page shows ends of the logs in the run directory, and links to them.
void write_run_page(const RunModel& model, const fs::path& directory, const fs::path& run_dir,
                    TextOutput& output) {
  const RunResults results = results_of(model);
  PageRequest request;
  request.runs.push_back(
      {.model = model, .results = results, .run_dir = run_dir, .link = page_link(directory, run_dir)});
  write_page(request, output);
}

std::string junit_name(const std::string& file) { return std::string(kJunitDirectory) + "/" + file; }

void write_format(const Format& format, const RunModel& model, const fs::path& directory,
                  const fs::path& run_dir, TextOutput& output) {
  if (format.write == nullptr) return write_run_page(model, directory, run_dir, output);
  format.write(model, output);
}

class Renderer {
 public:
  Renderer(const RunModel& model, const fs::path& directory, const fs::path& run_dir)
      : model_(model), directory_(directory), run_dir_(run_dir) {}

  void write(const Format& format) {
    keep(format.file, write_in_pieces(directory_ / format.file, [&](TextOutput& output) {
           if (format.format == ReportFormat::kJunit) return write_junit_files(output);
           write_format(format, model_, directory_, run_dir_, output);
         }));
  }

  Result<RenderedFiles> finish() const {
    if (refused_.empty() && lost_.empty()) return files_;
    std::vector<std::string> said(refused_.begin(), refused_.end());
    for (const auto& [err, names] : lost_) {
      const std::string what = fmt::format("write {} in {}", fmt::join(names, ", "), directory_.string());
      said.push_back(Error::system(what, err).what);
    }
    return Error{ErrorKind::kSystem, fmt::format("{}", fmt::join(said, "; ")), {}, 0};
  }

 private:
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

  void write_junit_files(TextOutput& run) {
    const fs::path junit = directory_ / kJunitDirectory;
    std::error_code error;  // a failure shows at the first file below it
    if (fs::is_symlink(fs::symlink_status(junit, error))) fs::remove(junit, error);
    fs::create_directories(junit, error);
    write_junit(model_, run, [&](const JunitFile& file) {
      const auto written = replace_file(junit / file.name, file.text);
      keep(junit_name(file.name),
           written ? Result<std::string>(sha256_hex(file.text)) : Result<std::string>(written.error()));
    });
  }

  const RunModel& model_;
  const fs::path& directory_;
  const fs::path& run_dir_;
  RenderedFiles files_;
  // What could not be written, by errno: a full disk refuses all files alike.
  std::map<int, std::vector<std::string>> lost_;
  std::set<std::string> refused_;
};

// Not open: it is no file, as a pipe, or cannot be read.
std::ifstream open_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) ? std::ifstream(path, std::ios::binary) : std::ifstream();
}

// "": there is none.
std::string digest_of_file(const fs::path& path) {
  std::ifstream file = open_file(path);
  if (!file.is_open()) return "";
  Sha256 digest;
  std::string piece(std::size_t{1} << 16, '\0');
  while (file.read(piece.data(), static_cast<std::streamsize>(piece.size())), file.gcount() > 0)
    digest.add(std::string_view(piece).substr(0, static_cast<std::size_t>(file.gcount())));
  return file.bad() ? "" : digest.hex();
}

// Takes a report in pieces, and holds each against what is in the file. What is no file equals nothing.
class FileComparison {
 public:
  explicit FileComparison(const fs::path& path) : file_(open_file(path)) { equal_ = file_.is_open(); }

  void add(std::string_view piece) {
    if (!equal_) return;
    there_.resize(piece.size());
    file_.read(there_.data(), static_cast<std::streamsize>(piece.size()));
    equal_ = file_.gcount() == static_cast<std::streamsize>(piece.size()) && there_ == piece;
  }
  // Nothing may follow.
  bool ends_equal() { return equal_ && file_.peek() == std::ifstream::traits_type::eof(); }

 private:
  std::ifstream file_;
  std::string there_;
  bool equal_ = false;
};

std::vector<std::string> format_names() {
  std::vector<std::string> names = {"all"};
  for (const Format& format : kFormats) names.emplace_back(format.name);
  return names;
}

}  // namespace

const std::vector<ReportFormat>& default_formats() {
  static const std::vector<ReportFormat> formats = {ReportFormat::kJson, ReportFormat::kJunit,
                                                    ReportFormat::kCtrf, ReportFormat::kMarkdown,
                                                    ReportFormat::kHtml};
  return formats;
}

Result<std::vector<ReportFormat>> parse_formats(const std::string& list) {
  std::vector<ReportFormat> formats;
  for (const std::string_view part : split(list, ',')) {
    const std::string word(trimmed(part));
    bool known = false;
    for (const Format& format : kFormats) {
      if (word != format.name && word != "all") continue;
      known = true;
      formats.push_back(format.format);
    }
    if (known) continue;
    return Error::usage(fmt::format("read --format {}: there is no format `{}`", list, word),
                        suggestion(word, format_names(), "formats"));
  }
  return formats;
}

std::string formats_text() {
  std::string text;
  for (const Format& format : kFormats) {
    const std::string more = format.format == ReportFormat::kJunit ? ", junit/*.xml" : "";
    text += fmt::format("{}{} ({}{})", text.empty() ? "" : ", ", format.name, format.file, more);
  }
  return text;
}

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

Result<RenderedFiles> render(const RunModel& model, const fs::path& directory,
                             const std::vector<ReportFormat>& formats, const fs::path& run_dir) {
  Renderer renderer(model, directory, run_dir.empty() ? directory : run_dir);
  for (const Format& format : kFormats) {
    if (std::ranges::find(formats, format.format) != formats.end()) renderer.write(format);
  }
  return renderer.finish();
}

std::vector<std::string> reports_in(const fs::path& directory) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const Format& format : kFormats) {
    if (fs::exists(fs::symlink_status(directory / format.file, ignored))) names.emplace_back(format.file);
  }
  for (const auto& entry : fs::directory_iterator(directory / kJunitDirectory, ignored))
    names.push_back(junit_name(entry.path().filename().string()));
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

std::vector<std::string> files_not_rendered_so(const RunModel& model, const fs::path& directory,
                                               const std::vector<std::string>& names) {
  // A file of a suite that the journal does not have is one more report: what nothing equals stays.
  std::set<std::string> different(names.begin(), names.end());
  const auto compare = [&](const std::string& name, const auto& write) {
    if (!different.contains(name)) return;
    FileComparison comparison(directory / name);
    write(comparison);
    if (comparison.ends_equal()) different.erase(name);
  };
  for (const Format& format : kFormats) {
    compare(std::string(format.file), [&](FileComparison& comparison) {
      TextOutput output([&comparison](std::string_view piece) { comparison.add(piece); });
      write_format(format, model, directory, directory, output);
    });
  }
  const auto in_junit = [](const std::string& name) { return name.starts_with(junit_name("")); };
  if (std::ranges::none_of(different, in_junit)) return {different.begin(), different.end()};
  TextOutput nowhere([](std::string_view) {});
  write_junit(model, nowhere, [&](const JunitFile& file) {
    compare(junit_name(file.name), [&](FileComparison& comparison) { comparison.add(file.text); });
  });
  return {different.begin(), different.end()};
}

}  // namespace proctor
