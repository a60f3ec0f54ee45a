#include "harness/ranks/rank_plan.h"

#include <algorithm>
#include <utility>

#include "harness/core/child_protocol.h"
#include "harness/core/json.h"
#include "harness/core/regular_file.h"

namespace proctor {
namespace {

using nlohmann::json;

}  // namespace

// Bytes of any kind are in an environment, and JSON has text: they are kept as their numbers.
std::string to_text(const RankPlan& plan) {
  json document = {{"argv", plan.argv},
                   {"rendezvous", plan.rendezvous},
                   {"events", plan.events},
                   {"grace_ms", plan.grace.count()},
                   {"ranks", json::array()}};
  for (const RankSpec& rank : plan.ranks) document["ranks"].push_back({{"env", rank.env}, {"log", rank.log}});
  const auto bytes = json::to_cbor(document);
  return {bytes.begin(), bytes.end()};
}

Result<void> write_rank_plan(const RankPlan& plan, const std::string& path) {
  return write_new_file(path, to_text(plan));
}

std::vector<std::string> supervisor_command(const std::string& program, const std::string& path) {
  return {program, "launch-ranks", path};
}

Result<RankPlan> parse_rank_plan(std::string_view text) {
  const json document = json::from_cbor(text, /*strict=*/true, /*allow_exceptions=*/false);
  try {
    RankPlan plan;
    plan.argv = document.at("argv").get<std::vector<std::string>>();
    plan.rendezvous = document.at("rendezvous");
    plan.events = document.at("events");
    plan.grace = Milliseconds(document.at("grace_ms").get<std::int64_t>());
    for (const json& rank : document.at("ranks"))
      plan.ranks.push_back({.env = rank.at("env"), .log = rank.at("log")});
    if (!plan.argv.empty() && !plan.ranks.empty()) return plan;
  } catch (const json::exception&) {
    // Said below.
  }
  return Error::usage("read the plan of the ranks: it is none");
}

std::vector<std::string> rank_environment(std::vector<std::string> env, int rank, int world, int port,
                                          const std::string& rendezvous) {
  const std::pair<const char*, std::string> variables[] = {
      {child::kRankVariable, std::to_string(rank)},
      {child::kWorldSizeVariable, std::to_string(world)},
      {child::kLocalRankVariable, std::to_string(rank)},
      {child::kLocalWorldSizeVariable, std::to_string(world)},
      {child::kMasterAddressVariable, "127.0.0.1"},
      {child::kMasterPortVariable, std::to_string(port)},
      {child::kRendezvousVariable, rendezvous},
  };
  for (const auto& [name, value] : variables) {
    const std::string prefix = std::string(name) + "=";
    std::erase_if(env, [&](const std::string& entry) { return entry.starts_with(prefix); });
    env.push_back(prefix + value);
  }
  return env;
}

}  // namespace proctor
