#include "harness/runner/machine/cuda_programs.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "harness/base/temp_dir.h"
#include "harness/testing/child.h"

namespace proctor {
namespace {

// Programs as the compiler makes them, linked to libraries that are called like the runtimes.
class CudaProgramsTest : public testing::Test {
 protected:
  void compile(const std::string& output, const std::string& source, std::vector<std::string> more) {
    std::ofstream(file("source.c")) << source;
    std::vector<std::string> command = {"cc", "-o", file(output), file("source.c"),
                                        "-L" + directory_.string()};
    command.insert(command.end(), more.begin(), more.end());
    const testing_support::Ended ended = testing_support::run_child(command);
    ASSERT_EQ(ended.exit_code, 0) << ended.err;
  }
  void link(const std::string& program, const std::string& runtime) {
    compile(runtime, "int one(void) { return 1; }", {"-shared", "-Wl,-soname," + runtime});
    compile(program, "int one(void); int main(void) { return one(); }", {"-l:" + runtime});
  }
  std::string file(const std::string& name) const { return (directory_.path() / name).string(); }
  std::string plan_with(int runtime, const std::string& program) {
    Plan plan;
    plan.cases.emplace_back().argv = {program, "--gtest_filter=A.B"};
    use_cuda_runtime(runtime, directory_.string(), plan);
    EXPECT_EQ(plan.cases.front().argv.back(), "--gtest_filter=A.B");
    return plan.cases.front().argv.front();
  }

  TempDir directory_;
};

TEST_F(CudaProgramsTest, TheRuntimeChoosesTheProgram) {
  link("memory_cuda", "libcudart.so.13");
  link("memory_cuda12", "libcudart.so.12");
  EXPECT_EQ(needed_cuda_runtime(file("memory_cuda")), 13);
  EXPECT_EQ(program_for_runtime(file("memory_cuda"), 12), file("memory_cuda12"));
  EXPECT_EQ(program_for_runtime(file("memory_cuda"), 13), file("memory_cuda"));
  EXPECT_EQ(program_for_runtime(file("memory_cuda"), 11), "");
  EXPECT_EQ(plan_with(12, file("memory_cuda")), file("memory_cuda12"));
  EXPECT_EQ(plan_with(13, file("memory_cuda")), file("memory_cuda"));
  EXPECT_EQ(plan_with(0, file("memory_cuda")), file("memory_cuda")) << "no runtime is known";
  EXPECT_EQ(plan_with(11, file("memory_cuda")), file("memory_cuda")) << "there is none for it";
}

TEST_F(CudaProgramsTest, OnlyOurOwnProgramsAreReplaced) {
  link("memory_cuda12", "libcudart.so.12");
  EXPECT_EQ(plan_with(12, "/elsewhere/memory_cuda"), "/elsewhere/memory_cuda");
  EXPECT_EQ(plan_with(12, file("memory_xpu")), file("memory_xpu"));
}

TEST_F(CudaProgramsTest, AToolkitOfTwelveMakesProgramsForItAlone) {
  link("memory_cuda", "libcudart.so.12");
  EXPECT_EQ(plan_with(12, file("memory_cuda")), file("memory_cuda"));
}

// With numbers of runtimes that no system has.
TEST_F(CudaProgramsTest, WhatCanStartHereListsTheCases) {
  link("memory_cuda", "libcudart.so.913");
  link("memory_cuda12", "libcudart.so.912");
  const std::string here = directory_.string();
  EXPECT_EQ(startable_cuda_program(file("memory_cuda"), here), file("memory_cuda")) << "both can";
  std::filesystem::remove(file("libcudart.so.913"));
  EXPECT_EQ(startable_cuda_program(file("memory_cuda"), here), file("memory_cuda12"));
  std::filesystem::remove(file("libcudart.so.912"));
  EXPECT_EQ(startable_cuda_program(file("memory_cuda"), here), file("memory_cuda"))
      << "it says what is missing";
  EXPECT_EQ(startable_cuda_program("/bin/true", here), "/bin/true");
}

}  // namespace
}  // namespace proctor
