#include "harness/runner/record/journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "harness/base/read_file.h"
#include "harness/base/temp_dir.h"
#include "harness/runner/machine/scratch.h"
#include "harness/runner/record/run_record.h"

namespace proctor {
namespace {

class JournalTest : public testing::Test {
 protected:
  void SetUp() override {
    auto root = ScratchRoot::create();
    ASSERT_TRUE(root.ok());
    root_ = std::move(*root);
    path_ = root_->path() + "/journal.jsonl";
  }

  static std::vector<std::string> lines_of(const std::string& path) {
    std::ifstream file(path);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }

  static Event started(const std::string& id) {
    AttemptStarted event;
    event.case_id = id;
    return event;
  }

  std::unique_ptr<ScratchRoot> root_;
  std::string path_;
};

TEST_F(JournalTest, WritesOneLinePerRecordInOrder) {
  {
    auto journal = Journal::open(path_);
    ASSERT_TRUE(journal.ok());
    (*journal)->on(RunPlanned{});
    (*journal)->on(started("a"));
    (*journal)->on(RunEnded{});
    EXPECT_TRUE((*journal)->complete());
  }
  const auto lines = lines_of(path_);
  ASSERT_EQ(lines.size(), 3u);
  const auto second = parse_json_line(lines[1]);
  ASSERT_TRUE(second.ok() && second->has_value());
  EXPECT_EQ(std::get<AttemptStarted>(**second).case_id, "a");
}

TEST_F(JournalTest, WritesRecordBeforeCallReturns) {
  auto journal = Journal::open(path_);
  ASSERT_TRUE(journal.ok());
  (*journal)->on(started("a"));
  EXPECT_EQ(lines_of(path_).size(), 1u);
}

TEST_F(JournalTest, DetectsChangedOrMovedFile) {
  auto journal = Journal::open(path_);
  ASSERT_TRUE(journal.ok());
  (*journal)->on(RunPlanned{});
  (*journal)->on(started("a"));
  EXPECT_EQ((*journal)->difference(), "");
  JournalChain chain;
  for (const auto& line : lines_of(path_)) EXPECT_TRUE(chain.follow(line + "\n")) << line;
  std::ofstream(path_, std::ios::app) << "{}\n";
  EXPECT_THAT((*journal)->difference(), testing::HasSubstr("more than its runner wrote"));
  std::filesystem::rename(path_, path_ + ".away");
  EXPECT_THAT((*journal)->difference(), testing::HasSubstr("No such file"));
}

TEST_F(JournalTest, SealsLastRecordAfterEnd) {
  auto journal = Journal::open(path_);
  ASSERT_TRUE(journal.ok());
  JournalSeal seal;
  (*journal)->keep_seal([&](const JournalSeal& written) { seal = written; });
  (*journal)->on(RunPlanned{});
  (*journal)->on(RunEnded{});
  (*journal)->end_with(R"({"v":2,"type":"more"})");
  EXPECT_EQ((*journal)->difference(), "");
  EXPECT_EQ(difference(path_, seal), "");
  EXPECT_EQ(seal.before.bytes, seal.after.bytes) << "nothing is under way";
  const auto lines = lines_of(path_);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_THAT(lines[2], testing::HasSubstr("more"));
}

TEST_F(JournalTest, FailedLastRecordLosesNothing) {
  auto journal = Journal::open("/dev/full", /*allow_existing=*/true);
  ASSERT_TRUE(journal.ok());
  std::vector<Warning> warnings;
  (*journal)->on_lost([&](const Warning& warning) { warnings.push_back(warning); });
  (*journal)->end_with(R"({"v":2,"type":"more"})");
  EXPECT_TRUE((*journal)->complete());
  EXPECT_TRUE(warnings.empty());
}

TEST_F(JournalTest, RejectsExistingFile) {
  std::ofstream(path_) << "{}\n";
  EXPECT_FALSE(Journal::open(path_).ok());
}

TEST_F(JournalTest, ReportsFullDiskOnce) {
  auto journal = Journal::open("/dev/full", /*allow_existing=*/true);
  ASSERT_TRUE(journal.ok());
  std::vector<Warning> warnings;
  (*journal)->on_lost([&](const Warning& warning) { warnings.push_back(warning); });
  for (int i = 0; i < 100; ++i) (*journal)->on(started("a"));
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0].code, WarningCode::kJournalNotWritten);
  EXPECT_THAT(warnings[0].text, testing::HasSubstr("No space left on device"));
  EXPECT_FALSE((*journal)->complete());
}

