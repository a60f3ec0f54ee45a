#include "reports/history/questions.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "harness/base/failure_rate.h"
#include "harness/base/text.h"
#include "reports/history/seen_runs.h"

namespace proctor {
namespace {

// ---- Statements over the tables `seen` and `selected` (reports/history/seen_runs.h) ----

// Selects the cases whose newest result, not counting results that did not run, is a failure at ?1 or later. Columns:
// test, variant, and three places: of the newest result, of the result that ended the streak, and of the first failure
// of the streak. The last column is the number of failures in the streak.
constexpr const char* kStreaks = R"(
WITH failed AS MATERIALIZED (
  SELECT DISTINCT test, variant FROM result INDEXED BY result_notable
   WHERE (result_class = 1 OR flaky = 1) AND result_class = 1 AND test IN (SELECT test FROM selected)),
newest AS MATERIALIZED (
  SELECT test, variant,
         (SELECT place FROM seen CROSS JOIN result ON result.run = seen.run AND result.test = failed.test
           WHERE result.variant = failed.variant AND result_class <> 3 ORDER BY place DESC LIMIT 1) AS last
    FROM failed),
streak AS MATERIALIZED (
  SELECT newest.test, newest.variant, last,
         (SELECT place FROM seen CROSS JOIN result ON result.run = seen.run AND result.test = newest.test
           WHERE result.variant = newest.variant AND place < last AND result_class IN (0, 2)
           ORDER BY place DESC LIMIT 1) AS ended
    FROM newest CROSS JOIN seen ON place = last AND started >= ?1
    CROSS JOIN result ON result.run = seen.run AND result.test = newest.test AND result_class = 1)
SELECT streak.test, streak.variant, last, ended, min(place), count(*)
  FROM streak CROSS JOIN result INDEXED BY result_notable
    ON result.test = streak.test AND result.variant = streak.variant
  CROSS JOIN seen ON seen.run = result.run
 WHERE (result_class = 1 OR flaky = 1) AND result_class = 1 AND place > coalesce(ended, -1)
 GROUP BY streak.test, streak.variant
)";

// Selects for each case and value of `sources` the number of failed runs, and of runs in which
// the case failed and then passed.
constexpr const char* kBad = R"(
SELECT test, variant, sources, sum(result_class = 1), sum(result_class = 0)
  FROM result INDEXED BY result_notable CROSS JOIN seen ON seen.run = result.run
 WHERE (result_class = 1 OR flaky = 1) AND result_class IN (0, 1) AND started >= ?
 GROUP BY test, variant, sources
)";

constexpr const char* kOutcome = R"(
SELECT outcome, reason.text, result_class, flaky, attempts, duration_ms, device.name,
       coalesce(words.text, cause_of_run.text), result.cause
  FROM result LEFT JOIN reason ON reason.id = result.reason LEFT JOIN device ON device.id = result.device
  LEFT JOIN words ON words.run = result.run AND words.test = result.test
  LEFT JOIN cause_of_run ON cause_of_run.run = result.run AND cause_of_run.cause = result.cause
 WHERE result.run = ? AND result.test = ?
)";

// Reads the outcome of a single result.
class Outcomes {
 public:
  Outcomes(Database& database, const SeenRuns& runs) : runs_(runs), row_(database, kOutcome) {}

  SeenOutcome of(std::size_t place, std::int64_t test) {
    if (!row_.bind(runs_[place].id, test).step()) throw SqliteFailure{kDamaged, "a result is not there"};
    return {.run = place,
            .verdict = {outcome_in(row_.integer(0)), reason_in_words(std::string(row_.text(1)))},
            .result_class = result_class_in(row_.integer(2)),
            .flaky = row_.integer(3) != 0,
            .attempts = static_cast<int>(row_.integer(4)),
            .duration_ms = row_.integer(5),
            .device = std::string(row_.text(6)),
            .cause = std::string(row_.text(7)),
            .cause_number = row_.integer(8)};
  }

 private:
  const SeenRuns& runs_;
  Statement row_;
};

// ---- Since when ----

