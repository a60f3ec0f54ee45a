#include "harness/process/evidence/thread_stacks.h"

#include <gtest/gtest.h>

#include "harness/testing/child.h"

namespace proctor {
namespace {

TEST(NativeStacks, ParsesGdbOutput) {
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

TEST(NativeStacks, ParsesEuStackOutput) {
  const auto threads = parse_native_stacks(
      "PID 4711 - process\nTID 4711:\n#0  0x00007f9d pause\n#1  0x0000561b wait_for_the_device\n"
      "TID 4712:\n#0  0x00007f9d\n");
  ASSERT_EQ(threads.size(), 2u);
  EXPECT_EQ(threads[0].tid, 4711);
  EXPECT_EQ(threads[0].frames[1].function, "wait_for_the_device");
  EXPECT_EQ(threads[1].frames[0].function, "??");
}

TEST(NativeStacks, RejectsOtherOutput) {
  EXPECT_TRUE(parse_native_stacks("").empty());
  EXPECT_TRUE(parse_native_stacks("ptrace: Operation not permitted.\n#0  0x00 in main ()\n").empty());
  EXPECT_TRUE(parse_native_stacks("Thread \nThread (LWP x)\nTID :\n#\n#x\n").empty());
}

ProcessFacts process_with(const std::vector<std::pair<int, int>>& threads) {
  ProcessFacts process;
  process.pid = threads.front().first;
  for (const auto& [tid, own_tid] : threads) {
    ThreadFacts facts;
    facts.tid = tid;
    facts.own_tid = own_tid;
    process.threads.push_back(facts);
  }
  return process;
}

TEST(PySpy, ListsMainThreadFirstWithHostTids) {
  const auto threads = parse_py_spy(
      R"json([{"pid": 90, "thread_id": 14013, "thread_name": "loader (1)", "os_thread_id": 2, "active": true,
           "owns_gil": false, "frames": [{"name": "get", "filename": "/usr/lib/queue.py", "line": 171}]},
          {"pid": 90, "thread_id": 14014, "thread_name": "MainThread", "os_thread_id": 1, "active": true,
           "owns_gil": true, "frames": [{"name": "등록", "filename": "/my dir/train.py", "line": 12,
           "short_filename": "train.py", "locals": null}, {"name": "<module>", "filename": "<string>"}]}])json",
      process_with({{90, 1}, {94, 2}}));
  ASSERT_TRUE(threads) << threads.error().what;
  ASSERT_EQ(threads->size(), 2u);
  const ThreadStack& main = threads->at(0);
  EXPECT_EQ(main.name, "MainThread");
  EXPECT_EQ(main.tid, 90);
  ASSERT_EQ(main.frames.size(), 2u);
  EXPECT_EQ(main.frames[0].function, "등록");
  EXPECT_EQ(main.frames[0].location, "/my dir/train.py:12");
  EXPECT_EQ(main.frames[1].location, "<string>:0");
  EXPECT_EQ(threads->at(1).tid, 94);
  EXPECT_EQ(threads->at(1).name, "loader (1)");
}

TEST(PySpy, FindsMainThreadByName) {
  const auto threads = parse_py_spy(
      R"([{"thread_name": "a", "os_thread_id": null, "frames": []}, {"thread_name": "MainThread", "frames": []}])",
      process_with({{90, 90}}));
  ASSERT_TRUE(threads) << threads.error().what;
  EXPECT_EQ(threads->at(0).name, "MainThread");
  EXPECT_EQ(threads->at(0).tid, 0);
}

TEST(PySpy, RejectsOtherOutput) {
  for (const std::string& text :
       {std::string(), std::string("Error: Permission Denied\n"), std::string("[]"), std::string("[7, null]"),
        std::string("{}"), std::string(R"([{"thread_name": "MainTh)"), std::string(1 << 20, '['),
        std::string("\0\xff\xfe", 3)}) {
    EXPECT_FALSE(parse_py_spy(text, process_with({{90, 90}}))) << text.substr(0, 40);
  }
  const auto odd = parse_py_spy(
      R"([{"thread_name": 7, "os_thread_id": "x", "frames": {"a": 1}}, {"frames": [null, {"line": "x"}]}])",
      process_with({{90, 90}}));
  ASSERT_TRUE(odd) << odd.error().what;
  EXPECT_TRUE(odd->at(0).frames.empty());
  EXPECT_EQ(odd->at(1).frames.size(), 1u);
}

TEST(PySpy, FindsInterpreterOnlyForPython) {
  ProcReader reader;
  testing_support::TalkingChild python(
      {"python3", "-c", "import os, time; os.write(1, b'up\\n'); os.close(1); time.sleep(999)"});
  if (python.rest() != "up\n") GTEST_SKIP() << "needs: python3 on PATH";
  EXPECT_NE(find_interpreter(reader, python.pid()).find("python3"), std::string::npos);
  testing_support::TalkingChild other({EVIDENCE_SAMPLE});
  ASSERT_EQ(other.rest(), "up\n");
  EXPECT_EQ(find_interpreter(reader, other.pid()), "");
}

}  // namespace
}  // namespace proctor
