// Tests that a packed run contains no names, and that the reader of archives keeps its limits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "harness/base/read_file.h"
#include "harness/base/temp_dir.h"
#include "reports/pack/packed_run.h"
#include "reports/pack/private_text.h"
#include "reports/pack/tar_gz.h"

namespace proctor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

PrivateNames names() {
  return {.hosts = {"gpu-07"},
          .users = {"alice", "memory"},
          .addresses = {"192.0.2.7", "2001:db8::7"},
          .directories = {{"/mnt/alices-disk", "HOME"}, {"/mnt/alices-disk/out", "RUN"}, {"/", "ROOT"}},
          .words = {"memory"}};
}

std::string hidden(std::string_view text) { return PrivateText(names()).hide(text); }

TEST(PrivateText, ReplacesUserAndHostNames) {
  EXPECT_EQ(hidden("alice on gpu-07"), "USER on HOST");
  EXPECT_EQ(hidden("gpu-07.example.org, gpu-07."), "HOST, HOST.");
  EXPECT_EQ(hidden("malice on gpu-070"), "malice on gpu-070");
}

TEST(PrivateText, KeepsCaseIds) {
  EXPECT_EQ(hidden("memory.xpu/Copy.DestinationHasSourceBytes"), "memory.xpu/Copy.DestinationHasSourceBytes");
}

TEST(PrivateText, ReplacesLongestDirectory) {
  EXPECT_EQ(hidden("/mnt/alices-disk/out/logs:3"), "RUN/logs:3");
  EXPECT_EQ(hidden("/mnt/alices-disk/outer '/mnt/alices-disk'"), "HOME/outer 'HOME'");
  EXPECT_EQ(hidden("/home/bob/x /home/carol"), "/home/USER/x /home/USER");
}

TEST(PrivateText, ReplacesOnlyCompleteAddresses) {
  EXPECT_EQ(hidden("192.0.2.7:80 192.0.2.70 1.192.0.2.7"), "ADDRESS:80 192.0.2.70 1.192.0.2.7");
  EXPECT_EQ(hidden("[2001:db8::7]"), "[ADDRESS]");
}

TEST(PrivateText, ReplacesEqualUuidsConsistently) {
  PrivateText text(names());
  EXPECT_EQ(text.hide("8680a056-0800-0000-0300-00000000000A and 8680a056-0800-0000-0300-00000000000b"),
            "00000000-0000-0000-0000-000000000001 and 00000000-0000-0000-0000-000000000002");
  EXPECT_EQ(text.hide("GPU-8680a056-0800-0000-0300-00000000000a, 8680a056080000000300-00000000000b"),
            "GPU-00000000-0000-0000-0000-000000000001, 8680a056080000000300-00000000000b");
  EXPECT_EQ(text.hide("uuid 8680a05608000000030000000000000b"), "uuid 00000000-0000-0000-0000-000000000002");
  EXPECT_EQ(text.hide("00000000-0000-0000-0000-000000000000"), "00000000-0000-0000-0000-000000000000");
  EXPECT_EQ(text.hide(std::string(33, 'a')), std::string(33, 'a'));
  EXPECT_EQ(text.hide(std::string(64, 'b')), std::string(64, 'b')) << "a digest";
}

TEST(PrivateText, ReplacesCommandsOfOtherProcesses) {
  EXPECT_EQ(hidden("xpu:0 is in use: pid 12 (game --name (x) y) has 5 MiB, pid 13 (z) has 1 MiB"),
            "xpu:0 is in use: pid 12 (another process) has 5 MiB, pid 13 (another process) has 1 MiB");
  EXPECT_EQ(hidden("xpu:0 is held by pid 12 (uid 0, run r, since s): train.py --key k"),
            "xpu:0 is held by pid 12 (uid 0, run r, since s): another process");
}

TEST(PrivateText, ReplacesProcessNamesOfKernelLog) {
  PrivateText names({});
  EXPECT_EQ(names.hide("kernel log: [ 1.5] xe 0000:03:00.0: [drm] Timedout job: guc_id=2 in firefox [123]\n"
                       "[    1.5] i915 0000:03:00.0: [drm] gnome-shell[632] context reset due to GPU hang\n"
                       "[    1.6] xe 0000:03:00.0: [drm] Timedout job: guc_id=2 in kernels_xpu [124]\n"
                       "[drm] GT0: reset"),
            "kernel log: [ 1.5] xe 0000:03:00.0: [drm] Timedout job: guc_id=2 in a process [123]\n"
            "[    1.5] i915 0000:03:00.0: [drm] a process[632] context reset due to GPU hang\n"
            "[    1.6] xe 0000:03:00.0: [drm] Timedout job: guc_id=2 in kernels_xpu [124]\n"
            "[drm] GT0: reset");
}