std::vector<FailingCase> failing_in(Database& database, const SeenRuns& runs, const std::string& since) {
  std::vector<FailingCase> failing;
  Outcomes outcomes(database, runs);
  Statement row(database, kStreaks);
  for (row.bind(since); row.step();) {
    const std::int64_t test = row.integer(0);
    const auto place = [&](int column) { return static_cast<std::size_t>(row.integer(column)); };
    FailingCase& found = failing.emplace_back(FailingCase{.id = runs.ids()[runs.index_of(test)],
                                                          .variant = runs.variant_of(row.integer(1)),
                                                          .last = outcomes.of(place(2), test),
                                                          .since = place(4),
                                                          .runs = static_cast<int>(row.integer(5))});
    if (!row.is_null(3) && outcomes.of(place(3), test).result_class == ResultClass::kPassing)
      found.passed = place(3);
  }
  std::ranges::sort(failing, {},
                    [&](const FailingCase& c) { return std::tuple(runs.size() - c.since, c.id, c.variant); });
  return failing;
}

// ---- Flakiness ----

// Returns the number of inconsistent runs of each case that failed or was flaky at `since` or later.
std::map<SeenCase, int> inconsistent_runs_in(Database& database, const Attendance& attendance,
                                             const std::string& since) {
  std::map<SeenCase, int> inconsistent_runs;
  Statement row(database, kBad);
  for (row.bind(since); row.step();) {
    const SeenCase seen{row.integer(0), row.integer(1)};
    const int runs = attendance.runs_of(seen, row.integer(2));
    const auto failed = static_cast<int>(row.integer(3));
    inconsistent_runs[seen] +=
        failed <= runs - failed ? failed + static_cast<int>(row.integer(4)) : runs - failed;
  }
  return inconsistent_runs;
}

std::vector<FlakyCase> flaky_in(Database& database, const SeenRuns& runs, const HistoryQuestion& question) {
  const Attendance attendance(database, runs, question.since);
  std::vector<FlakyCase> flaky;
  for (const auto& [seen, inconsistent_runs] : inconsistent_runs_in(database, attendance, question.since)) {
    const std::string& id = runs.ids()[runs.index_of(seen.test)];
    const int count = attendance.runs_of(seen);
    if (inconsistent_runs == 0 || count < kFewestRuns || !glob_match(question.case_glob, id)) continue;
    flaky.push_back({id, runs.variant_of(seen.variant), flakiness_of(inconsistent_runs, count)});
  }
  std::ranges::sort(flaky, {},
                    [](const FlakyCase& c) { return std::tuple(-c.flakiness.low, c.id, c.variant); });
  return flaky;
}

// ---- How cases ended, run by run ----

std::vector<CaseOutcomes> outcomes_in(Database& database, SeenRuns& runs, const std::string& since) {
  std::vector<std::map<std::int64_t, CaseOutcomes>> found(runs.ids().size());  // by case, then by variant
  Outcomes outcomes(database, runs);
  runs.for_each_result(runs.size(), [&](std::size_t place, const Statement& row) {
    if (runs[place].started < since) return;
    CaseOutcomes& past = found[runs.index_of(row.integer(0))][row.integer(1)];
    if (past.outcomes.size() < kMostOutcomes) past.outcomes.push_back(outcomes.of(place, row.integer(0)));
  });
  std::vector<CaseOutcomes> all;
  for (std::size_t index = 0; index < found.size(); ++index) {
    for (auto& [variant, past] : found[index]) {
      past.id = runs.ids()[index];
      past.variant = runs.variant_of(variant);
      all.push_back(std::move(past));
    }
  }
  std::ranges::sort(all, {}, [](const CaseOutcomes& c) { return std::tie(c.id, c.variant); });
  return all;
}

// ---- Which runs ----

void keep_branch(std::vector<HistoryRun>& runs, const std::string& branch) {
  std::erase_if(runs, [&](const HistoryRun& run) { return run.branch != branch; });
}

}  // namespace

std::string to_string(const std::vector<FactChange>& moved) {
  std::string text;
  for (const FactChange& fact : moved)
    text += fmt::format("{}{} {} -> {}", text.empty() ? "" : ", ", fact.name, fact.before.value_or("none"),
                        fact.after.value_or("none"));
  return text;
}

Flakiness flakiness_of(int inconsistent_runs, int runs) {
  const RateInterval share = wilson_interval(inconsistent_runs, runs);
  return {.runs = runs, .inconsistent_runs = inconsistent_runs, .low = share.low, .high = share.high};
}

