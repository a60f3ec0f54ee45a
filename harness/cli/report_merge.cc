// Implements `proctor report merge RUN_DIR... --out DIR`: merges the shards of a plan into one run.
#include "harness/cli/report_merge.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "harness/base/temp_dir.h"
#include "harness/cli/console/ending.h"
#include "harness/cli/console/messages.h"
#include "harness/cli/load_run.h"
#include "harness/cli/report_command.h"
#include "harness/process/evidence/core_file.h"
#include "harness/runner/history_of_run.h"
#include "harness/runner/record/journal.h"
#include "harness/runner/record/run_directory.h"
#include "reports/merge/merge.h"
#include "reports/render.h"
#include "reports/resolve/report_text.h"
#include "reports/resolve/resolved_run.h"
#include "reports/resolve/run_resolver.h"

namespace proctor::cli {
namespace {

namespace fs = std::filesystem;

struct MergeOptions {
  std::vector<std::string> reports;
  std::string out;
  std::string history;
};

// Returns whether the directory is the result of an earlier merge. Such a result can be replaced, because its inputs
// are elsewhere.
bool is_merged_run(const std::string& directory) {
  std::error_code error;
  if (fs::is_symlink(fs::symlink_status(directory, error)) ||
      !fs::exists(directory + "/journal.jsonl", error))
    return false;
  const auto run = load_run(directory);
  return run && std::ranges::any_of(run->plan.stack,
                                    [](const auto& entry) { return entry.first.starts_with("shard."); });
}

// Removes that directory from the inputs, because `proctor-out/*` contains it too.
std::vector<std::string> without(const std::string& directory, std::vector<std::string> run_dirs) {
  std::erase_if(run_dirs, [&](const std::string& name) {
    std::error_code error;
    return fs::equivalent(name, directory, error);
  });
  return run_dirs;
}

Result<ResolvedRun> load(const std::string& report) {
  std::error_code error;
  if (!fs::exists(report, error)) {
    return Error::refused(report + " does not exist",
                          "A shard whose job was skipped or cancelled leaves no report.");
  }
  const auto directory = run_directory_of(report);
  auto run = directory ? load_run(*directory) : directory.error();
  return run ? std::move(run) : Error::usage_of(run.error());
}

// A core file is mostly holes and may be as large as all memory. A file of a test may be like that too.
Result<void> copy_one(const fs::path& from, const fs::path& to) {
  constexpr mode_t kCore = 0600;
  constexpr mode_t kOther = 0644;
  return copy_with_holes(from, to, from.extension() == ".core" ? kCore : kOther);
}

// Copies a tree without symbolic links, which may lead anywhere.
Result<void> copy_tree(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::create_directories(to, error);
  fs::recursive_directory_iterator entry(from, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    const fs::path target = to / entry->path().lexically_relative(from);
    if (entry->is_symlink(error)) continue;
    if (entry->is_directory(error)) {
      fs::create_directories(target, error);
    } else if (entry->is_regular_file(error)) {
      if (auto copied = copy_one(entry->path(), target); !copied) return copied;
    }
    if (error) break;
  }
  if (error) return Error::system("copy " + from.string() + " to " + to.string(), error.value());
  return {};
}

// Copies logs and evidence to the paths in the merged journal.
Result<void> copy_files(const MergePart& part, const fs::path& out) {
  const auto directory = run_directory_of(part.name);
  if (!directory) return directory.error();
  for (const char* name : {"logs", "evidence"}) {
    const fs::path from = fs::path(*directory) / name;
    std::error_code error;
    if (!fs::is_directory(fs::symlink_status(from, error)) || fs::is_empty(from, error)) continue;
    if (auto copied = copy_tree(from, out / part.place / name); !copied) return copied;
  }
  return {};
}

// Writes the merged journal, and returns the resolved run.
Result<ResolvedRun> write_whole(std::vector<MergePart> parts, const std::string& path) {
  auto journal = Journal::open(path);
  if (!journal) return journal.error();
  RunResolver run;
  EventFanout both;
  both.add(**journal);
  both.add(run);
  merge_parts(std::move(parts), both);
  if (!(*journal)->complete()) return Error::system("write " + path, (*journal)->why_incomplete());
  return run.take();
}

Result<void> record(const std::string& file, const MergedRun& merged) {
  if (file.empty()) return {};
  const auto digest = run_journal_sha256(merged.directory);
  if (!digest) return digest.error();
  auto history = History::open(file, kHistoryWait);
  return history ? runner::record_run(*history, merged.run, *digest) : history.error();
}

int merge(const MergeOptions& options) {
  const auto merged = merge_run_directories(options.reports, options.out);
  if (!merged) return fail(merged.error());
  const ResolvedRun& run = merged->run;
  const int code = run.shell_exit_code;
  for (const Warning& warning : run.warnings) {
    if (warning.code == WarningCode::kJournalChanged) std::printf("%s\n", shown(warning.text).c_str());
  }
  std::printf("%zu runs: %s\n", merged->runs, outcomes_text(run).c_str());
  std::printf("exit %d (%s)\n", code, verdict_text(run, code).c_str());
  std::printf("reports in %s\n", shown(merged->directory).c_str());
  if (auto recorded = record(options.history, *merged); !recorded) warn_not_recorded(recorded.error());
  return code;
}

}  // namespace

Result<MergedRun> merge_run_directories(const std::vector<std::string>& run_dirs, const std::string& out) {
  const bool again = is_merged_run(out);
  if (auto usable = again ? Result<void>() : check_run_directory(out); !usable) return usable.error();
  auto parts = read_parts(again ? without(out, run_dirs) : run_dirs, load);
  if (!parts) return parts.error();
  if (auto removed = again ? remove_tree(out) : Result<void>(); !removed) return removed.error();
  auto directory = create_run_directory(out, "");
  if (!directory) return directory.error();
  for (const MergePart& part : *parts) {
    if (auto copied = copy_files(part, *directory); !copied) return copied.error();
  }
  const std::size_t count = parts->size();
  auto run = write_whole(*std::move(parts), *directory + "/journal.jsonl");
  if (!run) return run.error();
  if (auto rendered = render(*run, *directory); !rendered) return rendered.error();
  return MergedRun{.directory = *std::move(directory), .run = *std::move(run), .runs = count};
}

void add_report_merge(CLI::App& report, Action& action) {
  auto* command = report.add_subcommand("merge", "Merge the runs of a plan's shards into one run directory");
  command->footer(
      "If shards are missing or given twice, or if their plans or stacks differ, nothing is merged (exit "
      "code 2). Otherwise the exit code is that of a run of the whole plan. An earlier merge in DIR is "
      "replaced, and is not a report to merge.");
  auto options = std::make_shared<MergeOptions>();
  command->add_option("reports", options->reports, "Run directories, one per shard")
      ->type_name("RUN_DIR")
      ->required();
  command
      ->add_option("--out", options->out,
                   "Run directory to write, new, empty or of an earlier merge (required)")
      ->type_name("DIR")
      ->required();
  command
      ->add_option("--history", options->history,
                   "Record the merged run in this history, in place of its shards (proctor history)")
      ->type_name("FILE");
  command->callback([options, &action] { action = [options] { return merge(*options); }; });
}

}  // namespace proctor::cli
