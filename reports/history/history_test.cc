#include "reports/history/history.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "harness/base/temp_dir.h"
#include "reports/history/database.h"
#include "reports/history/history_fixture.h"
#include "reports/history/questions.h"
#include "reports/resolve/test_journal.h"

namespace proctor {
namespace {

using namespace testing_support;
using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
namespace fs = std::filesystem;

RunResults rich_run() {
  RunResults run = results_of(resolved_of(rich_journal()));
  run.journal_sha256 = std::string(64, 'b');
  return run;
}

constexpr const char* kInMemory =
    "/dev/shm";  // a file system in memory, because each change waits for the disk

std::string file_in(const TempDir& directory) { return (directory / "history.sqlite").string(); }

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string why_not_written(const std::string& path) {
  const auto history = History::open(path, 1s);
  return history ? "" : history.error().what;
}

std::string why_not_read(const std::string& path) {
  const auto history = History::open_to_read(path, 1s);
  return history ? "" : history.error().what;
}

// Changes the file like another program could.
void change_file(const std::string& path, const std::string& sql) {
  Database(path, Database::Access::kCreate, 1s).execute(sql.c_str());
}

int exit_code_of_child(const std::function<int()>& work) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

class HistoryTest : public testing::Test {
 protected:
  const TempDir directory_{kInMemory};
  const std::string file_ = file_in(directory_);
};

TEST_F(HistoryTest, RunRoundTrips) {
  RunResults run = rich_run();
  set_commit(run, "0123abcd");
  run.stack = {{.name = "host.kernel", .value = "6.1", .source = "uname"},
               {.name = "xpu.driver", .value = std::nullopt, .reason = "not there", .absent = true}};
  History history = history_of(file_, {run});
  std::ranges::sort(run.cases, {}, &CaseResult::id);
  EXPECT_EQ(canonical_text(history), canonical_text(run));
  EXPECT_EQ(why_not_read(file_), "");
}

TEST_F(HistoryTest, CasesOfOneCauseKeepTheirMessages) {
  RunResults run = made_run(1, {{"a/137", Outcome::kFail}, {"a/637", Outcome::kFail}});
  set_cause(run, 0, "expected 637 bytes", run.cases[1]);
  History history = history_of(file_, {run});
  const auto answer = ask(history, {.failing = true});
  ASSERT_TRUE(answer) << answer.error().what;
  ASSERT_THAT(answer->failing, SizeIs(2));
  EXPECT_EQ(answer->failing[0].last.cause, "expected 1 bytes");
  EXPECT_EQ(answer->failing[1].last.cause, "expected 637 bytes");
  const auto back = history.results_of(history.runs()->front());
  ASSERT_TRUE(back) << back.error().what;
  EXPECT_EQ(describe(*back, back->cases[1]), "expected 637 bytes");
}

TEST_F(HistoryTest, ImportsJournalOnce) {
  History history = history_of(file_, {made_run(1, {{"a/one"}})});
  const std::string before = bytes_of(file_);
  EXPECT_EQ(*add_one(history, made_run(1, {{"a/one"}})), Added::kAlreadyThere);
  EXPECT_TRUE(bytes_of(file_) == before);
}

TEST_F(HistoryTest, KeepsMostCompleteJournalOfRun) {
  RunResults early = made_run(1, {{"a/one"}, {"a/two", Outcome::kNotrun}});
  early.complete = false;
  early.journal_sha256 = std::string(64, 'f');
  RunResults later = made_run(1, {{"a/one"}, {"a/two"}});
  later.complete = false;
  later.journal_sha256 = std::string(64, 'e');
  RunResults last = later;
  last.complete = true;
  last.journal_sha256 = std::string(64, 'd');
  std::vector<RunResults> order = {last, later, early};
  std::string expected;
  for (int permutation = 0; permutation < 6; ++permutation) {
    const TempDir directory(kInMemory);
    History history = history_of(file_in(directory), order);
    const std::string text = canonical_text(history);
    if (expected.empty()) expected = text;
    EXPECT_EQ(text, expected);
    EXPECT_THAT(text, HasSubstr(last.journal_sha256));
    EXPECT_EQ(history.size()->runs, 1);
    std::ranges::next_permutation(order, {}, &RunResults::journal_sha256);
  }
}

TEST_F(HistoryTest, MergedRunReplacesShards) {
  RunResults whole = made_run(1, {{"a/one"}, {"a/two"}});
  whole.run_id = "id-001+1";
  whole.journal_sha256 = std::string(64, 'e');
  whole.parts = {"id-001", "id-002"};
  std::vector<RunResults> order = {made_run(1, {{"a/one"}}), made_run(2, {{"a/two"}}), whole};
  for (int permutation = 0; permutation < 6; ++permutation) {
    const TempDir directory(kInMemory);
    History history = history_of(file_in(directory), order);
    EXPECT_EQ(history.size()->runs, 1);
    EXPECT_THAT(canonical_text(history), HasSubstr("run id-001+1 "));
    std::ranges::next_permutation(order, {}, &RunResults::run_id);
  }
}

TEST_F(HistoryTest, KeepsNewestOfOverlappingMergedRuns) {
  const auto merged = [](int first, int second, char digest) {
    RunResults whole = made_run(first, {{"a/one"}, {"a/two"}});
    whole.run_id = fmt::format("id-{:03}+{:03}", first, second);
    whole.journal_sha256 = std::string(64, digest);
    whole.parts = {fmt::format("id-{:03}", first), fmt::format("id-{:03}", second)};
    return whole;
  };
  // The second shard was repeated, and then the first.
  std::vector<RunResults> runs = {merged(1, 2, 'f'), merged(1, 3, 'e'), merged(4, 3, 'd'),
                                  made_run(1, {{"a/one"}}), made_run(2, {{"a/two"}})};
  const auto by_digest = [](const RunResults& run) { return run.journal_sha256; };
  std::ranges::sort(runs, {}, by_digest);
  do {
    const TempDir directory(kInMemory);
    History odd = history_of((directory / "odd").string(), {runs[0], runs[2], runs[4]});
    History even = history_of((directory / "even").string(), {runs[1], runs[3]});
    History all = history_of(file_in(directory), runs);
    add_all(odd, even);
    ASSERT_EQ(all.size()->runs, 1);
    ASSERT_EQ(all.runs()->front().run_id, "id-004+003");
    ASSERT_EQ(canonical_text(odd), canonical_text(all));
    ASSERT_EQ(why_not_read(file_in(directory)), "");
  } while (std::ranges::next_permutation(runs, {}, by_digest).found);
}

TEST_F(HistoryTest, ImportOrderDoesNotMatter) {
  std::vector<RunResults> runs;
  for (int number = 1; number <= 4; ++number) {
    runs.push_back(made_run(number, {{"a/zero"},
                                     {"a/" + std::to_string(9 - number)},
                                     {"a/two", number % 2 == 0 ? Outcome::kFail : Outcome::kPass}}));
  }
  runs.push_back(rich_run());
  History forwards = history_of((directory_ / "a").string(), runs);
  std::ranges::reverse(runs);
  History backwards = history_of((directory_ / "b").string(), runs);
  EXPECT_EQ(canonical_text(forwards), canonical_text(backwards));
  History odd = history_of((directory_ / "c").string(), {runs[0], runs[2], runs[4]});
  History even = history_of((directory_ / "d").string(), {runs[1], runs[2], runs[3]});
  add_all(odd, even);
  EXPECT_EQ(canonical_text(odd), canonical_text(forwards));
  add_all(even, odd);
  EXPECT_EQ(canonical_text(even), canonical_text(forwards));
}

TEST_F(HistoryTest, PruningRemovesUnreferencedRows) {
  std::vector<RunResults> runs;
  for (int number = 1; number <= 5; ++number)
    runs.push_back(made_run(number, {{"a/one"}, {"a/only" + std::to_string(number), Outcome::kFail}}));
  History history = history_of(file_, runs);
  ASSERT_TRUE(history.change([&]() -> Result<void> {
    EXPECT_EQ(history.keep_newest(2), 3);
    return {};
  }));
  const TempDir other(kInMemory);
  History expected = history_of(file_in(other), {runs[3], runs[4]});
  EXPECT_EQ(canonical_text(history), canonical_text(expected));
  EXPECT_EQ(history.size()->cases, 3);
  EXPECT_EQ(why_not_read(file_), "");
  ASSERT_TRUE(history.change([&]() -> Result<void> {
    EXPECT_EQ(history.keep_since(runs[4].started), 1);
    return {};
  }));
  EXPECT_EQ(history.size()->runs, 1);
}

TEST_F(HistoryTest, PruningShrinksFile) {
  std::vector<MadeCase> cases;
  for (int i = 0; i < 2000; ++i) cases.push_back({"a/case" + std::to_string(i)});
  History history = history_of(file_, {made_run(1, cases), made_run(2, cases), made_run(3, {})});
  const auto before = fs::file_size(file_);
  ASSERT_TRUE(history.change([&]() -> Result<void> {
    history.keep_newest(1);
    return {};
  }));
  EXPECT_LT(fs::file_size(file_), before / 2);
}

TEST_F(HistoryTest, FailedChangeIsRolledBack) {
  History history = history_of(file_, {made_run(1, {{"a/one"}})});
  const std::string before = bytes_of(file_);
  const auto done = history.change([&]() -> Result<void> {
    EXPECT_TRUE(history.add(made_run(2, {{"a/two"}})));
    return Error::usage("think of something else");
  });
  EXPECT_FALSE(done);
  EXPECT_TRUE(bytes_of(file_) == before);
  EXPECT_EQ(history.size()->runs, 1);
}

TEST_F(HistoryTest, FailedFirstChangeLeavesNoFile) {
  const auto fails = [&] {
    auto history = History::open(file_, 1s);
    return history->change([&]() -> Result<void> {
      EXPECT_TRUE(history->add(made_run(1, {{"a/one"}})));
      return Error::usage("think of something else");
    });
  };
  EXPECT_FALSE(fails());
  EXPECT_TRUE(fs::is_empty(directory_.path()));
  write_file(file_, "");
  EXPECT_FALSE(fails());
  EXPECT_TRUE(fs::exists(file_));  // another program created it
}

TEST_F(HistoryTest, RefusesChangeOfRemovedFile) {
  auto first = History::open(file_, 1s);
  auto second = History::open(file_, 1s);
  EXPECT_FALSE(first->change([]() -> Result<void> { return Error::usage("think of something else"); }));
  const auto added = add_one(*second, made_run(1, {}));
  ASSERT_FALSE(added);
  EXPECT_THAT(added.error().what, HasSubstr("removed in the meantime"));
}

TEST_F(HistoryTest, FullDiskKeepsOldState) {
  std::vector<MadeCase> cases;
  for (int i = 0; i < 5000; ++i) cases.push_back({"a/case" + std::to_string(i), Outcome::kFail});
  { History history = history_of(file_, {made_run(1, {{"a/one"}})}); }
  const std::string before = bytes_of(file_);
  const int code = exit_code_of_child([&] {  // in a child, because the limit cannot be raised again
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{before.size() + 100'000, before.size() + 100'000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    auto history = History::open(file_, 1s);
    const auto added = add_one(*history, made_run(2, cases));
    return added ? 1 : added.error().kind == ErrorKind::kUsage ? 42 : 2;
  });
  EXPECT_EQ(code, 42);
  History history = *History::open_to_read(file_, 1s);
  EXPECT_EQ(history.size()->runs, 1);
  EXPECT_TRUE(bytes_of(file_) == before);
}

TEST_F(HistoryTest, WritersWaitForEachOther) {
  std::vector<std::thread> writers;
  for (int writer = 0; writer < 4; ++writer) {
    writers.emplace_back([&, writer] {
      auto history = History::open(file_, 20s);
      for (int i = 0; i < 5; ++i)
        EXPECT_TRUE(add_one(*history, made_run(writer * 10 + i, {{"a/one"}, {"a/two"}})));
    });
  }
  for (std::thread& writer : writers) writer.join();
  auto history = History::open_to_read(file_, 1s);
  ASSERT_TRUE(history) << history.error().what;
  EXPECT_EQ(history->size()->runs, 20);
  EXPECT_EQ(history->size()->cases, 2);
}

TEST_F(HistoryTest, ReportsLockTimeout) {
  History history = history_of(file_, {made_run(1, {})});
  ASSERT_TRUE(history.change([&]() -> Result<void> {
    auto other = History::open(file_, 10ms);
    EXPECT_TRUE(other);
    const auto added = add_one(*other, made_run(2, {}));
    EXPECT_THAT(added.error().what, HasSubstr("longer than 10ms"));
    EXPECT_EQ(added.error().kind, ErrorKind::kUsage);
    return {};
  }));
}

TEST_F(HistoryTest, NextReaderRollsBackInterruptedChange) {
  std::vector<MadeCase> cases;
  for (int i = 0; i < 5000; ++i) cases.push_back({"a/case" + std::to_string(i)});
  std::string expected;
  {
    History history = history_of(file_, {made_run(1, cases)});
    expected = canonical_text(history);
  }
  exit_code_of_child(
      [&]() -> int {  // a cache of one page makes SQLite write to the file long before the commit
        Database database(file_, Database::Access::kCreate, 1s);
        database.execute("PRAGMA cache_size = 1; BEGIN IMMEDIATE; UPDATE test SET case_id = case_id || 'x'");
        ::_exit(0);
      });
  ASSERT_GT(fs::file_size(file_ + "-journal"), 0U);
  auto history = History::open_to_read(file_, 1s);
  ASSERT_TRUE(history) << history.error().what;
  EXPECT_TRUE(canonical_text(*history) == expected);
}

TEST_F(HistoryTest, RefusesForeignFilesUnchanged) {
  const std::string text = (directory_ / "text").string();
  write_file(text, std::string(5000, 'x'));
  EXPECT_THAT(why_not_written(text), HasSubstr("not an SQLite file"));
  EXPECT_THAT(why_not_read(text), HasSubstr("not an SQLite file"));
  EXPECT_EQ(bytes_of(text), std::string(5000, 'x'));

  EXPECT_THAT(why_not_written(directory_.string()), HasSubstr("it is a directory"));
  EXPECT_THAT(why_not_written((directory_ / "none" / "x").string()), HasSubstr("none"));
  EXPECT_THAT(why_not_read((directory_ / "missing").string()), HasSubstr("there is no such file"));
  EXPECT_FALSE(fs::exists(directory_ / "missing"));
  EXPECT_THAT(why_not_written("/dev/null"), HasSubstr("not a regular file"));

  change_file((directory_ / "other").string(), "CREATE TABLE t (a)");
  EXPECT_THAT(why_not_written((directory_ / "other").string()), HasSubstr("another program"));

  { const History ours = history_of(file_, {made_run(1, {})}); }
  fs::create_symlink(file_, directory_ / "link");
  EXPECT_THAT(why_not_written((directory_ / "link").string()), HasSubstr("it is a link"));
  EXPECT_THAT(why_not_read((directory_ / "link").string()), HasSubstr("it is a link"));
}

TEST_F(HistoryTest, ReportsDamagedFile) {
  std::vector<MadeCase> cases;
  for (int i = 0; i < 500; ++i) cases.push_back({"a/case" + std::to_string(i)});
  { const History history = history_of(file_, {made_run(1, cases)}); }
  const std::string whole = bytes_of(file_);
  const auto damage_from = [&](std::size_t first) {
    std::string bytes = whole;
    for (std::size_t page = first * 4096; page < bytes.size(); page += 4096)
      bytes.replace(page, 200, 200, '\x7f');
    write_file(file_, bytes);
    return History::open_to_read(file_, 1s);
  };
  const auto history = damage_from(1);  // page 1 has the schema
  ASSERT_FALSE(history);
  EXPECT_THAT(history.error().what, HasSubstr("damaged"));
  EXPECT_EQ(history.error().kind, ErrorKind::kUsage);
  const auto results = damage_from(whole.size() / 4096 - 4);  // the last pages have the newest rows
  ASSERT_FALSE(results);
  EXPECT_THAT(results.error().what, HasSubstr("damaged"));
  EXPECT_THAT(results.error().hint, HasSubstr("Create the history again"));
  EXPECT_THAT(why_not_written(file_), HasSubstr("damaged"));
}

// The quick check is necessary because a complete check of a large file takes too long.
TEST_F(HistoryTest, ChecksLargeTablesOnlyOnRequest) {
  { const History history = history_of(file_, {made_run(1, {{"a/one"}})}); }
  change_file(file_, "INSERT INTO stack VALUES (99, 'x', hex(zeroblob(4500000)))");
  change_file(file_, "UPDATE result SET result_class = 1");
  EXPECT_EQ(why_not_read(file_), "");
  EXPECT_EQ(why_not_written(file_), "");
  for (const auto open : {&History::open, &History::open_to_read})
    EXPECT_THAT(open(file_, 1s, History::Check::kWhole).error().what, HasSubstr("the summary of"));
  const auto page =
      static_cast<std::size_t>(Database(file_, Database::Access::kCreate, 1s)
                                   .number("SELECT rootpage FROM sqlite_schema WHERE name = 'test'"));
  std::string bytes = bytes_of(file_);
  bytes.replace((page - 1) * 4096, 200, 200, '\x7f');
  write_file(file_, bytes);
  EXPECT_THAT(why_not_read(file_), HasSubstr("damaged"));
  EXPECT_THAT(why_not_written(file_), HasSubstr("damaged"));
}

TEST_F(HistoryTest, DetectsSummaryThatContradictsResults) {
  for (const char* change :
       {"UPDATE run_variant SET failing = failing + 1", "UPDATE run_variant SET flaky = 1",
        "UPDATE run_variant SET passing = passing - 1, expected = 1", "UPDATE run_variant SET ran = x'0102'",
        "UPDATE run_variant SET ran = x'00'", "DELETE FROM run_variant", "DELETE FROM test WHERE id = 1"}) {
    const TempDir directory(kInMemory);
    history_of(file_in(directory), {made_run(1, {{"a/one"}, {"a/two", Outcome::kFail}})});
    EXPECT_EQ(why_not_read(file_in(directory)), "");
    change_file(file_in(directory), change);
    EXPECT_THAT(why_not_read(file_in(directory)), HasSubstr("it is damaged")) << change;
  }
}

TEST_F(HistoryTest, RandomDamageDoesNotCrash) {
  std::vector<MadeCase> cases;
  for (int i = 0; i < 40; ++i) cases.push_back({"a/case" + std::to_string(i), Outcome::kFail});
  { const History history = history_of(file_, {made_run(1, cases), made_run(2, cases)}); }
  const std::string whole = bytes_of(file_);
  unsigned seed = 1;
  for (int round = 0; round < 300; ++round) {
    std::string bytes = whole;
    for (int i = 0; i < 1 + round / 20; ++i) {
      seed = seed * 1103515245 + 12345;
      bytes[seed / 64 % bytes.size()] = static_cast<char>(seed >> 24);
    }
    write_file(file_, bytes);
    auto history = History::open_to_read(file_, 1s);
    if (!history) continue;
    if (const auto runs = history->runs()) {
      for (const HistoryRun& run : *runs) static_cast<void>(history->results_of(run));
    }
    static_cast<void>(ask(*history, {.failing = true, .flaky = true, .outcomes = true}));
  }
}

// SQLite would execute such a trigger or view each time the file is used, and it might never end.
TEST_F(HistoryTest, RejectsForeignTriggersAndViews) {
  const char* const endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)";
  const std::string changes[] = {
      fmt::format(
          "CREATE TRIGGER t AFTER INSERT ON run BEGIN INSERT INTO merged_part SELECT n, 'b' FROM ({} SELECT "
          "count(*) AS n FROM c); END",
          endless),
      fmt::format(
          "DROP TABLE merged_part; CREATE VIEW merged_part AS {} SELECT x AS merged, x AS shard FROM c",
          endless),
      fmt::format("DROP VIEW outcome_of_case; CREATE VIEW outcome_of_case AS {} SELECT x FROM c", endless),
      "CREATE TABLE more (a)",
      "CREATE INDEX more ON run (started)",
      "DROP INDEX run_by_commit",
      "ALTER TABLE run ADD COLUMN more TEXT"};
  for (const std::string& change : changes) {
    const TempDir directory(kInMemory);
    { const History history = history_of(file_in(directory), {made_run(1, {})}); }
    change_file(file_in(directory), change);
    const std::string before = bytes_of(file_in(directory));
    EXPECT_THAT(why_not_written(file_in(directory)), HasSubstr("it is damaged: it ")) << change;
    EXPECT_THAT(why_not_read(file_in(directory)), HasSubstr("of version 2")) << change;
    EXPECT_TRUE(bytes_of(file_in(directory)) == before);
  }
}

// .github/actions/conformance/gate.py starts a new history after exactly these messages.
TEST_F(HistoryTest, UnusableFileErrorsHaveFixedText) {
  write_file(file_, std::string(4096, 'x'));
  EXPECT_THAT(why_not_written(file_), HasSubstr("it is not an SQLite file"));
  const TempDir other(kInMemory);
  change_file(file_in(other), "CREATE TABLE notes (a)");
  EXPECT_THAT(why_not_written(file_in(other)), HasSubstr("it belongs to another program"));
  const TempDir damaged(kInMemory);
  { const History history = history_of(file_in(damaged), {made_run(1, {})}); }
  change_file(file_in(damaged), "CREATE TABLE more (a)");
  EXPECT_THAT(why_not_written(file_in(damaged)), HasSubstr("it is damaged"));
}

TEST_F(HistoryTest, CountsDevicesPerHost) {
  std::vector<RunResults> runs = {made_run(1, {{"a/one"}}), made_run(2, {{"a/one"}}),
                                  made_run(3, {{"a/one"}})};
  runs[1].devices.front().drained = true;
  runs[2].devices.push_back({"xpu:0", "gpu-02", "Card", 8, 0, false});
  set_fact(runs[0], "xpu.driver", "26.31");
  set_fact(runs[2], "xpu.driver", "26.35");
  History history = history_of(file_, runs);
  const auto answer = devices_in(history, "");
  ASSERT_TRUE(answer) << answer.error().what;
  EXPECT_EQ(answer->runs, 3);
  ASSERT_EQ(answer->devices.size(), 2u);
  const DeviceHistory& first = answer->devices[0];
  EXPECT_EQ(first.host, "gpu-01");
  EXPECT_EQ(first.runs, 3);
  EXPECT_EQ(first.attempts, 120);
  EXPECT_EQ(first.failed_attempts, 1 + 2 + 3);
  EXPECT_EQ(first.drains, 1);
  EXPECT_EQ(first.last_seen, runs[2].started);
  EXPECT_EQ(first.driver, "26.35");
  EXPECT_EQ(answer->devices[1].attempts, 8);
  EXPECT_EQ(devices_in(history, runs[2].started)->devices[0].failed_attempts, 3);

  const auto pruned = history.change([&]() -> Result<void> {
    history.keep_newest(0);
    return {};
  });
  EXPECT_TRUE(pruned);
  EXPECT_TRUE(devices_in(history, "")->devices.empty());
  EXPECT_EQ(why_not_read(file_), "");
}

TEST_F(HistoryTest, RefusesOtherFileVersion) {
  { const History history = history_of(file_, {made_run(1, {})}); }
  for (const auto& [version, wrote] :
       {std::pair{kSchemaVersion - 1, "an older Proctor"}, std::pair{99, "a newer Proctor"}}) {
    change_file(file_, fmt::format("PRAGMA user_version = {}", version));
    const std::string before = bytes_of(file_);
    const auto refused = ::testing::AllOf(HasSubstr(fmt::format("version is {}", version)), HasSubstr(wrote));
    EXPECT_THAT(why_not_written(file_), refused);
    EXPECT_THAT(why_not_read(file_), refused);
    EXPECT_TRUE(bytes_of(file_) == before);
  }
}

TEST_F(HistoryTest, AcceptsEmptyFileForWriting) {
  write_file(file_, "");
  EXPECT_THAT(why_not_read(file_), HasSubstr("it is empty"));
  History history = history_of(file_, {made_run(1, {})});
  EXPECT_EQ(history.size()->runs, 1);
}

TEST_F(HistoryTest, AcceptsOwnFileOfVersionZero) {
  change_file(file_, "PRAGMA application_id = " + std::to_string(kApplicationId));
  EXPECT_THAT(why_not_read(file_), HasSubstr("empty"));
  History history = history_of(file_, {made_run(1, {})});
  EXPECT_EQ(history.size()->runs, 1);
}

TEST_F(HistoryTest, ReadsFromReadOnlyDirectory) {
  { const History history = history_of(file_, {made_run(1, {{"a/one"}})}); }
  const int code = exit_code_of_child([&] {
    fs::permissions(file_, fs::perms{0444});
    fs::permissions(directory_.path(), fs::perms{0555});
    if (::geteuid() == 0 && ::setuid(65534) != 0) return 3;
    auto history = History::open_to_read(file_, 1s);
    if (!history) return 4;
    return history->size() && history->size()->runs == 1 && !why_not_written(file_).empty() ? 42 : 5;
  });
  fs::permissions(directory_.path(), fs::perms::owner_all);
  EXPECT_EQ(code, 42);
}

TEST_F(HistoryTest, LargeRowIdsTakeNoExtraMemory) {
  History history = history_of(file_, {made_run(1, {{"a/one", Outcome::kFail}})});
  change_file(file_,
              "INSERT INTO test VALUES (9999999, 'a/far');"
              "INSERT INTO variant VALUES (9999998, 's', 'b', '', '', 0)");
  ASSERT_TRUE(history.read([](Database& database) {
    EXPECT_THAT(read_case_ids(database), SizeIs(2));
    EXPECT_THAT(read_variants(database), SizeIs(2));
  }));
  const auto answer = ask(history, {.failing = true, .flaky = true, .outcomes = true});
  ASSERT_TRUE(answer) << answer.error().what;
  EXPECT_THAT(answer->failing, SizeIs(1));
}

TEST_F(HistoryTest, RefusesLinkAsRollbackJournal) {
  { const History history = history_of(file_, {made_run(1, {})}); }
  fs::create_symlink(directory_ / "victim", file_ + "-journal");
  EXPECT_THAT(why_not_written(file_), HasSubstr("history.sqlite-journal is a link"));
  EXPECT_THAT(why_not_read(file_), HasSubstr("history.sqlite-journal is a link"));
}

TEST_F(HistoryTest, RefusesRunWithoutJournalDigest) {
  auto history = History::open(file_, 1s);
  RunResults run = made_run(1, {});
  run.journal_sha256 = "";
  EXPECT_FALSE(add_one(*history, run));
}

TEST_F(HistoryTest, PackedNumbersRoundTrip) {
  const std::vector<std::uint32_t> numbers = {0, 1, 127, 128, 129, 16'511, 16'512, 9'000'000};
  EXPECT_EQ(unpacked(packed(numbers)), numbers);
  EXPECT_THAT(unpacked(""), IsEmpty());
  EXPECT_THROW(static_cast<void>(unpacked("\xff\xff\xff\xff\xff\xff\xff")), SqliteFailure);
}

}  // namespace
}  // namespace proctor
