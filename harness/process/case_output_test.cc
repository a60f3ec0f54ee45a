#include "harness/process/case_output.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <string>

#include "harness/base/unique_fd.h"

namespace proctor {
namespace {

class PassThroughTest : public testing::Test {
 protected:
  void SetUp() override {
    ::signal(SIGPIPE, SIG_IGN);  // as the runner does
    int fds[2];
    ASSERT_EQ(pipe2(fds, O_CLOEXEC), 0);
    reader_ = UniqueFd(fds[0]);
    writer_ = UniqueFd(fds[1]);
    fcntl(reader_.get(), F_SETFL, O_NONBLOCK);
  }

  std::string read_all() {
    std::string all;
    char buffer[4096];
    for (ssize_t got = 0; (got = ::read(reader_.get(), buffer, sizeof buffer)) > 0;)
      all.append(buffer, static_cast<std::size_t>(got));
    return all;
  }

  // More bytes than any pipe accepts at once. Each position has different text, so lost bytes are detected.
  static std::string flood() {
    std::string text;
    while (text.size() < 512 * 1024) text += std::to_string(text.size()) + ",";
    return text;
  }

  boost::asio::io_context io_;
  UniqueFd reader_;
  UniqueFd writer_;
};

TEST_F(PassThroughTest, WritesImmediatelyIfPipeHasRoom) {
  const auto pass = std::make_shared<PassThrough>(io_, writer_.get());
  pass->write(std::string("a\0b\n", 4));
  EXPECT_TRUE(pass->is_empty());
  EXPECT_EQ(read_all(), std::string("a\0b\n", 4));
}

TEST_F(PassThroughTest, SlowReaderReceivesEveryByteInOrder) {
  const auto pass = std::make_shared<PassThrough>(io_, writer_.get());
  const std::string sent = flood();
  pass->write(sent);
  EXPECT_TRUE(pass->is_full());
  bool done = false;
  pass->on_empty([&] { done = true; });
  std::string got;
  while (!done) {
    got += read_all();
    io_.run_one();
  }
  got += read_all();
  EXPECT_EQ(got.size(), sent.size());
  EXPECT_TRUE(got == sent);
  EXPECT_EQ(pass->lost(), "");
}

TEST_F(PassThroughTest, ClosedReaderIsNotReportedAsLoss) {
  const auto pass = std::make_shared<PassThrough>(io_, writer_.get());
  reader_ = UniqueFd();
  pass->write("x");
  EXPECT_TRUE(pass->is_missing());
  EXPECT_TRUE(pass->is_empty());
  EXPECT_EQ(pass->lost(), "");
}

TEST_F(PassThroughTest, ReportsFullDisk) {
  const UniqueFd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  ASSERT_TRUE(full);
  const auto pass = std::make_shared<PassThrough>(io_, full.get());
  pass->write("x");
  EXPECT_EQ(pass->lost(), "No space left on device");
  EXPECT_FALSE(pass->is_missing());
}

TEST_F(PassThroughTest, ReportsAbandonedOutputAsLost) {
  const auto pass = std::make_shared<PassThrough>(io_, writer_.get());
  pass->write(flood());
  pass->abandon();
  EXPECT_EQ(pass->lost(), "it has no reader");
  EXPECT_TRUE(pass->is_empty());
}

TEST_F(PassThroughTest, WritesRegularFileWithoutWaiting) {
  std::string name = testing::TempDir() + "/pass-XXXXXX";
  const UniqueFd file(::mkstemp(name.data()));
  ASSERT_TRUE(file);
  ::unlink(name.c_str());
  const auto pass = std::make_shared<PassThrough>(io_, file.get());
  pass->write(flood());
  EXPECT_TRUE(pass->is_empty());
  EXPECT_EQ(lseek(file.get(), 0, SEEK_END), static_cast<off_t>(flood().size()));
}

}  // namespace
}  // namespace proctor
