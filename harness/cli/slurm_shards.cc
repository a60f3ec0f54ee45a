#include "harness/cli/slurm_shards.h"

#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "harness/cli/load_run.h"

namespace proctor::cli {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> directories_of(const std::string& parent, int index) {
  std::vector<std::string> all;
  std::string place = fmt::format("{}/shard-{}", parent, index);
  std::error_code none;
  while (fs::exists(place, none)) {
    all.push_back(place);
    place = fmt::format("{}/shard-{}.{}", parent, index, all.size() + 1);
  }
  return all;
}

// True also if the file exists and cannot be read.
bool has_journal(const std::string& directory) {
  std::error_code none;
  return fs::status(directory + "/journal.jsonl", none).type() != fs::file_type::not_found;
}

}  // namespace

ShardRuns read_shard(const std::string& parent, int index) {
  ShardRuns runs{.index = index};
  std::set<std::string> left;  // cases
  for (const std::string& directory : directories_of(parent, index)) {
    const auto run = load_run(directory);
    if (!run && has_journal(directory)) runs.unreadable.push_back(run.error().message());
    if (!run) continue;
    runs.directories.push_back(directory);
    for (const ResolvedCase& test : run->cases) {
      left.insert(test.planned.id);
      if (test.verdict.outcome != Outcome::kNotrun) left.erase(test.planned.id);
    }
    runs.is_complete = left.empty() && run->ended;
  }
  return runs;
}

bool has_report(const std::string& parent, int index) {
  const auto all = directories_of(parent, index);
  std::error_code none;
  return !all.empty() && fs::exists(all.back() + "/report.json", none);
}

}  // namespace proctor::cli
