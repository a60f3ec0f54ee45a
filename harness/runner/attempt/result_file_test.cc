#include "harness/runner/attempt/result_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "harness/base/temp_dir.h"

namespace proctor {
namespace {

namespace fs = std::filesystem;

class ResultFileTest : public testing::Test {
 protected:
  std::string path() const { return scratch_.string() + "/result"; }
  void write(const std::string& text) const { std::ofstream(path(), std::ios::binary) << text; }
  std::string refused() const {
    const ResultText read = read_result_file(path());
    EXPECT_EQ(read.text, "");
    return read.refused;
  }

  const TempDir scratch_;
};

TEST_F(ResultFileTest, ReadsFileUnchanged) {
  const std::string text(100'000, 'x');
  write(text);
  EXPECT_EQ(read_result_file(path()).text, text);
  write("");
  EXPECT_EQ(refused(), "");
}

TEST_F(ResultFileTest, MissingFileIsNoError) { EXPECT_EQ(refused(), ""); }

TEST_F(ResultFileTest, RejectsFifoDeviceOrDirectory) {
  ASSERT_EQ(::mkfifo(path().c_str(), 0600), 0);
  EXPECT_EQ(refused(), "its result file is not a regular file") << "and nobody waits for who writes to it";
  fs::remove(path());
  fs::create_symlink("/dev/zero", path());
  EXPECT_EQ(refused(), "its result file is not a regular file");
  fs::remove(path());
  fs::create_directory(path());
  EXPECT_EQ(refused(), "its result file is not a regular file");
}

TEST_F(ResultFileTest, RejectsFileAboveSizeLimit) {
  write("12345678");
  EXPECT_EQ(read_result_file(path(), 8).text, "12345678");
  EXPECT_EQ(read_result_file(path(), 7).refused, "its result file is larger than 7, the most that is read");
  fs::resize_file(path(), std::uintmax_t{1} << 40);
  EXPECT_EQ(refused(), "its result file is larger than 64M, the most that is read");
}

}  // namespace
}  // namespace proctor
