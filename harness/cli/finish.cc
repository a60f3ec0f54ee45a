// `proctor finish RUN_DIR`: for a step that runs whatever happened before. Ends what a killed runner left
// behind, then rebuilds the reports.
#include <cstdio>
#include <memory>

#include "harness/cli/ci_log.h"
#include "harness/cli/commands.h"
#include "harness/cli/report_render.h"
#include "harness/cli/run_options.h"
#include "harness/core/text.h"
#include "harness/run/run_record.h"

namespace proctor::cli {
namespace {

int finish(const std::string& run_dir) {
  const auto record = read_run_record(run_dir);
  if (!record) return fail(record.error());
  if (*record && runner_state(**record) == RunnerState::kAlive) {
    return fail(Error::usage(
        "finish " + run_dir + ": its runner (pid " + std::to_string((*record)->pid) + ") is still alive",
        "Stop it first: a SIGTERM makes it write its reports."));
  }
  std::vector<std::string> swept;
  if (*record && runner_state(**record) == RunnerState::kGone) {
    swept = sweep_run(**record);
    remove_run_record(**record);
  }
  for (auto& sentence : sweep_dead_runs()) swept.push_back(std::move(sentence));
  for (const auto& sentence : swept) std::printf("%s\n", shown(sentence).c_str());
  return render_again(run_dir);
}

}  // namespace

void add_finish_command(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("finish", "Clean up after a killed run and rebuild its reports");
  auto run_dir = std::make_shared<std::string>();
  command->add_option("run_dir", *run_dir, "Run directory")->required();
  command->callback([run_dir, &action] { action = [run_dir] { return finish(*run_dir); }; });
}

}  // namespace proctor::cli
