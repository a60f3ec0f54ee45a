#include "harness/runner/attempt/shared_memory.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctime>
#include <fstream>

#include "harness/base/temp_dir.h"
#include "harness/base/unique_fd.h"

namespace proctor {
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

class SharedMemoryTest : public testing::Test {
 protected:
  std::string make(const std::string& name) const {
    const std::string path = directory_.string() + "/" + name;
    std::ofstream(path) << std::string(4096, 'x');
    return path;
  }
  std::vector<SharedMemory> unheld() const { return unheld_shared_memory(begin_, places_); }

  TempDir directory_{"/dev/shm"};  // on an overlay, the kernel reports a different device for a mapped file
  TempDir segments_;
  const SharedMemoryPlaces places_{.directory = directory_.string(), .segments = segments_.string() + "/shm"};
  const std::chrono::system_clock::time_point begin_ =
      std::chrono::system_clock::now() - std::chrono::seconds(1);
};

TEST_F(SharedMemoryTest, FindsAFileWithoutAnOwnerProcess) {
  const std::string path = make("nccl-1");
  EXPECT_THAT(unheld(), ElementsAre(Field(&SharedMemory::name, path)));
  const auto later = std::chrono::system_clock::now() + std::chrono::hours(1);
  EXPECT_THAT(unheld_shared_memory(later, places_), IsEmpty()) << "it is older than the case";
}

TEST_F(SharedMemoryTest, IgnoresAnOpenOrMappedFile) {
  const std::string path = make("used");
  UniqueFd open_file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  EXPECT_THAT(unheld(), IsEmpty()) << "open";
  void* mapped = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, open_file.get(), 0);
  ASSERT_NE(mapped, MAP_FAILED);
  open_file.reset();
  EXPECT_THAT(unheld(), IsEmpty()) << "mapped";
  ::munmap(mapped, 4096);
  EXPECT_EQ(unheld().size(), 1U);
}

TEST_F(SharedMemoryTest, IgnoresDirectoriesFifosAndLinks) {
  ASSERT_EQ(::mkdir((directory_.string() + "/pr-1").c_str(), 0700), 0);
  ASSERT_EQ(::mkfifo((directory_.string() + "/fifo").c_str(), 0600), 0);
  ASSERT_EQ(::symlink("/etc/passwd", (directory_.string() + "/link").c_str()), 0);
  EXPECT_THAT(unheld(), IsEmpty());
}

TEST_F(SharedMemoryTest, FindsADetachedSegment) {
  const auto line = [](int id, int attached, uid_t creator, std::time_t changed) {
    return "0 " + std::to_string(id) + " 600 8192 7 7 " + std::to_string(attached) + " 0 0 " +
           std::to_string(creator) + " 0 0 0 " + std::to_string(changed) + " 0 0\n";
  };
  const std::time_t now = std::time(nullptr);
  std::ofstream(places_.segments)
      << "key shmid perms size cpid lpid nattch uid gid cuid cgid atime dtime ctime rss swap\n"
      << line(1, 0, ::geteuid(), now) << line(2, 1, ::geteuid(), now) << line(3, 0, ::geteuid() + 1, now)
      << line(4, 0, ::geteuid(), now - 3600);
  EXPECT_THAT(unheld(), ElementsAre(Field(&SharedMemory::how_to_remove, "ipcrm -m 1")));
}

TEST_F(SharedMemoryTest, WarnsOnlyAfterASignal) {
  const std::string path = make("nccl-2");
  ProcessEnd end;
  end.started = Clock::now();
  end.exit_code = 0;
  EXPECT_FALSE(shared_memory_left(end, "t/x", places_));
  end.exit_signal = 11;
  const auto warning = shared_memory_left(end, "t/x", places_);
  ASSERT_TRUE(warning);
  EXPECT_THAT(warning->text, HasSubstr("t/x was killed"));
  EXPECT_THAT(warning->text, HasSubstr("rm " + path));
}

}  // namespace
}  // namespace proctor
