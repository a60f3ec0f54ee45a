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
    const auto model = load_run(directory);
    if (!model && has_journal(directory)) runs.unreadable.push_back(model.error().message());
    if (!model) continue;
    runs.directories.push_back(directory);
    for (const CaseRecord& record : model->cases()) {
      left.insert(record.planned.id);
      if (model->verdict(record).outcome != Outcome::kNotrun) left.erase(record.planned.id);
    }
    runs.is_complete = left.empty() && model->ended();
  }
  return runs;
}

bool has_report(const std::string& parent, int index) {
  const auto all = directories_of(parent, index);
  std::error_code none;
  return !all.empty() && fs::exists(all.back() + "/report.json", none);
}

}  // namespace proctor::cli
