// What our locks render to: the committed files, clean under our own rules, and a check
// of hashes that stops a build.
#include "harness/stack/render_stack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "harness/base/digest.h"
#include "harness/base/read_file.h"
#include "harness/base/temp_dir.h"
#include "harness/stack/lint.h"
#include "harness/testing/child.h"

namespace proctor {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const std::string kDocker = std::string(PROCTOR_SOURCE_DIR) + "/docker";

StackLock ours(const std::string& name) {
  auto lock = read_stack_lock(kDocker + "/stacks", name);
  EXPECT_TRUE(lock) << lock.error().what;
  return lock ? *lock : StackLock{};
}

TEST(RenderedProfile, IsTheCommittedOne) {
  const auto committed = read_file(kDocker + "/" + render_profile().path);
  ASSERT_TRUE(committed) << committed.error().what;
  EXPECT_EQ(*committed, render_profile().text);
}

class OurStack : public testing::TestWithParam<const char*> {};

TEST_P(OurStack, RendersToTheCommittedFiles) {
  for (const auto& file : render_stack(ours(GetParam()))) {
    const auto committed = read_file(kDocker + "/" + file.path);
    ASSERT_TRUE(committed) << committed.error().what;
    EXPECT_EQ(*committed, file.text) << file.path << ": run `proctor stack render`";
  }
}

TEST_P(OurStack, BreaksNoneOfOurRules) {
  for (const auto& flavour : ours(GetParam()).flavours()) {
    for (const auto& finding : lint_dockerfile(render_dockerfile(flavour))) {
      ADD_FAILURE() << flavour.base.flavour << ": " << finding.line << ": " << finding.rule << ": "
                    << finding.what;
    }
  }
}

// Both files give the container no rights, and the profile that the containment layer pidns needs.
TEST_P(OurStack, HasAContainerWithoutRightsAndWithTheProfile) {
  const StackLock lock = ours(GetParam());
  for (const char* option : {"--init\n", "--cap-drop=ALL\n", "--security-opt=no-new-privileges\n",
                             "--security-opt=seccomp=/opt/proctor/share/proctor/seccomp.json\n",
                             "--env=PROCTOR_LEASES=host\n", "--volume=/run/lock:/run/lock\n"})
    EXPECT_THAT(render_job_container(lock), HasSubstr(option));
  for (const char* line :
       {"init: true\n", "cap_drop:\n      - ALL\n", "- no-new-privileges:true\n",
        "- seccomp:../seccomp.json\n", "      - PROCTOR_LEASES=host\n", "- /run/lock:/run/lock\n"})
    EXPECT_THAT(render_compose(lock), HasSubstr(line));
}

TEST_P(OurStack, HasLabelsAndAUser) {
  const StackLock lock = ours(GetParam());
  EXPECT_THAT(render_dockerfile(lock),
              AllOf(HasSubstr("org.opencontainers.image.created=\"" + lock.date + "T00:00:00Z\""),
                    HasSubstr("org.opencontainers.image.revision=\"sha256:" + lock.digest + "\""),
                    HasSubstr("dev.proctor.stack.lock=\"sha256:" + lock.digest + "\""),
                    testing::EndsWith("\nUSER 10001:10001\n")));
}

// buildah 1.28 and BuildKit without a frontend image: INSTRUCTIONS only, no syntax line, no heredoc.
TEST_P(OurStack, NeedsNothingThatOnlyNewerBuildersHave) {
  const std::string text = render_dockerfile(ours(GetParam()));
  for (const char* newer : {"syntax=", "<<", "--checksum", "--link", "--network"}) {
    EXPECT_THAT(text, Not(HasSubstr(newer)));
  }
}

// What nobody could verify says so; but nothing is left for who builds it to find out.
TEST_P(OurStack, NeedsNoArgumentAndSaysWhereItsValuesAreFrom) {
  const StackLock lock = ours(GetParam());
  EXPECT_THAT(lock.unknown(), IsEmpty());
  EXPECT_THAT(render_dockerfile(lock), Not(HasSubstr("--build-arg")));
  EXPECT_NE(lock.base.source, "");
  for (const auto& file : lock.files) EXPECT_NE(file.source, "") << file.name;
}

TEST(RenderedDockerfile, AKeyOfItsOwnIsBelievedForItsRepositoryOnlyAndLeavesNothing) {
  const std::string text = render_dockerfile(ours("xpu-lts"));
  EXPECT_THAT(text, HasSubstr("ADD https://repositories.intel.com/gpu/intel-graphics.key "
                              "/fetched/intel-graphics.asc\n"));
  EXPECT_THAT(text, HasSubstr("install --mode 644 /fetched/intel-graphics.asc "
                              "/etc/apt/trusted.gpg.d/intel-graphics.asc;"));
  EXPECT_THAT(text, HasSubstr("'Signed-By: E0258B57D9C442D5DB1855C271740E4DE392BFE3'"));
  EXPECT_THAT(text, HasSubstr("rm /etc/apt/trusted.gpg.d/intel-graphics.asc;"));
  EXPECT_THAT(text, HasSubstr("rm /etc/apt/apt.conf.d/99-https-without-certificates;"));
  EXPECT_THAT(render_dockerfile(ours("xpu-rolling")), Not(HasSubstr("Verify-Peer")));
}

INSTANTIATE_TEST_SUITE_P(All, OurStack,
                         testing::Values("cpu-sim", "cuda-12", "cuda-13", "xpu-lts", "xpu-rolling"));

TEST(RenderedFiles, OfXpuHaveNodesPathsAndTheGroupOfTheHost) {
  const StackLock lock = ours("xpu-rolling");
  EXPECT_THAT(render_job_container(lock),
              AllOf(HasSubstr("    --device=/dev/dri\n"),
                    HasSubstr("    --volume=/dev/dri/by-path:/dev/dri/by-path:ro\n"),
                    HasSubstr("    --group-add=${{ vars.RENDER_GROUP }}\n"), Not(HasSubstr("gpus"))));
  EXPECT_THAT(render_compose(lock), HasSubstr("name: ${CACHE:-proctor-xpu-rolling-all-${SHARD:-1}}\n"));
}

TEST(RenderedFiles, OfCudaHaveTheGpusAndTheDriverOfTheHost) {
  const StackLock lock = ours("cuda-13");
  EXPECT_THAT(render_job_container(lock), AllOf(HasSubstr("    --gpus=all\n"), Not(HasSubstr("/dev/dri"))));
  EXPECT_THAT(render_compose(lock),
              AllOf(HasSubstr("# The host needs the driver nvidia >= 580"), HasSubstr("- driver: nvidia\n")));
}

TEST(RenderedFiles, OfNoDeviceHaveNoCache) {
  EXPECT_THAT(render_compose(ours("cpu-sim")), Not(HasSubstr("cache")));
}

TEST(RenderedFlavours, EachHasADockerfileAndTheFirstTheShortName) {
  const StackLock lock = ours("cuda-13");
  const auto files = render_stack(lock);
  ASSERT_GE(files.size(), 2U);
  EXPECT_EQ(files[0].path, "cuda-13/Dockerfile");
  EXPECT_THAT(files[0].text, AllOf(HasSubstr("-devel-ubuntu"), HasSubstr("'flavour devel'")));
  EXPECT_EQ(files[1].path, "cuda-13/Dockerfile.base");
  EXPECT_THAT(files[1].text, AllOf(HasSubstr("-runtime-ubuntu"), HasSubstr("'flavour base'")));
}

// Without quotes, YAML reads ON as a truth value.
TEST(RenderedFiles, QuoteNamesInYaml) {
  StackLock lock = ours("cpu-sim");
  lock.environment = {"ON"};
  EXPECT_THAT(render_compose(lock), HasSubstr("\n      - \"ON\"\n"));
}

// Directives count only before any other comment.
TEST(RenderedDockerfile, ATitleIsNoDirective) {
  StackLock lock = ours("cpu-sim");
  lock.title = "syntax=docker.io/evil/frontend:1";
  EXPECT_THAT(render_dockerfile(lock), testing::StartsWith("# Generated by "));
}

TEST(RenderedDockerfile, NamesWhatIsUnverified) {
  StackLock lock;
  lock.base.image = "ubuntu:24.04";
  lock.packages = {{.name = "libze1"}, {.name = "clinfo", .unverified = true}};
  EXPECT_THAT(render_dockerfile(lock), HasSubstr("\n# Not compared with their source: clinfo.\n"));
  lock.base.unverified = true;
  EXPECT_THAT(render_dockerfile(lock), HasSubstr("source: ubuntu:24.04, clinfo.\n"));
  lock.packages.clear();
  lock.base.unverified = false;
  EXPECT_THAT(render_dockerfile(lock), Not(HasSubstr("Not compared")));
}

TEST(RenderedDockerfile, ADigestIsTheDefaultOfTheBase) {
  StackLock lock = ours("cuda-13");
  lock.base.digest = "sha256:" + std::string(64, '1');
  EXPECT_THAT(
      render_dockerfile(lock),
      HasSubstr("ARG BASE_IMAGE=nvidia/cuda:13.0.2-devel-ubuntu24.04@sha256:" + std::string(64, '1')));
}

// The check of the fetch stage, run by a shell over files in a directory of its own.
class FetchCheck : public testing::Test {
 protected:
  FetchCheck() {
    std::ofstream(directory_ / "libze1.deb") << "the package";
    lock_.files = {{"libze1", "1.0-1", "https://example.org/a.deb", sha256_hex("the package")}};
  }

  int exit_code() {
    std::string text = render_dockerfile(lock_);
    text = text.substr(text.find("RUN printf") + 4);
    text = text.substr(0, text.find("\n\n"));
    const std::string fetched = "/fetched";
    for (auto at = text.find(fetched); at != std::string::npos;
         at = text.find(fetched, at + directory_.string().size())) {
      text.replace(at, fetched.size(), directory_.string());
    }
    std::ofstream(directory_ / "check.sh") << text;
    return testing_support::run_child({"sh", (directory_ / "check.sh").string()}).exit_code;
  }

  TempDir directory_;
  StackLock lock_;
};

TEST_F(FetchCheck, PassesTheFileThatWasMeant) { EXPECT_EQ(exit_code(), 0); }

TEST_F(FetchCheck, OneFlippedBitStopsTheBuild) {
  std::ofstream(directory_ / "libze1.deb") << "the packagd";
  EXPECT_NE(exit_code(), 0);
}

TEST_F(FetchCheck, AHashThatNobodyGaveStopsTheBuild) {
  lock_.files.at(0).sha256.reset();
  EXPECT_NE(exit_code(), 0);
}

}  // namespace
}  // namespace proctor
