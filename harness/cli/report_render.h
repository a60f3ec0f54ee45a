// What the subcommands of `report` share with each other and with `finish`.
#pragma once

#include <string>
#include <vector>

#include "harness/cli/commands.h"
#include "harness/core/events.h"
#include "harness/core/result.h"
#include "reports/model/run_model.h"
#include "reports/render.h"

namespace proctor::cli {

// Whether reports may be written to the run directory, if it is there (harness/core/replace_file.h).
Result<void> check_reports_place(const std::string& run_dir);

// A journal that no run wrote, and what it tells. There is no such file yet.
Result<RunModel> write_journal(const std::vector<Event>& events, const std::string& path);

// Prints the summary and where the reports are. Returns 0, or 2 when there is no readable journal.
// `out`: where they are written, "" = in the run directory.
int render_again(const std::string& run_dir, const ReportFormats& formats = default_formats(),
                 const std::string& out = {});

void add_report_github(CLI::App& report, Action& action);  // report github
void add_report_diff(CLI::App& report, Action& action);    // report diff
void add_report_merge(CLI::App& report, Action& action);   // report merge
void add_report_pack(CLI::App& report, Action& action);    // report pack
void add_report_page(CLI::App& report, Action& action);    // report page

}  // namespace proctor::cli
