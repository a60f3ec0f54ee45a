#include "reports/history/known_cases.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace proctor {
namespace {

bool was_executed(Outcome outcome) { return outcome != Outcome::kSkip && outcome != Outcome::kNotrun; }

}  // namespace

void SeenPrograms::add(const std::string& case_id, std::string_view sha256) {
  programs_[case_id].emplace(sha256);
}

Sight SeenPrograms::of(const std::string& case_id, std::string_view sha256) const {
  const auto seen = programs_.find(case_id);
  if (seen == programs_.end()) return Sight::kNew;
  if (sha256.empty()) return Sight::kUnknown;
  if (seen->second.contains(sha256)) return Sight::kSeen;
  return seen->second.contains("") ? Sight::kUnknown : Sight::kChanged;
}

SeenPrograms seen_programs(const RunResults& run) {
  SeenPrograms seen;
  std::map<std::pair<std::string_view, std::string_view>, std::string_view> digests;
  for (const TestedProgram& program : run.programs)
    digests[{program.suite, program.backend}] = program.sha256;
  for (const CaseResult& result : run.cases) {
    const Variant& variant = run.variants[result.variant];
    if (was_executed(result.verdict.outcome)) seen.add(result.id, digests[{variant.suite, variant.backend}]);
  }
  return seen;
}

Result<SeenPrograms> seen_programs(History& history) {
  SeenPrograms seen;
  const auto done = history.read([&](Database& database) {
    Statement row(database,
                  "SELECT DISTINCT test.case_id, coalesce(program.sha256, '') FROM result "
                  "JOIN variant ON variant.id = result.variant JOIN test ON test.id = result.test "
                  "LEFT JOIN program ON program.run = result.run AND program.suite = variant.suite "
                  "AND program.backend = variant.backend WHERE result.outcome NOT IN (?, ?)");
    row.bind(static_cast<int>(Outcome::kSkip), static_cast<int>(Outcome::kNotrun));
    while (row.step()) seen.add(std::string(row.text(0)), row.text(1));
  });
  if (!done) return done.error();
  return seen;
}

namespace {

constexpr std::size_t kMostReadPerWanted = 2;

double median_of(std::vector<std::int64_t> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  if (values.size() % 2 != 0) return static_cast<double>(*middle);
  const auto below = *std::max_element(values.begin(), middle);
  return (static_cast<double>(below) + static_cast<double>(*middle)) / 2;
}

// Collects the newest durations of each case, while the runs are read from the newest on.
class Samples {
 public:
  Samples(Database& database, std::size_t newest) : newest_(newest) {
    for (const auto& [test, id] : read_case_ids(database)) {
      if (of_test_.size() <= test) of_test_.resize(test + 1, kNoCase);
      of_test_[test] = names_.size();
      names_.push_back(id);
    }
    values_.resize(names_.size());
    wanted_ = values_.size() * newest_;
    may_read_ = wanted_ * kMostReadPerWanted;
  }

  bool has_enough() const { return wanted_ == 0 || may_read_ == 0; }
  void add(std::int64_t test, std::int64_t duration_ms) {
    const bool is_there = test >= 0 && std::cmp_less(test, of_test_.size());
    const std::size_t place = is_there ? of_test_[static_cast<std::size_t>(test)] : kNoCase;
    if (place == kNoCase) throw SqliteFailure{kDamaged, "a result is of no case"};
    may_read_ -= may_read_ > 0 ? 1 : 0;
    if (values_[place].size() >= newest_) return;
    values_[place].push_back(duration_ms);
    --wanted_;
  }

  std::map<std::string, double> medians() {
    std::map<std::string, double> medians;
    for (std::size_t place = 0; place < values_.size(); ++place) {
      if (!values_[place].empty()) medians.emplace(names_[place], median_of(std::move(values_[place])));
    }
    return medians;
  }

 private:
  static constexpr std::size_t kNoCase = static_cast<std::size_t>(-1);

  std::size_t newest_;
  std::vector<std::size_t> of_test_;  // by row number in the file; the numbers have gaps
  std::vector<std::vector<std::int64_t>> values_;
  std::vector<std::string> names_;
  std::size_t wanted_ = 0;    // number of durations that are still missing
  std::size_t may_read_ = 0;  // number of results that may still be read
};

}  // namespace

Result<std::map<std::string, double>> median_durations(History& history, std::size_t newest) {
  std::map<std::string, double> medians;
  const auto done = history.read([&](Database& database) {
    Samples samples(database, std::max<std::size_t>(newest, 1));
    std::vector<HistoryRun> runs = read_runs(database);
    Statement row(
        database,
        "SELECT test, duration_ms FROM result WHERE run = ? AND attempts > 0 AND outcome NOT IN (?, ?)");
    while (!runs.empty() && !samples.has_enough()) {
      row.bind(runs.back().id, static_cast<int>(Outcome::kSkip), static_cast<int>(Outcome::kNotrun));
      while (row.step()) samples.add(row.integer(0), row.integer(1));
      runs.pop_back();
    }
    medians = samples.medians();
  });
  if (!done) return done.error();
  return medians;
}

}  // namespace proctor
