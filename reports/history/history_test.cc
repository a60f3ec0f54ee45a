#include "reports/history/history.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>

#include "harness/core/temp_dir.h"
#include "reports/history/device_history.h"
#include "reports/history/history_fixture.h"
#include "reports/history/schema.h"
#include "reports/model/test_journal.h"

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
  RunResults run = results_of(model_of(rich_journal()));
  run.journal_sha256 = std::string(64, 'b');
  return run;
}

constexpr const char* kInMemory = "/dev/shm";  // each change waits for the disk

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

TEST(HistoryTest, ARunComesBackAsItWas) {
  const TempDir directory(kInMemory);
  RunResults run = rich_run();
  set_commit(run, "0123abcd");
  run.stack.push_back({.name = "xpu.driver", .value = std::nullopt, .reason = "not there", .absent = true});
  History history = history_of(file_in(directory), {run});
  const auto runs = history.runs();
  ASSERT_TRUE(runs);
  ASSERT_THAT(*runs, SizeIs(1));
  const auto back = history.results_of(runs->front());
  ASSERT_TRUE(back) << back.error().what;
  ASSERT_THAT(back->cases, SizeIs(run.cases.size()));
  std::ranges::sort(run.cases, {}, &CaseResult::id);
  for (std::size_t i = 0; i < run.cases.size(); ++i) {
    const CaseResult& was = run.cases[i];
    const CaseResult& is = back->cases[i];
    EXPECT_EQ(is.id, was.id);
    EXPECT_EQ(is.verdict, was.verdict);
    EXPECT_EQ(is.standing, was.standing);
    EXPECT_EQ(back->variants[is.variant], run.variants[was.variant]);
    EXPECT_EQ(is.attempts, was.attempts);
    EXPECT_EQ(is.flaky, was.flaky);
    EXPECT_EQ(is.duration_ms, was.duration_ms);
    EXPECT_EQ(is.device, was.device);
    ASSERT_EQ(is.cause == kNoCause, was.cause == kNoCause);
    if (was.cause != kNoCause) {
      EXPECT_EQ(back->causes[is.cause].text, run.causes[was.cause].text);
      EXPECT_EQ(is.text, was.text);
    }
    ASSERT_THAT(is.measures, SizeIs(was.measures.size()));
    for (std::size_t m = 0; m < was.measures.size(); ++m)
      EXPECT_EQ(is.measures[m].value, was.measures[m].value);
  }
  EXPECT_EQ(back->subject.commit.value, "0123abcd");
  EXPECT_EQ(back->programs, run.programs);
  ASSERT_THAT(back->stack, SizeIs(run.stack.size()));
  EXPECT_TRUE(back->stack.back().absent);
  const auto wrong = history.check();
  ASSERT_TRUE(wrong) << wrong.error().what;
  EXPECT_THAT(*wrong, IsEmpty());
}

TEST(HistoryTest, AMessageBelongsToItsCase) {
  const TempDir directory(kInMemory);
  RunResults run = made_run(1, {{"a/137", Outcome::kFail}, {"a/637", Outcome::kFail}});
  set_cause(run, 0, "expected 637 bytes", run.cases[1]);
  History history = history_of(file_in(directory), {run});
  const auto answer = ask(history, {.failing = true});
  ASSERT_TRUE(answer) << answer.error().what;
  ASSERT_THAT(answer->failing, SizeIs(2));
  EXPECT_EQ(answer->failing[0].last.cause, "expected 1 bytes");
  EXPECT_EQ(answer->failing[1].last.cause, "expected 637 bytes");
  const auto back = history.results_of(history.runs()->front());
  ASSERT_TRUE(back) << back.error().what;
  EXPECT_EQ(words_of(*back, back->cases[1]), "expected 637 bytes");
}

TEST(HistoryTest, AJournalIsImportedOnce) {
  const TempDir directory(kInMemory);
  History history = history_of(file_in(directory), {made_run(1, {{"a/one"}})});
  const std::string before = bytes_of(file_in(directory));
  EXPECT_EQ(*add_one(history, made_run(1, {{"a/one"}})), Added::kAlreadyThere);
  EXPECT_TRUE(bytes_of(file_in(directory)) == before);
}

