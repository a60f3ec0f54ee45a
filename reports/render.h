// Renders all reports of a run from its ResolvedRun. The same journal always gives the same bytes.
//
// One table in render.cc has the formats. Everything else follows from this table: the rendered files, the defaults of
// a run, the files that count as reports of a run, and the choices of `proctor report`. A new format is a new row.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"
#include "reports/formats/text_output.h"
#include "reports/resolve/resolved_run.h"

namespace proctor {

// The input of a report: the run and its directories.
struct ReportSource {
  const ResolvedRun& run;
  const std::filesystem::path& directory;  // the directory that receives the reports
  const std::filesystem::path& run_dir;    // the directory that has the logs
};

// Receives one file for the directory of a format.
using UseReportFile = std::function<void(const std::string& name, const std::string& text)>;

// One format of reports: its name, its files and its writer.
struct ReportFormat {
  std::string_view name;  // the value of --format
  std::string_view
      file;  // the file name in a run directory; such a file beside a journal is a report of the run
  std::string_view directory;  // a directory for more files of this format; "" for none
  bool is_default;             // a run writes this format unless other formats are requested
  // Writes the main file in pieces, and passes the files of the directory to `use`.
  void (*write)(const ReportSource& source, TextOutput& output, const UseReportFile& use);
};

using ReportFormats = std::vector<const ReportFormat*>;

std::span<const ReportFormat> all_formats();
// The default formats of a run: json, junit, ctrf, markdown, html.
const ReportFormats& default_formats();
// Parses "json,otlp" or "all". Formats may be in any order and may repeat. A usage error names the unknown word and the
// nearest format. `others` are more words to suggest.
Result<ReportFormats> parse_formats(const std::string& list, const std::vector<std::string>& others = {});
// For the help: "json (report.json), junit (junit.xml, junit/*.xml), ...; or all (default: json,...)".
std::string formats_text();
// The names of the journal and of the main file of each format. Any of them identifies a run directory.
std::vector<std::string_view> run_files();
// The other default files of a run directory, to which the page links.
std::vector<std::string_view> sibling_files_of_page();

// The SHA-256 of each report in a directory, by its name ("junit/memory.xpu.xml").
using RenderedFiles = std::map<std::string, std::string>;

// A record that the runner appends after the end of the journal, with the digests of the reports that it rendered. It
// is not an event of the run, and no report shows it. With it, a reader detects a changed
// report without rendering it again.
std::string rendered_record(const RenderedFiles& files);
// Returns nothing for a record of another type.
std::optional<RenderedFiles> rendered_in(std::string_view record);

// Writes the files of the formats into the directory, each complete or not at all. If a file cannot be written, the
// others are still written, and the error names every such file. Logs and evidence are in `run_dir`; if it is empty,
// they are in `directory`.
Result<RenderedFiles> render(const ResolvedRun& run, const std::filesystem::path& directory,
                             const ReportFormats& formats = default_formats(),
                             const std::filesystem::path& run_dir = {});

// Returns the names of the reports of a run in the directory. Every file in the directory of
// a format (junit/) is a report.
std::vector<std::string> reports_in(const std::filesystem::path& directory);
// Returns the reports in the directory whose digest differs from the one that the runner recorded.
std::vector<std::string> files_changed_since(const RenderedFiles& rendered,
                                             const std::filesystem::path& directory);
// Returns those of the named reports that differ from a rendering of the journal, sorted. Such a report was edited, or
// another version of Proctor wrote it.
std::vector<std::string> files_not_rendered_so(const ResolvedRun& run, const std::filesystem::path& directory,
                                               const std::vector<std::string>& names);

}  // namespace proctor
