// The Slurm job that a process belongs to, by the variables that slurmd gives it: srun(1) and sbatch(1), OUTPUT
// ENVIRONMENT VARIABLES.
//
// The id is SLURM_JOB_ID, which each task of an array has for itself. The id of the array, SLURM_ARRAY_JOB_ID, is the
// job id of its last task as well, so that it names no task.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace proctor {

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

}  // namespace proctor
