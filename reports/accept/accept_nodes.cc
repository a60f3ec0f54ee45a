#include "reports/accept/accept_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "harness/core/json.h"
#include "reports/accept/sibling_speed.h"

namespace proctor {
namespace {

AcceptVerdict verdict_named(const std::string& name) {
  for (const AcceptVerdict verdict : {AcceptVerdict::kAccepted, AcceptVerdict::kRejected}) {
    if (name == to_string(verdict)) return verdict;
  }
  return AcceptVerdict::kIncomplete;
}

void read_device(const nlohmann::json& device, bool simulated, AcceptedNode& node) {
  ++node.devices;
  const AcceptVerdict verdict = verdict_named(device.at("verdict").get<std::string>());
  if (verdict > node.verdict || node.devices == 1) {
    node.verdict = verdict;
    node.reason = verdict == AcceptVerdict::kAccepted
                      ? ""
                      : fmt::format("{}: {}", device.at("id").get<std::string>(),
                                    device.at("reason").get<std::string>());
  }
  for (const auto& figure : device.at("figures")) {
    const auto name = figure.at("name").get<std::string>();
    if (simulated || !is_of_device_alone(name)) continue;
    node.figures.push_back({.name = name,
                            .unit = figure.at("unit").get<std::string>(),
                            .value = figure.at("value").get<double>(),
                            .n = figure.at("n").get<std::int64_t>(),
                            .spread = figure.at("spread").get<double>(),
                            .floor = {},
                            .best = {}});
    node.models.push_back(device.at("model").get<std::string>());
  }
}

// Returns why the machine is not accepted although each of its devices is.
std::string reason_of_machine(const nlohmann::json& document) {
  const auto gaps = document.find("gaps");
  const bool any = gaps != document.end() && gaps->is_array() && !gaps->empty() && gaps->front().is_string();
  return any ? gaps->front().get<std::string>() : "its run was cut short";
}

}  // namespace

Result<AcceptedNode> read_accepted_node(const std::string& name, std::string_view json) {
  try {
    const nlohmann::json document = parse_json(json);
    AcceptedNode node{.name = name};
    const bool simulated = document.at("simulated").get<bool>();
    for (const auto& device : document.at("devices")) read_device(device, simulated, node);
    if (node.devices == 0) node.reason = "it has no device";
    const AcceptVerdict whole = verdict_named(document.at("verdict").get<std::string>());
    if (whole > node.verdict)
      node = {.name = name, .verdict = whole, .reason = reason_of_machine(document), .devices = node.devices};
    return node;
  } catch (const nlohmann::json::exception& error) {
    return Error{
        ErrorKind::kSystem, fmt::format("read the verdict of node {}: {}", name, error.what()), {}, 0};
  }
}

void compare_nodes(std::vector<AcceptedNode>& nodes) {
  std::map<std::pair<std::string, std::string>, double> best;
  for (const AcceptedNode& node : nodes) {
    for (std::size_t i = 0; i < node.figures.size(); ++i) {
      double& most = best[{node.models[i], node.figures[i].name}];
      most = std::max(most, node.figures[i].value);
    }
  }
  for (AcceptedNode& node : nodes) {
    for (std::size_t i = 0; i < node.figures.size(); ++i) {
      AcceptFigure& figure = node.figures[i];
      figure.best = best[{node.models[i], figure.name}];
      figure.low = is_far_below(figure, *figure.best);
      if (!figure.low || node.verdict == AcceptVerdict::kRejected) continue;
      node.verdict = AcceptVerdict::kRejected;
      node.reason = fmt::format("{} is {:.4g} {}, and {:.4g} on the best node", figure.name, figure.value,
                                figure.unit, *figure.best);
    }
  }
}

std::string exclude_option(const std::vector<AcceptedNode>& nodes) {
  std::string names;
  for (const AcceptedNode& node : nodes) {
    if (node.verdict != AcceptVerdict::kAccepted) names += (names.empty() ? "" : ",") + node.name;
  }
  return names.empty() ? "" : "--exclude=" + names;
}

}  // namespace proctor
