#include "reports/history/questions.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "harness/core/failure_rate.h"
#include "harness/core/text.h"

namespace proctor {
namespace {

// A case of one variant, by numbers: of its name, and of the variant in the file.
struct Key {
  std::uint32_t name = 0;
  std::uint32_t variant = 0;

  friend bool operator==(const Key&, const Key&) = default;
};
struct HashOfKey {
  std::size_t operator()(const Key& key) const {
    return std::hash<std::uint64_t>{}(std::uint64_t{key.variant} << 32 | key.name);
  }
};
template <typename Value>
using ByKey = std::unordered_map<Key, Value, HashOfKey>;

// The ids of cases, and the variants, by their numbers.
class Names {
 public:
  explicit Names(Database& database) : variants_(read_variants(database)) {
    for (const auto& [number, variant] : variants_) numbers_.try_emplace(variant, number);
    for (const auto& [test, id] : read_case_ids(database)) {
      const auto name = static_cast<std::uint32_t>(names_.size());
      names_.push_back(id);
      by_text_.emplace(id, name);
      of_test_.resize(test + 1, kNone);
      of_test_[test] = name;
      tests_.push_back(test);
    }
  }

  std::size_t size() const { return names_.size(); }
  const std::string& text(std::uint32_t name) const { return names_[name]; }
  std::uint32_t of_test(std::int64_t test) const {
    const bool is_there = test >= 0 && test < static_cast<std::int64_t>(of_test_.size());
    const std::uint32_t name = is_there ? of_test_[static_cast<std::size_t>(test)] : kNone;
    if (name == kNone) throw SqliteFailure{kDamaged, "a result is of no case"};
    return name;
  }
  std::optional<std::uint32_t> find(const std::string& id) const {
    const auto found = by_text_.find(id);
    return found == by_text_.end() ? std::nullopt : std::optional(found->second);
  }
  bool fits(std::uint32_t name, const std::string& glob) const { return glob_match(glob, text(name)); }

  Key key(std::int64_t test, std::int64_t variant) const {
    return {of_test(test), static_cast<std::uint32_t>(variant)};
  }
  std::optional<std::uint32_t> find(const Variant& variant) const {
    const auto found = numbers_.find(variant);
    return found == numbers_.end() ? std::nullopt : std::optional(found->second);
  }
  Variant variant_of(const Key& key) const {
    const auto found = variants_.find(key.variant);
    if (found == variants_.end()) throw SqliteFailure{kDamaged, "a result is of no variant"};
    return found->second;
  }
  std::uint32_t test(std::uint32_t name) const { return tests_[name]; }  // its number in the file

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  Variants variants_;
  std::map<Variant, std::uint32_t> numbers_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::uint32_t> by_text_;
  std::vector<std::uint32_t> of_test_;  // by the number in the file, which has gaps
  std::vector<std::uint32_t> tests_;    // by name
};

// The row of a result, until the next one is read.
class ResultRow {
 public:
  static constexpr const char* kColumns =
      "SELECT test, variant, outcome, standing, flaky, duration_ms, reason, attempts, device, cause FROM "
      "result ";

  ResultRow(const Statement& row, const Names& names) : row_(row), names_(names) {}

  Key key() const { return names_.key(row_.integer(0), row_.integer(1)); }
  std::int64_t test() const { return row_.integer(0); }
  Outcome outcome() const { return outcome_in(row_.integer(2)); }
  Standing standing() const { return standing_in(row_.integer(3)); }
  bool flaky() const { return row_.integer(4) != 0; }
  std::int64_t duration_ms() const { return row_.integer(5); }
  std::int64_t reason() const { return row_.integer(6); }  // these are 0 where there is none
  int attempts() const { return static_cast<int>(row_.integer(7)); }
  std::int64_t device() const { return row_.integer(8); }
  std::int64_t cause() const { return row_.integer(9); }