TEST(HistoryTest, OfSeveralJournalsOfARunTheMostCompleteWins) {
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

TEST(HistoryTest, AMergedRunStandsForItsShards) {
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

TEST(HistoryTest, OfMergedRunsThatShareAShardTheOneWithTheNewestIsKept) {
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
    ASSERT_TRUE(odd.change([&]() -> Result<void> {
      const auto added = odd.add_all(even);
      return added ? Result<void>() : added.error();
    }));
    ASSERT_EQ(all.size()->runs, 1);
    ASSERT_EQ(all.runs()->front().run_id, "id-004+003");
    ASSERT_EQ(canonical_text(odd), canonical_text(all));
    ASSERT_THAT(*all.check(), IsEmpty());
  } while (std::ranges::next_permutation(runs, {}, by_digest).found);
}

TEST(HistoryTest, TheOrderOfImportsDoesNotMatter) {
  std::vector<RunResults> runs;
  for (int number = 1; number <= 4; ++number) {
    runs.push_back(made_run(number, {{"a/zero"},
                                     {"a/" + std::to_string(9 - number)},
                                     {"a/two", number % 2 == 0 ? Outcome::kFail : Outcome::kPass}}));
  }
  runs.push_back(rich_run());
  const TempDir directory(kInMemory);
  History forwards = history_of((directory / "a").string(), runs);
  std::ranges::reverse(runs);
  History backwards = history_of((directory / "b").string(), runs);
  EXPECT_EQ(canonical_text(forwards), canonical_text(backwards));
  History odd = history_of((directory / "c").string(), {runs[0], runs[2], runs[4]});
  History even = history_of((directory / "d").string(), {runs[1], runs[2], runs[3]});
  const auto merge = [](History& into, History& from) {
    return into.change([&]() -> Result<void> {
      const auto added = into.add_all(from);
      return added ? Result<void>() : added.error();
    });
  };
  ASSERT_TRUE(merge(odd, even));
  EXPECT_EQ(canonical_text(odd), canonical_text(forwards));
  ASSERT_TRUE(merge(even, odd));
  EXPECT_EQ(canonical_text(even), canonical_text(forwards));
}

TEST(HistoryTest, OldRunsAreRemovedWithAllThatOnlyTheyHad) {
  const TempDir directory(kInMemory);
  std::vector<RunResults> runs;
  for (int number = 1; number <= 5; ++number)
    runs.push_back(made_run(number, {{"a/one"}, {"a/only" + std::to_string(number), Outcome::kFail}}));
  History history = history_of(file_in(directory), runs);
  ASSERT_TRUE(history.change([&]() -> Result<void> {
    const auto removed = history.keep_newest(2);
    EXPECT_EQ(*removed, 3);
    return {};
  }));
  const TempDir other(kInMemory);
  History expected = history_of(file_in(other), {runs[3], runs[4]});
  EXPECT_EQ(canonical_text(history), canonical_text(expected));
  EXPECT_EQ(history.size()->cases, 3);
  EXPECT_THAT(*history.check(), IsEmpty());
  ASSERT_TRUE(history.change([&]() -> Result<void> {
    EXPECT_EQ(*history.keep_since(runs[4].started), 1);
    return {};
  }));
  EXPECT_EQ(history.size()->runs, 1);
}

TEST(HistoryTest, RemovedRunsMakeTheFileSmaller) {
  const TempDir directory(kInMemory);
  std::vector<MadeCase> cases;
  for (int i = 0; i < 2000; ++i) cases.push_back({"a/case" + std::to_string(i)});
  History history = history_of(file_in(directory), {made_run(1, cases), made_run(2, cases), made_run(3, {})});
  const auto before = fs::file_size(file_in(directory));
  ASSERT_TRUE(history.change([&]() -> Result<void> {
    static_cast<void>(history.keep_newest(1));
    return {};
  }));
  EXPECT_LT(fs::file_size(file_in(directory)), before / 2);
}

TEST(HistoryTest, AChangeThatFailsLeavesWhatThereWas) {
  const TempDir directory(kInMemory);
  History history = history_of(file_in(directory), {made_run(1, {{"a/one"}})});
  const std::string before = bytes_of(file_in(directory));
  const auto done = history.change([&]() -> Result<void> {
    EXPECT_TRUE(history.add(made_run(2, {{"a/two"}})));
    return Error::usage("think of something else");
  });
  EXPECT_FALSE(done);
  EXPECT_TRUE(bytes_of(file_in(directory)) == before);
  EXPECT_EQ(history.size()->runs, 1);
}

TEST(HistoryTest, AFirstChangeThatFailsLeavesNoFile) {
  const TempDir directory(kInMemory);
  const auto fails = [&] {
    auto history = History::open(file_in(directory), 1s);
    return history->change([&]() -> Result<void> {
      EXPECT_TRUE(history->add(made_run(1, {{"a/one"}})));
      return Error::usage("think of something else");
    });
  };
  EXPECT_FALSE(fails());
  EXPECT_TRUE(fs::is_empty(directory.path()));
  write_file(file_in(directory), "");
  EXPECT_FALSE(fails());
  EXPECT_TRUE(fs::exists(file_in(directory)));  // somebody else made it
}

TEST(HistoryTest, AFileThatWasRemovedInTheMeantimeIsNotWritten) {
  const TempDir directory(kInMemory);
  auto first = History::open(file_in(directory), 1s);
  auto second = History::open(file_in(directory), 1s);
  EXPECT_FALSE(first->change([]() -> Result<void> { return Error::usage("think of something else"); }));
  const auto added = add_one(*second, made_run(1, {}));
  ASSERT_FALSE(added);
  EXPECT_THAT(added.error().what, HasSubstr("removed in the meantime"));
}

TEST(HistoryTest, WithoutRoomTheOldStateStays) {
  const TempDir directory(kInMemory);
  std::vector<MadeCase> cases;
  for (int i = 0; i < 5000; ++i) cases.push_back({"a/case" + std::to_string(i), Outcome::kFail});
  { History history = history_of(file_in(directory), {made_run(1, {{"a/one"}})}); }
  const std::string before = bytes_of(file_in(directory));
  const pid_t child = ::fork();
  if (child == 0) {  // the limit is for ever
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{before.size() + 100'000, before.size() + 100'000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    auto history = History::open(file_in(directory), 1s);
    const auto added = add_one(*history, made_run(2, cases));
    ::_exit(added ? 1 : added.error().kind == ErrorKind::kUsage ? 42 : 2);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 42);
  History history = *History::open_to_read(file_in(directory), 1s);
  EXPECT_EQ(history.size()->runs, 1);
  EXPECT_THAT(*history.check(), IsEmpty());
  EXPECT_TRUE(bytes_of(file_in(directory)) == before);
}

TEST(HistoryTest, WritersWaitForEachOther) {
  const TempDir directory(kInMemory);
  std::vector<std::thread> writers;
  for (int writer = 0; writer < 4; ++writer) {
    writers.emplace_back([&, writer] {
      auto history = History::open(file_in(directory), 20s);
      for (int i = 0; i < 5; ++i)
        EXPECT_TRUE(add_one(*history, made_run(writer * 10 + i, {{"a/one"}, {"a/two"}})));
    });
  }
  for (std::thread& writer : writers) writer.join();
  auto history = History::open_to_read(file_in(directory), 1s);
  ASSERT_TRUE(history) << history.error().what;
  EXPECT_EQ(history->size()->runs, 20);
  EXPECT_EQ(history->size()->cases, 2);
  EXPECT_THAT(*history->check(), IsEmpty());
}

TEST(HistoryTest, AFileThatStaysLockedIsNamed) {
  const TempDir directory(kInMemory);
  History history = history_of(file_in(directory), {made_run(1, {})});
  ASSERT_TRUE(history.change([&]() -> Result<void> {
    auto other = History::open(file_in(directory), 10ms);
    EXPECT_TRUE(other);
    const auto added = add_one(*other, made_run(2, {}));
    EXPECT_THAT(added.error().what, HasSubstr("longer than 10ms"));
    EXPECT_EQ(added.error().kind, ErrorKind::kUsage);
    return {};
  }));
}

TEST(HistoryTest, AChangeThatWasCutShortIsUndoneByWhoReadsNext) {
  const TempDir directory(kInMemory);
  std::vector<MadeCase> cases;
  for (int i = 0; i < 5000; ++i) cases.push_back({"a/case" + std::to_string(i)});
  std::string expected;
  {
    History history = history_of(file_in(directory), {made_run(1, cases)});
    expected = canonical_text(history);
  }
  const pid_t child = ::fork();
  if (child == 0) {  // with so little memory, it writes to the file long before the end of the change
    Database database(file_in(directory), Database::Access::kCreate, 1s);
    database.execute("PRAGMA cache_size = 1; BEGIN IMMEDIATE; UPDATE test SET case_id = case_id || 'x'");
    ::_exit(42);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_EQ(WEXITSTATUS(status), 42);
  ASSERT_GT(fs::file_size(file_in(directory) + "-journal"), 0U);
  auto history = History::open_to_read(file_in(directory), 1s);
  ASSERT_TRUE(history) << history.error().what;
  EXPECT_TRUE(canonical_text(*history) == expected);
}

TEST(HistoryTest, WhatIsNoHistoryIsNamedAndLeftAlone) {
  const TempDir directory(kInMemory);
  const std::string text = (directory / "text").string();
  write_file(text, std::string(5000, 'x'));
  EXPECT_THAT(why_not_written(text), HasSubstr("not an SQLite file"));
  EXPECT_THAT(why_not_read(text), HasSubstr("not an SQLite file"));
  EXPECT_EQ(bytes_of(text), std::string(5000, 'x'));

  EXPECT_THAT(why_not_written(directory.string()), HasSubstr("it is a directory"));
  EXPECT_THAT(why_not_written((directory / "none" / "x").string()), HasSubstr("none"));
  EXPECT_THAT(why_not_read((directory / "missing").string()), HasSubstr("there is no such file"));
  EXPECT_FALSE(fs::exists(directory / "missing"));
  EXPECT_THAT(why_not_written("/dev/null"), HasSubstr("not a regular file"));

  {
    Database other((directory / "other").string(), Database::Access::kCreate, 1s);
    other.execute("CREATE TABLE t (a)");
  }
  EXPECT_THAT(why_not_written((directory / "other").string()), HasSubstr("another program"));

  { const History ours = history_of(file_in(directory), {made_run(1, {})}); }
  fs::create_symlink(file_in(directory), directory / "link");
  EXPECT_THAT(why_not_written((directory / "link").string()), HasSubstr("it is a link"));
  EXPECT_THAT(why_not_read((directory / "link").string()), HasSubstr("it is a link"));
}

TEST(HistoryTest, ADamagedFileIsNamed) {
  const TempDir directory(kInMemory);
  std::vector<MadeCase> cases;
  for (int i = 0; i < 500; ++i) cases.push_back({"a/case" + std::to_string(i)});
  { const History history = history_of(file_in(directory), {made_run(1, cases)}); }
  const std::string whole = bytes_of(file_in(directory));
  const auto damage_from = [&](std::size_t first) {
    std::string bytes = whole;
    for (std::size_t page = first * 4096; page < bytes.size(); page += 4096)
      bytes.replace(page, 200, 200, '\x7f');
    write_file(file_in(directory), bytes);
    return History::open_to_read(file_in(directory), 1s);
  };
  const auto history = damage_from(1);  // with its tables
  ASSERT_FALSE(history);
  EXPECT_THAT(history.error().what, HasSubstr("damaged"));
  EXPECT_EQ(history.error().kind, ErrorKind::kDamaged);
  const auto results = damage_from(whole.size() / 4096 - 4);  // its newest pages
  ASSERT_FALSE(results);
  EXPECT_THAT(results.error().what, HasSubstr("damaged"));
  EXPECT_THAT(results.error().hint, HasSubstr("Create the history again"));
  EXPECT_THAT(why_not_written(file_in(directory)), HasSubstr("damaged"));
  auto looked_at = History::open_to_check(file_in(directory), 1s);
  ASSERT_TRUE(looked_at) << looked_at.error().what;
  const auto wrong = looked_at->check();
  EXPECT_TRUE(!wrong || !wrong->empty());
}

// It would take too long to see all of it each time.
TEST(HistoryTest, OfALargeFileTheSmallTablesAreLookedAt) {
  const TempDir directory(kInMemory);
  { const History history = history_of(file_in(directory), {made_run(1, {{"a/one"}})}); }
  const auto change = [&](const char* sql) {
    Database(file_in(directory), Database::Access::kCreate, 1s).execute(sql);
  };
  change("INSERT INTO stack VALUES (99, 'x', hex(zeroblob(4500000)))");
  change("UPDATE result SET standing = 1");
  EXPECT_TRUE(History::open_to_read(file_in(directory), 1s)) << "only check() counts";
  EXPECT_FALSE(History::open_to_read(file_in(directory), 1s)->check()->empty());
  const auto page =
      static_cast<std::size_t>(Database(file_in(directory), Database::Access::kCreate, 1s)
                                   .number("SELECT rootpage FROM sqlite_schema WHERE name = 'test'"));
  std::string bytes = bytes_of(file_in(directory));
  bytes.replace((page - 1) * 4096, 200, 200, '\x7f');
  write_file(file_in(directory), bytes);
  EXPECT_THAT(why_not_read(file_in(directory)), HasSubstr("damaged"));
  EXPECT_THAT(why_not_written(file_in(directory)), HasSubstr("damaged"));
}

TEST(HistoryTest, ASummaryThatIsNotThatOfTheResultsIsFound) {
  for (const char* change :
       {"UPDATE run_variant SET failing = failing + 1", "UPDATE run_variant SET flaky = 1",
        "UPDATE run_variant SET passing = passing - 1, expected = 1", "UPDATE run_variant SET ran = x'0102'",
        "UPDATE run_variant SET ran = x'00'", "DELETE FROM run_variant", "DELETE FROM test WHERE id = 1"}) {
    const TempDir directory(kInMemory);
    History history = history_of(file_in(directory), {made_run(1, {{"a/one"}, {"a/two", Outcome::kFail}})});
    EXPECT_THAT(*history.check(), IsEmpty());
    Database(file_in(directory), Database::Access::kCreate, 1s).execute(change);
    EXPECT_FALSE(history.check()->empty()) << change;
  }
}

TEST(HistoryTest, AFileOfAnyBytesEndsNothing) {
  const TempDir directory(kInMemory);
  std::vector<MadeCase> cases;
  for (int i = 0; i < 40; ++i) cases.push_back({"a/case" + std::to_string(i), Outcome::kFail});
  { const History history = history_of(file_in(directory), {made_run(1, cases), made_run(2, cases)}); }
  const std::string whole = bytes_of(file_in(directory));
  unsigned seed = 1;
  for (int round = 0; round < 300; ++round) {
    std::string bytes = whole;
    for (int i = 0; i < 1 + round / 20; ++i) {
      seed = seed * 1103515245 + 12345;
      bytes[seed / 64 % bytes.size()] = static_cast<char>(seed >> 24);
    }
    write_file(file_in(directory), bytes);
    auto history = History::open_to_read(file_in(directory), 1s);
    if (!history) continue;
    if (const auto runs = history->runs()) {
      for (const HistoryRun& run : *runs) static_cast<void>(history->results_of(run));
    }
    static_cast<void>(ask(*history, {.failing = true, .flaky = true, .outcomes = true}));
    static_cast<void>(history->check());
  }
}

// Such a thing is run whenever the file is used, and may never end.
TEST(HistoryTest, WhatSomebodyAddedToTheTablesIsDamage) {
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
    Database(file_in(directory), Database::Access::kCreate, 1s).execute(change.c_str());
    const std::string before = bytes_of(file_in(directory));
    EXPECT_THAT(why_not_written(file_in(directory)), HasSubstr("it is damaged: it ")) << change;
    EXPECT_THAT(why_not_read(file_in(directory)), HasSubstr("of version 1")) << change;
    EXPECT_TRUE(bytes_of(file_in(directory)) == before);
  }
}

TEST(HistoryTest, DevicesAreCountedByHostOverAllRuns) {
  const TempDir directory(kInMemory);
  std::vector<RunResults> runs = {made_run(1, {{"a/one"}}), made_run(2, {{"a/one"}}),
                                  made_run(3, {{"a/one"}})};
  runs[1].devices.front().drained = true;
  runs[2].devices.push_back({"xpu:0", "gpu-02", "Card", 8, 0, false});
  set_fact(runs[0], "xpu.driver", "26.31");
  set_fact(runs[2], "xpu.driver", "26.35");
  History history = history_of(file_in(directory), runs);
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
    const auto removed = history.keep_newest(0);
    return removed ? Result<void>() : removed.error();
  });
  EXPECT_TRUE(pruned);
  EXPECT_TRUE(devices_in(history, "")->devices.empty());
  EXPECT_THAT(*history.check(), IsEmpty());
}