// A file-size limit makes write(2) accept a part of the record and refuse the remainder, like a full disk. The test
// uses a child process, because the limit applies to the whole process.
TEST_F(JournalTest, RetriesPartlyWrittenRecord) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    auto journal = Journal::open(path_);
    (*journal)->on(started("first"));
    rlimit limit{};
    ::getrlimit(RLIMIT_FSIZE, &limit);
    const rlimit tight{.rlim_cur = std::filesystem::file_size(path_) + 10, .rlim_max = limit.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &tight);
    (*journal)->on(started("second"));
    const bool whole_lines_only = lines_of(path_).size() == 1 && !(*journal)->complete();
    ::setrlimit(RLIMIT_FSIZE, &limit);
    (*journal)->on(started("third"));
    ::_exit(whole_lines_only && (*journal)->complete() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  std::vector<std::string> ids;
  JournalChain chain;
  for (const auto& line : lines_of(path_)) {
    EXPECT_TRUE(chain.follow(line + "\n")) << line;
    const auto event = parse_json_line(line);
    ASSERT_TRUE(event.ok() && event->has_value()) << line;
    ids.push_back(std::get<AttemptStarted>(**event).case_id);
  }
  EXPECT_THAT(ids, testing::ElementsAre("first", "second", "third"));
}

// Readers refuse a journal that is too long.
TEST_F(JournalTest, LimitsJournalSize) {
  constexpr std::uint64_t kMost = 4'000;
  auto journal = Journal::open(path_, /*allow_existing=*/false, kMost);
  ASSERT_TRUE(journal.ok());
  std::vector<Warning> warnings;
  (*journal)->on_lost([&](const Warning& warning) { warnings.push_back(warning); });
  (*journal)->on(RunPlanned{});
  EXPECT_FALSE((*journal)->nears_limit());
  while (!(*journal)->nears_limit()) (*journal)->on(started("a"));
  EXPECT_TRUE((*journal)->complete()) << "it says so while there is room";
  EXPECT_GT(std::filesystem::file_size(path_), kMost * 8 / 10);
  for (int i = 0; i < 100; ++i) (*journal)->on(started("a"));
  EXPECT_LE(std::filesystem::file_size(path_), kMost);
  EXPECT_FALSE((*journal)->complete());
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0].text, testing::HasSubstr("File too large"));
  EXPECT_EQ((*journal)->difference(), "");
  for (const auto& line : lines_of(path_)) EXPECT_TRUE(parse_json_line(line).ok()) << line;
}

struct Recorder : EventSink {
  void on(const Event& event) override { seen.push_back(event.index()); }
  std::vector<std::size_t> seen;
};

// Sends a warning while it handles the first event.
struct Talkative : EventSink {
  explicit Talkative(EventFanout& fanout) : fanout(fanout) {}
  void on(const Event& event) override {
    if (std::holds_alternative<RunPlanned>(event)) fanout.on(Warning{WarningWord::in_text("code"), "text"});
  }
  EventFanout& fanout;
};

TEST(EventFanout, ListenersReceiveEventsInSameOrder) {
  EventFanout fanout;
  Recorder before;
  Recorder after;
  Talkative talkative(fanout);
  fanout.add(before);
  fanout.add(talkative);
  fanout.add(after);
  fanout.on(RunPlanned{});
  fanout.on(RunEnded{});
  const std::vector<std::size_t> order = {Event(RunPlanned{}).index(), Event(Warning{}).index(),
                                          Event(RunEnded{}).index()};
  EXPECT_EQ(before.seen, order);
  EXPECT_EQ(after.seen, order);
}

namespace fs = std::filesystem;

constexpr const char* kRunId = "20260131T120000Z-abcdef";

// Each test has a private runtime directory, so that it never finds real runs.
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

TEST_F(SealedJournalTest, SealDetectsChangeAfterRun) {
  write_run();
  EXPECT_EQ(change(), "");
  std::ofstream(journal_, std::ios::app) << "{}\n";
  EXPECT_EQ(change(), "it has 3 bytes more than its runner wrote");
}

TEST_F(SealedJournalTest, FindsSealThroughDirectoryLink) {
  write_run();
  fs::create_directory_symlink(run_dir_, scratch_ / "latest");
  EXPECT_TRUE(find_journal_seal(scratch_ / "latest"));
  EXPECT_FALSE(find_journal_seal(scratch_ / "nowhere"));
}

TEST_F(SealedJournalTest, SealBelongsToLastRun) {
  write_run();
  fs::remove(journal_);
  write_run();
  EXPECT_EQ(change(), "");
}

TEST_F(SealedJournalTest, IgnoresSealOfOtherBootOrWriter) {
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

TEST_F(SealedJournalTest, RemovesSealAfterWeek) {
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