namespace {

std::string why_no_such_case(const std::vector<std::string>& ids, const std::string& glob) {
  if (ids.empty()) return "";
  std::string text = glob;
  std::erase_if(text, [](char c) { return c == '*' || c == '?'; });
  const std::string near = near_miss(text, ids);
  return near.empty() ? "no such case" : fmt::format("no such case; did you mean {}?", near);
}

Error no_such_branch(const History& history, const std::string& branch,
                     const std::set<std::string>& branches) {
  std::string known;
  for (const std::string& name : branches) known += fmt::format("{}`{}`", known.empty() ? "" : ", ", name);
  return Error::usage(
      fmt::format("find the branch `{}` in the history {}: no run of it is recorded", branch, history.path()),
      did_you_mean(branch, {branches.begin(), branches.end()},
                   known.empty() ? "" : "Its branches: " + known + "."));
}

}  // namespace

Result<HistoryAnswer> ask(History& history, const HistoryQuestion& question) {
  HistoryAnswer answer;
  std::set<std::string> branches;
  const auto done = history.read([&](Database& database) {
    std::vector<HistoryRun> chosen = read_runs(database);
    if (!question.all_branches) {
      answer.branch = question.branch ? *question.branch : chosen.empty() ? "" : chosen.back().branch;
      for (const HistoryRun& run : chosen) {
        if (!run.branch.empty()) branches.insert(run.branch);
      }
      keep_branch(chosen, *answer.branch);
    }
    SeenRuns runs(database, std::move(chosen));
    const auto tests = runs.tests_like(question.case_glob);
    if (tests.empty()) answer.no_such_case = why_no_such_case(runs.ids(), question.case_glob);
    runs.select(tests);
    if (question.failing) answer.failing = failing_in(database, runs, question.since);
    if (question.flaky) answer.flaky = flaky_in(database, runs, question);
    if (question.outcomes) answer.outcomes = outcomes_in(database, runs, question.since);
    for (std::size_t i = 0; i < runs.size(); ++i) answer.runs.push_back({runs[i], runs.moved(i)});
  });
  if (!done) return done.error();
  if (question.branch && !branches.contains(*question.branch))
    return no_such_branch(history, *question.branch, branches);
  return answer;
}

namespace {

// Returns the runs that began before the run, on its branch, without the run itself and its shards.
std::vector<HistoryRun> runs_before(Database& database, const RunResults& run) {
  std::vector<HistoryRun> all = read_runs(database);
  const auto is_itself = [&](const HistoryRun& other) {
    return other.run_id == run.run_id || std::ranges::find(run.parts, other.run_id) != run.parts.end() ||
           std::tie(other.started, other.run_id) > std::tie(run.started, run.run_id);
  };
  std::erase_if(all, is_itself);
  if (all.empty()) return all;
  const std::string own = run.subject.branch.value.value_or("");
  const bool has_own = std::ranges::any_of(all, [&](const HistoryRun& other) { return other.branch == own; });
  keep_branch(all, has_own ? own : all.back().branch);
  return all;
}

// Returns the index in RunResults::cases of each case that the history contains.
std::map<SeenCase, std::size_t> places_of(Database& database, const RunResults& run, const SeenRuns& runs) {
  std::map<SeenCase, std::size_t> places;
  Statement test(database, "SELECT id FROM test WHERE case_id = ?");
  for (std::size_t i = 0; i < run.cases.size(); ++i) {
    const auto variant = runs.number_of(run.variants[run.cases[i].variant]);
    if (variant && test.bind(run.cases[i].id).step()) places.emplace(SeenCase{test.integer(0), *variant}, i);
  }
  return places;
}

// Adds the newest outcomes first. PastOutcome::run is an index in `runs`.
void read_past(SeenRuns& runs, const std::map<SeenCase, std::size_t>& places,
               std::vector<std::vector<PastOutcome>>& cases) {
  std::vector<std::int64_t> tests;
  for (const auto& [seen, place] : places) tests.push_back(seen.test);
  runs.select(tests);
  constexpr std::size_t kMostRuns =
      4 * kMostOutcomes;  // a case that is missing in some of these runs gets fewer outcomes
  runs.for_each_result(kMostRuns, [&](std::size_t run, const Statement& row) {
    const auto found = places.find({row.integer(0), row.integer(1)});
    if (found == places.end() || cases[found->second].size() >= kMostOutcomes) return;
    cases[found->second].push_back({.run = static_cast<std::uint32_t>(run),
                                    .outcome = outcome_in(row.integer(2)),
                                    .result_class = result_class_in(row.integer(3)),
                                    .flaky = row.integer(4) != 0,
                                    .duration_ms = row.integer(5)});
    if (cases[found->second].size() == kMostOutcomes) runs.deselect(row.integer(0));
  });
}

// Fills Past::runs with only the runs that have an outcome. It renumbers PastOutcome::run, and sorts oldest first.
void name_runs(SeenRuns& runs, Past& past) {
  std::vector<bool> is_needed(runs.size());
  for (const auto& outcomes : past.cases) {
    for (const PastOutcome& outcome : outcomes) is_needed[outcome.run] = true;
  }
  std::vector<std::uint32_t> place(runs.size());
  for (std::size_t run = 0; run < runs.size(); ++run) {
    if (!is_needed[run]) continue;
    place[run] = static_cast<std::uint32_t>(past.runs.size());
    const HistoryRun& of = runs[run];
    past.runs.push_back({of.run_id, of.started, of.commit, of.branch, to_string(runs.moved(run))});
  }
  for (auto& outcomes : past.cases) {
    std::ranges::reverse(outcomes);
    for (PastOutcome& outcome : outcomes) outcome.run = place[outcome.run];
  }
}

}  // namespace

