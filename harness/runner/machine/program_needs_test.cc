#include "harness/runner/machine/program_needs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "harness/base/temp_dir.h"
#include "harness/testing/child.h"

namespace proctor {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// Programs and libraries that the compiler makes: a replacement of the vendor's library, and a library that links it.
class NeededBackendTest : public testing::Test {
 protected:
  void compile(const std::string& output, const std::string& source, std::vector<std::string> more) {
    std::ofstream(directory_.path() / "source.c") << source;
    std::vector<std::string> command = {"cc", "-o", (directory_.path() / output).string(),
                                        (directory_.path() / "source.c").string(),
                                        "-L" + directory_.string()};
    command.insert(command.end(), more.begin(), more.end());
    const testing_support::Ended ended = testing_support::run_child(command);
    ASSERT_EQ(ended.exit_code, 0) << ended.err;
  }
  void SetUp() override {
    compile("libze_loader.so.1", "int zeInit(void) { return 0; }",
            {"-shared", "-Wl,-soname,libze_loader.so.1"});
    compile("libmine.so", "int zeInit(void); int mine(void) { return zeInit(); }",
            {"-shared", "-l:libze_loader.so.1", "-Wl,-rpath,$ORIGIN"});
  }
  std::string file(const std::string& name) const { return (directory_.path() / name).string(); }
  std::vector<std::string> reasons(const std::string& name, const std::string& library_path = "") {
    std::vector<std::string> reasons;
    for (const auto& needed : needed_backends(file(name), library_path))
      reasons.push_back(std::string(to_string(needed.backend)) + ": " + needed.why);
    return reasons;
  }

  TempDir directory_;
};

TEST_F(NeededBackendTest, FindsLinkedVendorLibrary) {
  compile("program", "int zeInit(void); int main(void) { return zeInit(); }", {"-l:libze_loader.so.1"});
  EXPECT_THAT(reasons("program"), ElementsAre("xpu: needs libze_loader.so.1"));
  EXPECT_TRUE(needed_backends(file("program"), "").front().certain);
}

TEST_F(NeededBackendTest, FindsVendorLibraryThroughDependency) {
  const std::string source = "int mine(void); int main(void) { return mine(); }";
  compile("program", source, {"-lmine", "-Wl,-rpath,$ORIGIN", "-Wl,--allow-shlib-undefined"});
  EXPECT_THAT(reasons("program"), ElementsAre("xpu: needs libmine.so, which needs libze_loader.so.1"));
  compile("lost", source, {"-lmine", "-Wl,--allow-shlib-undefined"});
  EXPECT_THAT(reasons("lost"), IsEmpty());
  EXPECT_THAT(reasons("lost", directory_.string()), SizeIs(1));
}

TEST_F(NeededBackendTest, FindsDriverLibraryOpenedAtRuntime) {
  compile("program", "#include <stdio.h>\nint main(void) { return puts(\"libcuda.so.1\") < 0; }", {});
  EXPECT_THAT(reasons("program"), ElementsAre("cuda: opens libcuda.so.1"));
  EXPECT_FALSE(needed_backends(file("program"), "").front().certain);
}

TEST_F(NeededBackendTest, OtherFilesNeedNoBackend) {
  EXPECT_THAT(needed_backends("/bin/true", ""), IsEmpty());
  std::ofstream(file("script")) << "#!/bin/sh\necho libcuda.so.1\n";
  EXPECT_THAT(reasons("script"), IsEmpty());
  EXPECT_THAT(reasons("nothing here"), IsEmpty());
  EXPECT_THAT(read_needed_libraries("/bin/true")->names, Contains("libc.so.6"));
}

// Any bytes give an error or a result, and never a crash.
TEST_F(NeededBackendTest, ReadsDamagedFilesSafely) {
  compile("program", "int zeInit(void); int main(void) { return zeInit(); }", {"-l:libze_loader.so.1"});
  std::ifstream stream(file("program"), std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  for (std::size_t at = 0; at < whole.size(); at += at < 1024 ? 1 : 97) {
    for (const std::string& damaged : {whole.substr(0, at), std::string(whole).replace(at, 1, "\xff"),
                                       std::string(whole).replace(at, 1, "\x00", 1)}) {
      std::ofstream(file("damaged"), std::ios::binary) << damaged;
      (void)needed_backends(file("damaged"), "");
    }
  }
}

// Programs that the compiler makes, linked to libraries with the names of the runtimes.
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

TEST_F(CudaProgramsTest, RuntimeVersionSelectsProgram) {
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

TEST_F(CudaProgramsTest, ReplacesOnlyProctorPrograms) {
  link("memory_cuda12", "libcudart.so.12");
  EXPECT_EQ(plan_with(12, "/elsewhere/memory_cuda"), "/elsewhere/memory_cuda");
  EXPECT_EQ(plan_with(12, file("memory_xpu")), file("memory_xpu"));
}

TEST_F(CudaProgramsTest, KeepsProgramBuiltForSameRuntime) {
  link("memory_cuda", "libcudart.so.12");
  EXPECT_EQ(plan_with(12, file("memory_cuda")), file("memory_cuda"));
}

// The numbers of the runtimes exist on no system.
TEST_F(CudaProgramsTest, ListsCasesWithStartableProgram) {
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

const std::vector<std::string> kLoaderWords = {"/root/ld.so", "--library-path", "/root/lib"};

class DynamicLoaderTest : public testing::Test {
 protected:
  // Returns a plan of one suite with one case `PROGRAM --one`.
  Plan plan_of(const std::string& program, Backend backend = Backend::kXpu) const {
    Suite suite;
    suite.name = "s";
    suite.command = {program};
    suite.directory = directory_.string();
    suite.backend = backend;
    Case test;
    test.id = "s/one";
    test.argv = {program, "--one"};
    return {.suites = {suite}, .cases = {test}};
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(directory_ / name) << text;
    std::filesystem::permissions(directory_ / name, std::filesystem::perms::owner_all);
  }
  std::string path(const std::string& name) const { return (directory_ / name).string(); }

 private:
  TempDir directory_;
};

TEST_F(DynamicLoaderTest, StartsProgramThroughLoader) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  auto plan = plan_of(self);
  ASSERT_TRUE(start_through(kLoaderWords, Backend::kXpu, "", plan));
  EXPECT_THAT(plan.cases[0].argv, ElementsAre("/root/ld.so", "--library-path", "/root/lib", self, "--one"));
  EXPECT_EQ(plan.suites[0].env.at("PROCTOR_SELF"), self);
}

TEST_F(DynamicLoaderTest, IgnoresScriptsAndOtherBackends) {
  write("suite.sh", "#!/bin/sh\n");
  for (auto plan : {plan_of("./suite.sh"), plan_of("/proc/self/exe", Backend::kNone)}) {
    const auto argv = plan.cases[0].argv;
    ASSERT_TRUE(start_through(kLoaderWords, Backend::kXpu, "", plan));
    EXPECT_EQ(plan.cases[0].argv, argv);
    EXPECT_TRUE(plan.suites[0].env.empty());
  }
}

TEST_F(DynamicLoaderTest, TruncatedFileNeedsNoLoader) {
  write("cut", std::string("\x7f") + "ELF\x02");
  EXPECT_FALSE(asks_for_loader(path("cut")));
  EXPECT_FALSE(asks_for_loader(path("missing")));
  EXPECT_TRUE(asks_for_loader("/proc/self/exe"));
}

}  // namespace

}  // namespace proctor
