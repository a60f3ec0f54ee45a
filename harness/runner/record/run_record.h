// The record of a run: what must be swept if its runner is killed. It is written before the first case starts. The next
// run and `proctor finish` read it (dead_runs.h). One copy is in the run directory (run.json). A private copy is in a
// directory of the user, so that the next run finds it: $XDG_RUNTIME_DIR/proctor/runs, else /tmp/proctor-UID/runs, or
// /tmp/proctor-UID.RANDOM/runs if another user owns the former. Tests can write to the first copy, so it is trusted
// only if it equals the private copy.
//
// The runner locks both copies while it lives (process_handle.h). A record is used only if a free lock proves that the
// runner has ended.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"
#include "harness/base/surroundings.h"
#include "harness/base/unique_fd.h"
#include "harness/runner/record/process_handle.h"

namespace proctor {

// A process that the runner could not end: it hangs in the kernel or belongs to another user.
struct LeftProcess {
  int pid = 0;  // in the PID namespace of the runner
  std::uint64_t start_time = 0;

  friend bool operator==(const LeftProcess&, const LeftProcess&) = default;
};

// The content of a record.
struct RunRecord {
  std::string run_id;
  std::string run_dir;  // absolute
  int pid = 0;
  std::uint64_t start_time = 0;  // field 22 of /proc/PID/stat
  // The process that started the runner, in the same PID namespace; 0: it is outside of the namespace, or the run
  // should outlive it.
  int parent_pid = 0;
  std::string host;  // host name, or the name of the container
  std::string boot_id;
  std::string pid_namespace;         // readlink of /proc/self/ns/pid
  std::string time_namespace{};      // readlink of /proc/self/ns/time; start times are valid in it only
  std::string cgroup;                // directory of the run's cgroup, or ""
  std::vector<std::string> scratch;  // scratch directories of the run
  std::vector<LeftProcess> left{};
  std::optional<SlurmJob> slurm{};     // the Slurm job of the run
  std::vector<LockIdentity> locked{};  // identities of both copies
};

// Returns whether `text` has the form of new_run_id() (run_directory.h). The id becomes part of paths, and selects the
// processes to kill.
bool is_run_id(std::string_view text);

std::string host_name();
std::string boot_id();

// Returns whether the pids and start times of the record are valid for this process.
bool has_our_pids(const RunRecord& record);
// Returns whether both the boot id and the host name differ from this machine. For messages only, because it is not a
// proof.
bool is_of_another_machine(const RunRecord& record);

// Describes this process.
RunRecord describe_this_run(std::string run_id, std::string run_dir, std::string cgroup,
                            std::vector<std::string> scratch);

std::string to_json(const RunRecord& record);
Result<RunRecord> parse_run_record(const std::string& text);

// Returns the copy in a run directory, or nothing if the run ended by itself. A reader of the record kills processes
// that it names, so an untrusted record is refused. It must be a file of this user or of root and have the form of a
// record. If it was written on this machine since its boot, it must also name its directory and equal its private copy.
Result<std::optional<RunRecord>> read_run_record(const std::string& run_dir);
// Returns whether the record equals its private copy.
bool is_confirmed(const RunRecord& record);
// Removes both copies of a run that was swept.
void remove_run_record(const RunRecord& record);

// Returns the directory of the private copies, created with mode 0700. Returns an error if it belongs to another user.
Result<std::string> run_record_directory();
// Returns the records of this user's runs in a Slurm job, from the private copies. The id must be equal. Cluster and
// node must be equal too if both sides have them.
std::vector<RunRecord> run_records_of(const SlurmJob& job);
// Returns the other users who may have records here, by the owners of their directories. For root, which must not trust
// the content.
struct RecordOwner {
  uid_t uid = 0;
  gid_t gid = 0;
};
std::vector<RecordOwner> others_with_run_records();
// A private copy. A test of the same user may have replaced it.
struct PrivateRecord {
  RunRecord record;
  RunnerStatus runner;
};
Result<PrivateRecord> read_private_record(const std::string& path);

// Returns all directories in which runs of this user may have private copies, and in which no other user can write.
std::vector<std::string> run_record_directories();

// Holds and locks both copies during the run. The destructor removes them, because nothing must be swept then. After
// keep() they stay.
class RunRecordFiles {
 public:
  static Result<RunRecordFiles> write(const RunRecord& record);
  ~RunRecordFiles();
  RunRecordFiles(RunRecordFiles&& other) noexcept
      : record_(std::move(other.record_)), paths_(std::move(other.paths_)), held_(std::move(other.held_)) {
    other.paths_.clear();
  }
  RunRecordFiles& operator=(RunRecordFiles&&) = delete;

  // These processes could not be ended: both copies stay, and name them.
  Result<void> keep(const std::vector<int>& pids);

 private:
  RunRecordFiles(RunRecord record, std::vector<std::string> paths)
      : record_(std::move(record)), paths_(std::move(paths)) {}
  Result<void> write();

  RunRecord record_;
  std::vector<std::string> paths_;
  std::vector<UniqueFd> held_;
};

// By the locks of both copies. One lock that is held is enough for "alive", and one proof is enough for "gone". If the lock
// is held and the process is gone, the lock is read again for at most two seconds.
RunnerStatus examine_runner(const RunRecord& record);

}  // namespace proctor
