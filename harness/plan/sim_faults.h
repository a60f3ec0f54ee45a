// Checks the faults of a simulated run (PROCTOR_SIM_FAULTS) before the run starts. A fault with a typo, or a
// fault that can never fire, would test nothing, and the run would pass.
#pragma once

#include <string_view>

#include "fixtures/simgpu/spec/topology.h"
#include "harness/base/result.h"

namespace proctor {

// Returns a usage error with the near miss for unknown names and keys, for bad values, and for a fault or
// filter that matches no device of the run. `topology` describes the simgpu devices of the run; it is null if
// the run has none.
Result<void> check_sim_faults(std::string_view faults, const simgpu::Topology* topology);

}  // namespace proctor
