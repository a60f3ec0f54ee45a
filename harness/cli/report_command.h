// What the subcommands of `report` share with each other and with `finish`.
#pragma once

#include <string>
#include <vector>

#include "harness/base/result.h"
#include "harness/cli/commands.h"
#include "harness/journal/events.h"
#include "reports/render.h"
#include "reports/resolve/resolved_run.h"

namespace proctor::cli {

// Whether reports may be written to the run directory, if it is there (harness/base/replace_file.h).
Result<void> check_reports_place(const std::string& run_dir);

// A journal that no run wrote, and what it tells. There is no such file yet.
Result<ResolvedRun> write_journal(const std::vector<Event>& events, const std::string& path);

// Prints the summary and where the reports are. Returns 0, or 2 when there is no readable journal.
// `out`: where they are written, "" = in the run directory.
int render_again(const std::string& run_dir, const ReportFormats& formats = default_formats(),
                 const std::string& out = {});

// One page of several runs, or of one with its past. An option that is empty was not given.
struct PageOptions {
  std::vector<std::string> runs;
  std::string against;   // an older run
  std::string history;   // a file
  std::string gate;      // a file of `gate --json`
  std::string coverage;  // a file of `list --coverage --json`
  std::string out;       // the page
};
int make_page(const PageOptions& options);

// Annotations, job summary and outputs of a step. `force`: annotations also outside of GitHub Actions.
int show_in_github(const std::string& run_dir, bool force);

void add_report_diff(CLI::App& report, Action& action);   // report diff
void add_report_merge(CLI::App& report, Action& action);  // report merge
void add_report_pack(CLI::App& report, Action& action);   // report pack

}  // namespace proctor::cli
