// A list of what a run leaves behind if its runner is killed. It is written before the first case starts; the
// next run and `proctor finish` sweep what it lists (dead_runs.h). One copy is in the run directory (run.json), one in a
// per-user directory ($XDG_RUNTIME_DIR/proctor/runs, else /tmp/proctor-UID/runs, or where that is another user's
// /tmp/proctor-UID.RANDOM/runs), so that the next run finds it. The first lies where tests write: it is believed only where it says what the second one says.
//
// The runner locks both copies for its life (process_handle.h). A record is acted upon only if a free lock proves that the
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

// A process that the runner itself could not end: one that hangs in the kernel, or another user's.
struct LeftProcess {
  int pid = 0;  // in the runner's PID namespace
  std::uint64_t start_time = 0;

  friend bool operator==(const LeftProcess&, const LeftProcess&) = default;
};

struct RunRecord {
  std::string run_id;
  std::string run_dir;  // absolute
  int pid = 0;
  std::uint64_t start_time = 0;  // field 22 of /proc/PID/stat
  // The process that started it, in the same PID namespace; 0 if that was outside, or if the run is meant to
  // outlive it.
  int parent_pid = 0;
  std::string host;  // host name; that of its container, if it is in one
  std::string boot_id;
  std::string pid_namespace;         // readlink of /proc/self/ns/pid
  std::string time_namespace{};      // readlink of /proc/self/ns/time; start times mean something in it only
  std::string cgroup;                // the run's cgroup directory, or ""
  std::vector<std::string> scratch;  // the run's scratch directories
  std::vector<LeftProcess> left{};
  std::optional<SlurmJob> slurm{};     // the job that it is of
  std::vector<LockIdentity> locked{};  // the copies
};

// Whether it has the form of new_run_id() (run_directory.h). It becomes part of paths, and decides who is killed.
bool is_run_id(std::string_view text);

std::string host_name();
std::string boot_id();

// Whether the pids and start times of the record mean the same to this process.
bool has_our_pids(const RunRecord& record);
// Whether neither the boot nor the host name is ours. For messages: it proves nothing.
bool is_of_another_machine(const RunRecord& record);

// Describes this process.
RunRecord describe_this_run(std::string run_id, std::string run_dir, std::string cgroup,
                            std::vector<std::string> scratch);

std::string to_json(const RunRecord& record);
Result<RunRecord> parse_run_record(const std::string& text);

// The copy in a run directory; none if the run ended by itself. A reader of the record kills what it names,
// so the record is refused unless it is a file of this user or of root, has the form of a record, and, if it
// was written on this machine since its boot, names the directory that it is in and has an equal private copy.
Result<std::optional<RunRecord>> read_run_record(const std::string& run_dir);
// Whether it has an equal private copy.
bool is_confirmed(const RunRecord& record);
// Removes both copies of a run that has been swept.
void remove_run_record(const RunRecord& record);

// The directory of the per-user copies, created with mode 0700. An error if it belongs to somebody else.
Result<std::string> run_record_directory();
// The records of this user's runs of a Slurm job, from the private copies. A job of another cluster, or of another node
// on this machine, is another job; what either of the two does not say is not compared.
std::vector<RunRecord> run_records_of(const SlurmJob& job);
// The other users who may have records here, by the owners of their directories. For root, which must not believe what
// is in them.
struct RecordOwner {
  uid_t uid = 0;
  gid_t gid = 0;
};
std::vector<RecordOwner> others_with_run_records();
// A private copy, which a test of the same user may have replaced by anything.
struct PrivateRecord {
  RunRecord record;
  RunnerStatus runner;
};
Result<PrivateRecord> read_private_record(const std::string& path);

// Wherever runs of this user may have put theirs; only directories that nobody else may write to.
std::vector<std::string> run_record_directories();

// Holds and locks both copies while the run lasts; destroying it removes them, because nothing is left to sweep then,
// unless it was told of something.
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
