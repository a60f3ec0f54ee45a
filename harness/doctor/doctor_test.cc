// Doctor on machines made of files: its findings on each must be exactly those
// that testdata/hosts.toml expects.
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

TEST(Doctor, IsRightOnEveryMachine) {
  const toml::table hosts = read_table("hosts.toml");
  const toml::array* array = hosts["host"].as_array();
  ASSERT_NE(array, nullptr);
  ASSERT_GE(array->size(), 20U);
  for (const auto& host : *array) {
    SCOPED_TRACE(host.as_table()->at("name").value_or<std::string>(""));
    examine(*host.as_table());
  }
}

TEST(Doctor, SaysWhichFileOfAnotherMachineIsMissing) {
  const auto table = parse_toml(
      "cards = [\"0000:03:00.0 8086:9a49 i915\"]\npackages = [\"libze1 1\", \"libze-intel-gpu1 26.35\"]",
      "t");
  const SimulatedHost machine(*table);
  std::filesystem::remove(machine.root() + "/dev.list");
  const auto findings = findings_of(machine);
  EXPECT_THAT(to_json(findings), HasSubstr("there is no dev.list"));
  EXPECT_EQ(worst_state(findings), HostState::kWarn);
}

TEST(Doctor, ABadListOfNodesIsRefused) {
  const SimulatedHost machine(*parse_toml("", "t"));
  std::ofstream(machine.root() + "/dev.list") << "crw-rw---- 1 root video /dev/dri/card0\n";
  const auto host = read_host(machine.root(), {}, {});
  ASSERT_FALSE(host);
  EXPECT_THAT(host.error().what, HasSubstr("crw-rw----"));
  EXPECT_THAT(host.error().hint, HasSubstr("find /dev/dri"));
  EXPECT_FALSE(read_host("/nowhere", {}, {}));
}

}  // namespace
}  // namespace proctor
