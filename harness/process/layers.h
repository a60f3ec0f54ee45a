// Probes the containment layers. layers.cc has one table with a row for each layer.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "harness/journal/containment_layer.h"

namespace proctor {

struct ProbedLayer;
struct Recipe;

// The result of probing one layer.
struct LayerProbe {
  Layer layer = Layer::kSubreaper;
  bool works = false;
  std::string why_not;                      // if it does not work: one sentence with the failed step
  std::vector<std::string> not_guaranteed;  // if it works: guarantees that it lacks, one sentence each
  std::vector<std::string> how_to_improve;  // fixes, one line each
  // mechanism that confines signals to the case: "landlock", "seccomp" or ""
  std::string signals;
};

// The result of a trial, with the recipe of the layer.
struct LayerTrial {
  LayerProbe probe;
  std::unique_ptr<Recipe> recipe;  // null if the layer does not work
};

// `known`: the result of an earlier probe, which is not repeated.
LayerTrial try_layer(Layer layer, const std::string& guard, const std::string& run_id,
                     const ProbedLayer* known = nullptr);

// Returns the probe of a layer that does not work.
LayerProbe refused_layer(Layer layer, const std::string& why_not);

}  // namespace proctor
