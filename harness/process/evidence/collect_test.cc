#include "harness/process/evidence/collect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <list>
#include <sstream>
#include <thread>

#include "harness/base/temp_dir.h"
#include "harness/process/evidence/process_facts.h"
#include "harness/process/evidence/tools.h"
#include "harness/testing/child.h"

namespace proctor {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class CollectTest : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = Containment::open(Layer::kSubreaper, "evidence-test");
    ASSERT_TRUE(opened) << opened.error().what;
    containment_ = std::move(*opened);
    ASSERT_EQ(child_.rest(), "up\n");
    while (read_process(reader_, child_.pid()).state != 'S')
      std::this_thread::yield();  // the program prints "up" a moment before it waits
    request_.guard = ::getpid();
    request_.devices = {"xpu-sim:0"};
    request_.environment["PATH"] = ::getenv("PATH");
  }

  void collect() {
    collect_evidence(request_, *containment_, text_, [this](const EvidenceDigest& digest) {
      digests_.push_back(digest.lines);
      frame_ = digest.frame;
    });
  }

  // Creates a directory with one tool in it, a shell script.
  std::string directory_with(const std::string& tool, const std::string& script) {
    const TempDir& directory = directories_.emplace_back();
    std::ofstream(directory / tool) << "#!/bin/sh\n" << script << "\n";
    ::chmod((directory / tool).c_str(), 0755);
    return directory.string();
  }

  testing_support::TalkingChild child_{{EVIDENCE_SAMPLE}};
  std::unique_ptr<Containment> containment_;
  CollectRequest request_;
  std::ostringstream text_;
  std::vector<std::vector<std::string>> digests_;
  std::optional<StackFrame> frame_;  // frame of the last digest
  std::list<TempDir> directories_;
  ProcReader reader_;
};

TEST_F(CollectTest, ReportsFunctionOfWaitingProgram) {
  if (find_tool("gdb", ::getenv("PATH")).empty() && find_tool("eu-stack", ::getenv("PATH")).empty())
    GTEST_SKIP() << "needs: gdb or eu-stack on PATH";
  collect();
  if (text_.str().find("not permitted") != std::string::npos) GTEST_SKIP() << "needs: ptrace";
  ASSERT_FALSE(digests_.empty());
  EXPECT_THAT(digests_.back(), Contains("devices: xpu-sim:0"));
  EXPECT_THAT(digests_.back(), Contains(HasSubstr("native: ")));
  EXPECT_THAT(digests_.back(), Contains(HasSubstr("wait_for_the_device")));
  ASSERT_TRUE(frame_);
  EXPECT_EQ(frame_->function, "wait_for_the_device");
  EXPECT_THAT(text_.str(), HasSubstr("wait_for_the_worker"))
      << "the stacks of the other threads are in the file";
  EXPECT_THAT(text_.str(), HasSubstr("(worker)"));
}

TEST_F(CollectTest, IncludesKernelLogAndReportsGap) {
  request_.environment["PATH"] = "/nowhere";
  request_.kernel_lines = {"xe 0000:03:00.0: one", "xe 0000:03:00.0: two"};
  request_.kernel_gap = "the kernel log cannot be read";
  collect();
  EXPECT_THAT(text_.str(), HasSubstr("kernel log: xe 0000:03:00.0: two\n"));
  EXPECT_THAT(digests_.back(), Contains("kernel log: xe 0000:03:00.0: one"));
  EXPECT_THAT(digests_.back(), Contains("the kernel log cannot be read"));
}

TEST_F(CollectTest, MissingToolsSuggestInstallation) {
  request_.environment["PATH"] = "/nowhere";
  collect();
  EXPECT_THAT(digests_.back(), Contains(HasSubstr("pid " + std::to_string(child_.pid()))));
  EXPECT_THAT(digests_.back(), Contains(AnyOf(HasSubstr("apt-get install gdb"), HasSubstr("not permitted"))));
}

TEST_F(CollectTest, HangingToolIsKilledAtBudget) {
  request_.environment["PATH"] = directory_with("gdb", "echo 'Thread 1 (LWP 7)'; exec sleep 300");
  request_.environment["PATH"] += ":/usr/bin:/bin";
  request_.budget = Milliseconds(800);
  collect();
  EXPECT_THAT(digests_.back(), Contains(HasSubstr("native stacks: gdb: killed after")));
  EXPECT_THAT(digests_.back(), Contains(HasSubstr("pid " + std::to_string(child_.pid()))));
  EXPECT_THAT(living_descendants(::getpid()), Contains(child_.pid()));
  EXPECT_EQ(living_descendants(::getpid()).size(), 1u) << "the tool is left behind";
}

