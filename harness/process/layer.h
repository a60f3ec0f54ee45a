// The layers of containment (containment.h says what each guarantees), and the result of probing one.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace proctor {

enum class Layer { kCgroupPidns, kCgroup, kPidns, kSubreaper };

inline constexpr Layer kAllLayers[] = {Layer::kCgroupPidns, Layer::kCgroup, Layer::kPidns,
                                       Layer::kSubreaper};  // best first

constexpr bool has_cgroup(Layer layer) { return layer == Layer::kCgroupPidns || layer == Layer::kCgroup; }
constexpr bool has_pid_namespace(Layer layer) {
  return layer == Layer::kCgroupPidns || layer == Layer::kPidns;
}

// What is left of a layer for a case with host_pids.
constexpr Layer without_pid_namespace(Layer layer) {
  return has_cgroup(layer) ? Layer::kCgroup : Layer::kSubreaper;
}

std::string_view to_string(Layer layer);
std::optional<Layer> parse_layer(std::string_view text);

struct LayerProbe {
  Layer layer = Layer::kSubreaper;
  bool works = false;
  std::string why_not;                      // when it does not work: one sentence with the failing step
  std::vector<std::string> not_guaranteed;  // when it works: what it does not guarantee, a sentence each
  std::vector<std::string> how_to_improve;  // what would help, one line each
  std::string signals;                      // what keeps them in the case: "landlock", "seccomp" or ""
  bool fresh_proc = false;                  // /proc inside shows the pids of the PID namespace
  bool user_namespace = false;              // the PID namespace is inside a user namespace
};

}  // namespace proctor
