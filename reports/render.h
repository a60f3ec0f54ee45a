// All reports of a run from its model. The same journal gives the same bytes.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/core/result.h"
#include "reports/model/run_model.h"

namespace proctor {

enum class ReportFormat {
  kJson,
  kJunit,
  kJunitExtended,
  kCtrf,
  kOpenTelemetry,
  kOpenMetrics,
  kMarkdown,
  kHtml
};

// What a run leaves: json, junit, ctrf, markdown, html.
const std::vector<ReportFormat>& default_formats();
// "json,otlp", or "all": in any order, each once or more. A usage error names the word that is none.
Result<std::vector<ReportFormat>> parse_formats(const std::string& list);
// "json (report.json), junit (junit.xml, junit/), ...": for the help.
std::string formats_text();

// Writes the files of the formats into the directory, each complete or not at all. A file that cannot
// be written does not stop the others from being written; the error names every such file. Logs and evidence lie in
// `run_dir`, which is the directory itself where it is empty.
Result<void> render(const RunModel& model, const std::filesystem::path& directory,
                    const std::vector<ReportFormat>& formats = default_formats(),
                    const std::filesystem::path& run_dir = {});

// Whether any report of a run is in the directory.
bool has_rendered_files(const std::filesystem::path& directory);
// The reports in the directory that are not what the journal renders to, by their names, sorted: somebody changed them, or
// another version wrote them. What is not there is no difference.
std::vector<std::string> files_not_rendered_so(const RunModel& model, const std::filesystem::path& directory);

}  // namespace proctor
