// The runs and the cases of a question, as two temporary tables for its statements:
//
//   seen       place, run, started, sources: one row for each run. The oldest run has place 0. Runs of one commit
//              without changes share a value of `sources`. Each other run has its own value
//   selected   test: one row for each case
//
// Errors are thrown as SqliteFailure. A question selects cases, then reads their results:
//
//   SeenRuns runs(database, read_runs(database));
//   runs.select(runs.tests_like("memory*"));
//   runs.for_each_result(50, [&](std::size_t place, const Statement& row) { ... });
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "reports/history/read_run.h"

namespace proctor {

// A case of one variant, identified by the row numbers of both.
struct SeenCase {
  std::int64_t test = 0;
  std::int64_t variant = 0;

  friend auto operator<=>(const SeenCase&, const SeenCase&) = default;
};

// The runs of one question, and its selected cases. reports/history/questions.cc uses it.
class SeenRuns {
 public:
  SeenRuns(Database& database, std::vector<HistoryRun> runs);

  std::size_t size() const { return runs_.size(); }
  const HistoryRun& operator[](std::size_t place) const { return runs_[place]; }
  // Returns the changes of the stack since the previous run with a variant of this run.
  std::vector<FactChange> moved(std::size_t place);

  const std::vector<std::string>& ids() const { return ids_; }  // all cases of the file
  std::size_t index_of(std::int64_t test) const;                // index in ids()
  const Variant& variant_of(std::int64_t variant) const;
  // Returns nothing if the file does not contain the variant.
  std::optional<std::int64_t> number_of(const Variant& variant) const;

  std::vector<std::int64_t> tests_like(const std::string& glob) const;
  void select(const std::vector<std::int64_t>& tests);
  void deselect(std::int64_t test);
  // Reads the results of the selected cases in the `newest` newest runs, the newest run first. Columns of a row: test,
  // variant, outcome, result_class, flaky, duration_ms.
  void for_each_result(std::size_t newest,
                       const std::function<void(std::size_t place, const Statement& row)>& use);

 private:
  Database& database_;
  std::vector<HistoryRun> runs_;
  std::vector<std::optional<std::size_t>> before_;  // by place: the previous run with a variant of this one
  std::vector<std::size_t> results_;                // by place: number of results
  std::vector<std::string> ids_;
  std::vector<std::int64_t> tests_;                        // by index in ids_
  std::unordered_map<std::int64_t, std::size_t> indexes_;  // by test
  Variants variants_;
  std::size_t selected_ = 0;
  std::map<std::int64_t, std::vector<StackFact>> stacks_;
};

// Counts the runs in which a case passed or failed, among those that began at `since` or later. Most runs of a variant
// have the same cases, so each distinct set of cases is read once.
class Attendance {
 public:
  Attendance(Database& database, const SeenRuns& runs, const std::string& since);

  int runs_of(const SeenCase& seen) const;
  int runs_of(const SeenCase& seen, std::int64_t sources) const;  // only runs of these sources

 private:
  struct Part {
    std::size_t cases = 0;  // index in OfVariant::cases
    int runs = 0;
  };
  struct OfVariant {
    std::vector<int> runs{};                 // by index in SeenRuns::ids(), like the bits in `cases`
    std::vector<std::vector<bool>> cases{};  // the sets of cases
    std::unordered_map<std::int64_t, std::vector<Part>> by_sources{};
  };

  const SeenRuns& runs_;
  std::map<std::int64_t, OfVariant> variants_;
};

}  // namespace proctor
