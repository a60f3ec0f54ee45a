// What a gate asks of a file of `proctor plan`: which cases there are, and its digest.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/base/result.h"

namespace proctor {

struct GatePlan {
  std::string file{};         // as the policy names it
  std::string digest{};       // over ids, commands and limits: RunPlanned::shard has it
  std::string plan_digest{};  // over ids and filters
  std::string size{};         // of its checks: "smoke", "ci"; "": it says none
  std::string seed{};         // of the points that they are tried with; "": the usual one
  std::map<std::pair<std::string, std::string>, std::vector<std::string>>
      cases{};  // suite, backend -> sorted ids
};

// `file` is for messages. What is no plan, was changed after it was made, or tries each check with one point alone, is a
// usage error.
Result<GatePlan> parse_gate_plan(std::string_view text, const std::string& file);

}  // namespace proctor
