#include "harness/process/proc_reader.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "harness/base/read_file.h"

namespace proctor {
namespace {

TEST(ProcReader, GivesWhatTheFileHas) {
  ProcReader reader;
  const auto text = reader.read(getpid(), "cmdline");
  ASSERT_TRUE(text.ok()) << text.error().what;
  EXPECT_EQ(*text, *read_file("/proc/self/cmdline"));
}

TEST(ProcReader, SaysWhatIsGone) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  ProcReader reader;
  EXPECT_EQ(reader.read(child, "cmdline").error().sys_errno, ENOENT);
}

// One that no patience is had with is left behind, asked for again while it is under way, and forgotten once it is over.
TEST(ProcReader, AnAnswerThatComesTooLateIsNotWaitedFor) {
  ProcReader reader(Milliseconds(0));
  for (int i = 0; i < 1000; ++i) {
    const auto text = reader.read(getpid(), "maps");
    if (text) continue;
    EXPECT_EQ(text.error().sys_errno, ETIMEDOUT);
  }
}

}  // namespace
}  // namespace proctor
