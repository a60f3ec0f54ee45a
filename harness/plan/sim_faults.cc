#include "harness/plan/sim_faults.h"

#include <fmt/format.h>

#include <algorithm>

#include "fixtures/simgpu/spec/faults.h"

namespace proctor {
namespace {

Error refused(std::string_view faults, const std::string& why, std::string hint = {}) {
  return Error::usage(fmt::format("read PROCTOR_SIM_FAULTS '{}': {}", faults, why), std::move(hint));
}

bool has_backend_of(const simgpu::FaultInfo& fault, const simgpu::Topology& topology) {
  return (!topology.xpu.empty() && simgpu::applies_to(fault, "xpu")) ||
         (topology.cuda_cards() > 0 && simgpu::applies_to(fault, "cuda"));
}

}  // namespace

Result<void> check_sim_faults(std::string_view faults, const simgpu::Topology* topology) {
  const auto specs = simgpu::parse_faults(faults);
  if (!specs) return specs.error();
  if (specs->empty()) return {};
  if (topology == nullptr) {
    return refused(faults, "nothing in this run is simulated by simgpu",
                   "Add --sim xpu:2x2, or unset the variable.");
  }
  const int cards = std::max(topology->xpu_cards(), topology->cuda_cards());
  for (const simgpu::FaultSpec& spec : *specs) {
    if (!has_backend_of(*spec.fault, *topology)) {
      return refused(faults,
                     fmt::format("no device of --sim '{}' can have {}", topology->name, spec.fault->name));
    }
    if (spec.dev && *spec.dev >= cards) {
      return refused(faults, fmt::format("dev={}: --sim '{}' has {} cards, numbered from 0", *spec.dev,
                                         topology->name, cards));
    }
    if (spec.tile && *spec.tile >= std::max(1, topology->most_tiles())) {
      return refused(faults, fmt::format("tile={}: no card of --sim '{}' has that many tiles", *spec.tile,
                                         topology->name));
    }
  }
  return {};
}

}  // namespace proctor