 private:
  const Statement& row_;
  const Names& names_;
};

// The runs that a question is about, with what is needed to go through them.
class Runs {
 public:
  Runs(Database& database, const Names& names, std::vector<HistoryRun> runs)
      : database_(database),
        names_(names),
        runs_(std::move(runs)),
        all_(database, std::string(ResultRow::kColumns) + "WHERE run = ?"),
        one_(database, std::string(ResultRow::kColumns) + "WHERE run = ? AND test = ?"),
        variants_(runs_.size()),
        cases_(runs_.size()) {
    for (std::size_t i = 0; i < runs_.size(); ++i) places_.emplace(runs_[i].id, i);
    Statement row(database, "SELECT run, variant, passing + failing + expected + unrun FROM run_variant");
    while (row.step()) {
      const auto place = places_.find(row.integer(0));
      if (place == places_.end()) continue;
      variants_[place->second].insert(row.integer(1));
      cases_[place->second] += static_cast<std::size_t>(row.integer(2));
    }
  }

  std::size_t size() const { return runs_.size(); }
  const HistoryRun& operator[](std::size_t run) const { return runs_[run]; }
  std::optional<std::size_t> find(std::int64_t id) const {
    const auto found = places_.find(id);
    return found == places_.end() ? std::nullopt : std::optional(found->second);
  }

  // The results of those names in the run: of all by one walk, or of a few by looking each of them up.
  template <typename OpenNames, typename Visit>
  void visit(std::size_t run, std::size_t open, const OpenNames& open_names, const Visit& visit_row) {
    if (open * 8 >= cases_[run]) {
      for (all_.bind(runs_[run].id); all_.step();) visit_row(ResultRow(all_, names_));
      return all_.reset();
    }
    for (const std::uint32_t name : open_names()) {
      if (one_.bind(runs_[run].id, names_.test(name)).step()) visit_row(ResultRow(one_, names_));
    }
    one_.reset();
  }

  // What moved against the run before it that has a variant of this one.
  std::vector<FactChange> moved(std::size_t run) {
    for (std::size_t before = run; before-- > 0;) {
      const auto shares = [&](std::int64_t variant) { return variants_[before].contains(variant); };
      if (std::ranges::none_of(variants_[run], shares)) continue;
      return moved_between(runs_[before].stack, runs_[run].stack);
    }
    return {};
  }

 private:
  const std::vector<StackFact>& facts(std::int64_t stack) {
    const auto [known, is_new] = facts_.try_emplace(stack);
    if (is_new) known->second = read_stack(database_, stack);
    return known->second;
  }

  std::vector<FactChange> moved_between(std::int64_t before, std::int64_t after) {
    return before == after ? std::vector<FactChange>() : moved_facts(facts(before), facts(after));
  }

  Database& database_;
  const Names& names_;
  std::vector<HistoryRun> runs_;
  Statement all_;
  Statement one_;
  std::unordered_map<std::int64_t, std::size_t> places_;
  std::vector<std::set<std::int64_t>> variants_;
  std::vector<std::size_t> cases_;
  std::map<std::int64_t, std::vector<StackFact>> facts_;
};

// What an answer says of a result in words, looked up for those that are shown.
class Words {
 public:
  explicit Words(Database& database)
      : reason_(database, "SELECT text FROM reason WHERE id = ?"),
        device_(database, "SELECT name FROM device WHERE id = ?"),
        cause_(database, "SELECT text FROM cause_of_run WHERE run = ? AND cause = ?"),
        words_(database, "SELECT text FROM words WHERE run = ? AND test = ?") {}

  SeenOutcome outcome(std::size_t run, std::int64_t run_number, const ResultRow& row) {
    return {.run = run,
            .verdict = {row.outcome(), reason_in_words(look_up(reason_, row.reason()))},
            .standing = row.standing(),
            .flaky = row.flaky(),
            .attempts = row.attempts(),
            .duration_ms = row.duration_ms(),
            .device = look_up(device_, row.device()),
            .cause = cause(run_number, row),
            .cause_number = row.cause()};
  }

