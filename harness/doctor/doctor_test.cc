// Tests doctor on simulated machines. Its findings must be exactly those of testdata/hosts.toml.
//
// Also tests which device access a container has lost. harness/e2e/container_contract.py tests the kernel's side.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "harness/base/named_file.h"
#include "harness/base/toml_reader.h"
#include "harness/doctor/examine_host.h"
#include "harness/doctor/simulated_host.h"

namespace proctor {
namespace {

using testing::ElementsAreArray;
using testing::HasSubstr;

constexpr const char* kToday = "2026-11-21";

toml::table read_table(const std::string& name) {
  const std::string path = std::string(PROCTOR_SOURCE_DIR) + "/harness/doctor/testdata/" + name;
  const auto text = read_found_file(path);
  auto table = text ? parse_toml(*text, path) : text.error();
  if (!table) ADD_FAILURE() << table.error().what;
  return table ? *std::move(table) : toml::table();
}

std::vector<std::string> strings(const toml::table& table, const char* key) {
  std::vector<std::string> words;
  const toml::array* array = table[key].as_array();
  for (std::size_t i = 0; array != nullptr && i < array->size(); ++i)
    words.push_back(*(*array)[i].value<std::string>());
  return words;
}

HostFindings findings_of(const SimulatedHost& machine) {
  const auto host = read_host(machine.root(), {}, {});
  if (!host) ADD_FAILURE() << host.error().what;
  return host ? examine_host(*host, embedded_host_minima(), known_bad_rules(), kToday) : HostFindings();
}

void examine(const toml::table& table) {
  const SimulatedHost machine(table);
  std::vector<std::string> found;
  std::string words;
  std::string fixes;
  for (const auto& finding : findings_of(machine)) {
    words += finding.what + "\n";
    fixes += finding.fix + "\n";
    EXPECT_EQ(finding.state == HostState::kOk, finding.fix.empty())
        << finding.check << " says how to mend it, or it is ok";
    if (finding.state != HostState::kOk)
      found.push_back(std::string(to_string(finding.state)) + " " + finding.check);
  }
  EXPECT_THAT(found, ElementsAreArray(strings(table, "expect"))) << words;
  for (const auto& text : strings(table, "says")) EXPECT_THAT(words, HasSubstr(text));
  for (const auto& text : strings(table, "mend")) EXPECT_THAT(fixes, HasSubstr(text));
}

TEST(Doctor, FindsFaultsOfEverySimulatedHost) {
  const toml::table hosts = read_table("hosts.toml");
  const toml::array* array = hosts["host"].as_array();
  ASSERT_NE(array, nullptr);
  ASSERT_GE(array->size(), 20U);
  for (const auto& host : *array) {
    SCOPED_TRACE(host.as_table()->at("name").value_or<std::string>(""));
    examine(*host.as_table());
  }
}

TEST(Doctor, ReportsMissingDeviceListOfCapturedHost) {
  const auto table = parse_toml(
      "cards = [\"0000:03:00.0 8086:9a49 i915\"]\npackages = [\"libze1 1\", \"libze-intel-gpu1 26.35\"]",
      "t");
  const SimulatedHost machine(*table);
  std::filesystem::remove(machine.root() + "/dev.list");
  const auto findings = findings_of(machine);
  EXPECT_THAT(to_json(findings), HasSubstr("there is no dev.list"));
  EXPECT_EQ(worst_state(findings), HostState::kWarn);
}

TEST(Doctor, RejectsInvalidDeviceList) {
  const SimulatedHost machine(*parse_toml("", "t"));
  std::ofstream(machine.root() + "/dev.list") << "crw-rw---- 1 root video /dev/dri/card0\n";
  const auto host = read_host(machine.root(), {}, {});
  ASSERT_FALSE(host);
  EXPECT_THAT(host.error().what, HasSubstr("crw-rw----"));
  EXPECT_THAT(host.error().hint, HasSubstr("find /dev/dri"));
  EXPECT_FALSE(read_host("/nowhere", {}, {}));
}

using testing::ElementsAre;

Node open_node(const std::string& path) { return {path, 0666, 0, 0, true, false}; }
Node closed_node(const std::string& path) { return {path, 0666, 0, 0, false, true}; }

// A container with cards of both vendors, two of them from NVIDIA.
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

TEST(AccessFaults, AreEmptyWhenAllNodesOpen) {
  EXPECT_THAT(find_access_faults(container(), Backend::kCuda), ElementsAre());
  EXPECT_THAT(find_access_faults(container(), Backend::kXpu), ElementsAre());
  EXPECT_THAT(find_access_faults(Host(), Backend::kCuda), ElementsAre());
}

TEST(AccessFaults, NameNodesForbiddenByCgroupWithFix) {
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

TEST(AccessFaults, RenderNodeAffectsOnlyXpu) {
  Host host = container();
  close_nodes(host, "/dev/dri/");
  const HostFindings found = find_access_faults(host, Backend::kXpu);
  ASSERT_THAT(checks_of(found), ElementsAre("broken device-rules"));
  EXPECT_THAT(found.front().fix, HasSubstr("--device /dev/dri"));
  EXPECT_THAT(find_access_faults(host, Backend::kCuda), ElementsAre());
}

TEST(AccessFaults, ClosedCardAmongSeveralIsWarning) {
  Host host = container();
  close_nodes(host, "/dev/nvidia1");
  EXPECT_THAT(checks_of(find_access_faults(host, Backend::kCuda)), ElementsAre("warn device-rules"));
}

TEST(AccessFaults, FileModesAndCgroupRulesAreSeparate) {
  Host host = container();
  for (Node& node : host.nodes) node.openable = false;
  EXPECT_THAT(find_access_faults(host, Backend::kCuda), ElementsAre());
  close_nodes(host, "/dev/");
  for (const HostFinding& finding : examine_host(host, {}, {}, "2026-11-21"))
    EXPECT_NE(finding.check, "permissions") << finding.what;
}

TEST(AccessFaults, FixEditsSystemdUnitOutsideContainer) {
  Host host = container();
  host.container = false;
  close_nodes(host, "/dev/nvidiactl");
  EXPECT_THAT(find_access_faults(host, Backend::kCuda).front().fix,
              HasSubstr("DeviceAllow=/dev/nvidiactl rw"));
}

}  // namespace

}  // namespace proctor
