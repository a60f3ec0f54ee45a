// All reports of a run from its model. The same journal gives the same bytes.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"
#include "reports/report_formats.h"
#include "reports/resolve/resolved_run.h"

namespace proctor {

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
