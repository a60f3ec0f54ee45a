// Tests that the shipped locks render to the committed files, that these pass the lint rules, and that a wrong hash
// stops a build.
//
// Also tests which system calls the seccomp profile allows, compared with an engine's default.

#include "harness/stack/render_stack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

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

TEST(RenderedProfile, MatchesCommittedFile) {
  const auto committed = read_file(kDocker + "/" + render_profile().path);
  ASSERT_TRUE(committed) << committed.error().what;
  EXPECT_EQ(*committed, render_profile().text);
}

class ShippedStack : public testing::TestWithParam<const char*> {};

TEST_P(ShippedStack, MatchesCommittedFiles) {
  for (const auto& file : render_stack(ours(GetParam()))) {
    const auto committed = read_file(kDocker + "/" + file.path);
    ASSERT_TRUE(committed) << committed.error().what;
    EXPECT_EQ(*committed, file.text) << file.path << ": run `proctor stack render`";
  }
}

TEST_P(ShippedStack, PassesLintRules) {
  for (const auto& flavour : ours(GetParam()).flavours()) {
    for (const auto& finding : lint_dockerfile(render_dockerfile(flavour))) {
      ADD_FAILURE() << flavour.base.flavour << ": " << finding.line << ": " << finding.rule << ": "
                    << finding.what;
    }
  }
}

