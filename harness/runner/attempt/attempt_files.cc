#include "harness/runner/attempt/attempt_files.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "harness/base/regular_file.h"
#include "harness/journal/event_words.h"

namespace proctor {

// ---- Names ----

std::string RunFiles::stem_of(const AttemptCase& entry) const {
  std::string stem = names_.stem(entry.test->id) + "." + std::to_string(entry.attempt);
  if (entry.repeat > 1) stem += ".r" + std::to_string(entry.repeat);
  return stem;
}

std::string RunFiles::log_of(const AttemptCase& entry) const { return "logs/" + stem_of(entry) + ".log"; }

std::string RunFiles::log_of(const AttemptCase& entry, int rank) const {
  return "logs/" + stem_of(entry) + ".rank" + std::to_string(rank) + ".log";
}

std::string RunFiles::evidence_of(const AttemptCase& entry, const char* ending) const {
  return "evidence/" + stem_of(entry) + ending;
}

// ---- Files in the run directory ----

void RunFiles::make_way_to(const std::string& file) const {
  static_cast<void>(make_way(setup_.run_dir, file));
}

std::string RunFiles::log_that_is_there(const std::string& log, bool is_needed) const {
  const std::string path = path_of(log);
  struct stat info {};
  if (log.empty() || ::lstat(path.c_str(), &info) == 0) return log;
  const bool is_made = is_needed && write_new_file(path, fmt::format("{}\n", kNoOutputMark)).ok();
  return is_made ? log : "";
}

// ---- Files that exist while the process runs ----

std::string RunFiles::write_cases(const AttemptPlan& plan) {
  const std::string file = scratch_.new_file_name();
  if (auto written = write_new_file(file, plan.kind().batch_file(plan.tests())); !written)
    sink_.on(Warning{WarningCode::kScratch, "failed to " + written.error().what});
  return file;
}

// Creates the files of an attempt. Kinds other than proctor keep their own TMPDIR and working directory. Some need a
// result file, or a file with the names of their cases if several share a process.
AttemptFiles RunFiles::make(const AttemptPlan& plan) {
  AttemptFiles files;
  if (!setup_.inherit_stdio) files.log = log_of(plan.first_reported());
  if (!files.log.empty() || !plan.ranks.empty()) make_way_to(log_of(plan.first()));
  const ReportingMode reporting_mode = plan.reporting_mode();
  if (reporting_mode == ReportingMode::kFile || reporting_mode == ReportingMode::kFileOfSeveral)
    files.result_file = scratch_.new_file_name();
  if (!plan.first().test->group.empty()) files.cases_file = write_cases(plan);
  if (!plan.kind().ours()) return files;
  if (auto directory = scratch_.lease_directory(); directory) {
    files.scratch = std::move(*directory);
  } else {
    sink_.on(Warning{WarningCode::kScratch, "failed to " + directory.error().what + "; " +
                                                plan.first().test->id +
                                                " runs without a directory of its own"});
  }
  return files;
}

void RunFiles::add_rank_plan(const AttemptPlan& plan, RankPlan ranks, AttemptFiles& files) {
  const auto rendezvous = scratch_.new_directory();
  if (rendezvous) ranks.rendezvous = files.rendezvous = *rendezvous;
  files.rank_plan = scratch_.new_file_name();
  const auto written =
      rendezvous ? write_rank_plan(ranks, files.rank_plan) : Result<void>(rendezvous.error());
  if (!written)  // the supervisor reports what it cannot read
    sink_.on(Warning{WarningCode::kScratch,
                     "ranks of " + plan.first().test->id + ": failed to " + written.error().what});
}

void RunFiles::remove(const AttemptPlan& plan, const AttemptFiles& files, bool unkillable) {
  for (const auto& file : {files.result_file, files.cases_file, files.rank_plan}) {
    if (!file.empty()) ::unlink(file.c_str());
  }
  if (!files.rendezvous.empty()) {
    if (auto removed = scratch_.remove(files.rendezvous); !removed)
      sink_.on(Warning{WarningCode::kScratchNotRemoved, "failed to " + removed.error().what});
  }
  if (files.scratch.empty() || unkillable) return;
  if (auto emptied = scratch_.give_back(files.scratch); !emptied) {
    sink_.on(Warning{WarningCode::kScratchNotRemoved,
                     "failed to " + emptied.error().what + " after " + plan.first().test->id});
  }
}

}  // namespace proctor
