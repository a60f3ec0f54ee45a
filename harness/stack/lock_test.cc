// Tests the content of a lock, and the error for each missing or invalid value.
#include "harness/stack/lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/testing/mutations.h"

namespace proctor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kGood = R"(version = 1
title   = "A stack"
backend = "xpu"
[base]
image  = "ubuntu:24.04"
digest = "sha256:1111111111111111111111111111111111111111111111111111111111111111"
[[repository]]
name       = "ubuntu"
url        = "http://snapshot.ubuntu.com/ubuntu/{snapshot}"
snapshot   = "20260901T000000Z"
suites     = ["noble"]
components = ["main"]
key        = "ABCDABCDABCDABCDABCDABCDABCDABCDABCDABCD"
[[package]]
name    = "ocl-icd-libopencl1"
version = "2.3.1-1"
[[file]]
name    = "libze1"
version = "1.32.0+u24.04"
url     = "https://example.org/libze1_1.32.0+u24.04_amd64.deb"
sha256  = "2222222222222222222222222222222222222222222222222222222222222222"
[host]
driver  = "nvidia"
minimum = "580"
source  = "https://docs.nvidia.com/deploy/cuda-compatibility"
[labels]
"org.opencontainers.image.licenses" = "Apache-2.0"
[run]
shm_size    = "8g"
environment = ["ZE_AFFINITY_MASK"]
)";

// Returns kGood with the first occurrence of `from` replaced.
std::string with(const std::string& from, const std::string& to) {
  std::string text = kGood;
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string refusal(const std::string& text) {
  const auto lock = parse_stack_lock(text, "docker/stacks/a.toml");
  return lock ? "accepted" : lock.error().what + " | " + lock.error().hint;
}

TEST(StackLock, ParsesEveryField) {
  const auto lock = parse_stack_lock(kGood, "docker/stacks/a.toml");
  ASSERT_TRUE(lock) << lock.error().what;
  EXPECT_EQ(lock->name, "a");
  EXPECT_EQ(lock->backend, "xpu");
  EXPECT_EQ(lock->base.image, "ubuntu:24.04");
  EXPECT_EQ(lock->repositories.at(0).url_at_snapshot(), "http://snapshot.ubuntu.com/ubuntu/20260901T000000Z");
  EXPECT_EQ(lock->packages.at(0).version, "2.3.1-1");
  EXPECT_EQ(lock->files.at(0).name, "libze1");
  EXPECT_EQ(lock->host->minimum, "580");
  EXPECT_THAT(lock->environment, ElementsAre("ZE_AFFINITY_MASK"));
  EXPECT_EQ(lock->digest.size(), 64U);
  EXPECT_THAT(lock->unknown(), IsEmpty());
}

constexpr const char* kTwoFlavours = R"([[base]]
flavour = "devel"
image   = "nvidia/cuda:13.0.2-devel-ubuntu24.04"
digest  = "sha256:1111111111111111111111111111111111111111111111111111111111111111"
[[base]]
flavour = "base"
image   = "nvidia/cuda:13.0.2-runtime-ubuntu24.04"
digest  = "sha256:3333333333333333333333333333333333333333333333333333333333333333"
)";

std::string two_flavours(const std::string& more = {}) {
  std::string text = with(
      "[base]\nimage  = \"ubuntu:24.04\"\ndigest = \"sha256:" + std::string(64, '1') + "\"\n", kTwoFlavours);
  const std::string version = "version = \"2.3.1-1\"\n";
  return text.replace(text.find(version), version.size(), version + more);
}

TEST(StackLock, EachFlavourHasBaseAndPackages) {
  const auto lock = parse_stack_lock(two_flavours("flavour = \"devel\"\n"), "docker/stacks/a.toml");
  ASSERT_TRUE(lock) << lock.error().what;
  const auto flavours = lock->flavours();
  ASSERT_EQ(flavours.size(), 2U);
  EXPECT_EQ(flavours[0].base.flavour, "devel");
  EXPECT_EQ(flavours[0].packages.size(), 1U);
  EXPECT_EQ(flavours[1].base.image, "nvidia/cuda:13.0.2-runtime-ubuntu24.04");
  EXPECT_THAT(flavours[1].packages, IsEmpty());
  EXPECT_EQ(flavours[1].files.size(), 1U);
}

TEST(StackLock, RejectsMissingDuplicateOrUnknownFlavour) {
  std::string twice = two_flavours();
  twice.replace(twice.find("\"base\""), 6, "\"devel\"");
  EXPECT_THAT(refusal(twice), HasSubstr("each of several [[base]] needs its own `flavour`"));
  std::string none = two_flavours();
  none.erase(none.find("flavour = \"devel\"\n"), 18);
  EXPECT_THAT(refusal(none), HasSubstr("each of several [[base]] needs its own `flavour`"));
  EXPECT_THAT(refusal(with("image  =", "flavour = \"devell\"\nimage  =")), HasSubstr("devel"));
  EXPECT_THAT(refusal(with("version = \"2.3.1-1\"", "version = \"2.3.1-1\"\nflavour = \"devel\"")),
              HasSubstr("`ocl-icd-libopencl1` is for the flavour \"devel\", and no base has it"));
  EXPECT_THAT(
      refusal(
          "base = []\n" +
          with("[base]\nimage  = \"ubuntu:24.04\"\ndigest = \"sha256:" + std::string(64, '1') + "\"\n", "")),
      HasSubstr("`base`"));
}

