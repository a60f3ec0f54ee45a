#include "harness/runner/attempt/core_files.h"

#include <unistd.h>

#include <filesystem>

#include "harness/process/evidence/core_file.h"

namespace proctor {

std::uint64_t CoreFiles::allow_in(const std::string& directory) {
  if (pattern_.text.empty() || pattern_.is_taken()) return 0;
  const auto whole = std::filesystem::absolute(directory.empty() ? "." : directory);
  globs_.insert(core_glob(pattern_, {}, whole.string()));
  return CoreBudget::kMostOfRun;
}

void CoreFiles::ended(const std::string& containment_id) {
  ids_of_run_ = containment_id.substr(0, containment_id.rfind('/') + 1);
}

void CoreFiles::keep(const std::string& run_dir, const std::string& case_id, const CoreInfo& core) {
  if (core.file.empty()) return;
  CoreInfo& kept = kept_[case_id];
  if (!kept.file.empty()) {
    ::unlink((run_dir + "/" + kept.file).c_str());
    budget.settle(kept.bytes, 0);
  }
  kept = core;
}

void CoreFiles::remove_others() const {
  if (!are_forbidden_ || ids_of_run_.empty()) return;
  const auto goes = [&](const CoreFacts& core) {
    return core.containment_id.starts_with(ids_of_run_) &&
           !answered_.contains({core.containment_id, core.pid});
  };
  for (const std::string& glob : globs_) remove_cores(glob, since_, goes);
}

}  // namespace proctor
