#include "harness/evidence/python_frames.h"

#include <gtest/gtest.h>

#include <fstream>

#include "harness/core/temp_dir.h"
#include "harness/evidence/waiting_child.h"

namespace proctor {
namespace {

// Entries: head byte 0x80 | code << 3 | instructions - 1, then what the code says.
TEST(PythonLine, FollowsTheLocationTable) {
  EXPECT_EQ(python_line("\x80\x11", 10, 0), 10) << "short form: the same line";
  EXPECT_EQ(python_line("\x80\x11", 10, 2), 0) << "behind the table";
  EXPECT_EQ(python_line("\x80\x11\xd9\x01\x02", 10, 2), 11);
  EXPECT_EQ(python_line("\x80\x11\xd9\x01\x02", 10, 4), 11);
  EXPECT_EQ(python_line("\xe8\x06\x80\x11", 10, 0), 13) << "without columns";
  EXPECT_EQ(python_line("\xe8\x05", 10, 0), 8) << "backwards";
  EXPECT_EQ(python_line("\xf0\x04\x01\x01\x01\xe8\x02", 10, 2), 13) << "behind a long form";
  EXPECT_EQ(python_line("\xf8", 10, 0), 0);
  EXPECT_EQ(python_line("\xe8\x50\x01", 10, 0), 10 + ((16 + 64) >> 1));
  EXPECT_EQ(python_line("", 10, 0), 0);
  EXPECT_EQ(python_line("\xe8", 10, 0), 10) << "cut off";
}

constexpr const char* kProgram = R"(import ctypes, os, threading

def wait_for_the_device():
    ctypes.CDLL(None).pause()

def 등록(go):
    go()

class Loader:
    def work(self):
        threading.Event().wait()

threading.Thread(target=Loader().work, daemon=True).start()
os.write(1, b"up\n")
os.close(1)
(lambda: 등록(wait_for_the_device))()
)";

std::string frame(const StackFrame& frame) {
  return frame.function + " " + frame.location.substr(frame.location.rfind('/') + 1);
}

// A program that holds no lock of ours, blocked in C where no signal handler of Python's ever runs.
TEST(PythonStacks, NamesTheLineOfABlockedCall) {
  const TempDir directory;
  const std::string file = (directory / "blocked.py").string();
  std::ofstream(file) << kProgram;
  const WaitingChild child({"python3", file});
  if (child.said() != "up\n") GTEST_SKIP() << "needs: python3 on PATH";
  PythonStacks stacks = read_python_stacks(read_process(child.pid()));
  EXPECT_TRUE(stacks.is_python);
  if (stacks.problem.starts_with("version") || stacks.problem == "before 3.11")
    GTEST_SKIP() << "needs: CPython 3.11 to 3.13, not " << stacks.version;
  ASSERT_EQ(stacks.problem, "");
  // "up" came a moment before the call.
  for (int i = 0; i < 1000 && (stacks.threads.empty() || stacks.threads[0].frames.empty() ||
                               stacks.threads[0].frames[0].function != "wait_for_the_device");
       ++i) {
    stacks = read_python_stacks(read_process(child.pid()));
  }
  ASSERT_EQ(stacks.threads.size(), 2u);
  EXPECT_EQ(stacks.threads[0].tid, child.pid());
  ASSERT_EQ(stacks.threads[0].frames.size(), 4u);
  EXPECT_EQ(frame(stacks.threads[0].frames[0]), "wait_for_the_device blocked.py:4");
  EXPECT_EQ(frame(stacks.threads[0].frames[1]), "등록 blocked.py:7");
  EXPECT_EQ(frame(stacks.threads[0].frames[2]), "<lambda> blocked.py:16");
  EXPECT_EQ(frame(stacks.threads[0].frames[3]), "<module> blocked.py:16");
  bool worker = false;
  for (const StackFrame& entry : stacks.threads[1].frames)
    worker |= frame(entry) == "Loader.work blocked.py:11";
  EXPECT_TRUE(worker);
}

TEST(PythonStacks, AnotherProgramHasNone) {
  const WaitingChild child({EVIDENCE_SAMPLE});
  ASSERT_EQ(child.said(), "up\n");
  EXPECT_FALSE(read_python_stacks(read_process(child.pid())).is_python);
}

}  // namespace
}  // namespace proctor
