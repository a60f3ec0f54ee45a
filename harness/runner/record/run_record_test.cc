#include "harness/runner/record/run_record.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <limits>
#include <thread>

#include "harness/base/unique_fd.h"
#include "harness/base/user_name.h"
#include "harness/runner/machine/scratch.h"
#include "harness/runner/record/dead_runs.h"
#include "harness/runner/record/process_handle.h"
#include "harness/runner/record/run_directory.h"

namespace proctor {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kId = "20260131T120000Z-00ab12";

// Each test has a private runtime directory, so that it never finds real runs.
class RunRecordTest : public testing::Test {
 protected:
  void SetUp() override {
    auto root = ScratchRoot::create();
    ASSERT_TRUE(root.ok());
    root_ = std::move(*root);
    const char* old = ::getenv("XDG_RUNTIME_DIR");
    if (old) old_runtime_ = old;
    ::setenv("XDG_RUNTIME_DIR", root_->path().c_str(), 1);
    run_dir_ = root_->path() + "/out";
    fs::create_directory(run_dir_);
    scratch_ = root_->path() + "/pr-123456";
    fs::create_directories(scratch_ + "/1/deep");
    std::ofstream(scratch_ + "/1/deep/file") << "x";
  }
  void TearDown() override {
    old_runtime_ ? ::setenv("XDG_RUNTIME_DIR", old_runtime_->c_str(), 1) : ::unsetenv("XDG_RUNTIME_DIR");
  }

