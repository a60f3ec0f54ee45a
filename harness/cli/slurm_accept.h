// `proctor slurm accept`: `proctor accept` on every node of an allocation, and the nodes compared with each other.
#pragma once

#include <string>
#include <vector>

#include "harness/cli/shared_options.h"

namespace proctor::cli {

struct SlurmAcceptRequest {
  std::string out{};  // --out; "": a new directory in proctor-out/
  std::vector<std::string> srun_options{};
};

int slurm_accept(const SlurmAcceptRequest& request, const AfterDashes& after_dashes);

}  // namespace proctor::cli