TEST(StackLock, RejectsUnsafeStackName) {
  for (const char* file : {"a b.toml", "$(x).toml", "x;y.toml", "-x.toml", "X.toml", "a'.toml", "a\n.toml",
                           "a..toml", "a..b.toml", "a.-b.toml", "a-.b.toml", ".toml", ""})
    EXPECT_FALSE(parse_stack_lock(kGood, std::string("docker/stacks/") + file)) << file;
  EXPECT_TRUE(parse_stack_lock(kGood, "docker/stacks/cuda-13.1.toml"));
}

TEST(StackLock, RejectsInvalidDate) {
  for (const char* good : {"2026-11-23", "1999-01-31"})
    EXPECT_EQ(refusal(with("backend", "date = \"" + std::string(good) + "\"\nbackend")), "accepted");
  for (const char* bad :
       {"2026-13-01", "2026-00-01", "2026-1-01", "26-11-23", "2026-11-32", "2026/11/23", ""})
    EXPECT_THAT(refusal(with("backend", "date = \"" + std::string(bad) + "\"\nbackend")),
                HasSubstr("a date such as"))
        << bad;
}

TEST(StackLock, ListsUnverifiedValuesAsUnknown) {
  const auto text =
      with("digest = \"sha256:1111111111111111111111111111111111111111111111111111111111111111\"",
           "unverified = true");
  const auto lock = parse_stack_lock(text, "a.toml");
  ASSERT_TRUE(lock) << lock.error().what;
  EXPECT_THAT(lock->unknown(), ElementsAre("base.digest"));
}

TEST(StackLock, ParsesRepositoryWithoutSnapshot) {
  const auto text = with(
      "url        = \"http://snapshot.ubuntu.com/ubuntu/{snapshot}\"\nsnapshot   = \"20260901T000000Z\"",
      "url = \"https://example.org/gpu\"\nkeeps_versions = true\nkey_url = \"https://example.org/gpu.key\"\n"
      "source = \"the release notes; 2026-11-23\"");
  const auto lock = parse_stack_lock(text, "a.toml");
  ASSERT_TRUE(lock) << lock.error().what;
  const LockedRepository& repository = lock->repositories.at(0);
  EXPECT_EQ(repository.url_at_snapshot(), "https://example.org/gpu");
  EXPECT_EQ(repository.key_url, "https://example.org/gpu.key");
  EXPECT_EQ(repository.source, "the release notes; 2026-11-23");
}

struct Mistake {
  const char* name;
  const char* from;
  const char* to;
  const char* said;
};

void PrintTo(const Mistake& mistake, std::ostream* out) { *out << mistake.name; }

class StackLockMistake : public testing::TestWithParam<Mistake> {};

TEST_P(StackLockMistake, IsRejectedWithReason) {
  EXPECT_THAT(refusal(with(GetParam().from, GetParam().to)), HasSubstr(GetParam().said));
}