// Both files drop all rights and set the seccomp profile that the containment layer pidns needs.
TEST_P(ShippedStack, ContainerDropsRightsAndUsesSeccompProfile) {
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

TEST_P(ShippedStack, DockerfileSetsLabelsAndUser) {
  const StackLock lock = ours(GetParam());
  EXPECT_THAT(render_dockerfile(lock),
              AllOf(HasSubstr("org.opencontainers.image.created=\"" + lock.date + "T00:00:00Z\""),
                    HasSubstr("org.opencontainers.image.revision=\"sha256:" + lock.digest + "\""),
                    HasSubstr("dev.proctor.stack.lock=\"sha256:" + lock.digest + "\""),
                    testing::EndsWith("\nUSER 10001:10001\n")));
}

// Dockerfiles must build with buildah 1.28 and with BuildKit without a frontend image: no syntax line, no heredoc.
TEST_P(ShippedStack, UsesNoNewBuilderFeatures) {
  const std::string text = render_dockerfile(ours(GetParam()));
  for (const char* newer : {"syntax=", "<<", "--checksum", "--link", "--network"}) {
    EXPECT_THAT(text, Not(HasSubstr(newer)));
  }
}

// Unverified entries are marked, but every value is present, so a build needs no argument.
TEST_P(ShippedStack, NeedsNoBuildArgumentAndNamesSources) {
  const StackLock lock = ours(GetParam());
  EXPECT_THAT(lock.unknown(), IsEmpty());
  EXPECT_THAT(render_dockerfile(lock), Not(HasSubstr("--build-arg")));
  EXPECT_NE(lock.base.source, "");
  for (const auto& file : lock.files) EXPECT_NE(file.source, "") << file.name;
}

TEST(RenderedDockerfile, RepositoryKeyIsScopedAndRemoved) {
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

INSTANTIATE_TEST_SUITE_P(All, ShippedStack,
                         testing::Values("cpu-sim", "cuda-12", "cuda-13", "xpu-lts", "xpu-rolling"));

TEST(RenderedFiles, XpuFilesHaveDeviceNodesAndGroup) {
  const StackLock lock = ours("xpu-rolling");
  EXPECT_THAT(render_job_container(lock),
              AllOf(HasSubstr("    --device=/dev/dri\n"),
                    HasSubstr("    --volume=/dev/dri/by-path:/dev/dri/by-path:ro\n"),
                    HasSubstr("    --group-add=${{ vars.RENDER_GROUP }}\n"), Not(HasSubstr("gpus"))));
  EXPECT_THAT(render_compose(lock), HasSubstr("name: ${CACHE:-proctor-xpu-rolling-all-${SHARD:-1}}\n"));
}

TEST(RenderedFiles, CudaFilesHaveGpusAndDriverRequirement) {
  const StackLock lock = ours("cuda-13");
  EXPECT_THAT(render_job_container(lock), AllOf(HasSubstr("    --gpus=all\n"), Not(HasSubstr("/dev/dri"))));
  EXPECT_THAT(render_compose(lock),
              AllOf(HasSubstr("# The host needs the driver nvidia >= 580"), HasSubstr("- driver: nvidia\n")));
}

TEST(RenderedFiles, DevicelessFilesHaveNoCache) {
  EXPECT_THAT(render_compose(ours("cpu-sim")), Not(HasSubstr("cache")));
}

TEST(RenderedFlavours, EachHasDockerfileAndFirstIsDefault) {
  const StackLock lock = ours("cuda-13");
  const auto files = render_stack(lock);
  ASSERT_GE(files.size(), 2U);
  EXPECT_EQ(files[0].path, "cuda-13/Dockerfile");
  EXPECT_THAT(files[0].text, AllOf(HasSubstr("-devel-ubuntu"), HasSubstr("'flavour devel'")));
  EXPECT_EQ(files[1].path, "cuda-13/Dockerfile.base");
  EXPECT_THAT(files[1].text, AllOf(HasSubstr("-runtime-ubuntu"), HasSubstr("'flavour base'")));
}

// YAML reads an unquoted ON as a boolean.
TEST(RenderedFiles, QuoteNamesInYaml) {
  StackLock lock = ours("cpu-sim");
  lock.environment = {"ON"};
  EXPECT_THAT(render_compose(lock), HasSubstr("\n      - \"ON\"\n"));
}

// Directives count only before any other comment.
TEST(RenderedDockerfile, TitleCannotBecomeDirective) {
  StackLock lock = ours("cpu-sim");
  lock.title = "syntax=docker.io/evil/frontend:1";
  EXPECT_THAT(render_dockerfile(lock), testing::StartsWith("# Generated by "));
}

TEST(RenderedDockerfile, NamesUnverifiedSources) {
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

TEST(RenderedDockerfile, DigestIsDefaultOfBaseImage) {
  StackLock lock = ours("cuda-13");
  lock.base.digest = "sha256:" + std::string(64, '1');
  EXPECT_THAT(
      render_dockerfile(lock),
      HasSubstr("ARG BASE_IMAGE=nvidia/cuda:13.0.2-devel-ubuntu24.04@sha256:" + std::string(64, '1')));
}

// Runs the check of the fetch stage in a shell, on files in a temporary directory.
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

TEST_F(FetchCheck, AcceptsFileWithMatchingHash) { EXPECT_EQ(exit_code(), 0); }

TEST_F(FetchCheck, OneFlippedBitStopsTheBuild) {
  std::ofstream(directory_ / "libze1.deb") << "the packagd";
  EXPECT_NE(exit_code(), 0);
}

TEST_F(FetchCheck, MissingHashStopsBuild) {
  lock_.files.at(0).sha256.reset();
  EXPECT_NE(exit_code(), 0);
}

using nlohmann::json;
using testing::Contains;

// Returns the names in the rules with `action`, with or without a condition on arguments.
std::set<std::string> names(const json& profile, const std::string& action, bool conditional) {
  std::set<std::string> all;
  for (const auto& rule : profile.at("syscalls")) {
    if (rule.at("action") != action) continue;
    const bool has_condition = rule.contains("args") && !rule["args"].is_null() && !rule["args"].empty();
    if (has_condition != conditional) continue;
    for (const auto& name : rule.at("names")) all.insert(name);
  }
  return all;
}

std::set<std::string> without(std::set<std::string> some, const std::set<std::string>& others) {
  for (const auto& name : others) some.erase(name);
  return some;
}

const json& ours() {
  static const json kProfile = json::parse(seccomp_profile());
  return kProfile;
}

bool holds(const json& condition, std::uint64_t argument) {
  const auto value = condition.at("value").get<std::uint64_t>();
  const std::string op = condition.at("op");
  if (op == "SCMP_CMP_EQ") return argument == value;
  if (op == "SCMP_CMP_NE") return argument != value;
  if (op == "SCMP_CMP_LT") return argument < value;
  if (op == "SCMP_CMP_GT") return argument > value;
  EXPECT_EQ(op, "SCMP_CMP_MASKED_EQ");
  return (argument & value) == condition.at("valueTwo").get<std::uint64_t>();
}

bool applies(const json& rule, const std::string& name, const std::vector<std::uint64_t>& arguments) {
  const auto named = rule.at("names").get<std::set<std::string>>();
  bool all = named.contains(name);
  for (const auto& condition : rule.value("args", json::array()))
    all = all && holds(condition, arguments.at(condition.at("index")));
  return all;
}

// Returns 0 if the call is allowed, otherwise its errno. All rules that match a call must have the same result, because
// their priority depends on the engine.
int answer_to(const std::string& name, const std::vector<std::uint64_t>& arguments) {
  std::set<int> answers;
  for (const auto& rule : ours().at("syscalls")) {
    if (applies(rule, name, arguments))
      answers.insert(rule.at("action") == "SCMP_ACT_ALLOW" ? 0 : rule.at("errnoRet").get<int>());
  }
  EXPECT_LE(answers.size(), 1U) << name << " " << testing::PrintToString(arguments);
  return answers.empty() ? ours().at("defaultErrnoRet").get<int>() : *answers.begin();
}

constexpr std::uint64_t kAboveTheKernels = std::uint64_t{1}
                                           << 32;  // the kernel reads only the lower half of an int

TEST(SeccompProfile, AllowsOnlyNamespaceCallsOfPidns) {
  const auto freely = names(ours(), "SCMP_ACT_ALLOW", false);
  for (const char* name : {"unshare", "setns", "mount", "umount2", "pivot_root", "clone", "clone3", "keyctl",
                           "bpf", "io_uring_setup", "userfaultfd", "perf_event_open"})
    EXPECT_THAT(freely, Not(Contains(name)));
  EXPECT_THAT(names(ours(), "SCMP_ACT_ALLOW", true),
              testing::ElementsAre("clone", "mount", "personality", "socket"));
}

TEST(SeccompProfile, AllowsOnlySafeSocketFamilies) {
  for (const std::uint64_t family : {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK, AF_PACKET})
    EXPECT_EQ(answer_to("socket", {family, SOCK_DGRAM, 0}), 0) << family;
  EXPECT_EQ(answer_to("socket", {AF_INET, SOCK_RAW, 9}), 0);
  for (const std::uint64_t family : {AF_ALG, AF_VSOCK, AF_XDP}) {
    EXPECT_EQ(answer_to("socket", {family, SOCK_STREAM, 0}), EAFNOSUPPORT) << family;
    EXPECT_EQ(answer_to("socket", {kAboveTheKernels | family, SOCK_STREAM, 0}), EAFNOSUPPORT) << family;
  }
  constexpr std::uint64_t kAuditLog = 9;  // NETLINK_AUDIT
  EXPECT_EQ(answer_to("socket", {AF_NETLINK, SOCK_RAW, kAuditLog}), EINVAL);
}

// 32-bit calls have another way to create sockets (socketcall) and other argument sizes.
TEST(SeccompProfile, HasNoCallsOfOtherArchitectures) {
  for (const auto& architecture : ours().at("archMap"))
    EXPECT_THAT(architecture.at("subArchitectures"), IsEmpty()) << architecture;
  EXPECT_EQ(answer_to("socketcall", {1, 0}), ENOSYS);
}

// The profile can only check flags, because the file system's name is in memory.
TEST(SeccompProfile, AllowsOnlyNeededMountFlags) {
  constexpr std::uint64_t kOfProc = MS_NOSUID | MS_NODEV | MS_NOEXEC;
  EXPECT_EQ(answer_to("mount", {0, 0, 0, kOfProc, 0}), 0);
  EXPECT_EQ(answer_to("mount", {0, 0, 0, MS_REC | MS_SLAVE, 0}), 0);
  for (const std::uint64_t flags : {std::uint64_t{0}, std::uint64_t{MS_BIND},
                                    std::uint64_t{MS_REMOUNT} | kOfProc, std::uint64_t{MS_REC} | MS_SHARED,
                                    std::uint64_t{MS_MOVE}, kOfProc & ~MS_NODEV, kAboveTheKernels | MS_BIND})
    EXPECT_EQ(answer_to("mount", {0, 0, 0, flags, 0}), ENOSYS) << flags;
}

TEST(SeccompProfile, RequiresCapSysNiceForMemoryPolicy) {
  for (const char* name : {"mbind", "get_mempolicy", "set_mempolicy", "set_mempolicy_home_node"})
    EXPECT_EQ(answer_to(name, {}), EPERM) << name;
}

TEST(SeccompProfile, RulesDoNotContradict) {
  const auto freely = names(ours(), "SCMP_ACT_ALLOW", false);
  const auto refused = names(ours(), "SCMP_ACT_ERRNO", false);
  EXPECT_EQ(without(freely, refused), freely);
}

// The distribution's profile is the default of podman and buildah. Calls that it lacks are newer than the file.
TEST(SeccompProfile, AllowsNoMoreThanEngineDefault) {
  const auto text = read_file("/usr/share/containers/seccomp.json");
  if (!text) GTEST_SKIP() << "no engine's profile here: golang-github-containers-common";
  const json theirs = json::parse(*text);
  const std::set<std::string> newer = {"cachestat",   "fchmodat2",  "futex_requeue",    "futex_wait",
                                       "futex_waitv", "futex_wake", "map_shadow_stack", "mseal"};
  const auto more =
      without(without(names(ours(), "SCMP_ACT_ALLOW", false), names(theirs, "SCMP_ACT_ALLOW", false)), newer);
  EXPECT_THAT(more, IsEmpty());
}

}  // namespace

}  // namespace proctor
