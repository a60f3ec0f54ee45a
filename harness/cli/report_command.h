// Functions that the subcommands of `report` share with each other and with `finish`.
#pragma once

#include <string>
#include <vector>

#include "harness/base/result.h"
#include "harness/cli/commands.h"
#include "harness/journal/events.h"
#include "reports/render.h"
#include "reports/resolve/resolved_run.h"

namespace proctor::cli {

// Returns an error if the run directory exists and reports must not be written to it (harness/base/replace_file.h).
Result<void> check_reports_place(const std::string& run_dir);

// Writes a journal from events and returns the resolved run. The file must not exist yet.
Result<ResolvedRun> write_journal(const std::vector<Event>& events, const std::string& path);

// Renders the reports, and prints the summary and their paths. Returns 0, or 2 if there is no readable journal. `out`
// is the directory of the reports; "": the run directory.
int render_again(const std::string& run_dir, const ReportFormats& formats = default_formats(),
                 const std::string& out = {});

// Options of one page for several runs, or for one run with its history. "" means not given.
struct PageOptions {
  std::vector<std::string> runs;
  std::string against;   // path of an older run
  std::string history;   // path of a history
  std::string gate;      // path of a file of `gate --json`
  std::string coverage;  // path of a file of `list --coverage --json`
  std::string out;       // path of the page
};
int make_page(const PageOptions& options);

// Prints annotations, and writes the job summary and outputs of a step. `force`: print annotations also outside of
// GitHub Actions.
int show_in_github(const std::string& run_dir, bool force);

void add_report_diff(CLI::App& report, Action& action);   // report diff
void add_report_merge(CLI::App& report, Action& action);  // report merge
void add_report_pack(CLI::App& report, Action& action);   // report pack

}  // namespace proctor::cli
