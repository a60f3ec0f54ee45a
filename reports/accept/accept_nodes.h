// The nodes of an allocation as siblings of each other: what `proctor accept` said of each (accept.json), and which of
// them are slower than the others.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"
#include "reports/accept/accept_report.h"

namespace proctor {

// What is known of one node.
struct AcceptedNode {
  std::string name;
  RunVerdict verdict = RunVerdict::kIncomplete;
  std::string reason{};  // one sentence; "": it passed
  int devices = 0;
  std::vector<AcceptFigure> figures{};  // of all devices
  std::vector<std::string> models{};    // of each figure
};

// An error completes "failed to ...": it is no accept.json.
Result<AcceptedNode> read_accepted_node(const std::string& name, std::string_view json);

// A device that is more than 10 % below the best of its model on any node makes its node fail. Simulated devices have no speed
// of their own and are left out when they are read.
void compare_nodes(std::vector<AcceptedNode>& nodes);

// Of those that did not pass, for srun and sbatch: "--exclude=n1,n4"; "": all are.
std::string exclude_option(const std::vector<AcceptedNode>& nodes);

}  // namespace proctor
