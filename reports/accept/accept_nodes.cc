#include "reports/accept/accept_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "harness/base/json.h"
#include "reports/accept/judge_acceptance.h"

namespace proctor {
namespace {

void add_device(const AcceptedDevice& device, bool simulated, AcceptedNode& node) {
  if (device.verdict > node.verdict) {
    node.verdict = device.verdict;
    node.reason = fmt::format("{}: {}", device.id, device.reason());
  }
  for (const AcceptFigure& figure : device.figures) {
    if (simulated || !is_of_device_alone(figure.name)) continue;
    node.figures.push_back(figure);
    node.models.push_back(device.model);
  }
}

}  // namespace

Result<AcceptedNode> read_accepted_node(const std::string& name, std::string_view json) {
  const auto refuse = [&](const std::string& why) {
    return Error{ErrorKind::kSystem, fmt::format("read the verdict of node {}: it {}", name, why), {}, 0};
  };
  const auto report = parse_accept_report(json);
  if (!report) return refuse(report.error().what);
  // A simulated speed must not be compared with one of hardware.
  if (const auto document = parse_json(json);
      !document.contains("simulated") || !document["simulated"].is_boolean())
    return refuse("does not state whether it is simulated");
  AcceptedNode node{.name = name, .devices = static_cast<int>(report->devices.size())};
  if (report->devices.empty()) {
    node.reason = "it has no device";
  } else {
    node.verdict = RunVerdict::kPassed;
  }
  for (const AcceptedDevice& device : report->devices) add_device(device, report->simulated, node);
  if (report->verdict <= node.verdict) return node;
  // The machine did not pass although each of its devices did.
  return AcceptedNode{.name = name,
                      .verdict = report->verdict,
                      .reason = report->gaps.empty() ? "its run was cut short" : report->gaps.front(),
                      .devices = node.devices};
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
      if (!figure.low || node.verdict == RunVerdict::kFailed) continue;
      node.verdict = RunVerdict::kFailed;
      node.reason = fmt::format("{} is {:.4g} {}, and {:.4g} on the best node", figure.name, figure.value,
                                figure.unit, *figure.best);
    }
  }
}

std::string exclude_option(const std::vector<AcceptedNode>& nodes) {
  std::string names;
  for (const AcceptedNode& node : nodes) {
    if (node.verdict != RunVerdict::kPassed) names += (names.empty() ? "" : ",") + node.name;
  }
  return names.empty() ? "" : "--exclude=" + names;
}

}  // namespace proctor
