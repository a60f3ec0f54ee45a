#include "reports/history/seen_runs.h"

#include <algorithm>

#include "harness/base/text.h"

namespace proctor {
namespace {

constexpr const char* kSeenTables = R"(
DROP TABLE IF EXISTS temp.seen;
DROP TABLE IF EXISTS temp.selected;
CREATE TEMP TABLE seen (
  place INTEGER PRIMARY KEY, run INTEGER NOT NULL UNIQUE, started TEXT NOT NULL, sources INTEGER NOT NULL);
CREATE TEMP TABLE selected (test INTEGER PRIMARY KEY);
)";

// Selects for each run the previous run with a variant of it.
constexpr const char* kRunsBefore = R"(
SELECT place, max(before)
  FROM (SELECT place, lag(place) OVER (PARTITION BY variant ORDER BY place) AS before
          FROM run_variant JOIN seen USING (run))
 GROUP BY place HAVING max(before) IS NOT NULL
)";

// For a few cases of many, the second statement is faster.
constexpr const char* kResultsOfRun =
    "SELECT test, variant, outcome, result_class, flaky, duration_ms FROM result "
    "WHERE run = ? AND (? OR +test IN (SELECT test FROM selected))";
constexpr const char* kSelectedOfRun =
    "SELECT selected.test, variant, outcome, result_class, flaky, duration_ms "
    "FROM selected CROSS JOIN result ON result.run = ? AND result.test = selected.test";

void write_seen(Database& database, const std::vector<HistoryRun>& runs) {
  database.execute(kSeenTables);
  Statement insert(database, "INSERT INTO seen VALUES (?, ?, ?, ?)");
  std::map<std::string, std::size_t> of_commit;
  for (std::size_t place = 0; place < runs.size(); ++place) {
    const HistoryRun& run = runs[place];
    const bool known = !run.commit.empty() && !run.dirty;
    insert.run(place, run.id, run.started,
               known ? of_commit.try_emplace(run.commit, place).first->second : place);
  }
}

}  // namespace

SeenRuns::SeenRuns(Database& database, std::vector<HistoryRun> runs)
    : database_(database),
      runs_(std::move(runs)),
      before_(runs_.size()),
      results_(runs_.size()),
      variants_(read_variants(database)) {
  write_seen(database, runs_);
  for (auto& [test, id] : read_case_ids(database)) {
    indexes_.emplace(test, ids_.size());
    tests_.push_back(test);
    ids_.push_back(std::move(id));
  }
  const auto place = [](const Statement& row, int column) {
    return static_cast<std::size_t>(row.integer(column));
  };
  Statement before(database, kRunsBefore);
  while (before.step()) before_[place(before, 0)] = place(before, 1);
  Statement count(database,
                  "SELECT place, sum(passing + failing + expected + unrun) FROM run_variant JOIN seen USING "
                  "(run) GROUP BY place");
  while (count.step()) results_[place(count, 0)] = static_cast<std::size_t>(count.integer(1));
}

std::vector<FactChange> SeenRuns::moved(std::size_t place) {
  const auto before = before_[place];
  if (!before || runs_[*before].stack == runs_[place].stack) return {};
  const auto facts = [&](std::int64_t stack) -> const std::vector<StackFact>& {
    const auto [known, is_new] = stacks_.try_emplace(stack);
    if (is_new) known->second = read_stack(database_, stack);
    return known->second;
  };
  return moved_facts(facts(runs_[*before].stack), facts(runs_[place].stack));
}

std::size_t SeenRuns::index_of(std::int64_t test) const {
  const auto found = indexes_.find(test);
  if (found == indexes_.end()) throw SqliteFailure{kDamaged, "a result is of no case"};
  return found->second;
}

const Variant& SeenRuns::variant_of(std::int64_t variant) const {
  const auto found = variants_.find(variant);
  if (found == variants_.end()) throw SqliteFailure{kDamaged, "a result is of no variant"};
  return found->second;
}

std::optional<std::int64_t> SeenRuns::number_of(const Variant& variant) const {
  const auto found = std::ranges::find(variants_, variant, &Variants::value_type::second);
  return found == variants_.end() ? std::nullopt : std::optional<std::int64_t>(found->first);
}

std::vector<std::int64_t> SeenRuns::tests_like(const std::string& glob) const {
  std::vector<std::int64_t> tests;
  for (std::size_t i = 0; i < ids_.size(); ++i) {
    if (glob_match(glob, ids_[i])) tests.push_back(tests_[i]);
  }
  return tests;
}

void SeenRuns::select(const std::vector<std::int64_t>& tests) {
  Statement insert(database_, "INSERT INTO selected VALUES (?)");
  for (const std::int64_t test : tests) insert.run(test);
  selected_ = tests.size();
}

void SeenRuns::deselect(std::int64_t test) {
  Statement(database_, "DELETE FROM selected WHERE test = ?").run(test);
  --selected_;
}

void SeenRuns::for_each_result(std::size_t newest,
                               const std::function<void(std::size_t place, const Statement& row)>& use) {
  Statement whole(database_, kResultsOfRun);
  Statement few(database_, kSelectedOfRun);
  const std::size_t oldest = runs_.size() - std::min(runs_.size(), newest);
  for (std::size_t place = runs_.size(); place-- > oldest && selected_ > 0;) {
    const bool is_few = selected_ * 8 < results_[place];
    Statement& row =
        is_few ? few.bind(runs_[place].id) : whole.bind(runs_[place].id, selected_ == ids_.size());
    while (row.step()) use(place, row);
    row.reset();
  }
}

Attendance::Attendance(Database& database, const SeenRuns& runs, const std::string& since) : runs_(runs) {
  Statement row(database,
                "SELECT variant, ran, sources, count(*) FROM run_variant JOIN seen USING (run) WHERE started "
                ">= ? GROUP BY variant, ran, sources ORDER BY variant, ran");
  std::string packed;
  std::vector<std::uint32_t> tests;
  for (row.bind(since); row.step();) {
    OfVariant& of = variants_[row.integer(0)];
    const bool is_new = of.cases.empty() || packed != row.bytes(1);
    if (is_new) {
      packed = row.bytes(1);
      tests = unpacked(packed);
      // The file is not trusted, so it may contain duplicates.
      tests.erase(std::ranges::unique(tests).begin(), tests.end());
      of.runs.resize(runs.ids().size());
      of.cases.emplace_back(runs.ids().size());
    }
    const auto count = static_cast<int>(row.integer(3));
    for (const std::uint32_t test : tests) {
      const std::size_t index = runs.index_of(test);
      of.runs[index] += count;
      if (is_new) of.cases.back()[index] = true;
    }
    of.by_sources[row.integer(2)].push_back({of.cases.size() - 1, count});
  }
}

int Attendance::runs_of(const SeenCase& seen) const {
  const auto of = variants_.find(seen.variant);
  return of == variants_.end() ? 0 : of->second.runs[runs_.index_of(seen.test)];
}

int Attendance::runs_of(const SeenCase& seen, std::int64_t sources) const {
  const auto of = variants_.find(seen.variant);
  if (of == variants_.end()) return 0;
  const auto parts = of->second.by_sources.find(sources);
  if (parts == of->second.by_sources.end()) return 0;
  const std::size_t index = runs_.index_of(seen.test);
  int runs = 0;
  for (const Part& part : parts->second) runs += of->second.cases[part.cases][index] ? part.runs : 0;
  return runs;
}

}  // namespace proctor
