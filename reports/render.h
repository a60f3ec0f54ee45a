// All reports of a run from its model. The same journal gives the same bytes.
//
// One table has the formats. From it follow what is rendered, what a run leaves, which files are reports of a
// run, and what `proctor report` offers. A format is a row in render.cc.
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

// What reports are made of, and where they go.
struct ReportSource {
  const ResolvedRun& run;
  const std::filesystem::path& directory;  // of the reports
  const std::filesystem::path& run_dir;    // of the logs
};

// Takes a file of the directory of a format.
using UseReportFile = std::function<void(const std::string& name, const std::string& text)>;

struct ReportFormat {
  std::string_view name;  // as in --format
  std::string_view file;  // in a run directory; a file of this name beside a journal is a report of the run
  std::string_view directory;  // of more files of this format; "": there is none
  bool is_default;             // a run leaves it, without a word
  // Writes the file in pieces, and hands over the files of the directory.
  void (*write)(const ReportSource& source, TextOutput& output, const UseReportFile& use);
};

using ReportFormats = std::vector<const ReportFormat*>;

std::span<const ReportFormat> all_formats();
// What a run leaves: json, junit, ctrf, markdown, html.
const ReportFormats& default_formats();
// "json,otlp", or "all": in any order, each once or more. A usage error names the word that is none, and the nearest format.
// `others` can be meant too.
Result<ReportFormats> parse_formats(const std::string& list, const std::vector<std::string>& others = {});
// "json (report.json), junit (junit.xml, junit/*.xml), ...; or all (default: json,...)": for the help.
std::string formats_text();
// The journal, and the files of the formats: whoever has one of them has the run.
std::vector<std::string_view> run_files();
// What the page of a run links to: its other files that lie there by default.
std::vector<std::string_view> sibling_files_of_page();

// Reports in a directory, by their names ("junit/memory.xpu.xml"), with the SHA-256 of each.
using RenderedFiles = std::map<std::string, std::string>;

// What a runner writes behind the end of its journal: the reports that it made of it. No event of the run, and no report
// shows it. So whoever reads the journal can tell a report that was changed since without making it again.
std::string rendered_record(const RenderedFiles& files);
// None: another record.
std::optional<RenderedFiles> rendered_in(std::string_view record);

// Writes the files of the formats into the directory, each complete or not at all. A file that cannot
// be written does not stop the others from being written; the error names every such file. Logs and evidence lie in
// `run_dir`, which is the directory itself where it is empty.
Result<RenderedFiles> render(const ResolvedRun& run, const std::filesystem::path& directory,
                             const ReportFormats& formats = default_formats(),
                             const std::filesystem::path& run_dir = {});

// The names of the reports of a run that are in the directory; whatever is in the directory of a format (junit/) is one.
std::vector<std::string> reports_in(const std::filesystem::path& directory);
// Those of them that have not the digest that their runner says.
std::vector<std::string> files_changed_since(const RenderedFiles& rendered,
                                             const std::filesystem::path& directory);
// Those of these reports that are not what the journal renders to, sorted: somebody changed them, or another version wrote
// them.
std::vector<std::string> files_not_rendered_so(const ResolvedRun& run, const std::filesystem::path& directory,
                                               const std::vector<std::string>& names);

}  // namespace proctor