TEST(HistoryTest, AFileOfANewerVersionIsRefused) {
  const TempDir directory(kInMemory);
  { const History history = history_of(file_in(directory), {made_run(1, {})}); }
  Database(file_in(directory), Database::Access::kCreate, 1s).execute("PRAGMA user_version = 99");
  const std::string before = bytes_of(file_in(directory));
  EXPECT_THAT(why_not_written(file_in(directory)), HasSubstr("version is 99"));
  EXPECT_THAT(why_not_read(file_in(directory)), HasSubstr("version is 99"));
  EXPECT_TRUE(bytes_of(file_in(directory)) == before);
}

TEST(HistoryTest, AnEmptyFileIsAnEmptyHistory) {
  const TempDir directory(kInMemory);
  write_file(file_in(directory), "");
  EXPECT_THAT(why_not_read(file_in(directory)), HasSubstr("it is empty"));
  History history = history_of(file_in(directory), {made_run(1, {})});
  EXPECT_EQ(history.size()->runs, 1);
}

TEST(HistoryTest, AnOlderFileGoesThroughEachStepOnce) {
  const TempDir directory(kInMemory);
  Database database(file_in(directory), Database::Access::kCreate, 1s);
  const std::vector<const char*> first = {"CREATE TABLE t (a)"};
  EXPECT_TRUE(migrate(database, first));
  database.execute("INSERT INTO t VALUES (7)");
  const std::vector<const char*> both = {"CREATE TABLE t (a)", "ALTER TABLE t ADD COLUMN b DEFAULT 3"};
  EXPECT_TRUE(migrate(database, both));
  EXPECT_FALSE(migrate(database, both));
  EXPECT_EQ(database.number("SELECT a + b FROM t"), 10);
  EXPECT_EQ(database.number("PRAGMA user_version"), 2);
  EXPECT_EQ(database.number("PRAGMA application_id"), kApplicationId);
}