// Restricts the calling process and its children to one CPU while this object exists.
class OneCpu {
 public:
  OneCpu() {
    sched_getaffinity(0, sizeof(before_), &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    for (std::size_t cpu = 0; CPU_COUNT(&one) == 0; ++cpu) {
      if (CPU_ISSET(cpu, &before_)) CPU_SET(cpu, &one);
    }
    sched_setaffinity(0, sizeof(one), &one);
  }
  ~OneCpu() { sched_setaffinity(0, sizeof(before_), &before_); }
  OneCpu(const OneCpu&) = delete;
  OneCpu& operator=(const OneCpu&) = delete;

 private:
  cpu_set_t before_{};
};

TEST_F(CollectTest, CpuWaitOfToolDoesNotCount) {
  const OneCpu one_cpu;
  std::list<testing_support::TalkingChild> loops;
  for (int i = 0; i < 3; ++i) loops.emplace_back(std::vector<std::string>{"sh", "-c", "while :; do :; done"});
  // Each of the four processes has such a tool. Each tool runs for a seventh of the elapsed time.
  request_.environment["PATH"] =
      directory_with("gdb",
                     "python3 -c 'import time\nwhile time.process_time() < 0.25: pass' || exit 3\n"
                     "echo 'Thread 1 (LWP 7)'; echo '#0 f ()'") +
      ":" + ::getenv("PATH");
  request_.budget = Milliseconds(1'100);
  collect();
  if (text_.str().find("not permitted") != std::string::npos) GTEST_SKIP() << "needs: ptrace";
  EXPECT_THAT(text_.str(), Not(HasSubstr("killed after")));
  EXPECT_THAT(text_.str(), HasSubstr("#0 f ()"));
}

TEST_F(CollectTest, DeniedTraceExplainsPermission) {
  request_.environment["PATH"] =
      directory_with("gdb", "echo 'ptrace: Operation not permitted.' >&2; exit 0") + ":/usr/bin:/bin";
  collect();
  EXPECT_THAT(digests_.back(), Contains(HasSubstr("not permitted; ")));
}

TEST_F(CollectTest, FirstDigestPrecedesTools) {
  request_.environment["PATH"] = "/nowhere";
  collect();
  ASSERT_EQ(digests_.size(), 3u);
  EXPECT_THAT(digests_.front(), Contains(HasSubstr("state S")));
  EXPECT_THAT(digests_.front(), Not(Contains(HasSubstr("native"))));
}

// ---- Python ----

constexpr const char* kBlockedPython = R"(import ctypes, os, threading

def wait_for_the_device():
    ctypes.PyDLL(None).pause()  # holds the GIL for ever

def 등록(go):
    go()

threading.Thread(target=threading.Event().wait, name="loader", daemon=True).start()
os.write(1, b"up\n")
os.close(1)
(lambda: 등록(wait_for_the_device))()
)";

class CollectPythonTest : public CollectTest {
 protected:
  void SetUp() override {
    CollectTest::SetUp();
    if (python_.rest() != "up\n") GTEST_SKIP() << "needs: python3 on PATH";
    if (!read_process(reader_, python_.pid()).may_trace) GTEST_SKIP() << "needs: ptrace";
  }

  // Returns the digest with py-spy replaced by this shell script. Expects that no process of the script is
  // left.
  std::vector<std::string> collect_with_py_spy(const std::string& script) {
    request_.environment["PATH"] = directory_with("py-spy", "PATH=/usr/bin:/bin\n" + script);
    collect();
    EXPECT_EQ(living_descendants(::getpid()).size(), 2u) << "the tool is left behind";
    EXPECT_THAT(digests_.back(), Contains(HasSubstr("pid " + std::to_string(python_.pid()))));
    return digests_.back();
  }

  // Repeats until the process is in the blocking call. It printed "up" a moment before.
  bool collect_until(const std::string& text) {
    for (int i = 0; i < 200; ++i) {
      text_.str("");
      collect();
      if (text_.str().find(text) != std::string::npos) return true;
    }
    return false;
  }

