#include "harness/runner/record/journal_seal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "harness/base/read_file.h"
#include "harness/base/temp_dir.h"
#include "harness/runner/record/journal.h"
#include "harness/runner/record/run_record.h"

namespace proctor {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRunId = "20260131T120000Z-abcdef";

// Each test has a private runtime directory, so that it never sees real runs.
class SealedJournalTest : public testing::Test {
 protected:
  void SetUp() override {
    const char* old = ::getenv("XDG_RUNTIME_DIR");
    if (old) old_runtime_ = old;
    fs::create_directory(runtime_);
    fs::create_directory(run_dir_);
    ::setenv("XDG_RUNTIME_DIR", runtime_.c_str(), 1);
  }
  void TearDown() override {
    old_runtime_ ? ::setenv("XDG_RUNTIME_DIR", old_runtime_->c_str(), 1) : ::unsetenv("XDG_RUNTIME_DIR");
  }

  void write_run() {
    auto journal = Journal::open(journal_);
    ASSERT_TRUE(journal) << journal.error().what;
    auto file = JournalSealFile::create(run_dir_, kRunId);
    ASSERT_TRUE(file) << file.error().what;
    (*journal)->keep_seal([&](const JournalSeal& seal) { file->keep(seal); });
    RunPlanned plan;
    plan.run_id = kRunId;
    (*journal)->on(plan);
    for (int i = 0; i < 20; ++i) {
      (*journal)->on(
          Warning{WarningWord::in_text("code"), std::string(static_cast<std::size_t>(i) * 50, 'x')});
      const auto seal = find_journal_seal(run_dir_);
      ASSERT_TRUE(seal);
      EXPECT_EQ(difference(journal_, *seal), "");
      EXPECT_EQ(seal->after.bytes, fs::file_size(journal_));
    }
    (*journal)->on(RunEnded{});
    EXPECT_EQ(find_journal_seal(run_dir_)->before.bytes, fs::file_size(journal_))
        << "nothing may be missing now";
    EXPECT_EQ((*journal)->difference(), "");
  }
  std::string change() const {
    const auto seal = find_journal_seal(run_dir_);
    return seal ? difference(journal_, *seal) : "no seal";
  }

  TempDir scratch_;
  const std::string runtime_ = scratch_ / "runtime";
  const std::string run_dir_ = scratch_ / "out";
  const std::string journal_ = run_dir_ + "/journal.jsonl";
  std::optional<std::string> old_runtime_;
};

TEST_F(SealedJournalTest, OutlivesItsRunAndTellsAChange) {
  write_run();
  EXPECT_EQ(change(), "");
  std::ofstream(journal_, std::ios::app) << "{}\n";
  EXPECT_EQ(change(), "it has 3 bytes more than its runner wrote");
}

TEST_F(SealedJournalTest, IsOfTheDirectoryWhateverItIsCalled) {
  write_run();
  fs::create_directory_symlink(run_dir_, scratch_ / "latest");
  EXPECT_TRUE(find_journal_seal(scratch_ / "latest"));
  EXPECT_FALSE(find_journal_seal(scratch_ / "nowhere"));
}

TEST_F(SealedJournalTest, IsOfTheLastRunThere) {
  write_run();
  fs::remove(journal_);
  write_run();
  EXPECT_EQ(change(), "");
}

TEST_F(SealedJournalTest, OneOfAnotherBootOrThatOthersCanWriteToSaysNothing) {
  write_run();
  const std::string directory = *run_record_directory();
  ASSERT_EQ(::chmod(directory.c_str(), 0777), 0);
  EXPECT_FALSE(find_journal_seal(run_dir_));
  ASSERT_EQ(::chmod(directory.c_str(), 0700), 0);
  ASSERT_TRUE(find_journal_seal(run_dir_));
  const fs::path seal = fs::directory_iterator(directory + "/seals")->path();
  std::string text = read_file_or_empty(seal);
  text.replace(text.find(boot_id()), 4, "zzzz");
  std::ofstream(seal, std::ios::trunc) << text;
  EXPECT_FALSE(find_journal_seal(run_dir_));
}

TEST_F(SealedJournalTest, AfterAWeekItGoes) {
  write_run();
  remove_old_journal_seals();
  EXPECT_TRUE(find_journal_seal(run_dir_));
  const fs::path seal = fs::directory_iterator(*run_record_directory() + "/seals")->path();
  fs::last_write_time(seal, fs::file_time_type::clock::now() - std::chrono::hours(8 * 24));
  remove_old_journal_seals();
  EXPECT_FALSE(find_journal_seal(run_dir_));
}

}  // namespace
}  // namespace proctor
