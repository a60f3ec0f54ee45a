#include "harness/process/evidence/crash.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "harness/base/read_file.h"
#include "harness/base/temp_dir.h"
#include "harness/process/evidence/core_file.h"
#include "harness/process/evidence/tools.h"
#include "harness/testing/child.h"

namespace proctor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

constexpr std::uint64_t kMuch = 1ULL << 40;

ThreadStack stack(const std::vector<ThreadFrame>& frames) { return {.tid = 1, .name = "", .frames = frames}; }

TEST(CrashLines, BeginWithCrashingFunction) {
  EXPECT_THAT(
      crash_lines(stack({{"copy", "/src/copy.cc:12"}, {"??", ""}, {"main", "/src/main.cc:7"}}), false),
      ElementsAre("crashed in copy at /src/copy.cc:12", "< main at main.cc:7"));
  EXPECT_THAT(crash_lines(stack({{"__pthread_kill_implementation", ""},
                                 {"raise", ""},
                                 {"abort", ""},
                                 {"std::terminate()", ""},
                                 {"__cxa_throw", ""},
                                 {"check", "a.cc:3"}}),
                          false),
              ElementsAre("crashed in check at a.cc:3"));
}

TEST(CrashLines, KeepFunctionsWithSimilarNames) {
  for (const std::string name : {"abort_transfer", "kill_queue", "raise_to(int)", "killer::run"})
    EXPECT_THAT(crash_lines(stack({{"raise@@GLIBC_2.2.5", ""}, {"abort", ""}, {name, "a.cc:3"}}), false),
                ElementsAre("crashed in " + name + " at a.cc:3"));
}

TEST(CrashLines, OmitSignalHandlerFrames) {
  EXPECT_THAT(
      crash_lines(
          stack({{"raise", ""}, {"on_segv", "h.cc:1"}, {"<signal handler called>", ""}, {"read", "r.cc:2"}}),
          false),
      ElementsAre("crashed in read at r.cc:2"));
}

TEST(CrashLines, FallBackToRaisingFunction) {
  EXPECT_THAT(crash_lines(stack({{"kill", ""}, {"??", ""}}), false), ElementsAre("crashed in kill"));
  EXPECT_THAT(crash_lines(stack({}), false), IsEmpty());
}

TEST(CrashLines, OmitInterpreterFrames) {
  EXPECT_THAT(crash_lines(stack({{"string_at", ""}, {"_ctypes_callproc", ""}, {"main", ""}}), true),
              ElementsAre("crashed in string_at"));
}

// gdb writes the core of this fixture, so the kernel settings do not matter.
class CrashTest : public testing::Test {
 protected:
  void SetUp() override {
    if (find_tool("gdb", ::getenv("PATH")).empty()) GTEST_SKIP() << "needs: gdb on PATH";
    auto opened = Containment::open(Layer::kSubreaper, "crash-test");
    ASSERT_TRUE(opened) << opened.error().what;
    containment_ = std::move(*opened);
    ASSERT_EQ(child_.rest(), "up\n");
    const std::string pid = std::to_string(child_.pid());
    written_ = directory_ / "core";
    testing_support::run_child({"gdb", "-nx", "-batch", "-p", pid, "-ex", "generate-core-file " + written_});
    if (!std::filesystem::exists(written_)) GTEST_SKIP() << "needs: ptrace";
    request_ = {.owner = {.pid = child_.pid(), .containment_id = "run/7"},
                .core_glob = directory_ / "co*",
                .core = directory_ / "kept.core",
                .room = kMuch,
                .environment = {{"PATH", ::getenv("PATH")}}};
  }

  std::string found() const {
    const auto core = find_core(request_.core_glob, request_.owner);
    return core ? core->path : "";
  }

  void collect() {
    collect_crash(request_, *containment_, text_, [this](const auto& digest) { last_ = digest; });
  }

