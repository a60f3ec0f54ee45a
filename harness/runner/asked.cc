#include "harness/runner/asked.h"

#include <filesystem>
#include <utility>

#include "harness/request/merge_requests.h"

namespace proctor::runner {
namespace {

bool is_of_whole_plan(const RunRequest& typed) {
  return !leaves_cases_out(typed.selection) && typed.selection.command.empty() && typed.plan.shard.empty() &&
         typed.plan.rest_of.empty();
}

}  // namespace

bool leaves_cases_out(const SelectionOptions& chosen) {
  return !chosen.suites.empty() || chosen.backend || !chosen.filters.empty() || !chosen.cases.empty() ||
         !chosen.excludes.empty() || !chosen.labels.empty() || !chosen.tags.empty();
}

Result<AskedRun> ask(const RunRequest& typed) {
  AskedRun asked{.typed = typed};
  if (asked.typed.config.directory.empty()) {
    std::error_code error;
    asked.typed.config.directory = std::filesystem::current_path(error).string();
    if (error) return Error::system("find the current directory", error.value());
  }
  auto files = read_config_files(asked.typed.config);
  if (!files) return files.error();
  asked.files = *std::move(files);
  const auto keys = load_run_keys(asked.files);
  if (!keys) return keys.error();
  asked.keys = keys_for(*keys, typed.command);
  if (!is_of_whole_plan(asked.typed)) asked.keys.rules.min_executed.reset();
  if (!asked.typed.plan.file.empty()) asked.keys.selection.excludes.clear();  // the plan has its cases
  asked.request = merge(asked.typed, asked.keys);
  return asked;
}

}  // namespace proctor::runner
