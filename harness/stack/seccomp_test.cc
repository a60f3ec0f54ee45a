// What the profile of our containers allows, against what an engine allows by default.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "harness/base/read_file.h"
#include "harness/stack/render_stack.h"

namespace proctor {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::IsEmpty;
using testing::Not;

// Names that a profile has under `action`: with or without a condition on arguments.
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

// 0: the call may be made; else the error that it ends with. No call may have two answers, since which one counts is
// the engine's affair.
int answer_to(const std::string& name, const std::vector<std::uint64_t>& arguments) {
  std::set<int> answers;
  for (const auto& rule : ours().at("syscalls")) {
    if (applies(rule, name, arguments))
      answers.insert(rule.at("action") == "SCMP_ACT_ALLOW" ? 0 : rule.at("errnoRet").get<int>());
  }
  EXPECT_LE(answers.size(), 1U) << name << " " << testing::PrintToString(arguments);
  return answers.empty() ? ours().at("defaultErrnoRet").get<int>() : *answers.begin();
}

constexpr std::uint64_t kAboveTheKernels = std::uint64_t{1} << 32;  // of an int it reads the lower half

TEST(SeccompProfile, OfNamespacesHasWhatTheLayerPidnsNeedsAndNoMore) {
  const auto freely = names(ours(), "SCMP_ACT_ALLOW", false);
  for (const char* name : {"unshare", "setns", "mount", "umount2", "pivot_root", "clone", "clone3", "keyctl",
                           "bpf", "io_uring_setup", "userfaultfd", "perf_event_open"})
    EXPECT_THAT(freely, Not(Contains(name)));
  EXPECT_THAT(names(ours(), "SCMP_ACT_ALLOW", true),
              testing::ElementsAre("clone", "mount", "personality", "socket"));
}

TEST(SeccompProfile, OfSocketsHasThoseThatCarryNothingOutOfTheContainer) {
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

// A call of 32 bits has other ways to a socket (socketcall), and its words are other ones.
TEST(SeccompProfile, HasNoSecondSetOfCalls) {
  for (const auto& architecture : ours().at("archMap"))
    EXPECT_THAT(architecture.at("subArchitectures"), IsEmpty()) << architecture;
  EXPECT_EQ(answer_to("socketcall", {1, 0}), ENOSYS);
}

// By its flags alone: which file system it is, stands in memory.
TEST(SeccompProfile, OfMountsHasOneSetOfFlagsAndTheEndOfSharing) {
  constexpr std::uint64_t kOfProc = MS_NOSUID | MS_NODEV | MS_NOEXEC;
  EXPECT_EQ(answer_to("mount", {0, 0, 0, kOfProc, 0}), 0);
  EXPECT_EQ(answer_to("mount", {0, 0, 0, MS_REC | MS_SLAVE, 0}), 0);
  for (const std::uint64_t flags : {std::uint64_t{0}, std::uint64_t{MS_BIND},
                                    std::uint64_t{MS_REMOUNT} | kOfProc, std::uint64_t{MS_REC} | MS_SHARED,
                                    std::uint64_t{MS_MOVE}, kOfProc & ~MS_NODEV, kAboveTheKernels | MS_BIND})
    EXPECT_EQ(answer_to("mount", {0, 0, 0, flags, 0}), ENOSYS) << flags;
}

TEST(SeccompProfile, WhereMemoryLiesIsForWhoHoldsCapSysNice) {
  for (const char* name : {"mbind", "get_mempolicy", "set_mempolicy", "set_mempolicy_home_node"})
    EXPECT_EQ(answer_to(name, {}), EPERM) << name;
}

TEST(SeccompProfile, NoRuleSaysTwoThings) {
  const auto freely = names(ours(), "SCMP_ACT_ALLOW", false);
  const auto refused = names(ours(), "SCMP_ACT_ERRNO", false);
  EXPECT_EQ(without(freely, refused), freely);
}

// The distribution's file is the default of podman and buildah. What it does not know is newer than it.
TEST(SeccompProfile, AllowsNothingThatAnEngineRefusesByDefault) {
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