 private:
  std::string cause(std::int64_t run, const ResultRow& row) {
    const std::string own = look_up(words_, run, row.test());
    return own.empty() && row.cause() != 0 ? look_up(cause_, run, row.cause()) : own;
  }

  template <typename... Ids>
  std::string look_up(Statement& statement, Ids... ids) {
    std::string text;
    if (statement.bind(ids...).step()) text = statement.text(0);
    statement.reset();
    return text;
  }

  Statement reason_;
  Statement device_;
  Statement cause_;
  Statement words_;
};

// ---- Since when ----

// The streaks of cases that failed at some time, while the runs are gone through from the newest on.
class Streaks {
 public:
  Streaks(Database& database, const Names& names, Runs& runs, const HistoryQuestion& question)
      : names_(names), runs_(runs), since_(question.since), words_(database) {
    Statement row(
        database,
        "SELECT DISTINCT test, variant FROM result INDEXED BY result_notable WHERE (standing = 1 OR "
        "flaky = 1) AND standing = 1");
    while (row.step()) {
      const Key key = names.key(row.integer(0), row.integer(1));
      if (names.fits(key.name, question.case_glob)) open_.try_emplace(key);
    }
  }

  bool is_over() const { return open_.empty(); }
  void go_through(std::size_t run) {
    runs_.visit(
        run, open_.size(), [&] { return open_names(); }, [&](const ResultRow& row) { add(run, row); });
  }
  std::vector<FailingCase> take() {
    while (!open_.empty()) close(open_.begin());
    std::ranges::sort(failing_, {}, [&](const FailingCase& c) {
      return std::tuple(runs_.size() - c.since, c.id, c.variant);
    });
    return std::move(failing_);
  }

 private:
  using Open = ByKey<std::optional<FailingCase>>;  // nothing yet: no run of it was met

  void add(std::size_t run, const ResultRow& row) {
    const auto found = open_.find(row.key());
    if (found == open_.end() || row.standing() == Standing::kUnrun) return;
    std::optional<FailingCase>& streak = found->second;
    if (row.standing() != Standing::kFailing) {
      if (streak && row.standing() == Standing::kPassing) streak->good = run;
      return close(found);
    }
    if (!streak) {
      streak = FailingCase{.id = names_.text(found->first.name),
                           .variant = names_.variant_of(found->first),
                           .last = words_.outcome(run, runs_[run].id, row)};
    }
    streak->since = run;
    ++streak->runs;
  }

  void close(Open::iterator found) {
    if (found->second && runs_[found->second->last.run].started >= since_)
      failing_.push_back(*std::move(found->second));
    open_.erase(found);
  }

  std::set<std::uint32_t> open_names() const {
    std::set<std::uint32_t> names;
    for (const auto& [key, streak] : open_) names.insert(key.name);
    return names;
  }

  const Names& names_;
  Runs& runs_;
  const std::string& since_;
  Words words_;
  Open open_;
  std::vector<FailingCase> failing_;
};

std::vector<FailingCase> failing_in(Database& database, const Names& names, Runs& runs,
                                    const HistoryQuestion& question) {
  Streaks streaks(database, names, runs, question);
  for (std::size_t run = runs.size(); run-- > 0 && !streaks.is_over();) streaks.go_through(run);
  return streaks.take();
}

// ---- Flakiness ----

// Of a case in one run, where it was not simply good.
struct Notable {
  bool failed = false;
  bool flaky = false;
  bool ran = false;  // it passed or failed
};

// Of a case in the runs of the same sources.
struct Together {
  int ran = 0;
  int failed = 0;
  int flaky = 0;  // and good in the end

