#include "harness/cli/load_run.h"

#include <fmt/format.h>

#include <filesystem>

#include "harness/run/record/journal_seal.h"

namespace proctor::cli {

Result<RunModel> load_run(const std::string& run_dir) {
  std::error_code unreadable;
  const bool is_there = std::filesystem::is_directory(run_dir, unreadable);
  if (unreadable || std::filesystem::exists(run_dir + "/journal.jsonl", unreadable))
    return load_journal(run_dir + "/journal.jsonl", find_journal_seal(run_dir));
  return Error::usage(fmt::format("read the run in {}: {}", run_dir,
                                  is_there ? "it is no run directory, for it has no journal.jsonl"
                                           : "there is no such directory"),
                      "That is what was given to --out, or proctor-out/latest.");
}

}  // namespace proctor::cli
