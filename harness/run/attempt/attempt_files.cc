#include "harness/run/attempt/attempt_files.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/core/log_marks.h"
#include "harness/core/regular_file.h"

namespace proctor {
namespace {

std::string stem_of(const LogNames& names, const AttemptCase& entry) {
  std::string stem = names.stem(entry.test->id) + "." + std::to_string(entry.attempt);
  if (entry.repeat > 1) stem += ".r" + std::to_string(entry.repeat);
  return stem;
}

std::string write_cases(AttemptContext& context, const AttemptPlan& plan) {
  const std::string file = context.scratch.new_file_name();
  if (auto written = write_new_file(file, plan.kind().batch_file(plan.tests())); !written)
    context.sink.on(Warning{WarningCode::kScratch, "failed to " + written.error().what});
  return file;
}

}  // namespace

std::string log_of(const LogNames& names, const AttemptCase& entry) {
  return "logs/" + stem_of(names, entry) + ".log";
}

std::string log_of(const LogNames& names, const AttemptCase& entry, int rank) {
  return "logs/" + stem_of(names, entry) + ".rank" + std::to_string(rank) + ".log";
}

std::string evidence_of(const LogNames& names, const AttemptCase& entry, const char* ending) {
  return "evidence/" + stem_of(names, entry) + ending;
}

std::string log_that_is_there(const std::string& run_dir, const std::string& log, bool is_needed) {
  const std::string path = run_dir + "/" + log;
  struct stat info {};
  if (log.empty() || ::lstat(path.c_str(), &info) == 0) return log;
  const bool is_made = is_needed && write_new_file(path, fmt::format("{}\n", kNoOutputMark)).ok();
  return is_made ? log : "";
}

// Foreign kinds keep their own TMPDIR and working directory; some need a place for their result, or one for
// their cases where several share a process.
AttemptFiles make_files(AttemptContext& context, const AttemptPlan& plan) {
  AttemptFiles files;
  if (!context.setup.inherit_stdio) files.log = log_of(context.names, plan.first_reported());
  const Voice voice = plan.voice();
  if (voice == Voice::kFile || voice == Voice::kConnection)
    files.result_file = context.scratch.new_file_name();
  if (!plan.first().test->group.empty()) files.cases_file = write_cases(context, plan);
  if (!plan.kind().ours()) return files;
  if (auto directory = context.scratch.lease_directory(); directory) {
    files.scratch = std::move(*directory);
  } else {
    context.sink.on(Warning{WarningCode::kScratch, "failed to " + directory.error().what + "; " +
                                                       plan.first().test->id +
                                                       " runs without a directory of its own"});
  }
  return files;
}

void remove_files(AttemptContext& context, const AttemptPlan& plan, const AttemptFiles& files,
                  bool unreapable) {
  for (const auto& file : {files.result_file, files.cases_file, files.rank_plan}) {
    if (!file.empty()) ::unlink(file.c_str());
  }
  if (!files.rendezvous.empty()) {
    if (auto removed = context.scratch.remove(files.rendezvous); !removed)
      context.sink.on(Warning{WarningCode::kScratchLeft, "failed to " + removed.error().what});
  }
  if (files.scratch.empty() || unreapable) return;
  if (auto emptied = context.scratch.give_back(files.scratch); !emptied) {
    context.sink.on(Warning{WarningCode::kScratchLeft,
                            "failed to " + emptied.error().what + " after " + plan.first().test->id});
  }
}

}  // namespace proctor
