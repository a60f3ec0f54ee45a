#include "harness/cli/steps/asked.h"

#include <utility>

#include "harness/request/merge.h"

namespace proctor::cli {
namespace {

// A run of a few cases does not execute as many as the whole.
bool leaves_cases_out(const RunRequest& typed) {
  const SelectionOptions& chosen = typed.selection;
  return !chosen.suites.empty() || !chosen.backend.empty() || !chosen.filters.empty() ||
         !chosen.cases.empty() || !chosen.labels.empty() || !chosen.tags.empty() || !chosen.command.empty() ||
         !typed.plan.shard.empty() || !typed.plan.rest_of.empty();
}

}  // namespace

Result<AskedRun> ask(const TypedRun& typed, const AfterDashes& after_dashes) {
  AskedRun asked{.command = typed.command,
                 .typed = typed.typed.request,
                 .command_line = typed.command_line,
                 .own_line = typed.own_line,
                 .inherited = typed.inherited};
  if (auto completed = complete(asked.typed, after_dashes); !completed) return completed.error();
  if (typed.typed.mistake) return *typed.typed.mistake;
  auto files = read_config_files(asked.typed.config);
  if (!files) return files.error();
  asked.files = *std::move(files);
  const auto keys = load_run_keys(asked.files);
  if (!keys) return keys.error();
  asked.keys = keys_for(*keys, typed.command);
  if (leaves_cases_out(asked.typed)) asked.keys.verdicts.min_executed.reset();
  if (!asked.typed.plan.file.empty()) asked.keys.selection.excludes.clear();  // the plan has its cases
  asked.request = merge(asked.typed, asked.keys);
  return asked;
}

}  // namespace proctor::cli
