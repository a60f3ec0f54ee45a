#include "harness/runner/machine/needed_backend.h"

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

// Programs and libraries as the compiler makes them: a stand-in of the vendor's library, a library on top of it.
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

TEST_F(NeededBackendTest, AProgramThatIsLinkedToTheVendorsLibrary) {
  compile("program", "int zeInit(void); int main(void) { return zeInit(); }", {"-l:libze_loader.so.1"});
  EXPECT_THAT(reasons("program"), ElementsAre("xpu: needs libze_loader.so.1"));
  EXPECT_TRUE(needed_backends(file("program"), "").front().certain);
}

TEST_F(NeededBackendTest, ThroughALibraryBesideTheProgram) {
  const std::string source = "int mine(void); int main(void) { return mine(); }";
  compile("program", source, {"-lmine", "-Wl,-rpath,$ORIGIN", "-Wl,--allow-shlib-undefined"});
  EXPECT_THAT(reasons("program"), ElementsAre("xpu: needs libmine.so, which needs libze_loader.so.1"));
  compile("lost", source, {"-lmine", "-Wl,--allow-shlib-undefined"});
  EXPECT_THAT(reasons("lost"), IsEmpty());
  EXPECT_THAT(reasons("lost", directory_.string()), SizeIs(1));
}

TEST_F(NeededBackendTest, ARuntimeInsideOpensTheDriversLibrary) {
  compile("program", "#include <stdio.h>\nint main(void) { return puts(\"libcuda.so.1\") < 0; }", {});
  EXPECT_THAT(reasons("program"), ElementsAre("cuda: opens libcuda.so.1"));
  EXPECT_FALSE(needed_backends(file("program"), "").front().certain);
}

TEST_F(NeededBackendTest, OthersNeedNone) {
  EXPECT_THAT(needed_backends("/bin/true", ""), IsEmpty());
  std::ofstream(file("script")) << "#!/bin/sh\necho libcuda.so.1\n";
  EXPECT_THAT(reasons("script"), IsEmpty());
  EXPECT_THAT(reasons("nothing here"), IsEmpty());
  EXPECT_THAT(read_needed_libraries("/bin/true")->names, Contains("libc.so.6"));
}

// Whatever the bytes are: an error or an answer, and never a crash.
TEST_F(NeededBackendTest, DamagedFiles) {
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

}  // namespace
}  // namespace proctor
