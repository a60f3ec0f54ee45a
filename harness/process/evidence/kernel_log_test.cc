#include "harness/process/evidence/kernel_log.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "harness/base/temp_dir.h"

namespace proctor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class KernelLogTest : public testing::Test {
 protected:
  KernelLogTest() { add("old line\n"); }

  void add(const std::string& text) { std::ofstream(path_, std::ios::app) << text; }
  static std::vector<std::string> texts(const KernelLog::Lines& lines) {
    std::vector<std::string> texts;
    for (const auto& line : lines.lines) texts.push_back(line.text);
    return texts;
  }

  const TempDir directory_;
  const std::string path_ = directory_ / "kernel.log";
};

TEST(ParseKmsg, ParsesKernelRecord) {
  const auto line = parse_kmsg(
      "4,339,5140900,-;xe 0000:03:00.0: [drm] a\\x09b\n SUBSYSTEM=pci\n DEVICE=+pci:0000:03:00.0\n");
  ASSERT_TRUE(line);
  EXPECT_EQ(
      *line,
      (KernelLine{
          .time_us = 5140900, .level = 4, .text = "xe 0000:03:00.0: [drm] a\tb", .device = "0000:03:00.0"}));
  EXPECT_EQ(parse_kmsg("6,1,2,-,caller=T42;text\n")->text, "text") << "newer kernels add fields";
}

TEST(ParseKmsg, RejectsUserRecordsAndInvalidText) {
  EXPECT_FALSE(parse_kmsg("12,340,5140901,-;NVRM: Xid (PCI:0000:03:00): 79, says a program\n"));
  EXPECT_FALSE(parse_kmsg("text"));
  EXPECT_FALSE(parse_kmsg("6,1,2"));
  EXPECT_FALSE(parse_kmsg(""));
}

TEST_F(KernelLogTest, ReturnsLinesSincePosition) {
  KernelLog log(path_);
  ASSERT_EQ(log.problem(), "");
  const auto begin = log.position();
  EXPECT_THAT(log.since(begin).lines, IsEmpty()) << "what was there before is not new";
  add("[   12.500000] one\n4,7,99,-;two\n DEVICE=+pci:0000:03:00.0\n12,8,99,-;of a program\n");
  const auto middle = log.position();
  add("three\nhalf a li");
  const auto lines = log.since(begin);
  EXPECT_THAT(texts(lines), ElementsAre("one", "two", "three"));
  EXPECT_EQ(lines.lines[0].time_us, 12'500'000);
  EXPECT_EQ(lines.lines[1].device, "0000:03:00.0");
  add("ne\n");
  EXPECT_THAT(texts(log.since(middle)), ElementsAre("three", "half a line"));
}

TEST_F(KernelLogTest, CountsLostLines) {
  KernelLog log(path_);
  const auto begin = log.position();
  std::string flood;
  for (int i = 0; i < 5000; ++i) flood += "line " + std::to_string(i) + "\n";
  add(flood);
  auto lines = log.since(begin);
  while (lines.lines.empty() || lines.lines.back().text != "line 4999") lines = log.since(begin);
  EXPECT_EQ(lines.lines.size() + lines.lost, 5000U);
  EXPECT_GT(lines.lost, 0U);
}

TEST_F(KernelLogTest, DoesNotBlockOnFifo) {
  const std::string fifo = path_ + ".fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  KernelLog log(fifo);  // the FIFO has no writer
  EXPECT_THAT(log.problem(), HasSubstr("Illegal seek"));
  EXPECT_THAT(log.since(log.position()).lines, IsEmpty());
  std::filesystem::remove(fifo);
}

TEST(KernelLogProblem, ExplainsRequiredPermission) {
  EXPECT_THAT(KernelLog("/nowhere/log").problem(), HasSubstr("PROCTOR_KERNEL_LOG"));
  EXPECT_THAT(how_to_read_kernel_log("/dev/kmsg", EPERM), HasSubstr("sysctl kernel.dmesg_restrict=0"));
  EXPECT_THAT(how_to_read_kernel_log("/dev/kmsg", ENOENT), HasSubstr("--device /dev/kmsg"));
}

// Uses the real /dev/kmsg, if it is readable. A message that a program writes there is not a kernel message.
TEST(KernelLogDevice, IgnoresMessagesOfPrograms) {
  KernelLog log;
  if (!log.problem().empty()) GTEST_SKIP() << "needs: " << log.problem();
  const auto begin = log.position();
  const int fd = ::open("/dev/kmsg", O_WRONLY | O_CLOEXEC);
  if (fd < 0) GTEST_SKIP() << "needs: permission to write /dev/kmsg";
  const std::string text = "<12>proctor-test: " + std::to_string(::getpid());
  EXPECT_EQ(::write(fd, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  ::close(fd);
  for (const auto& line : log.since(begin).lines)
    EXPECT_THAT(line.text, testing::Not(HasSubstr("proctor-test")));
}

}  // namespace
}  // namespace proctor
