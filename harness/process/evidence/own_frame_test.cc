#include "harness/process/evidence/own_frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "harness/process/evidence/thread_stacks.h"

namespace proctor {
namespace {

std::string text_of(const std::optional<StackFrame>& frame) {
  return frame ? frame->function + " | " + frame->location : "none";
}

std::string own(const std::vector<ThreadFrame>& frames, bool is_python = false) {
  return text_of(own_frame({.tid = 1, .name = "", .frames = frames}, is_python));
}

std::string own_of_python(const std::vector<ThreadFrame>& frames) {
  return text_of(own_python_frame({.tid = 1, .name = "", .frames = frames}));
}

// The output of gdb 13 on Debian 12 with libc6-dbg.
TEST(OwnFrame, HangFrameSkipsCLibrary) {
  const auto threads = parse_native_stacks(
      "Thread 1 (LWP 4711):\n"
      "#0  __futex_abstimed_wait_common (futex_word=...) at ./nptl/./nptl/futex-internal.c:103\n"
      "#1  0x00007f77d34a65d8 in __pthread_cond_wait_common (cond=...) at "
      "./nptl/./nptl/pthread_cond_wait.c:503\n"
      "#2  0x000055bd7d66c395 in std::condition_variable::wait<wait_for_copy()::<lambda()> "
      ">(std::unique_lock<"
      "std::mutex> &, struct {...}) (this=...) at /usr/include/c++/12/condition_variable:102\n"
      "#3  0x000055bd7d66c25a in wait_for_copy () at /src/wait.cc:8\n"
      "#4  0x000055bd7d66c369 in main (n=...) at /src/wait.cc:10\n");
  ASSERT_EQ(threads.size(), 1u);
  EXPECT_EQ(own(threads.front().frames), "wait_for_copy | /src/wait.cc:8");
}

TEST(OwnFrame, SkipsSourcesOfEveryRuntime) {
  for (const std::string source :
       {"../sysdeps/unix/sysv/linux/pause.c:29", "./posix/../sysdeps/unix/sysv/linux/pause.c:29",
        "./time/nanosleep.c:5", "/usr/src/debug/glibc-2.38-1.x86_64/io/read.c:9",
        "../../../../../src/libstdc++-v3/src/c++11/thread.cc:99", "/opt/gcc/include/c++/13/bits/stl_algo.h:9",
        "../../../../src/libsanitizer/asan/asan_interceptors.cpp:21"})
    EXPECT_EQ(own({{"wait", source}, {"run", "./src/run.cc:3"}}), "run | src/run.cc:3") << source;
  for (const std::string source : {"src/x.c:1", "../src/x.c:1", "/home/u/string/x.c:1"})
    EXPECT_EQ(own({{"mine", source}}), "mine | " + source);
  EXPECT_EQ(own({{"mine", "/home/u/./src/x.c:1"}}), "mine | /home/u/src/x.c:1");
}

TEST(OwnFrame, SkipsSystemLibrariesWithoutSourceLines) {
  const std::string libc = "/lib/x86_64-linux-gnu/libc.so.6";
  EXPECT_EQ(own({{"ioctl", "", libc},
                 {"zeCommandQueueSynchronize", "", "/usr/lib/x86_64-linux-gnu/libze_loader.so.1"},
                 {"??", ""},
                 {"wait_for_it", "", "/opt/own/libtrain.so"},
                 {"main", ""}}),
            "wait_for_it | ");
  EXPECT_EQ(own({{"pause", "", libc}, {"kernel_of", ""}, {"main", "", ""}}), "kernel_of | ");
  EXPECT_EQ(own({{"pause", "", libc}, {"helper", ""}, {"main", "main.cc:3"}}), "main | main.cc:3")
      << "a source line says more";
  EXPECT_EQ(own({{"pause", "", libc}, {"??", ""}, {"__libc_start_main", "", libc}, {"_start", ""}}), "none");
  EXPECT_EQ(own({}), "none");
}

TEST(OwnFrame, CrashFrameSkipsRaisingFunctions) {
  EXPECT_EQ(own({{"raise", ""}, {"abort", ""}, {"check", ""}, {"main", ""}}), "check | ");
  EXPECT_EQ(own({{"on_segv", "h.cc:1"}, {"<signal handler called>", ""}, {"read", "r.cc:2"}}),
            "read | r.cc:2");
}

TEST(OwnFrame, SkipsPythonInterpreterFrames) {
  const std::string libc = "/lib/x86_64-linux-gnu/libc.so.6";
  EXPECT_EQ(
      own({{"pause", "", libc}, {"time_sleep", ""}, {"_PyEval_EvalFrameDefault", ""}, {"main", ""}}, true),
      "none");
  EXPECT_EQ(own({{"pysleep", "../Modules/timemodule.c:2067"}, {"main", "../Programs/python.c:15"}}, true),
            "none");
  EXPECT_EQ(own({{"string_at", "", "/usr/lib/python3.11/lib-dynload/_ctypes.so"}}, true), "none");
  EXPECT_EQ(own({{"launch", "/src/extension.cc:9"}, {"_PyEval_EvalFrameDefault", ""}}, true),
            "launch | /src/extension.cc:9");
}

TEST(OwnFrame, LimitsTextLength) {
  const auto frame =
      own_frame({.tid = 1, .name = "", .frames = {{std::string(100'000, 'f'), "a\nb.cc:1"}}}, false);
  ASSERT_TRUE(frame);
  EXPECT_LE(frame->function.size(), 200u);
  EXPECT_EQ(frame->location, "a b.cc:1");
}

TEST(OwnPythonFrame, SkipsStandardLibrary) {
  EXPECT_EQ(own_of_python({{"wait", "/usr/lib/python3.11/threading.py:327"},
                           {"wait", "/root/.pyenv/versions/3.13.1t/lib/python3.13t/threading.py:629"},
                           {"_load", "<frozen importlib._bootstrap>:1"},
                           {"test_copy", "/src/test_copy.py:12"}}),
            "test_copy | /src/test_copy.py:12");
  EXPECT_EQ(own_of_python({{"f", "/home/lib/python3-project/a.py:3"}}),
            "f | /home/lib/python3-project/a.py:3");
  EXPECT_EQ(own_of_python({{"wait", "/usr/lib/python3.11/threading.py:327"}}), "none");
}

TEST(OwnPythonFrame, PrefersTestToInstalledPackage) {
  const ThreadFrame sync = {"synchronize", "/usr/lib/python3/dist-packages/torch/cuda/__init__.py:9"};
  const ThreadFrame pluggy = {"_multicall", "/venv/lib/python3.11/site-packages/pluggy/_callers.py:1"};
  EXPECT_EQ(own_of_python({sync, {"test_copy", "/src/test_copy.py:12"}, pluggy}),
            "test_copy | /src/test_copy.py:12");
  EXPECT_EQ(own_of_python({sync, pluggy, {"<module>", "/venv/bin/pytest:8"}}),
            "synchronize | /usr/lib/python3/dist-packages/torch/cuda/__init__.py:9")
      << "what started pytest is not the test";
}

TEST(FrameOfFatalError, ParsesPythonFatalError) {
  const std::string printed =
      "collected 2 items\nFatal Python error: Segmentation fault\n\n"
      "Thread 0x00007f10 (most recent call first):\n  File \"/src/other.py\", line 3 in other\n\n"
      "Current thread 0x00007f77 (most recent call first):\n"
      "  File \"/usr/lib/python3.11/ctypes/__init__.py\", line 519 in string_at\n"
      "  File \"/src/a b.py\", line 12 in test_copy\n"
      "  File \"/usr/lib/python3/dist-packages/_pytest/python.py\", line 195 in pytest_pyfunc_call\n";
  EXPECT_EQ(text_of(frame_of_fatal_error(printed)), "test_copy | /src/a b.py:12");
  EXPECT_EQ(text_of(frame_of_fatal_error(printed.substr(0, printed.find("  File \"/usr")))), "none");
  for (const std::string other :
       {"", "Fatal Python error: ", "Current thread 0x1:\n  File \"a.py\", line 1 in f\n",
        "Fatal Python error: x\nCurrent thread\n  File \"\n"})
    EXPECT_EQ(text_of(frame_of_fatal_error(other)), "none") << other;
}

}  // namespace
}  // namespace proctor