  int disagreeing() const { return failed <= ran - failed ? failed + flaky : ran - failed; }
};

// Runs of the same sources have the same number.
std::vector<std::uint32_t> numbers_of_sources(const Runs& runs) {
  std::map<std::string, std::uint32_t> of_commit;
  std::vector<std::uint32_t> numbers;
  for (std::uint32_t run = 0; run < runs.size(); ++run) {
    const bool known = !runs[run].commit.empty() && !runs[run].dirty;
    numbers.push_back(known ? of_commit.try_emplace(runs[run].commit, run).first->second : run);
  }
  return numbers;
}

// In how many runs each case passed or failed; and of those that were not always good, how often beside which sources. A
// case that was always good, as most are, costs no more than its number of runs.
class FlakinessReader {
 public:
  FlakinessReader(Database& database, const Names& names, const Runs& runs, const std::string& since)
      : names_(names), runs_(runs), sources_(numbers_of_sources(runs)) {
    read_notable(database, since);
    std::map<std::uint32_t, Attendance> of_variant;  // as numbered in the file
    Statement row(database, "SELECT run, variant, ran FROM run_variant");
    while (row.step()) {
      const auto run = runs.find(row.integer(0));
      if (!run || runs[*run].started < since) continue;
      const auto variant = static_cast<std::uint32_t>(row.integer(1));
      Attendance& there = of_variant[variant];
      if (there.runs == 0 || there.packed != row.bytes(2)) {
        count(variant, there);
        there = attendance(variant, std::string(row.bytes(2)));
      }
      ++there.runs;
      for (Case* its : there.notable) its->add(static_cast<std::uint32_t>(*run), sources_[*run]);
    }
    for (const auto& [variant, there] : of_variant) count(variant, there);
    for (auto& [key, its] : notable_) its.judge(sources_);
  }

  // None of a case of few runs.
  std::optional<Flakiness> of(const Key& key) const {
    const auto totals = totals_.find(key.variant);
    const int runs = totals == totals_.end() ? 0 : totals->second[key.name];
    if (runs < kFewestRuns) return std::nullopt;
    const auto found = notable_.find(key);
    return flakiness_of(found == notable_.end() ? 0 : found->second.disagreeing(), runs);
  }
  std::vector<Key> notable() const {
    std::vector<Key> keys;
    for (const auto& [key, its] : notable_) keys.push_back(key);
    return keys;
  }

 private:
  struct Case {
    std::map<std::uint32_t, Notable> by_run{};
    std::map<std::uint32_t, Together> by_sources{};  // only those of such runs

    void add(std::uint32_t run, std::uint32_t source) {
      if (const auto found = by_run.find(run); found != by_run.end()) found->second.ran = true;
      if (const auto found = by_sources.find(source); found != by_sources.end()) ++found->second.ran;
    }
    void judge(const std::vector<std::uint32_t>& sources) {
      for (const auto& [run, how] : by_run) {
        if (!how.ran) continue;
        Together& together = by_sources[sources[run]];
        together.failed += how.failed ? 1 : 0;
        together.flaky += how.flaky && !how.failed ? 1 : 0;
      }
    }
    int disagreeing() const {
      int count = 0;
      for (const auto& [number, together] : by_sources) count += together.disagreeing();
      return count;
    }
  };

  void read_notable(Database& database, const std::string& since) {
    Statement row(database,
                  "SELECT test, variant, run, standing, flaky FROM result INDEXED BY result_notable WHERE "
                  "standing = 1 OR flaky = 1");
    while (row.step()) {
      const auto run = runs_.find(row.integer(2));
      if (!run || runs_[*run].started < since) continue;
      const Key key = names_.key(row.integer(0), row.integer(1));
      Case& its = notable_[key];
      its.by_run[static_cast<std::uint32_t>(*run)] = {
          .failed = row.integer(3) == static_cast<int>(Standing::kFailing), .flaky = row.integer(4) != 0};
      its.by_sources.try_emplace(sources_[*run]);
    }
  }

  // Which cases of a variant passed or failed, mostly the same in one run after the other.
  struct Attendance {
    std::string packed{};
    std::vector<std::uint32_t> names{};
    std::vector<Case*> notable{};
    int runs = 0;
  };

