// `proctor report render RUN_DIR`: every report is a function of the journal, also after the runner was
// killed.
#include <cstdio>
#include <memory>

#include "harness/cli/commands.h"
#include "harness/cli/console/console.h"
#include "harness/cli/console/messages.h"
#include "harness/cli/report_render.h"
#include "harness/core/exit_code.h"
#include "reports/exit_code.h"
#include "reports/render.h"
#include "reports/run_model.h"

namespace proctor::cli {

int render_again(const std::string& run_dir) {
  const auto model = load_journal(run_dir + "/journal.jsonl");
  if (!model) return fail(Error::usage(model.error().what, model.error().hint));
  if (auto rendered = render(*model, run_dir); !rendered) return fail(rendered.error());
  const int code = shell_exit_code(*model);
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
