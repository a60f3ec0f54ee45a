// Detects the environment of this process: a job of a CI service, a job of Slurm, a container.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace proctor {

// Returns whether GITHUB_ACTIONS is "true". GitHub sets it for every step.
bool in_github_actions();

// Returns whether CI is set and is neither "false" nor "0". GitHub, GitLab and most other services set it.
bool in_ci();

// ---- The Slurm job ---- These functions read the variables that slurmd sets: srun(1) and sbatch(1), OUTPUT
// ENVIRONMENT VARIABLES.
//
// The id is SLURM_JOB_ID, which is unique for each task of an array. SLURM_ARRAY_JOB_ID is the id of the
// array and also the job id of its last task. It does not identify a task.

// The Slurm job of a process.
struct SlurmJob {
  std::string id;
  std::string cluster{};  // SLURM_CLUSTER_NAME; "": not set
  // SLURMD_NODENAME; "": slurmd did not start this process (for example, the shell of salloc)
  std::string node{};

  friend bool operator==(const SlurmJob&, const SlurmJob&) = default;
};

// Returns whether the text has the form of SLURM_JOB_ID: at most ten digits.
bool is_slurm_job_id(std::string_view text);

// Returns nothing outside of a job, and if SLURM_JOB_ID is not a valid job id.
std::optional<SlurmJob> slurm_job_of(const std::map<std::string, std::string>& environment);
// Returns the job of this process.
std::optional<SlurmJob> own_slurm_job();

// Returns the number of nodes of the tasks that were started together: those of the step, otherwise those of
// the job. Returns 1 if the variables are not set.
int slurm_nodes(const std::map<std::string, std::string>& environment);

// Returns the Slurm name of this node: SLURMD_NODENAME. slurmd also sets it for its epilog and its
// HealthCheckProgram, which do not run in a job. In a job without this variable, the name is the short host
// name. Outside of Slurm it is "".
std::string own_slurm_node();

// Returns the command of scontrol(1), as a list of words, that drains the node: Slurm starts no more jobs on
// it.
std::vector<std::string> slurm_drain_command(const std::string& node, const std::string& reason);

// ---- The container ---- The program that starts a container sets this variable, because Proctor inside
// cannot detect it. The compose files of a stack set it (harness/stack/render_stack.cc).

// Value "host": /run/lock is that of the host. Leases in it exclude the host and other containers.
inline constexpr const char* kLeasesVariable = "PROCTOR_LEASES";
inline constexpr const char* kLeasesOfHost = "host";

}  // namespace proctor
