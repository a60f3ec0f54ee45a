#include "reports/accept/accept_nodes.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace proctor {
namespace {

std::string json_of(const char* verdict, double speed, bool simulated = false) {
  return fmt::format(
      R"({{"verdict":"{0}","simulated":{2},"devices":[{{"id":"cuda:0","model":"H100","verdict":"{0}","findings":[{{"words":"why"}}],
      "figures":[{{"name":"kernels.saxpy","unit":"GB/s","value":{1},"n":5,"spread":1.0}}]}}]}})",
      verdict, speed, simulated);
}

std::vector<AcceptedNode> nodes_of(const std::vector<std::string>& documents) {
  std::vector<AcceptedNode> nodes;
  for (const std::string& document : documents)
    nodes.push_back(*read_accepted_node(fmt::format("n{}", nodes.size() + 1), document));
  compare_nodes(nodes);
  return nodes;
}

TEST(AcceptNodes, ASlowNodeFailsAndIsExcluded) {
  const auto nodes = nodes_of({json_of("passed", 2700), json_of("passed", 2000), json_of("passed", 2600)});
  EXPECT_EQ(nodes[0].verdict, RunVerdict::kPassed);
  EXPECT_EQ(nodes[1].verdict, RunVerdict::kFailed);
  EXPECT_EQ(nodes[2].verdict, RunVerdict::kPassed);
  EXPECT_EQ(exclude_option(nodes), "--exclude=n2");
}

TEST(AcceptNodes, DeviceVerdictAppliesToNode) {
  const auto nodes =
      nodes_of({json_of("failed", 2700), json_of("incomplete", 2700), json_of("passed", 2700)});
  EXPECT_EQ(nodes[0].reason, "cuda:0: why");
  EXPECT_EQ(nodes[1].verdict, RunVerdict::kIncomplete);
  EXPECT_EQ(exclude_option(nodes), "--exclude=n1,n2");
}

TEST(AcceptNodes, SimulatedNodesAreNotComparedBySpeed) {
  EXPECT_EQ(exclude_option(nodes_of({json_of("passed", 2700, true), json_of("passed", 1, true)})), "");
}

TEST(AcceptNodes, NodeWithoutDevicesIsIncomplete) {
  const auto nodes = nodes_of({R"({"verdict":"passed","simulated":false,"devices":[]})"});
  EXPECT_EQ(nodes[0].verdict, RunVerdict::kIncomplete);
  EXPECT_EQ(nodes[0].reason, "it has no device");
}

TEST(AcceptNodes, ANodeThatDidNotPassAlthoughItsDevicesDidHasTheReasonOfItsMachine) {
  const auto nodes = nodes_of(
      {R"({"verdict":"incomplete","simulated":false,"gaps":["one is too many"],"devices":[{"id":"a","verdict":"passed"}]})"});
  EXPECT_EQ(nodes[0].verdict, RunVerdict::kIncomplete);
  EXPECT_EQ(nodes[0].reason, "one is too many");
}

TEST(AcceptNodes, RejectsDocumentWithoutVerdict) {
  EXPECT_FALSE(read_accepted_node("n1", "{}"));
  EXPECT_FALSE(read_accepted_node("n1", "no json"));
}

TEST(AcceptNodes, RejectsDocumentWithoutSimulatedOrSpeed) {
  const std::string good = json_of("passed", 2700);
  const auto without = [&](const std::string& part) {
    std::string text = good;
    return text.erase(text.find(part), part.size());
  };
  EXPECT_TRUE(read_accepted_node("n1", good));
  EXPECT_FALSE(read_accepted_node("n1", without("\"simulated\":false,")));
  EXPECT_FALSE(read_accepted_node("n1", without("\"value\":2700,")));
}

}  // namespace
}  // namespace proctor
