// Reads the parts of a `proctor plan` file that a gate needs: the ids of its cases and its digest.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/base/result.h"

namespace proctor {

// The plan of a cell.
struct GatePlan {
  std::string file{};         // the path in the policy
  std::string digest{};       // over ids, commands and limits, like RunPlanned::shard
  std::string plan_digest{};  // over ids and filters
  std::string size{};         // the size of its checks: "smoke", "ci"; "" if the file has none
  std::string seed{};         // the seed of the checks' points; "": the default
  std::map<std::pair<std::string, std::string>, std::vector<std::string>>
      cases{};  // suite, backend -> sorted ids
};

// Parses a plan. `file` is for messages. A usage error is a file that is not a plan, was changed after it was written,
// or runs each check with only one point.
Result<GatePlan> parse_gate_plan(std::string_view text, const std::string& file);

}  // namespace proctor