  Attendance attendance(std::uint32_t variant, std::string packed) {
    Attendance there{.packed = std::move(packed)};
    std::vector<bool> known(names_.size());
    for (const std::uint32_t test : unpacked(there.packed)) {
      const std::uint32_t name = names_.of_test(test);
      if (known[name]) continue;  // the file is not trusted
      known[name] = true;
      there.names.push_back(name);
    }
    for (auto& [key, its] : notable_) {
      if (key.variant == variant && known[key.name]) there.notable.push_back(&its);
    }
    return there;
  }

  void count(std::uint32_t variant, const Attendance& there) {
    std::vector<int>& total = totals_[variant];
    total.resize(names_.size());
    for (const std::uint32_t name : there.names) total[name] += there.runs;
  }

  const Names& names_;
  const Runs& runs_;
  const std::vector<std::uint32_t> sources_;  // of each run
  std::map<std::uint32_t, std::vector<int>> totals_;
  ByKey<Case> notable_;
};

std::vector<FlakyCase> flaky_in(Database& database, const Names& names, const Runs& runs,
                                const HistoryQuestion& question) {
  const FlakinessReader reader(database, names, runs, question.since);
  std::vector<FlakyCase> flaky;
  for (const Key& key : reader.notable()) {
    if (!names.fits(key.name, question.case_glob)) continue;
    const auto flakiness = reader.of(key);
    if (!flakiness || flakiness->disagreeing == 0) continue;
    flaky.push_back({names.text(key.name), names.variant_of(key), *flakiness});
  }
  std::ranges::sort(flaky, {},
                    [](const FlakyCase& c) { return std::tuple(-c.flakiness.low, c.id, c.variant); });
  return flaky;
}

// ---- How cases ended, run by run ----

std::vector<CaseOutcomes> outcomes_in(Database& database, const Names& names, Runs& runs,
                                      const HistoryQuestion& question) {
  std::vector<bool> wanted(names.size());
  std::vector<std::uint32_t> wanted_names;
  for (std::uint32_t name = 0; name < names.size(); ++name) {
    if (!names.fits(name, question.case_glob)) continue;
    wanted[name] = true;
    wanted_names.push_back(name);
  }
  ByKey<CaseOutcomes> found;
  Words words(database);
  for (std::size_t run = runs.size(); run-- > 0 && runs[run].started >= question.since;) {
    runs.visit(
        run, wanted_names.size(), [&] { return wanted_names; },
        [&](const ResultRow& row) {
          const Key key = row.key();
          if (!wanted[key.name]) return;
          CaseOutcomes& past = found[key];
          if (past.outcomes.size() < kMostOutcomes)
            past.outcomes.push_back(words.outcome(run, runs[run].id, row));
        });
  }
  std::vector<CaseOutcomes> outcomes;
  for (auto& [key, past] : found) {
    past.id = names.text(key.name);
    past.variant = names.variant_of(key);
    outcomes.push_back(std::move(past));
  }
  std::ranges::sort(outcomes, {}, [](const CaseOutcomes& c) { return std::tie(c.id, c.variant); });
  return outcomes;
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

Flakiness flakiness_of(int disagreeing, int runs) {
  const RateInterval share = wilson_interval(disagreeing, runs);
  return {.runs = runs, .disagreeing = disagreeing, .low = share.low, .high = share.high};
}

namespace {

// "" where the pattern fits a case.
std::string why_no_such_case(const Names& names, const std::string& glob) {
  std::vector<std::string> ids;
  for (std::uint32_t name = 0; name < names.size(); ++name) {
    if (names.fits(name, glob)) return "";
    ids.push_back(names.text(name));
  }
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
    const Names names(database);
    answer.no_such_case = why_no_such_case(names, question.case_glob);
    Runs runs(database, names, std::move(chosen));
    if (question.failing) answer.failing = failing_in(database, names, runs, question);
    if (question.flaky) answer.flaky = flaky_in(database, names, runs, question);
    if (question.outcomes) answer.outcomes = outcomes_in(database, names, runs, question);
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const HistoryRun& run = runs[i];
      answer.runs.push_back({run.run_id, run.started, run.commit, run.dirty, run.branch, runs.moved(i)});
    }
  });
  if (!done) return done.error();
  if (question.branch && !branches.contains(*question.branch))
    return no_such_branch(history, *question.branch, branches);
  return answer;
}

namespace {

// Those that began before the run, on its branch, without itself and its shards.
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

// Where the cases of a run are in the answer about it.
ByKey<std::size_t> places_of(const RunResults& run, const Names& names) {
  ByKey<std::size_t> places;
  for (std::size_t i = 0; i < run.cases.size(); ++i) {
    const auto name = names.find(run.cases[i].id);
    const auto variant = names.find(run.variants[run.cases[i].variant]);
    if (name && variant) places.emplace(Key{*name, *variant}, i);
  }
  return places;
}

// Newest first. The runs in which it was found are numbered as in `runs`.
void read_past(Runs& runs, const ByKey<std::size_t>& places, std::vector<std::vector<PastOutcome>>& cases) {
  std::size_t open = places.size();
  const auto open_names = [&] {
    std::set<std::uint32_t> names;
    for (const auto& [key, place] : places) {
      if (cases[place].size() < kMostOutcomes) names.insert(key.name);
    }
    return names;
  };
  constexpr std::size_t kMostRuns =
      4 * kMostOutcomes;  // of a case that is not in each of them, fewer outcomes are found
  const std::size_t oldest = runs.size() - std::min(runs.size(), kMostRuns);
  for (std::size_t run = runs.size(); run-- > oldest && open > 0;) {
    runs.visit(run, open, open_names, [&](const ResultRow& row) {
      const auto found = places.find(row.key());
      if (found == places.end() || cases[found->second].size() >= kMostOutcomes) return;
      cases[found->second].push_back({.run = static_cast<std::uint32_t>(run),
                                      .outcome = row.outcome(),
                                      .standing = row.standing(),
                                      .flaky = row.flaky(),
                                      .duration_ms = row.duration_ms()});
      if (cases[found->second].size() == kMostOutcomes) --open;
    });
  }
}

// Only runs in which something was found are said.
void name_runs(Runs& runs, Past& past) {
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
    const Names names(database);
    Runs runs(database, names, runs_before(database, run));
    const ByKey<std::size_t> places = places_of(run, names);
    read_past(runs, places, past.cases);
    name_runs(runs, past);
    const FlakinessReader flakiness(database, names, runs, "");
    for (const auto& [key, place] : places) past.flakiness[place] = flakiness.of(key);
  });
  if (!done) return done.error();
  return past;
}

Result<std::optional<GreenRun>> last_green_run(History& history, const RunResults& run,
                                               const std::string& host) {
  std::optional<GreenRun> green;
  const auto done = history.read([&](Database& database) {
    Statement row(
        database,
        "SELECT run_id, started, subject_commit, stack FROM run WHERE verdict = 'green' AND simulated = ? "
        "AND (started, run_id) < (?, ?) AND EXISTS (SELECT 1 FROM used_device WHERE run = run.id AND "
        "host = ?) ORDER BY started DESC, run_id DESC LIMIT 1");
    row.bind(run.simulated ? 1 : 0, run.started, run.run_id, host);
    if (!row.step()) return;
    green = GreenRun{.run_id = std::string(row.text(0)),
                     .started = std::string(row.text(1)),
                     .commit = row.is_null(2) ? "" : std::string(row.text(2)),
                     .moved = moved_facts(read_stack(database, row.integer(3)), run.stack)};
  });
  if (!done) return done.error();
  return green;
}

namespace {

// The commits that begin with the text, newest first; one that is just so is the only one.
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

// The cases of another shard. One that is in both was not of another shard.
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

}  // namespace proctor
