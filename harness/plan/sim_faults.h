// Checks the faults of a simulated run (PROCTOR_SIM_FAULTS) before anything starts: a typo, or a fault that
// nothing could fire, would test nothing and look green.
#pragma once

#include <string_view>

#include "fixtures/simgpu/spec/topology.h"
#include "harness/base/result.h"

namespace proctor {

// `topology` is that of the run's simgpu devices, or null if the run has none. Errors are usage errors with
// the near miss: unknown names and keys, bad values, a fault or a filter that no device of the run can match.
Result<void> check_sim_faults(std::string_view faults, const simgpu::Topology* topology);

}  // namespace proctor
