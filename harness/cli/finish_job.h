// `proctor finish --slurm-job ID`: what the epilog of Slurm runs on each node of a job, as root, when the job is over.
#pragma once

#include <string>

#include "harness/cli/end_run.h"

namespace proctor::cli {

// Ends what is left on this node of all runs of the job, and writes their reports. Root ends its own runs itself, and
// starts this program as each other user who has any: nothing that a user wrote is believed with root's rights.
// `as_user`: "UID:GID" of such a user, which this process becomes first; "": it stays who it is.
//
// Returns 0, also where there is no such run; 75 if a process is left, so that Slurm drains the node; 2 for an id that
// cannot be one. What a user's own files make impossible is said and changes no code: no user can drain a node by it.
int finish_slurm_job(const std::string& id, const std::string& as_user, const Limit& limit);

}  // namespace proctor::cli
