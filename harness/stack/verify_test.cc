// Tests the comparison of machines with locks, the parser of image names, and edits that keep all other lines of a
// lock.
#include "harness/stack/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/base/outside_program.h"
#include "harness/stack/fingerprint.h"
#include "harness/stack/outside_tools.h"

namespace proctor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

constexpr const char* kLock = R"(# Why this stack is what it is.
version = 1
title   = "A stack"
backend = "xpu"

[base]
image      = "ubuntu:24.04"
unverified = true

[[repository]]
name       = "ubuntu"
url        = "http://snapshot.ubuntu.com/ubuntu/{snapshot}"
snapshot   = "20260901T000000Z"
suites     = ["noble"]
components = ["main"]
unverified = true  # nobody has asked yet

[[package]]
name    = "ocl-icd-libopencl1"
version = "2.3.1-1"

[[file]]
name       = "libze1"
version    = "1.32.0+u24.04"
url        = "https://example.org/libze1.deb"
unverified = true

[[file]]
name       = "libigdgmm12"
version    = "22.7.0"
unverified = true

[host]
driver  = "nvidia"
minimum = "580"
source  = "https://docs.nvidia.com/deploy/cuda-compatibility"

[run]
shm_size = "8g"
)";

StackLock lock() { return *parse_stack_lock(kLock, "a.toml"); }

Fingerprint facts(const std::string& stack, const std::string& digest, const std::string& driver) {
  Fingerprint facts;
  facts.push_back({"image.stack", stack, "", "", false});
  facts.push_back({"image.lock", digest, "", "", false});
  if (!driver.empty()) facts.push_back({"kmd.nvidia", driver, "", "", false});
  return facts;
}

const std::map<std::string, std::string> kInstalled = {
    {"ocl-icd-libopencl1", "2.3.1-1"}, {"libze1", "1.32.0+u24.04"}, {"libigdgmm12", "22.7.0-1"}};

TEST(StackVerify, MatchingMachineHasNoDifferences) {
  const auto same = compare_with_lock(lock(), facts("a", "sha256:" + lock().digest, "580.65.06"), kInstalled);
  EXPECT_THAT(same.differences, IsEmpty());
  EXPECT_THAT(same.notes, IsEmpty());
  EXPECT_EQ(same.equal.size(), 5U);
}

TEST(StackVerify, EveryDifferenceIsNamed) {
  auto packages = kInstalled;
  packages.erase("libigdgmm12");
  packages["libze1"] = "1.32.0+u24.04.1";
  packages["ocl-icd-libopencl1"] = "2.3.2-1";
  const auto drift = compare_with_lock(lock(), facts("b", "sha256:1", "575.57.08"), packages);
  EXPECT_THAT(drift.differences,
              ElementsAre("image: it belongs to the stack b, not a",
                          HasSubstr("lock: the image was built from sha256:1, but the lock is now sha256:"),
                          "ocl-icd-libopencl1: the lock requires 2.3.1-1, but 2.3.2-1 is installed",
                          "libze1: the lock requires 1.32.0+u24.04, but 1.32.0+u24.04.1 is installed",
                          "libigdgmm12: the lock requires 22.7.0, but it is not installed",
                          "host: the lock requires the driver nvidia 580 or newer, but 575.57.08 is loaded"));
}

TEST(StackVerify, ExpectsPackagesOfImageFlavourOnly) {
  StackLock two = lock();
  two.base.flavour = "devel";
  two.other_bases = {two.base};
  two.other_bases.front().flavour = "base";
  two.packages.front().flavour = "devel";
  auto packages = kInstalled;
  packages.erase("ocl-icd-libopencl1");
  auto image = facts("a", "sha256:" + two.digest, "580.65.06");
  image.push_back({"image.flavour", "base", "", "", false});
  EXPECT_THAT(compare_with_lock(two, image, packages).differences, IsEmpty());
  image.back().value = "devel";
  EXPECT_THAT(compare_with_lock(two, image, packages).differences,
              ElementsAre(HasSubstr("ocl-icd-libopencl1")));
}

TEST(StackVerify, ReportsMissingImageAndDriver) {
  const auto drift = compare_with_lock(lock(), {}, kInstalled);
  EXPECT_THAT(drift.differences, ElementsAre(HasSubstr("not loaded")));
  EXPECT_THAT(drift.notes, ElementsAre(HasSubstr("/etc/proctor/stack")));
}

TEST(ImageName, ParsesNameLikeDocker) {
  const auto name = [](const char* image) {
    const ImageName read = parse_image_name(image);
    return read.registry + " " + read.repository + " " + read.tag;
  };
  EXPECT_EQ(name("ubuntu:24.04"), "https://registry-1.docker.io library/ubuntu 24.04");
  EXPECT_EQ(name("nvidia/cuda:13.0.2"), "https://registry-1.docker.io nvidia/cuda 13.0.2");
  EXPECT_EQ(name("docker.io/ubuntu:1"), "https://registry-1.docker.io library/ubuntu 1");
  EXPECT_EQ(name("ghcr.io/a/b:1"), "https://ghcr.io a/b 1");
  EXPECT_EQ(name("127.0.0.1:5000/a:1"), "http://127.0.0.1:5000 a 1");
  EXPECT_EQ(name("localhost/a:1"), "http://localhost a 1");
}

