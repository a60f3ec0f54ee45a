// Records behaviour of NVIDIA's driver that its documents do not specify, as numbers for the report
// (suites/main/check.h).
#pragma once

#include <string>

#include "suites/visibility/cuda/pool.h"

namespace proctor::visibility {

// The number of an error code, "cudaErrorNoDevice" -> 100; -1 if no code has this name.
int code_of(const std::string& name);

void observe_code(const std::string& question, const std::string& name);

// Records the code of the enumeration, and its devices in their order, each as its place in the pool. A device
// outside of the pool is -1: it is hidden from the run and must not be named.
void observe_selection(const std::string& question, const Enumeration& seen, const Pool& pool);

}  // namespace proctor::visibility
