// Leases: exclusive rights to devices, visible to every process and every user of the machine.
//
// Each device has a file in a directory that all users share. The file has two locks (open-file-description
// locks, fcntl(2), F_OFD_SETLK). Such a lock does not belong to a process: it is held as long as any process
// has the description open.
//
//   byte 0   exclusive: the runner that took the lease, and the guards of its cases, which outlive their processes
//   byte 1   shared: the processes of a case, each through a description that its guard opened for them
//
// A new holder needs both locks. The lease therefore ends with the last process of the case, even if the
// runner is killed. A process that unlocks or closes its inherited descriptor releases only its own share.
// Only the locks determine who holds a lease; the text in the file is for people and for the next holder.
//
// Proctor never removes these files: an old and a new file with one name would be two locks. Other users
// cannot remove them either. The directory belongs to root or to this user, and its sticky bit protects the
// files if others may write there. Root can remove a file, and so can a clean-up of this user's session.
// still_there() detects this.
//
// The record is "dirty" from the start of a lease until its holder marks the device as clean. A holder that
// dies does not mark it, and the next holder sees this.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "harness/base/result.h"
#include "harness/base/unique_fd.h"

namespace proctor {

// The process that requests a lease.
struct LeaseHolder {
  std::string run;      // its id
  std::string command;  // for people: the case, or the command line
};

// The content of a lease file.
struct LeaseRecord {
  std::string device;  // "xpu:0000:03:00.0"
  pid_t pid = 0;       // of the runner, in its own PID namespace
  uid_t uid = 0;
  LeaseHolder holder;
  std::string since;  // UTC
  std::string boot_id;
  bool dirty = false;
  std::string endured{};  // foreign users of the device since boot for which a runner waited in vain
};

// Returns one sentence for people: "xpu:0000:03:00.0 is held by pid 4711 (uid 0, run X, since ...): pytest".
std::string describe(const LeaseRecord& record);

// A lease of one device. It lasts until the last copy of its descriptor is closed.
class Lease {
 public:
  Lease(Lease&&) = default;
  Lease& operator=(Lease&&) = default;

  const std::string& device() const { return device_; }
  // The descriptor for the guard of a case, which also holds the lease (ProcessSpec::leases).
  int fd() const { return fd_.get(); }
  // Checks that the locked file still has its name. Otherwise another process may lock a new file with that
  // name. An error has the details.
  Result<void> still_there() const;
  // How the last holder left the device, if it was not clean: "run X ended without ...". An unreadable record
  // counts as not clean, because the state is then unknown.
  const std::optional<std::string>& left_dirty() const { return left_dirty_; }

  // Records that the device has been examined since then and is healthy.
  void found_well() { left_dirty_.reset(); }
  // The foreign processes for which an earlier wait was in vain. The next holders read this, so that they do
  // not wait for the same processes again.
  const std::string& endured() const { return record_.endured; }
  Result<void> endure(std::string others);
  // Marks the device as clean in the record. The lease itself ends with the last descriptor.
  Result<void> mark_clean();
  // Restores the record of the last holder, for a device that was not used after all.
  Result<void> mark_as_found();

 private:
  friend class LeaseDirectory;
  Lease(std::string device, std::string path, UniqueFd fd)
      : device_(std::move(device)), path_(std::move(path)), fd_(std::move(fd)) {}

  std::string device_;
  std::string path_;
  UniqueFd fd_;
  LeaseRecord record_;
  std::optional<LeaseRecord> last_;
  std::optional<std::string> left_dirty_;
};

// A device that another process holds. `holder` is empty if the holder wrote no readable record.
struct LeaseConflict {
  std::string device;
  std::optional<LeaseRecord> holder;
};

// The processes that share a lease directory: those of the host, or of this container only.
enum class LeaseScope { kHost, kContainer };
std::string_view to_string(LeaseScope scope);  // "host", "this container only"

// The directory with the lease files. It takes leases and reports holders; it does not check which devices
// exist.
class LeaseDirectory {
 public:
  // The directory if no other is chosen. It is /run/lock, which the machine creates at boot for all users,
  // and which is not cleaned up before the next boot. It is /dev/shm if /run/lock does not exist. A boot
  // clears both.
  static std::string default_path();

  // Creates the directory for all users (mode 1777) if it does not exist, and tries a lock in it. An error
  // names the path and the problem: the directory is not writable, another user could remove files in it, or
  // its file system lacks such locks.
  static Result<LeaseDirectory> open(const std::string& path);

  const std::string& path() const { return path_; }
  // kContainer if this process is in a container and the directory is the default one. kLeasesVariable can
  // declare that the directory is the host's. A directory that the user chose is assumed to be shared.
  LeaseScope scope() const;

  // Returns the present holder of the device, if there is one. The call disturbs no lease, so it is possible
  // at any time.
  std::optional<LeaseConflict> conflict(const std::string& device) const;
  // Takes the lease of one device, or returns its holder. Never waits.
  Result<std::variant<Lease, LeaseConflict>> take(const std::string& device, const LeaseHolder& holder) const;
  // Returns an inotify descriptor that becomes readable when a lease may have ended. The caller must read its
  // events.
  Result<UniqueFd> watch() const;
  // A device that has a file in this directory, and whether it is held now.
  struct Entry {
    LeaseRecord record;
    bool held = false;
  };
  std::vector<Entry> list() const;

 private:
  explicit LeaseDirectory(std::string path) : path_(std::move(path)) {}
  std::string path_of(std::string device) const;
  Result<UniqueFd> open_file(const std::string& device) const;
  Result<std::optional<UniqueFd>> lock_file(const std::string& device, LeaseConflict& conflict) const;

  std::string path_;
};

}  // namespace proctor
