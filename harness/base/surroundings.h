// What this process runs in: the job of a CI service, the job of a batch system, a container.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace proctor {

// GITHUB_ACTIONS=true, which GitHub sets for every step.
bool in_github_actions();

// CI is set, as by GitHub, GitLab and most others, and is neither "false" nor "0".
bool in_ci();

// ---- The Slurm job ----
// It is read from the variables that slurmd sets: srun(1) and sbatch(1), OUTPUT ENVIRONMENT VARIABLES.
//
// The id is SLURM_JOB_ID, which each task of an array has for itself. The id of the array,
// SLURM_ARRAY_JOB_ID, is the job id of its last task as well, so that it names no task.

struct SlurmJob {
  std::string id;
  std::string cluster{};  // SLURM_CLUSTER_NAME; "": not said
  std::string node{};     // SLURMD_NODENAME; "": slurmd did not start this process (the shell of salloc)

  friend bool operator==(const SlurmJob&, const SlurmJob&) = default;
};

// Whether it has the form of SLURM_JOB_ID: digits, at most ten.
bool is_slurm_job_id(std::string_view text);

// None outside of a job, and where SLURM_JOB_ID is no job id.
std::optional<SlurmJob> slurm_job_of(const std::map<std::string, std::string>& environment);
// The job of this process.
std::optional<SlurmJob> own_slurm_job();

// Over how many nodes the tasks are that were started together: of the step, else of the job. 1 where that is not said.
int slurm_nodes(const std::map<std::string, std::string>& environment);

// What Slurm calls this node: SLURMD_NODENAME, which slurmd also gives to its epilog and to its HealthCheckProgram, both
// in no job. In a job that does not say it, the short host name. "" outside of Slurm.
std::string own_slurm_node();

// scontrol(1) as a list of words: no more jobs are started on the node.
std::vector<std::string> slurm_drain_command(const std::string& node, const std::string& reason);

// ---- The container ----
// The program that starts a container sets this variable, because Proctor inside cannot detect it. The files of a stack
// set it (harness/stack/render_stack.cc).

// "host" = /run/lock is the host's, so that leases in it exclude the host and other containers.
inline constexpr const char* kLeasesVariable = "PROCTOR_LEASES";
inline constexpr const char* kLeasesOfHost = "host";

}  // namespace proctor