constexpr Mistake kMistakes[] = {
    {"BaseWithoutDigest",
     "digest = \"sha256:1111111111111111111111111111111111111111111111111111111111111111\"", "",
     "docker/stacks/a.toml:4: not pinned: the key `digest` is missing | If the value is not known yet, leave "
     "it out and write unverified = true."},
    {"ShortDigest", "sha256:11", "sha256:1", "docker/stacks/a.toml:6: `digest` is \"sha256:1"},
    {"DigestOfAnotherKind", "sha256:11", "sha512:11", "must be sha256: and 64 hex digits"},
    {"LatestImage", "ubuntu:24.04", "ubuntu:latest", "`image` is \"ubuntu:latest\", but must be NAME:TAG"},
    {"ImageWithoutTag", "ubuntu:24.04", "ubuntu", "must be NAME:TAG"},
    {"FileWithoutHash", "sha256  = \"2222222222222222222222222222222222222222222222222222222222222222\"", "",
     "a.toml:17: not pinned: the key `sha256` is missing"},
    {"FileWithoutAddress", "url     = \"https://example.org/libze1_1.32.0+u24.04_amd64.deb\"", "",
     "not pinned: the key `url` is missing"},
    {"HashInUpperCase", "\"22", "\"AA", "`sha256` is \"AA"},
    {"AddressOfAnotherKind", "https://example", "ftp://example",
     "must be an address with http:// or https://"},
    {"AddressThatAShellWouldRead", "example.org/", "example.org/$(id)", "must be an address"},
    {"PackageWithoutVersion", "version = \"2.3.1-1\"", "", "[[package]] needs the key `version`"},
    {"AnyVersion", "\"2.3.1-1\"", "\"*\"", "`version` is \"*\", but must be one exact version"},
    {"VersionPattern", "\"2.3.1-1\"", "\"2.3.*\"", "must be one exact version"},
    {"RepositoryWithoutDate", "{snapshot}", "noble", "not pinned: `url` has no place for the date"},
    {"RepositoryThatHasDatesAndKeepsVersions", "components =", "keeps_versions = true\ncomponents =",
     "`url` has a date, and its versions do not change"},
    {"SnapshotWithoutAPlace", "http://snapshot.ubuntu.com/ubuntu/{snapshot}\"",
     "http://snapshot.ubuntu.com/ubuntu\"\nkeeps_versions = true", "`url` contains no date"},
    {"KeyFileWithoutKey", "key        = \"ABCDABCDABCDABCDABCDABCDABCDABCDABCDABCD\"",
     "unverified = true\nkey_url = \"https://example.org/a.key\"",
     "not pinned: `key_url` without `key`: any key there would be trusted"},
    {"SourceThatAShellWouldRead",
     "components =", "source = \"$(id)\"\ncomponents =", "`source` is \"$(id)\", but must be one line"},
    {"DateOfAnotherKind", "20260901T000000Z", "2026-09-01", "`snapshot` is \"2026-09-01\""},
    {"ShortKey", "ABCDABCDABCDABCDABCDABCDABCDABCDABCDABCD", "ABCDABCD", "`key` is \"ABCDABCD\""},
    {"RepositoryWithoutKey", "key        = \"ABCDABCDABCDABCDABCDABCDABCDABCDABCDABCD\"", "",
     "not pinned: the key `key` is missing"},
    {"MisspelledKey", "shm_size", "shm_sizes", "unknown key `shm_sizes` in [run] | Did you mean `shm_size`?"},
    {"MisspelledTable", "[[package]]", "[[packages]]", "Did you mean `package`?"},
    {"MisspelledBackend", "\"xpu\"", "\"xpus\"", "Did you mean `xpu`?"},
    {"TwiceTheSamePackage", "ocl-icd-libopencl1", "libze1", "`libze1` is in this lock twice"},
    {"LaterFormat", "version = 1", "version = 2", "`version` in the lock is 2"},
    {"LabelThatAShellWouldRead", "Apache-2.0", "$HOME", "label `org.opencontainers.image.licenses`"},
    {"EnvironmentWithAValue", "ZE_AFFINITY_MASK", "A=1", "takes only names of variables"},
    {"FlagAsText", "sha256  =", "unverified = \"yes\"\nsha256 =", "must be true or false"},
};

INSTANTIATE_TEST_SUITE_P(All, StackLockMistake, testing::ValuesIn(kMistakes),
                         [](const auto& mistake) { return std::string(mistake.param.name); });

TEST(StackLock, PackagesNeedARepository) {
  std::string text = kGood;
  text.erase(text.find("[[repository]]"), text.find("[[package]]") - text.find("[[repository]]"));
  EXPECT_THAT(refusal(text), HasSubstr("require a [[repository]]"));
}

TEST(StackLocks, ReadsShippedLocksAndSuggestsNearestName) {
  const std::string directory = std::string(PROCTOR_SOURCE_DIR) + "/docker/stacks";
  const auto names = stack_names(directory);
  ASSERT_TRUE(names);
  EXPECT_THAT(*names, ElementsAre("cpu-sim", "cuda-12", "cuda-13", "xpu-lts", "xpu-rolling"));
  for (const auto& name : *names) {
    const auto lock = read_stack_lock(directory, name);
    EXPECT_TRUE(lock) << lock.error().what;
  }
  const auto unknown = read_stack_lock(directory, "cuda-14");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().kind, ErrorKind::kUsage);
  EXPECT_THAT(unknown.error().hint, HasSubstr("Did you mean `cuda-12`?"));
}

TEST(EmbeddedLocks, MatchLocksOfSourceTree) {
  const std::string directory = std::string(PROCTOR_SOURCE_DIR) + "/docker/stacks";
  const auto names = stack_names(directory);
  ASSERT_TRUE(names);
  ASSERT_EQ(embedded_locks().size(), names->size()) << "harness/stack/CMakeLists.txt and lock.cc name them";
  for (std::size_t i = 0; i < names->size(); ++i) {
    const auto lock = read_stack_lock(directory, (*names)[i]);
    ASSERT_TRUE(lock);
    EXPECT_EQ(embedded_locks()[i].name, lock->name);
    EXPECT_EQ(embedded_locks()[i].digest, lock->digest);
  }
}

TEST(StackLock, EveryMutationParsesOrIsRejected) {
  testing_support::for_each_mutation(kGood, ".[\"\n", [](const std::string& mutant) {
    const auto lock = parse_stack_lock(mutant, "a.toml");
    if (lock) return;
    ASSERT_EQ(lock.error().kind, ErrorKind::kUsage) << lock.error().what;
  });
}

}  // namespace
}  // namespace proctor
