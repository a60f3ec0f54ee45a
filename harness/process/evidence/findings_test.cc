#include "harness/process/evidence/findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace proctor {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

ProcessFinding process(int pid, int parent, const std::string& name, const std::string& wchan) {
  ProcessFinding made;
  made.facts.pid = pid;
  made.facts.parent = parent;
  made.facts.name = name;
  made.facts.state = 'S';
  made.facts.threads = {{.tid = pid,
                         .own_tid = pid,
                         .name = name,
                         .state = 'S',
                         .wchan = wchan,
                         .syscall = "",
                         .kernel_stack = ""}};
  return made;
}

ProcessFinding rank(int number) {
  ProcessFinding made = process(100 + number, 99, "python3", "futex_wait");
  made.facts.rank = std::to_string(number);
  made.python.interpreter = "/usr/bin/python3.11";
  made.python.threads = {
      {.tid = 0, .name = "", .frames = {{"step", "/src/train.py:12"}, {"main", "/src/train.py:40"}}}};
  made.native = {{.tid = 0,
                  .name = "",
                  .frames = {{"??", ""}, {"ioctl", ""}, {"_PyEval_EvalFrameDefault", ""}, {"main", ""}}}};
  return made;
}

TEST(TenLines, NameThePythonLineTheNativeFrameAndTheDevice) {
  Findings findings{.devices = {"xpu:0000:03:00.0"}, .processes = {rank(3)}, .gaps = {}};
  findings.processes[0].facts.device_nodes = {"/dev/dri/renderD128"};
  findings.processes[0].facts.resident_kib = 45 * 1024;
  EXPECT_THAT(
      ten_lines(findings),
      ElementsAre(
          "devices: xpu:0000:03:00.0",
          "python3 (pid 103, rank 3): state S in futex_wait, 1 thread, 45 MiB, holds /dev/dri/renderD128",
          "  Python: step at /src/train.py:12 < main at train.py:40", "  native: ioctl"));
}

TEST(TenLines, FramesOfTheCLibraryAreLeftOutUnlessThereAreNoOthers) {
  Findings findings;
  findings.processes = {process(1, 0, "train", "futex_wait")};
  auto& frames = findings.processes[0].native.emplace_back().frames;
  frames = {{"__futex_wait", "./nptl/futex-internal.c:103"},
            {"ioctl", "", "/lib/x86_64-linux-gnu/libc.so.6"}};
  EXPECT_EQ(ten_lines(findings).back(), "  native: __futex_wait at futex-internal.c:103 < ioctl");
  frames.push_back({"wait_for_copy", "/src/queue.cc:40"});
  EXPECT_EQ(ten_lines(findings).back(), "  native: wait_for_copy at queue.cc:40");
}

TEST(OwnFrameOfFindings, IsThePythonOneBeforeTheNativeOne) {
  Findings findings{.processes = {rank(0)}};
  findings.processes[0].native[0].frames = {{"launch", "/src/extension.cc:9"}};
  EXPECT_EQ(own_frame(findings)->location, "/src/train.py:12");
  findings.processes[0].python.threads.clear();
  EXPECT_EQ(own_frame(findings)->location, "/src/extension.cc:9");
  findings.processes[0].native.clear();
  EXPECT_FALSE(own_frame(findings));
}

TEST(TenLines, WhoHoldsADeviceComesFirstAndAWaitingShellNotAtAll) {
  Findings findings;
  findings.processes = {process(1, 0, "sh", "do_wait"), process(2, 1, "logger", "pipe_read"),
                        process(3, 1, "train", "futex_wait")};
  findings.processes[2].facts.device_nodes = {"/dev/nvidia0"};
  EXPECT_THAT(ten_lines(findings), ElementsAre(StartsWith("train (pid 3)"), StartsWith("logger (pid 2)")));
}

TEST(TenLines, ManyRanksHaveOneLineEach) {
  Findings findings;
  for (int i = 0; i < 4; ++i) findings.processes.push_back(rank(i));
  findings.processes[2].python.threads[0].frames[0] = {"save", "/src/train.py:77"};
  const auto lines = ten_lines(findings);
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[1], "python3 (pid 101, rank 1): step at /src/train.py:12; ioctl; futex_wait");
  EXPECT_THAT(lines[2], HasSubstr("save at /src/train.py:77"));
}

TEST(TenLines, HaveTheFirstLineOfTheKernelLog) {
  const Findings findings{.devices = {"xpu-sim:0"}, .kernel_lines = {"xe: Timedout job", "xe: coredump"}};
  EXPECT_EQ(ten_lines(findings),
            (std::vector<std::string>{"devices: xpu-sim:0", "kernel log: xe: Timedout job",
                                      "no process was left"}));
}

TEST(TenLines, AreNeverMoreThanTenAndNeverLong) {
  for (const std::size_t count : {0, 1, 2, 3, 9, 10, 64}) {
    Findings findings{
        .devices = {std::string(500, 'd')}, .processes = {}, .gaps = {"gap 1", "gap 2", "gap 3"}};
    for (std::size_t i = 0; i < count; ++i) findings.processes.push_back(rank(static_cast<int>(i)));
    const auto lines = ten_lines(findings);
    EXPECT_LE(lines.size(), 10u) << count;
    EXPECT_EQ(lines.back(), "gap 2") << "what could not be had is always said";
    for (const std::string& line : lines) EXPECT_LE(line.size(), 200u);
    if (count == 64) {
      EXPECT_EQ(lines[7], "and 58 more processes");
    }
  }
}

TEST(TenLines, NoControlCharacterOfTheProgramGetsThrough) {
  Findings findings;
  findings.processes = {process(1, 0, "a\x1b[31mb\nc", "")};
  EXPECT_THAT(ten_lines(findings), ElementsAre(AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("\n")))));
}

}  // namespace
}  // namespace proctor
