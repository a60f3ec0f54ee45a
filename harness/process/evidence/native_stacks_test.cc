#include "harness/process/evidence/native_stacks.h"

#include <gtest/gtest.h>

namespace proctor {
namespace {

TEST(NativeStacks, ReadsGdb) {
  const auto threads = parse_native_stacks(
      "[Thread debugging using libthread_db enabled]\n"
      "Thread 2 (Thread 0x7f10 (LWP 4712) \"worker \\\"1\\\"\"):\n"
      "#0  0x00007f in ioctl () from /lib/x86_64-linux-gnu/libc.so.6\n"
      "#1  0x00007f in (anonymous namespace)::Queue::wait (this=...) at src/queue.cc:12\n"
      "#2  operator() (__closure=0x0) at a b.cc:7\n"
      "\n"
      "Thread 1 (process 4711 \"main\"):\n"
      "#0  std::vector<int, std::allocator<int> >::at(unsigned long) () from /lib/x.so\n"
      "#10 0x00007f in ?? ()\n"
      "[Inferior 1 (process 4711) detached]\n");
  ASSERT_EQ(threads.size(), 2u);
  EXPECT_EQ(threads[0].tid, 4712);
  ASSERT_EQ(threads[0].frames.size(), 3u);
  EXPECT_EQ(threads[0].frames[0].function, "ioctl");
  EXPECT_EQ(threads[0].frames[0].location, "");
  EXPECT_EQ(threads[0].frames[0].library, "/lib/x86_64-linux-gnu/libc.so.6");
  EXPECT_EQ(threads[0].frames[1].function, "(anonymous namespace)::Queue::wait");
  EXPECT_EQ(threads[0].frames[1].location, "src/queue.cc:12");
  EXPECT_EQ(threads[0].frames[2].location, "a b.cc:7");
  EXPECT_EQ(threads[1].tid, 4711);
  EXPECT_EQ(threads[1].name, "main");
  EXPECT_EQ(threads[1].frames[0].function, "std::vector<int, std::allocator<int> >::at(unsigned long)");
  EXPECT_EQ(threads[1].frames[1].function, "??");
}

TEST(NativeStacks, ReadsEuStack) {
  const auto threads = parse_native_stacks(
      "PID 4711 - process\nTID 4711:\n#0  0x00007f9d pause\n#1  0x0000561b wait_for_the_device\n"
      "TID 4712:\n#0  0x00007f9d\n");
  ASSERT_EQ(threads.size(), 2u);
  EXPECT_EQ(threads[0].tid, 4711);
  EXPECT_EQ(threads[0].frames[1].function, "wait_for_the_device");
  EXPECT_EQ(threads[1].frames[0].function, "??");
}

TEST(NativeStacks, AnythingElseIsNoStack) {
  EXPECT_TRUE(parse_native_stacks("").empty());
  EXPECT_TRUE(parse_native_stacks("ptrace: Operation not permitted.\n#0  0x00 in main ()\n").empty());
  EXPECT_TRUE(parse_native_stacks("Thread \nThread (LWP x)\nTID :\n#\n#x\n").empty());
}

}  // namespace
}  // namespace proctor
