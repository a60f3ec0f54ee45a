// Our programs for CUDA exist once for each version of its runtime that the build found: memory_cuda for that of the
// toolkit, memory_cuda12 for CUDA 12 beside it. A plan names the first, and the same cases are in both; which one runs is
// decided where the devices are: the one for the runtime that the probe found to work with the driver.
#pragma once

#include <string>
#include <string_view>

#include "harness/plan/plan.h"

namespace proctor {

// 12 for a program that needs libcudart.so.12; 0 for one that needs none, or cannot be read.
int needed_cuda_runtime(const std::string& program);

// `program` or its other version, whichever needs the CUDA Runtime of this number; "" if neither does.
std::string program_for_runtime(const std::string& program, int runtime);

// Gives the cases of our programs in `directory` those for the runtime of this number, where there are any.
void use_cuda_runtime(int runtime, const std::string& directory, Plan& plan);

// `program` or its other version, whichever finds the runtime that it needs here; `program` if neither does.
// `ld_library_path` is that of the process.
std::string startable_cuda_program(const std::string& program, std::string_view ld_library_path);

}  // namespace proctor