  testing_support::TalkingChild python_{{"python3", "-c", kBlockedPython}};
};

TEST_F(CollectPythonTest, ReportsLineOfBlockingNativeCall) {
  const std::string path = ::getenv("PATH");
  const std::string tool = find_tool("py-spy", path + ":" + EVIDENCE_TOOLS);
  if (tool.empty()) GTEST_SKIP() << "needs: py-spy on PATH or beside proctor";
  const TempDir& only_py_spy = directories_.emplace_back();
  std::filesystem::create_symlink(tool, only_py_spy / "py-spy");
  request_.environment["PATH"] = only_py_spy.string();
  ASSERT_TRUE(collect_until("wait_for_the_device at <string>:4")) << text_.str();
  EXPECT_THAT(digests_.back(), Contains("  Python: wait_for_the_device at <string>:4 < 등록 at <string>:7 < "
                                        "<lambda> at <string>:12 < <module> at <string>:12"));
  ASSERT_TRUE(frame_);
  EXPECT_EQ(frame_->location, "<string>:4");
  EXPECT_THAT(text_.str(), HasSubstr("  thread " + std::to_string(python_.pid()) + " (MainThread)\n"));
  EXPECT_THAT(text_.str(), HasSubstr(" (loader)\n")) << "the stacks of the other threads are in the file";
}

TEST_F(CollectPythonTest, FindsPySpyInAdditionalDirectory) {
  request_.environment["PATH"] = "/nowhere";
  request_.more_tools = directory_with(
      "py-spy",
      R"(echo '[{"thread_name": "MainThread", "frames": [{"name": "f", "filename": "a", "line": 7}]}]')");
  collect();
  EXPECT_THAT(digests_.back(), Contains("  Python: f at a:7"));
}

TEST_F(CollectPythonTest, MissingPySpySuggestsInstallation) {
  request_.environment["PATH"] = "/nowhere";
  collect();
  EXPECT_THAT(digests_.back(), Contains("Python stacks: py-spy is not on PATH; pip install py-spy"));
}

TEST_F(CollectPythonTest, HangingPySpyIsKilledAndReported) {
  request_.budget = Milliseconds(1'000);
  EXPECT_THAT(collect_with_py_spy("sleep 300 & exec sleep 300"),
              Contains(HasSubstr("Python stacks: py-spy: killed after")));
}

TEST_F(CollectPythonTest, InvalidPySpyOutputIsReported) {
  EXPECT_THAT(collect_with_py_spy("echo '[{\"frames\": 1, \033[31m'; exit 0"),
              Contains("Python stacks: py-spy: printed no stacks"));
  EXPECT_THAT(text_.str(), Not(HasSubstr("\033")));
}

TEST_F(CollectPythonTest, PySpyOutputSizeIsLimited) {
  EXPECT_THAT(collect_with_py_spy("exec head -c 1073741824 /dev/zero"),
              Contains(AnyOf("Python stacks: py-spy: printed too much",
                             HasSubstr("Python stacks: py-spy: killed after"))));
  EXPECT_LT(text_.str().size(), 1u << 20);
}

TEST_F(CollectPythonTest, PySpyCrashIsReportedWithReason) {
  EXPECT_THAT(collect_with_py_spy("kill -SEGV $$"), Contains("Python stacks: py-spy: killed by signal 11"));
  EXPECT_THAT(collect_with_py_spy("printf 'Error: no such thing\\nCaused by\\n' >&2; exit 1"),
              Contains("Python stacks: py-spy: exit 1: Error: no such thing"));
}

TEST(AcceleratorNode, MatchesAcceleratorPaths) {
  for (const char* node : {"/dev/dri/renderD128", "/dev/dri/card0", "/dev/accel/accel0", "/dev/nvidia0",
                           "/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/kfd"}) {
    EXPECT_TRUE(is_accelerator_node(node)) << node;
  }
  for (const char* other : {"/dev/null", "/dev/driver", "/home/dev/dri/x", "socket:[1]", ""}) {
    EXPECT_FALSE(is_accelerator_node(other)) << other;
  }
}

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

TEST(TenLines, ListPythonLineNativeFrameAndDevice) {
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

TEST(TenLines, OmitCLibraryFramesIfOthersExist) {
  Findings findings;
  findings.processes = {process(1, 0, "train", "futex_wait")};
  auto& frames = findings.processes[0].native.emplace_back().frames;
  frames = {{"__futex_wait", "./nptl/futex-internal.c:103"},
            {"ioctl", "", "/lib/x86_64-linux-gnu/libc.so.6"}};
  EXPECT_EQ(ten_lines(findings).back(), "  native: __futex_wait at futex-internal.c:103 < ioctl");
  frames.push_back({"wait_for_copy", "/src/queue.cc:40"});
  EXPECT_EQ(ten_lines(findings).back(), "  native: wait_for_copy at queue.cc:40");
}

TEST(OwnFrameOfFindings, PrefersPythonFrame) {
  Findings findings{.processes = {rank(0)}};
  findings.processes[0].native[0].frames = {{"launch", "/src/extension.cc:9"}};
  EXPECT_EQ(own_frame(findings)->location, "/src/train.py:12");
  findings.processes[0].python.threads.clear();
  EXPECT_EQ(own_frame(findings)->location, "/src/extension.cc:9");
  findings.processes[0].native.clear();
  EXPECT_FALSE(own_frame(findings));
}

TEST(TenLines, ListDeviceHoldersFirstAndOmitShells) {
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

TEST(TenLines, IncludeFirstKernelLogLine) {
  const Findings findings{.devices = {"xpu-sim:0"}, .kernel_lines = {"xe: Timedout job", "xe: coredump"}};
  EXPECT_EQ(ten_lines(findings),
            (std::vector<std::string>{"devices: xpu-sim:0", "kernel log: xe: Timedout job",
                                      "no process was left"}));
}

TEST(TenLines, LimitNumberAndLengthOfLines) {
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

TEST(TenLines, RemoveControlCharacters) {
  Findings findings;
  findings.processes = {process(1, 0, "a\x1b[31mb\nc", "")};
  EXPECT_THAT(ten_lines(findings), ElementsAre(AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("\n")))));
}

}  // namespace

}  // namespace proctor
