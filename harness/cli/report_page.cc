// Implements `proctor report render RUN_DIR... --format page --out FILE`: one page for several runs, or for one run
// with its history.
#include <cstdio>
#include <deque>
#include <filesystem>

#include "harness/base/duration.h"
#include "harness/base/replace_file.h"
#include "harness/cli/console/messages.h"
#include "harness/cli/load_run.h"
#include "harness/cli/report_command.h"
#include "harness/journal/outcome_meaning.h"
#include "reports/history/questions.h"
#include "reports/page/page.h"
#include "reports/render.h"

namespace proctor::cli {
namespace {

namespace fs = std::filesystem;

// A run and all data for its part of the page.
struct Loaded {
  fs::path run_dir;
  ResolvedRun run;
  RunResults results;
  std::optional<RunResults> before{};
  std::optional<Comparison> comparison{};
  std::optional<Past> past{};
};

class PageMaker {
 public:
  explicit PageMaker(const PageOptions& options) : options_(options) {}

  Result<void> load() {
    for (const std::string& report : options_.runs) {
      if (auto loaded = load_one(report); !loaded) return loaded;
    }
    if (!options_.history.empty()) {
      if (auto read = read_history(); !read) return read;
    }
    if (!options_.against.empty()) {
      auto before = load_run_results(options_.against);
      if (!before) return before.error();
      compare_with(runs_.front(), *std::move(before));
    }
    return load_panels();
  }

  Result<void> write() const {
    PageRequest request;
    request.sibling_files = sibling_files_of_page();
    if (gate_) request.gate = &*gate_;
    if (coverage_) request.coverage = &*coverage_;
    const fs::path place = fs::path(options_.out).parent_path();
    for (const Loaded& run : runs_) {
      PageRun page{.resolved = run.run,
                   .run_dir = run.run_dir,
                   .journal_sha256 = run.results.journal_sha256,
                   .accept = find_accept_report(run.run_dir, run.run)};
      page.link = page_link(place.empty() ? "." : place, run.run_dir);
      if (run.comparison) page.changes.emplace(*run.before, *run.comparison);
      if (run.past) page.past = &*run.past;
      request.runs.push_back(std::move(page));
    }
    auto file = FileReplacement::open(options_.out);
    if (!file) return file.error();
    {
      TextOutput output([&file](std::string_view piece) { file->add(piece); });
      write_page(request, output);
    }
    return file->put();
  }

 private:
  Result<void> load_one(const std::string& report) {
    const auto run_dir = run_directory_of(report);
    if (!run_dir) return run_dir.error();
    auto run = load_run(*run_dir);
    if (!run) return run.error();
    RunResults results = results_of(*run);
    results.place = report;
    if (!options_.gate.empty()) {  // a verdict identifies its runs by the digests of their journals
      auto digest = run_journal_sha256(report);
      if (!digest) return digest.error();
      results.journal_sha256 = *std::move(digest);
    }
    runs_.push_back({.run_dir = *run_dir, .run = *std::move(run), .results = std::move(results)});
    return {};
  }

  Result<void> load_panels() {
    if (!options_.gate.empty()) {
      auto gate = read_page_gate(options_.gate);
      if (!gate) return gate.error();
      gate_ = *std::move(gate);
    }
    if (!options_.coverage.empty()) {
      auto coverage = read_page_coverage(options_.coverage);
      if (!coverage) return coverage.error();
      coverage_ = *std::move(coverage);
    }
    return {};
  }

  Result<void> read_history() {
    auto history = History::open_to_read(options_.history, kHistoryWait);
    if (!history) return history.error();
    for (Loaded& run : runs_) {
      auto past = past_of(*history, run.results);
      if (!past) return past.error();
      run.past = *std::move(past);
      // Changes are shown only for a single run, because several runs belong to one moment.
      if (runs_.size() > 1 || run.past->runs.empty() || !options_.against.empty()) continue;
      auto before = run_in(*history, run.past->runs.back().run_id);
      if (!before) return before.error();
      compare_with(run, *std::move(before));
    }
    return {};
  }

  static Result<RunResults> run_in(History& history, const std::string& run_id) {
    const auto runs = history.runs();
    if (!runs) return runs.error();
    for (const HistoryRun& run : *runs) {
      if (run.run_id == run_id) return history.results_of(run);
    }
    return Error::refused("History " + history.path() + " has no run " + run_id);
  }

  static void compare_with(Loaded& run, RunResults before) {
    run.before = std::move(before);
    run.comparison = compare(*run.before, run.results);
  }

  const PageOptions& options_;
  std::deque<Loaded> runs_;
  std::optional<PageGate> gate_;
  std::optional<PageCoverage> coverage_;
};

}  // namespace

int make_page(const PageOptions& options) {
  if (!options.against.empty() && options.runs.size() > 1)
    return fail(Error::refused("--against needs exactly one report; " + std::to_string(options.runs.size()) +
                               " are given"));
  PageMaker maker(options);
  if (auto loaded = maker.load(); !loaded) return fail(Error::usage_of(loaded.error()));
  if (auto written = maker.write(); !written) return fail(written.error());
  std::printf("page %s\n", shown(options.out).c_str());
  return kExitGreen;
}

}  // namespace proctor::cli
