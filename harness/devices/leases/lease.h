// The exclusive right to devices, visible to every process and every user of the machine.
//
// One file per device in a directory that all share, locked as a whole with an open-file-description lock
// (fcntl(2), F_OFD_SETLK). The lock belongs to the description, not to a process: it is held as long as any
// process has the descriptor open, so handing it to a case's tree makes the lease end with the last process
// of the tree, also when the runner is killed. The text in the file is for people and for the next holder;
// only the lock decides. Files are never removed: a name that comes and goes would be two locks.
//
// The record stays "dirty" from the moment a lease is taken until its holder says that the device came back
// clean. A holder that died never says it, so the next one knows.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "harness/core/result.h"
#include "harness/process/unique_fd.h"

namespace proctor {

// Who asks for a lease.
struct LeaseHolder {
  std::string run;      // its id
  std::string command;  // for people: the case, or the command line
};

// What a lease file says.
struct LeaseRecord {
  std::string device;  // "xpu:0000:03:00.0"
  pid_t pid = 0;       // of the runner, in its own PID namespace
  uid_t uid = 0;
  LeaseHolder holder;
  std::string since;  // UTC
  std::string boot_id;
  bool dirty = false;
  std::string endured{};  // who else was on it since boot and was waited for in vain; the runner's own words
};

// One sentence for people: "xpu:0000:03:00.0 is held by pid 4711 (uid 0, run X, since ...): pytest".
std::string describe(const LeaseRecord& record);

class Lease {
 public:
  Lease(Lease&&) = default;
  Lease& operator=(Lease&&) = default;

  const std::string& device() const { return device_; }
  // To be kept open by whoever is to hold the lease as well (ProcessSpec::leases).
  int fd() const { return fd_.get(); }
  // How the last holder left the device, when it did not leave it clean: "run X ended without ...". Also for
  // a record that cannot be read: nothing is known then.
  const std::optional<std::string>& left_dirty() const { return left_dirty_; }

  // Somebody has looked at it since, and it is well.
  void found_well() { left_dirty_.reset(); }
  // Kept for the next holders, so that not every one of them waits for the same.
  const std::string& endured() const { return record_.endured; }
  Result<void> endure(std::string others);
  // Says that the device came back clean. The lease itself ends with the last descriptor.
  Result<void> mark_clean();
  // Says what the last holder said, for a device that was not used after all.
  Result<void> mark_as_found();

 private:
  friend class LeaseDirectory;
  Lease(std::string device, UniqueFd fd) : device_(std::move(device)), fd_(std::move(fd)) {}

  std::string device_;
  UniqueFd fd_;
  LeaseRecord record_;
  std::optional<LeaseRecord> last_;
  std::optional<std::string> left_dirty_;
};

// A device that somebody else holds. No record: its holder wrote none that can be read.
struct LeaseConflict {
  std::string device;
  std::optional<LeaseRecord> holder;
};

enum class LeaseScope { kHost, kContainer };
std::string_view to_string(LeaseScope scope);  // "host", "this container only"

class LeaseDirectory {
 public:
  // Where everybody looks who was not told otherwise: in memory, so that nothing is left of an earlier boot.
  static constexpr const char* kDefaultPath = "/dev/shm/proctor-leases";

  // Makes the directory if need be, for all users (mode 1777), and tries a lock in it. Errors name the path
  // and what it lacks: it cannot be written, its file system has no such locks.
  static Result<LeaseDirectory> open(const std::string& path);

  const std::string& path() const { return path_; }
  // kContainer: this process is in a container and the directory is the default one, so processes outside do
  // not see it. A path that somebody chose is taken for one that is shared.
  LeaseScope scope() const;

  // Who has the device now, if anybody. Disturbs nobody, so it can be asked at any rate.
  std::optional<LeaseConflict> conflict(const std::string& device) const;
  // Takes the lease of one device, or says who has it. Never waits.
  Result<std::variant<Lease, LeaseConflict>> take(const std::string& device, const LeaseHolder& holder) const;
  // Becomes readable when a lease may have ended: an inotify descriptor, to be drained by its reader.
  Result<UniqueFd> watch() const;
  // Every device that has a file here, and whether somebody holds it now.
  struct Entry {
    LeaseRecord record;
    bool held = false;
  };
  std::vector<Entry> list() const;

 private:
  explicit LeaseDirectory(std::string path) : path_(std::move(path)) {}
  std::string path_of(std::string device) const;
  Result<UniqueFd> open_file(const std::string& device) const;

  std::string path_;
};

}  // namespace proctor