  // Acts as a runner that is killed: its records stay, and its locks are dropped. `left` has processes that it could
  // not end.
  static void write_and_die(const RunRecord& record, const std::vector<int>& left = {}) {
    const pid_t child = ::fork();
    if (child == 0) {
      auto files = RunRecordFiles::write(record);
      const bool written = files.ok() && (left.empty() || files->keep(left).ok());
      ::_exit(written ? 0 : 1);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    ASSERT_EQ(status, 0);
  }
  std::string private_path() const { return root_->path() + "/proctor/runs/" + kId + ".json"; }

  std::unique_ptr<ScratchRoot> root_;
  std::string run_dir_;
  std::string scratch_;
  std::optional<std::string> old_runtime_;
};

TEST_F(RunRecordTest, RoundTripsJson) {
  const auto record = describe_this_run(kId, run_dir_, "/sys/fs/cgroup/proctor-x", {scratch_});
  EXPECT_EQ(record.pid, ::getpid());
  EXPECT_GT(record.start_time, 0u);
  const auto again = parse_run_record(to_json(record));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(to_json(*again), to_json(record));
  EXPECT_FALSE(parse_run_record("{}").ok());
  EXPECT_FALSE(parse_run_record("not json").ok());
  EXPECT_FALSE(parse_run_record(R"({"run_id":7})").ok());
}

TEST_F(RunRecordTest, FindsRecordOfSlurmJob) {
  auto record = describe_this_run(kId, run_dir_, "", {});
  record.slurm = {.id = "5", .cluster = "c1", .node = "node7"};
  const auto files = RunRecordFiles::write(record);
  ASSERT_TRUE(files.ok());
  const auto found = run_records_of({.id = "5", .cluster = "c1", .node = "node7"});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found.front().run_id, kId);
  EXPECT_EQ(run_records_of({.id = "5"}).size(), 1u) << "what is not said is not compared";
  EXPECT_THAT(run_records_of({.id = "4", .cluster = "c1", .node = "node7"}), IsEmpty());
  EXPECT_THAT(run_records_of({.id = "5", .cluster = "c2", .node = "node7"}), IsEmpty());
  EXPECT_THAT(run_records_of({.id = "5", .cluster = "c1", .node = "node8"}), IsEmpty());
  EXPECT_THAT(run_records_of({.id = ""}), IsEmpty());
}

TEST_F(RunRecordTest, RejectsInvalidRunId) {
  auto record = describe_this_run(kId, run_dir_, "", {});
  EXPECT_TRUE(parse_run_record(to_json(record)).ok());
  for (const char* id : {"", "id", "20260131T120000Z-00AB12", "20260131T120000Z-00ab1",
                         "20260131T120000Z-00ab123", "../60131T120000Z-00ab12", "20260131T120000Z-00ab12/"}) {
    record.run_id = id;
    const auto parsed = parse_run_record(to_json(record));
    ASSERT_FALSE(parsed.ok()) << id;
    EXPECT_THAT(parsed.error().what, HasSubstr("'" + std::string(id) + "'"));
  }
  record.run_id = kId;
  record.pid = -1;
  EXPECT_FALSE(parse_run_record(to_json(record)).ok());
}

// Another user who can write run.json could otherwise select the processes that Proctor kills.
TEST_F(RunRecordTest, RejectsUntrustedRecord) {
  const auto record = describe_this_run(kId, run_dir_, "", {});
  const auto write = [&](const RunRecord& one) { std::ofstream(run_dir_ + "/run.json") << to_json(one); };
  const auto write_copy = [&](const RunRecord& one) {
    std::ofstream(*run_record_directory() + "/" + kId + ".json") << to_json(one);
  };
  const auto refused = [&](const std::string& directory) {
    const auto read = read_run_record(directory);
    if (read) return std::string("not refused");
    EXPECT_EQ(read.error().kind, ErrorKind::kUsage);
    EXPECT_THAT(read.error().what, HasSubstr(directory + "/run.json"));
    return read.error().what;
  };
  write(record);
  EXPECT_THAT(refused(run_dir_), HasSubstr("no copy of it"));
  auto other = record;
  other.pid = 1;
  write_copy(other);
  EXPECT_THAT(refused(run_dir_), HasSubstr("it differs from"));
  EXPECT_FALSE(is_confirmed(record));
  write_copy(record);
  EXPECT_TRUE(is_confirmed(record));
  ASSERT_TRUE(read_run_record(run_dir_).ok());
  fs::create_directory_symlink(run_dir_, root_->path() + "/latest");
  EXPECT_TRUE(read_run_record(root_->path() + "/latest").ok()) << "the same directory by another name";

  const std::string copy = root_->path() + "/copy";
  fs::copy(run_dir_, copy);
  EXPECT_THAT(refused(copy), HasSubstr("another directory, " + run_dir_));
  fs::remove(private_path());
  auto far = record;
  far.boot_id = far.host = "another";
  write(far);
  fs::copy_file(run_dir_ + "/run.json", copy + "/run.json", fs::copy_options::overwrite_existing);
  EXPECT_TRUE(read_run_record(copy).ok()) << "another machine may have it mounted elsewhere";
  auto before = record;
  before.boot_id = "another";
  write(before);
  EXPECT_TRUE(read_run_record(run_dir_).ok()) << "a restart may have removed the private copy";
  EXPECT_FALSE(is_confirmed(before));
  write_copy(record);
  write(before);
  EXPECT_THAT(refused(run_dir_), HasSubstr("it differs from"));

  write(record);
  fs::rename(run_dir_ + "/run.json", run_dir_ + "/other.json");
  fs::create_symlink("other.json", run_dir_ + "/run.json");
  EXPECT_THAT(refused(run_dir_), HasSubstr("it is a link"));
  fs::remove(run_dir_ + "/run.json");
  EXPECT_FALSE(read_run_record(run_dir_).ok() && *read_run_record(run_dir_)) << "there is none";
  if (::geteuid() != 0) GTEST_SKIP() << "not root: no file of somebody else can be made";
  write(record);
  ASSERT_EQ(::chown((run_dir_ + "/run.json").c_str(), 65534, 65534), 0);
  EXPECT_THAT(refused(run_dir_), HasSubstr("it belongs to user 65534"));
}

TEST_F(RunRecordTest, SweepKeepsRecordOfNextRun) {
  write_and_die(describe_this_run(kId, run_dir_, "", {}));
  const auto next = RunRecordFiles::write(describe_this_run("20260131T120001Z-00ab12", run_dir_, "", {}));
  ASSERT_TRUE(next.ok());
  EXPECT_THAT(sweep_dead_runs(), IsEmpty());
  EXPECT_TRUE(fs::exists(run_dir_ + "/run.json"));
}

TEST_F(RunRecordTest, BothCopiesExistDuringRun) {
  const std::string in_registry = root_->path() + "/proctor/runs/" + kId + ".json";
  {
    const auto files = RunRecordFiles::write(describe_this_run(kId, run_dir_, "", {scratch_}));
    ASSERT_TRUE(files.ok()) << files.error().what;
    EXPECT_TRUE(fs::exists(in_registry));
    EXPECT_TRUE(fs::exists(run_dir_ + "/run.json"));
  }
  EXPECT_FALSE(fs::exists(in_registry));
  EXPECT_FALSE(fs::exists(run_dir_ + "/run.json"));
}

// The record has the start time, so that another process with the same pid is not killed.
TEST_F(RunRecordTest, KeepsRecordUntilLeftProcessesEnd) {
  const pid_t left = ::fork();
  if (left == 0) {
    for (;;) ::pause();
  }
  write_and_die(describe_this_run(kId, run_dir_, "", {}), {left});
  const auto kept = read_run_record(run_dir_);
  ASSERT_TRUE(kept.ok() && *kept);
  ASSERT_EQ((*kept)->left.size(), 1U);
  EXPECT_EQ((*kept)->left[0].pid, left);

  auto another = **kept;
  another.left[0].start_time += 1;
  std::vector<std::string> said;
  EXPECT_TRUE(sweep_run(another, said));
  EXPECT_THAT(said, IsEmpty());
  for (const auto change : {&RunRecord::pid_namespace, &RunRecord::time_namespace, &RunRecord::boot_id}) {
    another = **kept;
    another.*change = "another";
    said.clear();
    EXPECT_EQ(sweep_run(another, said), change == &RunRecord::boot_id) << "who has these pids may sweep them";
    EXPECT_THAT(said, ElementsAre(HasSubstr("left its processes " + std::to_string(left) + " alone")));
  }
  EXPECT_EQ(::waitpid(left, nullptr, WNOHANG), 0) << "somebody else was killed";

  EXPECT_THAT(sweep_dead_runs(),
              ElementsAre(AllOf(HasSubstr("killed process " + std::to_string(left)), HasSubstr(kId),
                                HasSubstr(user_name(::geteuid())), HasSubstr(run_dir_))));
  int status = 0;
  ::waitpid(left, &status, 0);
  EXPECT_EQ(status, SIGKILL);
  EXPECT_FALSE(fs::exists(run_dir_ + "/run.json"));
}

// Two runs record the same process of another user.
TEST_F(RunRecordTest, ReportsUnkillableProcessOnce) {
  if (::geteuid() != 0) GTEST_SKIP() << "not root: this process cannot become another user";
  constexpr uid_t kNobody = 65534;
  for (const std::string& path : {root_->path(), run_dir_})
    ASSERT_EQ(::chown(path.c_str(), kNobody, kNobody), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setgid(kNobody) != 0 || ::setuid(kNobody) != 0) ::_exit(2);
    for (const std::string id : {kId, "20260131T120001Z-00ab12"}) {
      auto files = RunRecordFiles::write(describe_this_run(id, run_dir_, "", {}));
      if (!files || !files->keep({::getppid()})) ::_exit(3);
    }
    for (int round = 0; round < 2; ++round) {
      const auto said = sweep_dead_runs();
      if (said.size() != 1 || said.front().find("failed to kill process") == std::string::npos) ::_exit(4);
    }
    ::_exit(0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(RunRecordTest, SweepKeepsLiveRun) {
  const auto files = RunRecordFiles::write(describe_this_run(kId, run_dir_, "", {scratch_}));
  ASSERT_TRUE(files.ok());
  EXPECT_THAT(sweep_dead_runs(), IsEmpty());
  EXPECT_TRUE(fs::exists(scratch_));
}

TEST_F(RunRecordTest, SweepRemovesDeadRun) {
  write_and_die(describe_this_run(kId, run_dir_, "", {scratch_}));
  EXPECT_THAT(sweep_dead_runs(), ElementsAre(HasSubstr(scratch_)));
  EXPECT_FALSE(fs::exists(scratch_));
  EXPECT_FALSE(fs::exists(run_dir_ + "/run.json"));
  EXPECT_THAT(sweep_dead_runs(), IsEmpty());
}

RunRecord with_other_ids(RunRecord record) {
  record.boot_id = record.host = record.pid_namespace = record.time_namespace = "another";
  record.pid = 1;
  record.start_time = 0;
  return record;
}

// The reader has other namespaces, another boot id or no boot id.
TEST_F(RunRecordTest, OtherIdsDoNotMakeRunDead) {
  const auto files = RunRecordFiles::write(with_other_ids(describe_this_run(kId, run_dir_, "", {scratch_})));
  ASSERT_TRUE(files.ok());
  const auto record = read_run_record(run_dir_);
  ASSERT_TRUE(record.ok() && *record);
  EXPECT_EQ(examine_runner(**record).state, RunnerState::kAlive);
  fs::remove(private_path());
  EXPECT_EQ(examine_runner(**record).state, RunnerState::kAlive) << "by the copy in the run directory";
  EXPECT_THAT(sweep_dead_runs(), IsEmpty());
  EXPECT_TRUE(fs::exists(scratch_));
}

TEST_F(RunRecordTest, MatchingIdsDoNotMakeRunAlive) {
  auto record = with_other_ids(describe_this_run(kId, run_dir_, "", {scratch_}));
  record.boot_id = boot_id();
  record.pid = ::getpid();
  record.start_time = start_time_of(::getpid());
  write_and_die(record);
  EXPECT_EQ(read_private_record(private_path())->runner.state, RunnerState::kEnded);
  EXPECT_THAT(sweep_dead_runs(), ElementsAre(HasSubstr(scratch_)));
  EXPECT_FALSE(fs::exists(private_path()));
}

// The lock passes from the old file to the new one. Another process must never see the file unlocked.
TEST_F(RunRecordTest, UpdatedRecordStaysLockedUntilEnd) {
  {
    auto files = RunRecordFiles::write(describe_this_run(kId, run_dir_, "", {}));
    ASSERT_TRUE(files.ok() && files->keep({::getppid()}).ok());
    EXPECT_EQ(read_private_record(private_path())->runner.state, RunnerState::kAlive);
  }
  EXPECT_EQ(read_private_record(private_path())->runner.state, RunnerState::kEnded);
}

TEST_F(RunRecordTest, RunnerIsGoneAfterForkedChildUnlocks) {
  write_and_die(describe_this_run(kId, run_dir_, "", {}));
  auto record = read_private_record(private_path())->record;
  record.pid = std::numeric_limits<int>::max();  // no kernel assigns this pid
  std::ofstream(private_path()) << to_json(record);
  UniqueFd lock(::open(private_path().c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(::flock(lock.get(), LOCK_EX | LOCK_NB), 0);
  const std::jthread child([&lock] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    lock.reset();
  });
  EXPECT_EQ(examine_runner(record).state, RunnerState::kEnded);
}

// On a file system without locks, or copied together with its directory.
TEST_F(RunRecordTest, KeepsAndReportsUnprovenDeadRun) {
  const auto left_alone = [&](const std::string& why) {
    EXPECT_THAT(sweep_dead_runs(), ElementsAre(AllOf(HasSubstr(kId), HasSubstr("is left alone: " + why),
                                                     HasSubstr("remove " + private_path()))));
    EXPECT_TRUE(fs::exists(scratch_) && fs::exists(private_path()));
  };
  write_and_die(describe_this_run(kId, run_dir_, "", {scratch_}));
  const auto locked = read_private_record(private_path());
  ASSERT_TRUE(locked.ok());
  fs::copy_file(private_path(), private_path() + ".copy");
  fs::rename(private_path() + ".copy", private_path());
  fs::remove(run_dir_ + "/run.json");
  left_alone("its record is not the file that its runner locked");
  EXPECT_EQ(examine_runner(locked->record).state, RunnerState::kUnknown);
  auto unlocked = locked->record;
  unlocked.locked.clear();
  std::ofstream(private_path()) << to_json(unlocked);
  left_alone("its runner has no lock on its record");
}

// The lock of a directory outweighs a record.
TEST_F(RunRecordTest, SweepKeepsLockedScratchDirectory) {
  const std::string held = root_->path();
  auto record = describe_this_run(kId, run_dir_, "", {held});
  std::vector<std::string> said;
  EXPECT_TRUE(sweep_run(record, said));
  EXPECT_THAT(said, IsEmpty());
  EXPECT_TRUE(fs::exists(scratch_));
}

TEST_F(RunRecordTest, ForgedRecordRemovesNoOtherFiles) {
  auto record = describe_this_run(kId, run_dir_, run_dir_, {run_dir_});
  std::vector<std::string> said;
  EXPECT_TRUE(sweep_run(record, said));
  EXPECT_TRUE(fs::exists(run_dir_));

  const std::string link = root_->path() + "/pr-abcdef";
  fs::create_directory_symlink(run_dir_, link);
  record.scratch = {link};
  EXPECT_TRUE(sweep_run(record, said));
  EXPECT_THAT(said, IsEmpty());
  EXPECT_TRUE(fs::exists(run_dir_));
}

TEST(Scratch, CreatesShortPrivatePathAndRemovesContents) {
  std::string path;
  std::string directory;
  {
    auto root = ScratchRoot::create();
    ASSERT_TRUE(root.ok());
    path = (*root)->path();
    auto made = (*root)->lease_directory();
    ASSERT_TRUE(made.ok());
    directory = *made;
    EXPECT_LE(directory.size(), 30u);
    EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_all | fs::perms::sticky_bit);
    fs::create_directories(directory + "/a/b");
    std::ofstream(directory + "/a/b/file") << "x";
    fs::permissions(directory + "/a/b", fs::perms::none);
    fs::permissions(directory + "/a", fs::perms::none);
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(Scratch, LeasedDirectoryIsEmptyAndPrivate) {
  auto root = ScratchRoot::create();
  ASSERT_TRUE(root.ok());
  const auto first = (*root)->lease_directory();
  const auto meanwhile = (*root)->lease_directory();
  ASSERT_TRUE(first.ok() && meanwhile.ok());
  EXPECT_NE(*first, *meanwhile);
  fs::create_directories(*first + "/a/b");
  fs::permissions(*first + "/a", fs::perms::none);
  fs::permissions(*first, fs::perms::none);
  ASSERT_TRUE((*root)->give_back(*first).ok());
  const auto again = (*root)->lease_directory();
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(*again, *first);
  EXPECT_TRUE(fs::is_empty(*again));
  EXPECT_EQ(fs::status(*again).permissions(), fs::perms::owner_all);
}

TEST(Scratch, AllFilesAreBelowSweptPaths) {
  auto root = ScratchRoot::create();
  ASSERT_TRUE(root.ok());
  const auto paths = (*root)->paths();
  EXPECT_EQ(paths.front(), (*root)->path());
  const std::string file = (*root)->new_file_name();
  EXPECT_FALSE(fs::exists(file));
  EXPECT_THAT(paths, testing::Contains(fs::path(file).parent_path().string()));
  std::ofstream(file) << "x";
  root->reset();
  for (const auto& path : paths) EXPECT_FALSE(fs::exists(path)) << path;
}

TEST(Scratch, DoesNotReuseReplacedDirectory) {
  auto outside = ScratchRoot::create();
  auto root = ScratchRoot::create();
  ASSERT_TRUE(outside.ok() && root.ok());
  std::ofstream((*outside)->path() + "/precious") << "x";
  const auto first = (*root)->lease_directory();
  ASSERT_TRUE(first.ok());
  fs::remove(*first);
  fs::create_directory_symlink((*outside)->path(), *first);
  EXPECT_TRUE((*root)->give_back(*first).ok());
  EXPECT_TRUE(fs::exists((*outside)->path() + "/precious"));
  const auto next = (*root)->lease_directory();
  ASSERT_TRUE(next.ok());
  EXPECT_NE(*next, *first);
}

TEST(Scratch, LinksAreRemovedNotFollowed) {
  auto outside = ScratchRoot::create();
  ASSERT_TRUE(outside.ok());
  std::ofstream((*outside)->path() + "/precious") << "x";
  {
    auto root = ScratchRoot::create();
    ASSERT_TRUE(root.ok());
    fs::create_directory_symlink((*outside)->path(), (*root)->path() + "/link");
  }
  EXPECT_TRUE(fs::exists((*outside)->path() + "/precious"));
}

TEST(RunId, LaterRunSortsAfterEarlierRun) {
  const auto ms = [] {
    return std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
  };
  for (int i = 0; i < 20; ++i) {
    const std::string first = new_run_id();
    EXPECT_TRUE(is_run_id(first)) << first;
    const auto now = ms();
    while (ms() == now) {
    }
    EXPECT_LT(first, new_run_id());
  }
}

}  // namespace
}  // namespace proctor
