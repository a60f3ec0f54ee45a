#include "harness/cli/load_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "harness/base/text.h"
#include "harness/runner/record/journal.h"
#include "reports/render.h"
#include "reports/resolve/run_resolver.h"

namespace proctor::cli {

Result<ResolvedRun> load_run(const std::string& run_dir) {
  using std::filesystem::file_type;
  std::error_code error;
  const file_type there = std::filesystem::status(run_dir, error).type();
  const file_type journal = std::filesystem::status(run_dir + "/journal.jsonl", error).type();
  const bool is_there = there == file_type::directory;
  if (there != file_type::not_found && (!is_there || journal != file_type::not_found))
    return load_journal(run_dir + "/journal.jsonl", find_journal_seal(run_dir));
  return Error::refused(is_there ? run_dir + " is not a Proctor run directory: it has no journal.jsonl"
                                 : "Run directory " + run_dir + " does not exist",
                        fmt::format("Give the directory of --out, or {}.", kLatestRun));
}

namespace fs = std::filesystem;

Result<void> put_in_order(CaseOfRun& typed) {
  std::error_code error;
  const auto is_run = [&](const std::string& place) { return fs::exists(place + "/journal.jsonl", error); };
  if (!is_run(typed.case_id)) return {};
  if (typed.run_dir == kLatestRun)
    return Error::refused(typed.case_id + " is a run directory, and no case is given",
                          "Give the case first, and then the run directory.");
  if (!is_run(typed.run_dir)) std::swap(typed.case_id, typed.run_dir);
  return {};
}

void add_case_of_run(CLI::App& command, CaseOfRun& typed, const std::string& about_case) {
  command.add_option("case", typed.case_id, about_case + ", by its id or the part after the suite")
      ->type_name("CASE")
      ->required();
  command.add_option("run_dir", typed.run_dir, fmt::format("Run directory (default: {})", kLatestRun))
      ->type_name("RUN_DIR");
}

Result<const ResolvedCase*> find_case(const ResolvedRun& run, const std::string& id,
                                      const std::string& run_dir) {
  if (const ResolvedCase* test = run.find(id)) return test;
  std::vector<const ResolvedCase*> fitting;
  std::vector<std::string> ids;
  for (const ResolvedCase& test : run.cases) {
    const std::string& known = test.planned.id;
    ids.push_back(known);
    ids.push_back(known.substr(known.find('/') + 1));
    if (ids.back() == id) fitting.push_back(&test);
  }
  if (fitting.size() == 1) return fitting.front();
  if (fitting.empty())
    return Error::refused(fmt::format("The run in {} has no case `{}`", run_dir, id),
                          did_you_mean(id, ids, "Run `proctor list` to see the ids."));
  return Error::refused(fmt::format("The run in {} has several cases `{}`", run_dir, id),
                        fmt::format("Did you mean `{}`?", fitting.front()->planned.id));
}

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
                                    const std::function<void(const ResolvedRun& run)>& examine) {
  const auto directory = run_directory_of(place);
  if (!directory) return directory.error();
  const auto run = load_run(*directory);
  if (!run) return run.error();
  if (run->warned_of(WarningCode::kJournalDuplicatePlan)) {
    return Error::refused("The journal of " + place + " contains more than one plan",
                          "Use `proctor report merge` to merge several runs into one.");
  }
  if (run->warned_of(WarningCode::kJournalChanged)) {
    return Error::refused("The journal of " + place + " was changed after its runner wrote it",
                          "Run `proctor report render` to see which line was changed.");
  }
  if (examine) examine(*run);
  auto digest = run_journal_sha256(place);
  if (!digest) return digest.error();
  RunResults results = results_of(*run);
  results.place = place;
  results.journal_sha256 = *std::move(digest);
  return results;
}

}  // namespace proctor::cli
