#include "harness/evidence/collect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <list>
#include <sstream>

#include "harness/core/temp_dir.h"
#include "harness/evidence/tools.h"
#include "harness/evidence/waiting_child.h"

namespace proctor {
namespace {

using testing::AnyOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

class CollectTest : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = Containment::open(Layer::kSubreaper, "evidence-test");
    ASSERT_TRUE(opened) << opened.error().what;
    containment_ = std::move(*opened);
    ASSERT_EQ(child_.said(), "up\n");
    request_.guard = ::getpid();
    request_.devices = {"xpu-sim:0"};
    request_.environment["PATH"] = ::getenv("PATH");
  }

  void collect() {
    collect_evidence(request_, *containment_, text_,
                     [this](const auto& lines) { digests_.push_back(lines); });
  }

  // A directory with one tool in it, as a shell script.
  std::string directory_with(const std::string& tool, const std::string& script) {
    const TempDir& directory = directories_.emplace_back();
    std::ofstream(directory / tool) << "#!/bin/sh\n" << script << "\n";
    ::chmod((directory / tool).c_str(), 0755);
    return directory.string();
  }

  WaitingChild child_{{EVIDENCE_SAMPLE}};
  std::unique_ptr<Containment> containment_;
  CollectRequest request_;
  std::ostringstream text_;
  std::vector<std::vector<std::string>> digests_;
  std::list<TempDir> directories_;
};

TEST_F(CollectTest, NamesTheFunctionThatAProgramWaitsIn) {
  if (find_tool("gdb", ::getenv("PATH")).empty() && find_tool("eu-stack", ::getenv("PATH")).empty())
    GTEST_SKIP() << "needs: gdb or eu-stack on PATH";
  collect();
  if (text_.str().find("not permitted") != std::string::npos) GTEST_SKIP() << "needs: ptrace";
  ASSERT_FALSE(digests_.empty());
  EXPECT_THAT(digests_.back(), Contains("devices: xpu-sim:0"));
  EXPECT_THAT(digests_.back(), Contains(HasSubstr("native: ")));
  EXPECT_THAT(digests_.back(), Contains(HasSubstr("wait_for_the_device")));
  EXPECT_THAT(text_.str(), HasSubstr("wait_for_the_worker"))
      << "the stacks of the other threads are in the file";
  EXPECT_THAT(text_.str(), HasSubstr("(worker)"));
}

TEST_F(CollectTest, HasTheKernelLogOfTheCaseOrSaysWhyNot) {
  request_.environment["PATH"] = "/nowhere";
  request_.kernel_lines = {"xe 0000:03:00.0: one", "xe 0000:03:00.0: two"};
  request_.kernel_gap = "the kernel log cannot be read";
  collect();
  EXPECT_THAT(text_.str(), HasSubstr("kernel log: xe 0000:03:00.0: two\n"));
  EXPECT_THAT(digests_.back(), Contains("kernel log: xe 0000:03:00.0: one"));
  EXPECT_THAT(digests_.back(), Contains("the kernel log cannot be read"));
}

TEST_F(CollectTest, WithoutToolsSaysWhatToInstall) {
  request_.environment["PATH"] = "/nowhere";
  collect();
  EXPECT_THAT(digests_.back(), Contains(HasSubstr("pid " + std::to_string(child_.pid()))));
  EXPECT_THAT(digests_.back(), Contains(AnyOf(HasSubstr("apt-get install gdb"), HasSubstr("not permitted"))));
}

TEST_F(CollectTest, AToolThatHangsCostsItsBudgetAndNothingElse) {
  request_.environment["PATH"] = directory_with("gdb", "echo 'Thread 1 (LWP 7)'; exec sleep 300");
  request_.environment["PATH"] += ":/usr/bin:/bin";
  request_.budget = Milliseconds(800);
  collect();
  EXPECT_THAT(digests_.back(), Contains(HasSubstr("native stacks: gdb: killed after")));
  EXPECT_THAT(digests_.back(), Contains(HasSubstr("pid " + std::to_string(child_.pid()))));
  EXPECT_THAT(living_descendants(::getpid()), Contains(child_.pid()));
  EXPECT_EQ(living_descendants(::getpid()).size(), 1u) << "the tool is left behind";
}

TEST_F(CollectTest, ATraceThatIsRefusedSaysHowToAllowIt) {
  request_.environment["PATH"] =
      directory_with("gdb", "echo 'ptrace: Operation not permitted.' >&2; exit 0") + ":/usr/bin:/bin";
  collect();
  EXPECT_THAT(digests_.back(), Contains(HasSubstr("not permitted; ")));
}

TEST_F(CollectTest, TheFirstDigestComesBeforeAnyTool) {
  request_.environment["PATH"] = "/nowhere";
  collect();
  ASSERT_EQ(digests_.size(), 3u);
  EXPECT_THAT(digests_.front(), Contains(HasSubstr("state S")));
  EXPECT_THAT(digests_.front(), Not(Contains(HasSubstr("native"))));
}

TEST(AcceleratorNode, KnowsThemByPath) {
  for (const char* node : {"/dev/dri/renderD128", "/dev/dri/card0", "/dev/accel/accel0", "/dev/nvidia0",
                           "/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/kfd"}) {
    EXPECT_TRUE(is_accelerator_node(node)) << node;
  }
  for (const char* other : {"/dev/null", "/dev/driver", "/home/dev/dri/x", "socket:[1]", ""}) {
    EXPECT_FALSE(is_accelerator_node(other)) << other;
  }
}

}  // namespace
}  // namespace proctor
