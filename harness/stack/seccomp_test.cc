// What the profile of our containers allows, against what an engine allows by default.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "harness/core/read_file.h"
#include "harness/stack/render.h"

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

TEST(SeccompProfile, OfNamespacesHasWhatTheLayerPidnsNeedsAndNoMore) {
  const auto freely = names(ours(), "SCMP_ACT_ALLOW", false);
  for (const char* name : {"unshare", "setns", "mount", "umount2", "pivot_root", "clone", "clone3", "keyctl",
                           "bpf", "io_uring_setup", "userfaultfd", "perf_event_open"})
    EXPECT_THAT(freely, Not(Contains(name)));
  EXPECT_THAT(names(ours(), "SCMP_ACT_ALLOW", true),
              testing::ElementsAre("clone", "mount", "personality", "socket"));
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
  const std::set<std::string> newer = {"cachestat",        "fchmodat2",   "futex_requeue",
                                       "futex_wait",       "futex_waitv", "futex_wake",
                                       "map_shadow_stack", "mseal",       "set_mempolicy_home_node"};
  const auto more =
      without(without(names(ours(), "SCMP_ACT_ALLOW", false), names(theirs, "SCMP_ACT_ALLOW", false)), newer);
  EXPECT_THAT(more, IsEmpty());
}

}  // namespace
}  // namespace proctor