TEST(PrivateText, IgnoresCommandsAcrossLines) {
  PrivateText names({});
  EXPECT_EQ(names.hide("pid 7 (editor\nthe card (1) has memory\n"),
            "pid 7 (editor\nthe card (1) has memory\n");
}

TEST(GraphicsLines, KeepsIntelGpuKernelMessages) {
  EXPECT_EQ(graphics_lines("[    1.5] xe 0000:03:00.0: [drm] Timedout job: guc_id=2 in firefox [123]\n"
                           "[    1.6] xe 0000:03:00.0: [drm] Timedout job: guc_id=2 in kernels_xpu [124]\n"
                           "[    1.7] usb 1-1: SerialNumber: 42\n"
                           "[drm] GT0: reset\n"
                           "dmesg: read kernel buffer failed: Operation not permitted\n"),
            "[    1.5] xe 0000:03:00.0: [drm] Timedout job: guc_id=2 in firefox [123]\n"
            "[    1.6] xe 0000:03:00.0: [drm] Timedout job: guc_id=2 in kernels_xpu [124]\n"
            "[drm] GT0: reset\n"
            "dmesg: read kernel buffer failed: Operation not permitted\n");
}

std::vector<std::string> names_of(const std::vector<ArchivedFile>& files) {
  std::vector<std::string> names;
  for (const ArchivedFile& file : files) names.push_back(file.name);
  return names;
}

TEST(TarGz, FilesRoundTrip) {
  const std::string deep = std::string(150, 'd') + "/" + std::string(100, 'f');
  const auto files =
      read_tar_gz(write_tar_gz({{"run/a", "text"}, {"run/empty", ""}, {deep, std::string(512, 'x')}}, 1));
  ASSERT_TRUE(files);
  EXPECT_THAT(names_of(*files), ElementsAre("run/a", "run/empty", deep));
  EXPECT_EQ((*files)[0].text, "text");
  EXPECT_EQ((*files)[2].text, std::string(512, 'x'));
}

TEST(TarGz, SkipsPathTraversalNames) {
  for (const char* name : {"../a", "/a", "a/../b", "a//b", "", "./a", "a\nb"}) {
    EXPECT_FALSE(is_archive_name(name)) << name;
    EXPECT_TRUE(read_tar_gz(write_tar_gz({{name, "x"}}, 0))->empty()) << name;
  }
}

TEST(TarGz, RejectsDecompressionBomb) {
  const std::string bomb = write_tar_gz({{"a", std::string(std::size_t{8} << 20, '\0')}}, 0);
  EXPECT_LT(bomb.size(), std::size_t{64} << 10);
  const auto files = read_tar_gz(bomb, std::size_t{1} << 20);
  ASSERT_FALSE(files);
  EXPECT_EQ(files.error().what, "it unpacks to more than 1 MiB");
}

TEST(TarGz, RejectsTruncatedArchive) {
  const std::string whole = write_tar_gz({{"a", "some text that is compressed"}}, 0);
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(read_tar_gz(whole.substr(0, size))) << size;
}

TEST(UnpackRun, RefusesNonEmptyDirectory) {
  const TempDir directory;
  const std::string archive = (directory / "run.tar.gz").string();
  const std::string there = (directory / "there").string();
  const auto pack = [&](const std::string& journal) {
    std::filesystem::remove(archive);
    FILE* file = std::fopen(archive.c_str(), "w");
    const std::string bytes =
        write_tar_gz({{"r/journal.jsonl", journal}, {"r/logs/a", "log"}, {"other", "x"}}, 0);
    std::fwrite(bytes.data(), 1, bytes.size(), file);
    std::fclose(file);
  };
  pack("one");
  ASSERT_TRUE(unpack_run(archive, there));
  EXPECT_EQ(*read_file(there + "/logs/a"), "log");
  EXPECT_FALSE(std::filesystem::exists(there + "/other"));
  EXPECT_TRUE(unpack_run(archive, there)) << "the same run again";
  pack("two");
  const auto refused = unpack_run(archive, there);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what, HasSubstr("is not empty"));
  EXPECT_THAT(*read_file(there + "/journal.jsonl"), Not(HasSubstr("two")));
}

}  // namespace
}  // namespace proctor