  testing_support::TalkingChild child_{{"env", "PROCTOR_CONTAINMENT=run/7", EVIDENCE_SAMPLE}};
  TempDir directory_;
  std::string written_;
  std::unique_ptr<Containment> containment_;
  CrashRequest request_;
  std::ostringstream text_;
  EvidenceDigest last_;
};

TEST_F(CrashTest, KeepsAndReadsCore) {
  collect();
  EXPECT_FALSE(std::filesystem::exists(written_));
  EXPECT_GT(bytes_on_disk(request_.core), 0u);
  EXPECT_EQ(std::filesystem::canonical(last_.core_program), std::filesystem::canonical(EVIDENCE_SAMPLE));
  EXPECT_THAT(text_.str(), HasSubstr("wait_for_the_device"));
  EXPECT_THAT(text_.str(), HasSubstr("wait_for_the_worker")) << "all threads are in the file";
  ASSERT_FALSE(last_.lines.empty());
  EXPECT_THAT(last_.lines.front(), StartsWith("crashed in "));
  ASSERT_TRUE(last_.frame);
  EXPECT_EQ(last_.frame->function, "wait_for_the_device");
}

TEST_F(CrashTest, ReadsCoreInPlaceWithoutRoom) {
  request_.room = 1;
  collect();
  EXPECT_TRUE(std::filesystem::exists(written_));
  EXPECT_FALSE(std::filesystem::exists(request_.core));
  ASSERT_GT(last_.lines.size(), 1u);
  EXPECT_THAT(last_.lines.front(), StartsWith("crashed in "));
  EXPECT_THAT(last_.lines.back(), HasSubstr("left at " + written_ + ": there is room for 0.0 MiB more"));
}

TEST_F(CrashTest, IgnoresCoreOfAnotherProcessOrTime) {
  request_.owner.pid += 1;
  collect();
  EXPECT_THAT(last_.lines, ElementsAre(HasSubstr("no core of process ")));
  request_.owner.pid = child_.pid();
  EXPECT_EQ(found(), written_);
  request_.owner.since = 1LL << 40;
  EXPECT_EQ(found(), "");
  EXPECT_TRUE(std::filesystem::exists(written_));
}

// Cases with their own PID namespaces can have processes with the same pid.
TEST_F(CrashTest, IgnoresCoreOfCaseWithSamePid) {
  request_.owner.containment_id = "run/8";
  EXPECT_EQ(found(), "");
  request_.owner.containment_id = "run/7";
  request_.owner.is_alone = false;
  EXPECT_EQ(found(), written_);
}

TEST_F(CrashTest, IgnoresCoreWritableByOthers) {
  namespace fs = std::filesystem;
  ASSERT_EQ(found(), written_);
  fs::permissions(written_, fs::perms::others_write, fs::perm_options::add);
  EXPECT_EQ(found(), "");
  fs::permissions(written_, fs::perms::others_write, fs::perm_options::remove);
  fs::create_hard_link(written_, directory_ / "second name");
  EXPECT_EQ(found(), "");
  fs::remove(directory_ / "second name");
  EXPECT_EQ(found(), written_);
  if (::chown(written_.c_str(), 65534, 65534) != 0) GTEST_SKIP() << "needs: root, for the rest of it";
  EXPECT_EQ(found(), "");
}

TEST_F(CrashTest, ScratchCoreIsReportedAsNotKept) {
  request_.scratch = directory_.string();
  request_.room = 1;
  collect();
  EXPECT_THAT(last_.lines.back(), HasSubstr(" MiB, not kept: there is room for 0.0 MiB more"));
}