TEST(HistoryTest, AFileOfVersionZeroOfOursIsTakenOn) {
  const TempDir directory(kInMemory);
  Database(file_in(directory), Database::Access::kCreate, 1s)
      .execute(("PRAGMA application_id = " + std::to_string(kApplicationId)).c_str());
  EXPECT_THAT(why_not_read(file_in(directory)), HasSubstr("empty"));
  History history = history_of(file_in(directory), {made_run(1, {})});
  EXPECT_EQ(history.size()->runs, 1);
}

TEST(HistoryTest, WhereNothingCanBeWrittenItIsRead) {
  const TempDir directory(kInMemory);
  { const History history = history_of(file_in(directory), {made_run(1, {{"a/one"}})}); }
  const pid_t child = ::fork();
  if (child == 0) {
    fs::permissions(file_in(directory), fs::perms{0444});
    fs::permissions(directory.path(), fs::perms{0555});
    if (::geteuid() == 0 && ::setuid(65534) != 0) ::_exit(3);
    auto history = History::open_to_read(file_in(directory), 1s);
    if (!history) {
      std::fprintf(stderr, "%s\n", history.error().what.c_str());
      ::_exit(4);
    }
    ::_exit(history->size() && history->size()->runs == 1 && !why_not_written(file_in(directory)).empty()
                ? 42
                : 5);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  fs::permissions(directory.path(), fs::perms::owner_all);
  EXPECT_EQ(WEXITSTATUS(status), 42);
}

TEST(HistoryTest, ARowWithALargeNumberCostsNoMore) {
  const TempDir directory(kInMemory);
  History history = history_of(file_in(directory), {made_run(1, {{"a/one", Outcome::kFail}})});
  Database(file_in(directory), Database::Access::kCreate, 1s)
      .execute(
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

TEST(HistoryTest, ALinkBesideTheFileIsNamed) {
  const TempDir directory(kInMemory);
  { const History history = history_of(file_in(directory), {made_run(1, {})}); }
  fs::create_symlink(directory / "victim", file_in(directory) + "-journal");
  EXPECT_THAT(why_not_written(file_in(directory)), HasSubstr("history.sqlite-journal is a link"));
  EXPECT_THAT(why_not_read(file_in(directory)), HasSubstr("history.sqlite-journal is a link"));
}

TEST(HistoryTest, ARunOfNoJournalIsRefused) {
  const TempDir directory(kInMemory);
  auto history = History::open(file_in(directory), 1s);
  RunResults run = made_run(1, {});
  run.journal_sha256 = "";
  EXPECT_FALSE(add_one(*history, run));
}

TEST(HistoryTest, NumbersAreUnpackedAsTheyWerePacked) {
  const std::vector<std::uint32_t> numbers = {0, 1, 127, 128, 129, 16'511, 16'512, 9'000'000};
  EXPECT_EQ(unpacked(packed(numbers)), numbers);
  EXPECT_THAT(unpacked(""), IsEmpty());
  EXPECT_THROW(static_cast<void>(unpacked("\xff\xff\xff\xff\xff\xff\xff")), SqliteFailure);
}

}  // namespace
}  // namespace proctor
