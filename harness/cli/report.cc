// `proctor report render RUN_DIR`: every report is a function of the journal, also after the runner was
// killed.
#include <cstdio>
#include <filesystem>
#include <memory>

#include "harness/cli/commands.h"
#include "harness/cli/console/console.h"
#include "harness/cli/console/messages.h"
#include "harness/cli/load_run.h"
#include "harness/cli/report_render.h"
#include "harness/core/exit_code.h"
#include "harness/core/replace_file.h"
#include "harness/run/record/journal.h"
#include "reports/exit_code.h"
#include "reports/render.h"
#include "reports/run_model.h"

namespace proctor::cli {

Result<void> check_reports_place(const std::string& run_dir) {
  std::error_code error;  // what is missing is said by who reads it
  return std::filesystem::is_directory(run_dir, error) ? check_owner_of(run_dir) : Result<void>();
}

Result<RunModel> write_journal(const std::vector<Event>& events, const std::string& path) {
  auto journal = Journal::open(path);
  if (!journal) return journal.error();
  RunModel model;
  for (const Event& event : events) {
    (*journal)->on(event);
    model.on(event);
  }
  if (!(*journal)->complete()) return Error{ErrorKind::kSystem, "write " + path, {}, 0};
  return model;
}

int render_again(const std::string& run_dir) {
  if (auto ours = check_reports_place(run_dir); !ours) return fail(ours.error());
  const auto model = load_run(run_dir);
  if (!model) return fail(Error::usage(model.error().what, model.error().hint));
  if (auto rendered = render(*model, run_dir); !rendered) return fail(rendered.error());
  const int code = shell_exit_code(*model);
  for (const Warning& warning : model->warnings()) {
    if (warning.code == kJournalChanged) std::printf("%s\n", shown(warning.text).c_str());
  }
  std::printf("%s\n", summary_line(model->summary()).c_str());
  std::printf("the run's exit code is %d (%s)\n", code, exit_code_meaning(code).c_str());
  std::printf("reports in %s\n", shown(run_dir).c_str());
  return kExitGreen;
}

void add_report_command(CLI::App& app, Action& action) {
  auto* report = app.add_subcommand("report", "Make reports from journals");
  report->require_subcommand(1);
  auto* command = report->add_subcommand("render", "Rebuild the reports of a run directory from its journal");
  auto run_dir = std::make_shared<std::string>();
  command->add_option("run_dir", *run_dir, "Run directory")->required();
  add_report_merge(*report, action);
  add_report_github(*report, action);
  command->callback([run_dir, &action] { action = [run_dir] { return render_again(*run_dir); }; });
}

}  // namespace proctor::cli