// Names from a core become arguments of a debugger, and part of the command that is suggested to the user.
TEST_F(CrashTest, RejectsProgramNameThatLooksLikeOption) {
  const std::string name = std::filesystem::canonical(EVIDENCE_SAMPLE);
  std::string core = *read_file(written_);
  ASSERT_NE(read_core(written_)->program, "");
  for (const std::string first : {"-", "\n"}) {
    for (std::size_t at = 0; (at = core.find(name, at)) != std::string::npos;) core.replace(at, 1, first);
    std::ofstream(written_, std::ios::binary) << core;
    ASSERT_TRUE(read_core(written_));
    EXPECT_EQ(read_core(written_)->program, "");
    for (std::size_t at = 0; (at = core.find(first + name.substr(1), at)) != std::string::npos;)
      core.replace(at, 1, "/");
  }
}

TEST_F(CrashTest, HangingToolIsKilledAndCoreKept) {
  const TempDir tools;
  std::ofstream(tools / "gdb") << "#!/bin/sh\nexec sleep 600\n";
  std::filesystem::permissions(tools / "gdb", std::filesystem::perms::owner_all);
  request_.environment["PATH"] = tools.string() + ":" + ::getenv("PATH");
  request_.budget = Milliseconds(500);
  collect();
  EXPECT_TRUE(std::filesystem::exists(request_.core));
  EXPECT_THAT(last_.lines, ElementsAre(StartsWith("stack: gdb: killed after ")));
}

TEST(ReadCore, RejectsOtherFiles) {
  const TempDir directory;
  EXPECT_FALSE(read_core(directory / "none"));
  EXPECT_FALSE(read_core(directory.string()));
  EXPECT_FALSE(read_core("/proc/self/exe"));
  std::ofstream(directory / "short") << "\177ELF";
  EXPECT_FALSE(read_core(directory / "short"));
}

// The test inverts each byte of the headers and notes. The core must be read or rejected, without a crash.
TEST_F(CrashTest, DamagedCoreIsReadSafely) {
  std::fstream file(written_, std::ios::binary | std::ios::in | std::ios::out);
  for (std::streamoff at = 0; at < 4096; ++at) {
    const char byte = static_cast<char>(file.seekg(at).get());
    file.seekp(at).put(static_cast<char>(~byte)).flush();
    static_cast<void>(read_core(written_));
    file.seekp(at).put(byte).flush();
  }
  EXPECT_TRUE(file.good());
  EXPECT_TRUE(read_core(written_)) << "it is whole again";
}

// The upload of reports recognises cores by their extension (.github/actions).
TEST(MoveCore, DraftKeepsCoreSuffix) {
  EXPECT_EQ(core_draft("/run/evidence/s/case.1.core"), "/run/evidence/s/case.1.part.core");
}

TEST(MoveCore, KeepsHolesAcrossFileSystems) {
  const TempDir here;
  const std::string there = "/dev/shm/proctor-move-core-" + std::to_string(::getpid());
  std::ofstream(here / "core", std::ios::binary) << "begin";
  std::filesystem::resize_file(here / "core", 64 << 20);
  const FoundCore core{here / "core", UniqueFd(::open((here / "core").c_str(), O_RDONLY | O_CLOEXEC)), {}};
  const auto late = move_core(core, there, Clock::now());
  ASSERT_FALSE(late);
  EXPECT_THAT(late.error().what, testing::EndsWith(" in time"));
  EXPECT_FALSE(std::filesystem::exists(core_draft(there)));
  EXPECT_TRUE(std::filesystem::exists(here / "core"));
  const auto moved = move_core(core, there, Clock::time_point::max());
  ASSERT_TRUE(moved) << moved.error().what;
  EXPECT_EQ(std::filesystem::file_size(there), 64u << 20);
  EXPECT_LT(bytes_on_disk(there), 1u << 20);
  EXPECT_FALSE(std::filesystem::exists(here / "core"));
  std::ifstream file(there, std::ios::binary);
  std::string bytes(8, 'x');
  file.read(bytes.data(), 8);
  EXPECT_EQ(bytes, std::string("begin\0\0\0", 8));
  std::filesystem::remove(there);
}

}  // namespace
}  // namespace proctor