TEST(OfferedPackages, MayHaveSeveralVersions) {
  EXPECT_THAT(offered_packages("Package: a\nVersion: 1\n\nPackage: a\nVersion: 2\n"),
              ElementsAre(Pair("a", ElementsAre("1", "2"))));
}

TEST(OutsideTools, UnpackByFileExtension) {
  const auto tools = OutsideTools::open({}, {});
  if (!tools) GTEST_SKIP() << tools.error().what;
  EXPECT_EQ(*tools->unpack("Packages", "as it is"), "as it is");
  EXPECT_FALSE(tools->unpack("Packages.gz", "not packed"));
  for (const std::string tool : {"gzip", "xz"}) {
    const auto packed = run_outside_program({.argv = {tool, "-c"}, .input = "text"});
    if (!packed) continue;
    const std::string name = tool == "xz" ? "Packages.xz" : "Packages.gz";
    const auto text = tools->unpack(name, packed->output);
    ASSERT_TRUE(text) << text.error().what;
    EXPECT_EQ(*text, "text");
    const auto part = tools->unpack(name, packed->output.substr(0, packed->output.size() - 6));
    EXPECT_FALSE(part) << "half of it is nothing";
  }
}

TEST(OutsideTools, LimitUnpackedSize) {
  const auto tools = OutsideTools::open({.bytes = 1000}, {});
  if (!tools) GTEST_SKIP() << tools.error().what;
  const auto packed = run_outside_program({.argv = {"gzip", "-c"}, .input = std::string(1'000'000, 'x')});
  ASSERT_TRUE(packed) << packed.error().what;
  const auto text = tools->unpack("Packages.gz", packed->output);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().what, "run gzip: it wrote more than 1000 bytes to its stdout and was killed");
}

TEST(WebAnswer, UsesHeadersOfLastResponse) {
  const WebAnswer answer{200,
                         "HTTP/1.1 302 Found\r\nDocker-Content-Digest: one\r\n\r\nHTTP/2 200\r\nX: y\r\n"
                         "docker-content-digest: two \r\n",
                         ""};
  EXPECT_EQ(answer.header("Docker-Content-Digest"), "two");
  EXPECT_EQ(answer.header("Location"), "");
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(LockEdit, ChangesOnlyRequestedValues) {
  const std::string digest = "sha256:" + std::string(64, '1');
  const std::string hash(64, '2');
  const std::string key(40, 'A');
  const auto changed = change_lock(kLock, "a.toml",
                                   {{{"base", ""}, "digest", digest, true},
                                    {{"repository", "ubuntu"}, "key", key, true},
                                    {{"file", "libze1"}, "sha256", hash, true},
                                    {{"file", "libigdgmm12"}, "sha256", hash, false}});
  ASSERT_TRUE(changed) << changed.error().what;
  std::string expected = kLock;
  expected = replaced(expected, "\"ubuntu:24.04\"\nunverified = true",
                      "\"ubuntu:24.04\"\ndigest     = \"" + digest + "\"");
  expected = replaced(expected, "unverified = true  # nobody has asked yet", "key        = \"" + key + "\"");
  expected =
      replaced(expected, "libze1.deb\"\nunverified = true", "libze1.deb\"\nsha256     = \"" + hash + "\"");
  expected = replaced(expected, "\"22.7.0\"\nunverified = true",
                      "\"22.7.0\"\nunverified = true\nsha256     = \"" + hash + "\"");
  EXPECT_EQ(*changed, expected);
}

TEST(LockEdit, RemovesOnlyUnverifiedMark) {
  std::string text =
      replaced(kLock, "unverified = true\n\n[[repository]]",
               "digest     = \"sha256:" + std::string(64, '1') + "\"\nunverified = true\n\n[[repository]]");
  const auto changed = change_lock(text, "a.toml", {{{"base", ""}, "", "", true}});
  ASSERT_TRUE(changed) << changed.error().what;
  EXPECT_EQ(*changed, replaced(text, "\"\nunverified = true\n\n[[repository]]", "\"\n\n[[repository]]"));
}

TEST(LockEdit, ChangesOneOfSeveralFlavours) {
  const std::string digest = "sha256:" + std::string(64, '1');
  const std::string base = "image      = \"ubuntu:24.04\"\n";
  const std::string text = replaced(kLock, "[base]\n" + base + "unverified = true\n",
                                    "[[base]]\nflavour    = \"devel\"\n" + base +
                                        "unverified = true\n\n[[base]]\nflavour    = "
                                        "\"base\"\n" +
                                        base + "unverified = true\n");
  const auto changed = change_lock(text, "a.toml", {{{"base", "base"}, "digest", digest, true}});
  ASSERT_TRUE(changed) << changed.error().what;
  EXPECT_EQ(*changed, replaced(text, "\"base\"\n" + base + "unverified = true",
                               "\"base\"\n" + base + "digest     = \"" + digest + "\""));
}

TEST(LockEdit, RejectsEditThatInvalidatesLock) {
  EXPECT_FALSE(change_lock(kLock, "a.toml", {{{"base", ""}, "digest", "sha256:short", true}}));
  EXPECT_FALSE(change_lock(kLock, "a.toml", {{{"file", "nothing"}, "sha256", std::string(64, '1'), true}}));
  EXPECT_FALSE(change_lock(kLock, "a.toml", {{{"file", "libze1"}, "url", "https://example.org/other", true}}))
      << "what is there is not overwritten";
}

}  // namespace
}  // namespace proctor
