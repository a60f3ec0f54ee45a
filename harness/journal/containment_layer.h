// The layers of containment: one table of their names and properties, the best layer first. For each row,
// harness/process/layers.cc has the trial of the layer and the guarantees that it lacks.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace proctor {

enum class Layer { kCgroupPidns, kCgroup, kPidns, kSubreaper };

// The properties of one layer: a row of kLayers.
struct LayerFacts {
  Layer layer;
  std::string_view name;        // on the command line, in the journal and in reports
  Layer reported_as;            // in `containment` of report.json, which has a closed set of values
  bool cgroup;                  // each case has a leaf of cgroup v2
  bool pid_namespace;           // the guard is PID 1
  Layer without_pid_namespace;  // the layer of a case with host_pids
};

inline constexpr auto kLayers = std::to_array<LayerFacts>({
    {Layer::kCgroupPidns, "cgroup+pidns", Layer::kCgroup, true, true, Layer::kCgroup},
    {Layer::kCgroup, "cgroup", Layer::kCgroup, true, false, Layer::kCgroup},
    {Layer::kPidns, "pidns", Layer::kPidns, false, true, Layer::kSubreaper},
    {Layer::kSubreaper, "subreaper", Layer::kSubreaper, false, false, Layer::kSubreaper},
});

constexpr const LayerFacts& facts_of(Layer layer) { return kLayers.at(static_cast<std::size_t>(layer)); }

static_assert(std::ranges::all_of(kLayers,
                                  [](const LayerFacts& row) { return &facts_of(row.layer) == &row; }),
              "the rows are in the order of Layer");
static_assert(std::ranges::all_of(kLayers,
                                  [](const LayerFacts& row) {
                                    return !row.name.empty() &&
                                           std::ranges::count(kLayers, row.name, &LayerFacts::name) == 1;
                                  }),
              "each row has a name of its own");
static_assert(std::ranges::all_of(kLayers,
                                  [](const LayerFacts& row) {
                                    const LayerFacts& less = facts_of(row.without_pid_namespace);
                                    return less.cgroup == row.cgroup && !less.pid_namespace;
                                  }),
              "without its PID namespace a layer is another one of the table");

constexpr bool has_cgroup(Layer layer) { return facts_of(layer).cgroup; }
constexpr bool has_pid_namespace(Layer layer) { return facts_of(layer).pid_namespace; }
constexpr Layer without_pid_namespace(Layer layer) { return facts_of(layer).without_pid_namespace; }
constexpr std::string_view to_string(Layer layer) { return facts_of(layer).name; }

constexpr std::optional<Layer> parse_layer(std::string_view name) {
  const auto found = std::ranges::find(kLayers, name, &LayerFacts::name);
  return found == kLayers.end() ? std::nullopt : std::optional(found->layer);
}

inline constexpr auto kAllLayers = [] {
  std::array<Layer, kLayers.size()> all{};
  std::ranges::transform(kLayers, all.begin(), &LayerFacts::layer);
  return all;
}();

// The names, with the best layer first.
inline std::vector<std::string> layer_names() {
  std::vector<std::string> names;
  for (const LayerFacts& row : kLayers) names.emplace_back(row.name);
  return names;
}

}  // namespace proctor
