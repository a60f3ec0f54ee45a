#include "harness/cli/load_run.h"

#include "harness/run/record/journal_seal.h"

namespace proctor::cli {

Result<RunModel> load_run(const std::string& run_dir) {
  return load_journal(run_dir + "/journal.jsonl", find_journal_seal(run_dir));
}

}  // namespace proctor::cli
