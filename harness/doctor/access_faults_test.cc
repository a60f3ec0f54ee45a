// Which part of the way to its devices a container lost. How the kernel answers is for harness/e2e/container_contract.py.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/doctor/examine_host.h"

namespace proctor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Node open_node(const std::string& path) { return {path, 0666, 0, 0, true, false}; }
Node closed_node(const std::string& path) { return {path, 0666, 0, 0, false, true}; }

// A container with both vendors' cards, two of NVIDIA's.
Host container() {
  Host host;
  host.container = true;
  host.nodes_known = true;
  host.caller = Caller{.uid = 0, .name = "root", .gids = {0}};
  host.cards = {{"0000:65:00.0", "10de:2330", "nvidia", "", 0U, ""},
                {"0000:66:00.0", "10de:2330", "nvidia", "", 1U, ""},
                {"0000:03:00.0", "8086:e20b", "xe", "", {}, "renderD128"}};
  for (const char* name : {"nvidiactl", "nvidia-uvm", "nvidia0", "nvidia1", "dri/renderD128"})
    host.nodes.push_back(open_node(std::string("/dev/") + name));
  return host;
}

void close_nodes(Host& host, std::string_view prefix) {
  for (Node& node : host.nodes) {
    if (node.path.starts_with(prefix)) node = closed_node(node.path);
  }
}

std::vector<std::string> checks_of(const HostFindings& findings) {
  std::vector<std::string> checks;
  for (const HostFinding& finding : findings)
    checks.push_back(fmt::format("{} {}", to_string(finding.state), finding.check));
  return checks;
}

TEST(AccessFaults, ThereAreNoneWhereAllNodesOpen) {
  EXPECT_THAT(find_access_faults(container(), Backend::kCuda), ElementsAre());
  EXPECT_THAT(find_access_faults(container(), Backend::kXpu), ElementsAre());
  EXPECT_THAT(find_access_faults(Host(), Backend::kCuda), ElementsAre());
}

TEST(AccessFaults, NodesThatTheCgroupForbidsAreNamedWithTheRepair) {
  Host host = container();
  close_nodes(host, "/dev/nvidia");
  const HostFindings found = find_access_faults(host, Backend::kCuda);
  ASSERT_THAT(checks_of(found), ElementsAre("broken device-rules"));
  const std::string text = to_sentence(found.front());
  EXPECT_THAT(text, HasSubstr("systemctl daemon-reload"));
  EXPECT_THAT(text, HasSubstr("docker update"));
  EXPECT_THAT(text, HasSubstr("/dev/nvidiactl, /dev/nvidia-uvm, /dev/nvidia0, /dev/nvidia1"));
  EXPECT_THAT(text, HasSubstr("to fix it: recreate the container with --device nvidia.com/gpu=all"));
  EXPECT_THAT(find_access_faults(host, Backend::kXpu), ElementsAre());
}

TEST(AccessFaults, ARenderNodeIsTheOtherVendors) {
  Host host = container();
  close_nodes(host, "/dev/dri/");
  const HostFindings found = find_access_faults(host, Backend::kXpu);
  ASSERT_THAT(checks_of(found), ElementsAre("broken device-rules"));
  EXPECT_THAT(found.front().fix, HasSubstr("--device /dev/dri"));
  EXPECT_THAT(find_access_faults(host, Backend::kCuda), ElementsAre());
}

TEST(AccessFaults, OneCardOfSeveralMayBeClosedOnPurpose) {
  Host host = container();
  close_nodes(host, "/dev/nvidia1");
  EXPECT_THAT(checks_of(find_access_faults(host, Backend::kCuda)), ElementsAre("warn device-rules"));
}

TEST(AccessFaults, ModesAreNoRulesAndHaveTheirOwnRepair) {
  Host host = container();
  for (Node& node : host.nodes) node.openable = false;
  EXPECT_THAT(find_access_faults(host, Backend::kCuda), ElementsAre());
  close_nodes(host, "/dev/");
  for (const HostFinding& finding : examine_host(host, {}, {}, "2026-11-21"))
    EXPECT_NE(finding.check, "permissions") << finding.what;
}

TEST(AccessFaults, OutsideOfAContainerTheUnitIsMended) {
  Host host = container();
  host.container = false;
  close_nodes(host, "/dev/nvidiactl");
  EXPECT_THAT(find_access_faults(host, Backend::kCuda).front().fix,
              HasSubstr("DeviceAllow=/dev/nvidiactl rw"));
}

}  // namespace
}  // namespace proctor
