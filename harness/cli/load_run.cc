#include "harness/cli/load_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "harness/run/record/journal_seal.h"
#include "reports/report_formats.h"

namespace proctor::cli {

Result<RunModel> load_run(const std::string& run_dir) {
  using std::filesystem::file_type;
  std::error_code error;
  const file_type there = std::filesystem::status(run_dir, error).type();
  const file_type journal = std::filesystem::status(run_dir + "/journal.jsonl", error).type();
  const bool is_there = there == file_type::directory;
  if (there != file_type::not_found && (!is_there || journal != file_type::not_found))
    return load_journal(run_dir + "/journal.jsonl", find_journal_seal(run_dir));
  return Error::refused(is_there ? run_dir + " is not a Proctor run directory: it has no journal.jsonl"
                                 : "Run directory " + run_dir + " does not exist",
                        "Give the directory of --out, or proctor-out/latest.");
}

namespace {

namespace fs = std::filesystem;

}  // namespace

Result<std::string> run_directory_of(const std::string& place) {
  std::error_code error;
  if (!fs::is_regular_file(place, error)) return place;
  const fs::path parent = fs::path(place).parent_path();
  if (is_report_of_run(place)) return parent.empty() ? "." : parent.string();
  return Error::refused(place + " is not a Proctor run directory or a report in one",
                        fmt::format("Reports of a run: {}.", fmt::join(run_files(), ", ")));
}

bool is_report_of_run(const std::string& place) {
  const fs::path path(place);
  std::error_code error;
  const auto names = run_files();
  return std::ranges::find(names, path.filename().string()) != names.end() &&
         fs::is_regular_file(path, error) && fs::exists(path.parent_path() / "journal.jsonl", error);
}

Result<std::string> run_journal_sha256(const std::string& place) {
  const auto directory = run_directory_of(place);
  if (!directory) return directory.error();
  return journal_sha256(*directory + "/journal.jsonl");
}

Result<RunResults> load_run_results(const std::string& place,
                                    const std::function<void(const RunModel& model)>& look) {
  const auto directory = run_directory_of(place);
  if (!directory) return directory.error();
  const auto model = load_run(*directory);
  if (!model) return model.error();
  if (model->warned_of(WarningCode::kJournalSecondPlan)) {
    return Error::refused("The journal of " + place + " contains more than one plan",
                          "Use `proctor report merge` to merge several runs into one.");
  }
  if (model->warned_of(WarningCode::kJournalChanged)) {
    return Error::refused("The journal of " + place + " was changed after its runner wrote it",
                          "Run `proctor report render` to see which line was changed.");
  }
  if (look) look(*model);
  auto digest = run_journal_sha256(place);
  if (!digest) return digest.error();
  RunResults results = results_of(*model);
  results.place = place;
  results.journal_sha256 = *std::move(digest);
  return results;
}

}  // namespace proctor::cli
