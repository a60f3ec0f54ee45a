#include "harness/evidence/py_spy.h"

#include <gtest/gtest.h>

namespace proctor {
namespace {

TEST(PySpy, TheMainThreadComesFirst) {
  const auto threads = parse_py_spy(
      "Process 9: python3 train.py\nPython v3.10.13 (/usr/bin/python3.10)\n\n"
      "Thread 11 (idle): \"loader (1)\"\n    get (queue.py:171)\n"
      "Thread 9 (active+gil): \"MainThread\"\n    step (my dir/train.py:12)\n    <module> (train.py:20)\n");
  ASSERT_EQ(threads.size(), 2u);
  EXPECT_EQ(threads[0].name, "MainThread");
  ASSERT_EQ(threads[0].frames.size(), 2u);
  EXPECT_EQ(threads[0].frames[0].function, "step");
  EXPECT_EQ(threads[0].frames[0].location, "my dir/train.py:12");
  EXPECT_EQ(threads[1].name, "loader (1)");
}

TEST(PySpy, AnErrorIsNoStack) {
  EXPECT_TRUE(parse_py_spy("Error: Permission Denied\n    at (x:1)\n").empty());
}

}  // namespace
}  // namespace proctor
