// Compares the nodes of a Slurm allocation by the accept.json that `proctor accept` wrote on each of them, and finds
// the nodes that are slower than the others.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"
#include "reports/accept/accept_report.h"

namespace proctor {

// The acceptance of one node.
struct AcceptedNode {
  std::string name;
  RunVerdict verdict = RunVerdict::kIncomplete;
  std::string reason{};  // one sentence; "" if the node passed
  int devices = 0;
  std::vector<AcceptFigure> figures{};  // the figures of all devices
  std::vector<std::string> models{};    // the device model of each figure
};

// Reads the text of an accept.json. An error completes "failed to ...": the text is not a valid accept.json.
Result<AcceptedNode> read_accepted_node(const std::string& name, std::string_view json);

// Fails each node with a device that is more than 10 % below the best device of its model on any node. The speed of a
// simulated device depends on its host, so read_accepted_node() ignores it.
void compare_nodes(std::vector<AcceptedNode>& nodes);

// Returns the option of srun and sbatch that excludes the nodes that did not pass: "--exclude=n1,n4"; "" if all passed.
std::string exclude_option(const std::vector<AcceptedNode>& nodes);

}  // namespace proctor