Result<Past> past_of(History& history, const RunResults& run) {
  Past past;
  past.cases.resize(run.cases.size());
  past.flakiness.resize(run.cases.size());
  const auto done = history.read([&](Database& database) {
    SeenRuns runs(database, runs_before(database, run));
    const auto places = places_of(database, run, runs);
    read_past(runs, places, past.cases);
    name_runs(runs, past);
    const Attendance attendance(database, runs, "");
    const auto inconsistent_runs = inconsistent_runs_in(database, attendance, "");
    for (const auto& [seen, place] : places) {
      const auto bad = inconsistent_runs.find(seen);
      if (const int count = attendance.runs_of(seen); count >= kFewestRuns)
        past.flakiness[place] = flakiness_of(bad == inconsistent_runs.end() ? 0 : bad->second, count);
    }
  });
  if (!done) return done.error();
  return past;
}

Result<std::optional<SeenRun>> last_green_run(History& history, const RunResults& run,
                                              const std::string& host) {
  std::optional<SeenRun> green;
  const auto done = history.read([&](Database& database) {
    Statement row(
        database,
        "SELECT id FROM run WHERE verdict = 'passed' AND simulated = ? "
        "AND (started, run_id) < (?, ?) AND EXISTS (SELECT 1 FROM used_device WHERE run = run.id AND "
        "host = ?) ORDER BY started DESC, run_id DESC LIMIT 1");
    if (!row.bind(run.simulated ? 1 : 0, run.started, run.run_id, host).step()) return;
    const HistoryRun seen = read_run(database, row.integer(0));
    green = SeenRun{seen, moved_facts(read_stack(database, seen.stack), run.stack)};
  });
  if (!done) return done.error();
  return green;
}

namespace {

// Returns the commits that begin with the text, newest first. A commit that equals the text is returned alone.
std::vector<std::string> commits_like(const std::vector<HistoryRun>& runs, const std::string& text) {
  std::vector<std::string> commits;
  for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
    if (run->commit.empty()) continue;
    if (run->commit == text) return {text};
    if (run->commit.starts_with(text) && std::ranges::find(commits, run->commit) == commits.end())
      commits.push_back(run->commit);
  }
  return commits;
}

Error no_such_commit(const History& history, const std::string& commit, const std::vector<HistoryRun>& runs,
                     const std::vector<std::string>& like) {
  const std::string what = fmt::format("find the commit `{}` in the history {}: ", commit, history.path());
  if (like.size() > 1) {
    return Error::usage(what + fmt::format("{} of its commits begin so", like.size()),
                        fmt::format("Two of them are {} and {}.", like[0], like[1]));
  }
  const std::vector<std::string> all = commits_like(runs, "");
  return Error::usage(what + "no run of it is recorded",
                      all.empty() ? "No recorded run has a known commit."
                                  : fmt::format("The commit of its newest run is {}.", all.front()));
}

