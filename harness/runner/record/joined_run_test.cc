#include "harness/runner/record/joined_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <set>
#include <thread>

#include "harness/base/temp_dir.h"
#include "harness/runner/record/process_handle.h"
#include "harness/runner/record/run_directory.h"

namespace proctor {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

Starter myself() { return {.pid = ::getpid(), .start_time = start_time_of(::getpid())}; }

TEST(JoinedRun, EachStarterHasOwnRun) {
  const TempDir root;
  EXPECT_FALSE(find_joined_run(root.path(), myself()));
  const auto mine = open_joined_run(root.path(), myself());
  ASSERT_TRUE(mine) << mine.error().what;
  EXPECT_EQ(find_joined_run(root.path(), myself()), *mine);
  EXPECT_EQ(fs::canonical(root / "latest"), fs::canonical(*mine));
  const auto theirs = open_joined_run(root.path(), parent_of_this_process());
  ASSERT_TRUE(theirs) << theirs.error().what;
  EXPECT_NE(*theirs, *mine);
  EXPECT_EQ(find_joined_run(root.path(), myself()), *mine);
}

TEST(JoinedRun, ReusesRunWithoutParts) {
  const TempDir root;
  const auto first = open_joined_run(root.path(), myself());
  ASSERT_TRUE(first);
  EXPECT_EQ(*open_joined_run(root.path(), myself()), *first);
  ASSERT_TRUE(new_part(*first));
  EXPECT_NE(*open_joined_run(root.path(), myself()), *first);
}

TEST(JoinedRun, DoesNotReuseClosedRun) {
  const TempDir root;
  const auto first = open_joined_run(root.path(), myself());
  ASSERT_TRUE(first);
  EXPECT_FALSE(is_closed(*first));
  std::ofstream(*first / "journal.jsonl") << "\n";
  EXPECT_TRUE(is_closed(*first));
  EXPECT_NE(*open_joined_run(root.path(), myself()), *first);
}

TEST(JoinedRun, KeepsRunOfPossiblyLiveStarter) {
  const TempDir root;
  Starter elsewhere{.pid = ::getpid(), .start_time = start_time_of(::getpid()) + 1};
  elsewhere.namespaces = "1-2";
  const auto theirs = open_joined_run(root.path(), elsewhere);
  ASSERT_TRUE(theirs && open_joined_run(root.path(), myself()));
  EXPECT_EQ(find_joined_run(root.path(), elsewhere), *theirs);
  std::ofstream(*theirs / "journal.jsonl") << "\n";
  ASSERT_TRUE(open_joined_run(root.path(), parent_of_this_process()));
  EXPECT_FALSE(find_joined_run(root.path(), elsewhere)) << "it is closed: nothing more comes";
}

TEST(JoinedRun, RemovesLinksOfEndedStarters) {
  const TempDir root;
  const Starter ended{.pid = ::getpid(), .start_time = start_time_of(::getpid()) + 1};
  ASSERT_TRUE(open_joined_run(root.path(), ended));
  EXPECT_TRUE(find_joined_run(root.path(), ended));
  ASSERT_TRUE(open_joined_run(root.path(), myself()));
  EXPECT_FALSE(find_joined_run(root.path(), ended));
  EXPECT_TRUE(find_joined_run(root.path(), myself()));
}

// A stopped call of CTest makes no reports. Its run is removed with the old ones, unless a part of it may be alive.
TEST(JoinedRun, RemovesOldRunsWithoutReports) {
  const TempDir root;
  const auto run = [&](const std::string& name) {
    const fs::path directory = root / name;
    fs::create_directories(directory / "parts" / "1");
    return directory;
  };
  const fs::path stopped = run("20200101T000000Z-000001");
  const fs::path lives = run("20200101T000000Z-000002");
  const fs::path recorded = run("20200101T000000Z-000003");
  fs::create_directory_symlink(lives.filename(),
                               root / (".open-" + std::to_string(myself().pid) + "-" +
                                       std::to_string(myself().start_time) + "-" + myself().namespaces));
  std::ofstream(recorded / "parts/1/run.json") << "{}";
  for (int i = 0; i < kKeptRuns; ++i) {
    char name[32];
    std::snprintf(name, sizeof name, "20210101T0000%02dZ-000000", i);
    std::ofstream(run(name) / "report.json") << "{}";
  }
  ASSERT_TRUE(open_joined_run(root.path(), parent_of_this_process()));
  EXPECT_FALSE(fs::exists(stopped));
  EXPECT_TRUE(fs::exists(lives));
  EXPECT_TRUE(fs::exists(recorded));
}

TEST(JoinedRun, RejectsFileAsDirectory) {
  const TempDir root;
  std::ofstream(root / "file") << "x";
  const auto refused = open_joined_run(root / "file", myself());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kUsage);
}

TEST(JoinedRun, ConcurrentPartsAreUnique) {
  const TempDir root;
  const auto run = open_joined_run(root.path(), myself());
  ASSERT_TRUE(run);
  EXPECT_THAT(parts_of(*run), IsEmpty());
  std::vector<std::set<std::string>> made(4);
  std::vector<std::thread> threads;
  for (auto& mine : made) {
    threads.emplace_back([&mine, &run] {
      for (int i = 0; i < 25; ++i) mine.insert(new_part(*run)->string());
    });
  }
  for (auto& thread : threads) thread.join();
  std::set<std::string> all;
  for (const auto& mine : made) all.insert(mine.begin(), mine.end());
  EXPECT_EQ(all.size(), 100u);
  EXPECT_EQ(parts_of(*run).size(), 100u);
  EXPECT_EQ(parts_of(*run)[9], "parts/10");
}

TEST(JoinedRun, OnlyNumberedDirectoriesAreParts) {
  const TempDir root;
  const auto run = open_joined_run(root.path(), myself());
  ASSERT_TRUE(run);
  ASSERT_TRUE(new_part(*run));
  fs::create_directory(*run / "parts/notes");
  EXPECT_THAT(parts_of(*run), ElementsAre("parts/1"));
  EXPECT_THAT(parts_of(root.path()), IsEmpty());
}

}  // namespace
}  // namespace proctor
