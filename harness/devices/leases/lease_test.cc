#include "harness/devices/leases/lease.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>

#include "harness/base/read_file.h"
#include "harness/base/surroundings.h"
#include "harness/base/temp_dir.h"

namespace proctor {
namespace {

using testing::HasSubstr;
using testing::Optional;

constexpr const char* kCard = "xpu:0000:03:00.0";

constexpr int kNotHere = 77;

// Runs `check` as the first process of a container. /run/lock is a separate file system there, as in a
// systemd container.
int in_a_container(const std::function<int()>& check) {
  const std::string map = "0 " + std::to_string(getuid()) + " 1";
  const pid_t maker = fork();
  if (maker == 0) {
    if (unshare(CLONE_NEWNS | CLONE_NEWPID | (getuid() == 0 ? 0 : CLONE_NEWUSER)) != 0) _exit(kNotHere);
    if (getuid() != 0) std::ofstream("/proc/self/uid_map") << map;
    const pid_t first = fork();
    if (first == 0) {
      const bool made = mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                        mount("none", "/run", "tmpfs", 0, nullptr) == 0 && mkdir("/run/lock", 0755) == 0 &&
                        mount("none", "/run/lock", "tmpfs", 0, "mode=1777") == 0;
      _exit(made ? check() : kNotHere);
    }
    int status = 0;
    _exit(waitpid(first, &status, 0) == first && WIFEXITED(status) ? WEXITSTATUS(status) : kNotHere);
  }
  int status = 0;
  waitpid(maker, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// A mount alone does not show whose directory it is. Only the variable that the starter of the container sets
// does.
TEST(LeaseScopeTest, IsHostOnlyWithLeasesVariable) {
  const auto is_the_hosts = [](const char* said, const std::string& path) {
    said == nullptr ? unsetenv(kLeasesVariable) : setenv(kLeasesVariable, said, 1);
    const auto directory = LeaseDirectory::open(path);
    return directory && directory->scope() == LeaseScope::kHost;
  };
  const int wrong = in_a_container([&] {
    if (is_the_hosts(nullptr, "/run/lock")) return 1;
    if (is_the_hosts("", "/run/lock")) return 2;
    if (!is_the_hosts(kLeasesOfHost, "/run/lock")) return 3;
    if (chmod("/run/lock", 0755) != 0) return 4;
    return is_the_hosts(kLeasesOfHost, LeaseDirectory::default_path())
               ? 5
               : 0;  // now /dev/shm, which the variable does not cover
  });
  if (wrong == kNotHere) GTEST_SKIP() << "needs namespaces, or root";
  EXPECT_EQ(wrong, 0) << "the number of the check above";
}

class LeaseTest : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = LeaseDirectory::open(path_);
    ASSERT_TRUE(opened) << opened.error().what;
    directory_ = *std::move(opened);
  }

  std::variant<Lease, LeaseConflict> take(const std::string& device = kCard) {
    auto taken = directory_->take(device, {.run = "run-1", .command = "case one"});
    EXPECT_TRUE(taken) << taken.error().what;
    return *std::move(taken);
  }
  Lease must_take(const std::string& device = kCard) { return std::get<Lease>(take(device)); }
  bool is_free() { return std::holds_alternative<Lease>(take()); }
  std::string file() const { return path_ + "/" + kCard + ".lease"; }
  std::string text() const { return read_file_or_empty(file()); }
  void write(const std::string& text) { std::ofstream(file(), std::ios::trunc) << text; }

  TempDir scratch_;
  const std::string path_ = scratch_ / "leases";
  std::optional<LeaseDirectory> directory_;
};

TEST_F(LeaseTest, IsExclusiveAndNamesHolder) {
  const Lease lease = must_take();
  const auto other = take();
  ASSERT_TRUE(std::holds_alternative<LeaseConflict>(other));
  const auto& holder = std::get<LeaseConflict>(other).holder;
  ASSERT_TRUE(holder);
  EXPECT_EQ(holder->pid, getpid());
  EXPECT_THAT(describe(*holder), HasSubstr("xpu:0000:03:00.0 is held by pid " + std::to_string(getpid())));
  EXPECT_THAT(describe(*holder), HasSubstr("case one"));
}

TEST_F(LeaseTest, OtherDevicesAreFree) {
  const Lease lease = must_take();
  EXPECT_EQ(must_take("xpu:0000:04:00.0").device(), "xpu:0000:04:00.0");
}

TEST_F(LeaseTest, EndsWithLastProcessHoldingDescriptor) {
  int gate[2];
  ASSERT_EQ(pipe2(gate, O_CLOEXEC), 0);
  std::optional<Lease> lease = must_take();
  const pid_t child = fork();
  if (child == 0) {
    close(gate[1]);
    char end = 0;
    (void)!read(gate[0], &end, 1);
    _exit(0);
  }
  lease.reset();
  EXPECT_FALSE(is_free()) << "the child has the descriptor";
  close(gate[1]);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(is_free());
  close(gate[0]);
}

TEST_F(LeaseTest, DeadHolderLeavesDeviceDirty) {
  const pid_t child = fork();
  if (child == 0) {
    const Lease lease = must_take();
    _exit(0);  // like SIGKILL: the record stays dirty
  }
  waitpid(child, nullptr, 0);
  EXPECT_THAT(must_take().left_dirty(), Optional(HasSubstr("run run-1 (pid " + std::to_string(child))));
}

TEST_F(LeaseTest, CleanHolderLeavesDeviceClean) {
  ASSERT_TRUE(must_take().mark_clean());
  EXPECT_EQ(must_take().left_dirty(), std::nullopt);
}

TEST_F(LeaseTest, UnusedLeaseKeepsPreviousState) {
  ASSERT_TRUE(must_take().mark_as_found());
  EXPECT_EQ(must_take().left_dirty(), std::nullopt);
  const std::string dirty = text();
  ASSERT_TRUE(must_take().mark_as_found());
  EXPECT_EQ(text(), dirty);
}

TEST_F(LeaseTest, NextLeaseReadsToleratedProcesses) {
  EXPECT_EQ(must_take().endured(), "");
  EXPECT_TRUE(must_take().endure("4711 "));
  {
    Lease clean = must_take();
    EXPECT_TRUE(clean.mark_clean());
  }
  EXPECT_EQ(must_take().endured(), "4711 ");
  std::string other_boot = text();
  const auto at = other_boot.find("\"boot_id\":\"") + 11;
  other_boot[at] = other_boot[at] == '0' ? '1' : '0';
  write(other_boot);
  EXPECT_EQ(must_take().endured(), "");
}

TEST_F(LeaseTest, RebootClearsDirtyState) {
  must_take();
  std::string old = text();
  const auto at = old.find(R"("boot_id":")");
  ASSERT_NE(at, std::string::npos);
  old[at + 12] = old[at + 12] == 'x' ? 'y' : 'x';
  write(old);
  EXPECT_EQ(must_take().left_dirty(), std::nullopt);
}

TEST_F(LeaseTest, UnreadableRecordCountsAsDirty) {
  must_take();
  for (const char* damaged : {"no json", "{}", R"({"format":1,"device":7})", "[]", "{\"format\":1,"}) {
    write(damaged);
    EXPECT_THAT(must_take().left_dirty(), Optional(HasSubstr(file() + " is not a lease record"))) << damaged;
  }
  write(R"({"format":2,"devices":["a"]})");
  EXPECT_THAT(must_take().left_dirty(), Optional(HasSubstr("newer version")));
}

TEST_F(LeaseTest, NewRecordReplacesLongerRecord) {
  must_take();
  write(std::string(5000, ' '));
  must_take();
  EXPECT_EQ(directory_->list().size(), 1u) << text();
}

TEST_F(LeaseTest, TruncatesLongCommandInRecord) {
  const std::string command(100'000, '\x01');  // each needs six bytes in JSON
  {
    auto held = directory_->take(kCard, {.run = "one", .command = command});
    ASSERT_TRUE(held);
    const auto conflict = directory_->conflict(kCard);
    ASSERT_TRUE(conflict && conflict->holder);
    EXPECT_THAT(conflict->holder->holder.command, testing::StartsWith(command.substr(0, 1'000)));
    EXPECT_LT(conflict->holder->holder.command.size(), 4'000u);
    ASSERT_TRUE(std::get<Lease>(*held).mark_clean());
  }
  auto next = directory_->take(kCard, {.run = "two", .command = "x"});
  ASSERT_TRUE(next);
  EXPECT_EQ(std::get<Lease>(*next).left_dirty(), std::nullopt);
}

// The trial lock uses no name that another user could have taken, linked or locked.
TEST_F(LeaseTest, DirectoryCheckUsesPrivateFile) {
  std::filesystem::create_symlink("/etc/passwd", path_ + "/trial.lease");
  EXPECT_TRUE(LeaseDirectory::open(path_));
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(path_)) names.insert(entry.path().filename());
  EXPECT_THAT(names, testing::ElementsAre("trial.lease"));
}

TEST_F(LeaseTest, ListsEveryDeviceAndHeldState) {
  EXPECT_TRUE(directory_->list().empty());
  const Lease held = must_take("xpu:0000:04:00.0");
  must_take();
  const auto entries = directory_->list();
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].record.device, kCard);
  EXPECT_FALSE(entries[0].held);
  EXPECT_TRUE(entries[1].held);
}

TEST_F(LeaseTest, LeaseFilesAreUsableByOtherUsers) {
  const mode_t before = umask(077);
  must_take("xpu:0000:05:00.0");
  umask(before);
  struct stat info {};
  ASSERT_EQ(stat((path_ + "/xpu:0000:05:00.0.lease").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0666u);
  ASSERT_EQ(stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 01777u);
}

// A file that appears under its name before its mode is set would be unusable for other users.
TEST_F(LeaseTest, UsersCreateLeaseFilesConcurrently) {
  if (geteuid() != 0) GTEST_SKIP() << "needs:root";
  constexpr int kRounds = 300;
  ASSERT_EQ(chmod(std::filesystem::path(path_).parent_path().c_str(), 0755), 0);
  void* shared =
      mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  auto& arrived = *new (shared) std::atomic<int>(0);
  const auto refusals = [&] {
    std::vector<std::string> refused;
    for (int round = 0; round < kRounds; ++round) {
      ++arrived;
      while (arrived < 2 * (round + 1)) {
      }
      const auto taken = directory_->take("card-" + std::to_string(round), {.run = "r", .command = ""});
      if (!taken) refused.push_back(taken.error().what);
    }
    return refused;
  };
  const pid_t child = fork();
  if (child == 0) _exit(setuid(65534) == 0 && refusals().empty() ? 0 : 1);
  EXPECT_THAT(refusals(), testing::IsEmpty());
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0) << "the other user was refused";
  munmap(shared, sizeof(std::atomic<int>));
}

TEST_F(LeaseTest, RejectsDirectoryThatOthersControl) {
  ASSERT_EQ(chmod(path_.c_str(), 0777), 0);
  const auto open_to_all = LeaseDirectory::open(path_);
  ASSERT_FALSE(open_to_all);
  EXPECT_EQ(open_to_all.error().kind, ErrorKind::kUsage);
  EXPECT_THAT(open_to_all.error().what, HasSubstr("sticky"));
  ASSERT_EQ(chmod(path_.c_str(), 0755), 0);
  EXPECT_TRUE(LeaseDirectory::open(path_)) << "nobody else may write there";
  if (geteuid() != 0) GTEST_SKIP() << "needs:root";
  ASSERT_EQ(chmod(path_.c_str(), 01777), 0);
  ASSERT_EQ(chown(path_.c_str(), 65534, 65534), 0);
  const auto of_another = LeaseDirectory::open(path_);
  ASSERT_FALSE(of_another);
  EXPECT_EQ(of_another.error().kind, ErrorKind::kUsage);
  EXPECT_THAT(of_another.error().what, HasSubstr("is owned by"));
}

TEST_F(LeaseTest, DefaultDirectoryBelongsToRoot) {
  struct stat info {};
  ASSERT_EQ(stat(LeaseDirectory::default_path().c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, 0u);
  EXPECT_EQ(info.st_mode & 01777, 01777u);
}

TEST_F(LeaseTest, DetectsRemovedOrReplacedFile) {
  const Lease lease = must_take();
  EXPECT_TRUE(lease.still_there());
  std::filesystem::rename(file(), file() + ".away");
  EXPECT_THAT(lease.still_there().error().what, HasSubstr("was removed"));
  std::ofstream(file()) << "";
  EXPECT_THAT(lease.still_there().error().what, HasSubstr("was replaced"));
  std::filesystem::rename(file() + ".away", file());
  EXPECT_TRUE(lease.still_there());
}

// A process of a case has a shared lock on the second byte, through its own description.
TEST_F(LeaseTest, LastsUntilLastSharedLockEnds) {
  std::optional<Lease> lease = must_take();
  const UniqueFd share(open(("/proc/self/fd/" + std::to_string(lease->fd())).c_str(), O_RDONLY | O_CLOEXEC));
  struct flock lock {};
  lock.l_type = F_RDLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = 1;
  lock.l_len = 1;
  ASSERT_EQ(fcntl(share.get(), F_OFD_SETLK, &lock), 0);
  lock.l_start = lock.l_len = 0;
  lock.l_type = F_UNLCK;
  {
    const UniqueFd other(open(file().c_str(), O_RDONLY | O_CLOEXEC));
    ASSERT_EQ(fcntl(other.get(), F_OFD_SETLK, &lock), 0);
  }
  EXPECT_FALSE(is_free());
  lease.reset();
  EXPECT_FALSE(is_free()) << "a process of the case still has its share";
  ASSERT_EQ(fcntl(share.get(), F_OFD_SETLK, &lock), 0);
  EXPECT_TRUE(is_free());
}

TEST_F(LeaseTest, RejectsSymbolicLink) {
  std::filesystem::create_symlink("/etc/passwd", file());
  const auto taken = directory_->take(kCard, {.run = "run-1", .command = ""});
  ASSERT_FALSE(taken);
  EXPECT_THAT(taken.error().what, HasSubstr(file()));
}

TEST_F(LeaseTest, ReportsDirectoryThatCannotBeCreated) {
  const auto opened = LeaseDirectory::open("/proc/proctor-leases");
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().what, HasSubstr("/proc/proctor-leases"));
}

}  // namespace
}  // namespace proctor