// Adds the cases of another shard. A run that shares a case with `whole` is not another shard and is ignored.
void add_shard(RunResults& whole, RunResults shard) {
  std::set<std::string_view> there;
  for (const CaseResult& result : whole.cases) there.insert(result.id);
  const bool is_other =
      std::ranges::none_of(shard.cases, [&](const CaseResult& result) { return there.contains(result.id); });
  if (!is_other) return;
  const auto causes = static_cast<std::uint32_t>(whole.causes.size());
  std::ranges::move(shard.causes, std::back_inserter(whole.causes));
  for (CaseResult& result : shard.cases) {
    const Variant& variant = shard.variants[result.variant];
    const auto known = std::ranges::find(whole.variants, variant);
    result.variant = static_cast<std::uint32_t>(known - whole.variants.begin());
    if (known == whole.variants.end()) whole.variants.push_back(variant);
    if (result.cause != kNoCause) result.cause += causes;
    whole.cases.push_back(std::move(result));
  }
  for (TestedProgram& program : shard.programs) {
    if (std::ranges::find(whole.programs, program) == whole.programs.end())
      whole.programs.push_back(std::move(program));
  }
  whole.parts.push_back(shard.run_id);
  whole.complete = whole.complete && shard.complete;
}

}  // namespace

Result<RunResults> results_at(History& history, const std::string& commit) {
  const auto runs = history.runs();
  if (!runs) return runs.error();
  const auto like = commits_like(*runs, commit);
  if (like.size() != 1 || commit.empty()) return no_such_commit(history, commit, *runs, like);
  std::optional<RunResults> whole;
  const HistoryRun* newest = nullptr;
  for (auto run = runs->rbegin(); run != runs->rend(); ++run) {
    if (run->commit != like.front()) continue;
    if (newest != nullptr && std::tie(run->plan, run->stack) != std::tie(newest->plan, newest->stack))
      continue;
    auto results = history.results_of(*run);
    if (!results) return results.error();
    if (newest == nullptr) {
      newest = &*run;
      whole = *std::move(results);
    } else {
      add_shard(*whole, *std::move(results));
    }
  }
  std::ranges::sort(whole->cases, {}, &CaseResult::id);
  whole->place = fmt::format("history:{}@{}", history.path(), like.front());
  return *std::move(whole);
}

namespace {

// Returns the fact "xpu.driver" for the devices "xpu:0000:03:00.0" and "xpu-sim:0".
std::string driver_of(const std::string& device, const std::vector<StackFact>& stack) {
  const std::string name = device.substr(0, device.find_first_of(":-")) + ".driver";
  const auto fact = std::ranges::find(stack, name, &StackFact::name);
  return fact == stack.end() ? "" : fact->value.value_or("");
}

// SQLite takes the columns that are not aggregated from the row with the max(), which is the newest run of the device.
constexpr const char* kDeviceSums = R"(
SELECT host, name, model, started, stack, count(*), sum(attempts), sum(failed_attempts), sum(drained),
       max(started || ' ' || run_id)
  FROM used_device JOIN run ON run.id = used_device.run JOIN device ON device.id = used_device.device
 WHERE started >= ? GROUP BY host, name ORDER BY host, name
)";

}  // namespace

Result<DevicesAnswer> devices_in(History& history, const std::string& since) {
  DevicesAnswer answer;
  const auto done = history.read([&](Database& database) {
    Statement count(database, "SELECT count(*) FROM run WHERE started >= ?");
    if (count.bind(since).step()) answer.runs = count.integer(0);
    Statement row(database, kDeviceSums);
    for (row.bind(since); row.step();) {
      const std::string device(row.text(1));
      answer.devices.push_back({.host = std::string(row.text(0)),
                                .device = device,
                                .model = std::string(row.text(2)),
                                .last_seen = std::string(row.text(3)),
                                .driver = driver_of(device, read_stack(database, row.integer(4))),
                                .runs = row.integer(5),
                                .attempts = row.integer(6),
                                .failed_attempts = row.integer(7),
                                .drains = row.integer(8)});
    }
  });
  if (!done) return done.error();
  return answer;
}

}  // namespace proctor
