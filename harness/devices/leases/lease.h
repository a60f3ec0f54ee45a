// The exclusive right to devices, visible to every process and every user of the machine.
//
// Each device has a file in a directory that all share, with two locks in it (open-file-description locks, fcntl(2),
// F_OFD_SETLK). Such a lock does not belong to a process: it is held as long as any process has the description open.
//
//   byte 0   exclusive: the runner that took the lease, and the guards of its cases, which outlive their processes
//   byte 1   shared: the processes of a case, each through a description that its guard opened for them
//
// Who takes a lease needs both. So the lease ends with the last process of the case, also when the runner is killed,
// and a process that unlocks or closes the descriptor that it inherited frees nothing but its own share. The text in
// the file is for people and for the next holder; only the locks decide.
//
// Files are never removed: two files of one name, old and new, would be two locks. Nobody else can do that either: the
// directory is root's or ours, and if others may write there its sticky bit keeps our files. What root or a clean-up
// of our own session removes all the same is found out by still_there().
//
// The record is "dirty" from the moment when a lease is taken until its holder says that the device came back
// clean. A holder that died never says so, and the next holder sees it.
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
  std::string endured{};  // who else has used it since boot and was waited for in vain, as a runner wrote it
};

// One sentence for people: "xpu:0000:03:00.0 is held by pid 4711 (uid 0, run X, since ...): pytest".
std::string describe(const LeaseRecord& record);

class Lease {
 public:
  Lease(Lease&&) = default;
  Lease& operator=(Lease&&) = default;

  const std::string& device() const { return device_; }
  // For the guard of a case, which holds the lease too (ProcessSpec::leases).
  int fd() const { return fd_.get(); }
  // Whether the file that is locked still has its name: else somebody may lock another one of that name. An error
  // says what happened.
  Result<void> still_there() const;
  // How the last holder left the device, if it did not leave it clean: "run X ended without ...". A record
  // that cannot be read counts as not clean, because nothing is known then.
  const std::optional<std::string>& left_dirty() const { return left_dirty_; }

  // The device has been examined since then and is healthy.
  void found_well() { left_dirty_.reset(); }
  // The next holders read this, so that they do not all wait for the same processes.
  const std::string& endured() const { return record_.endured; }
  Result<void> endure(std::string others);
  // Says that the device came back clean. The lease itself ends with the last descriptor.
  Result<void> mark_clean();
  // Writes again what the last holder wrote, for a device that was not used after all.
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

// A device that somebody else holds. There is no record when its holder wrote none that can be read.
struct LeaseConflict {
  std::string device;
  std::optional<LeaseRecord> holder;
};

enum class LeaseScope { kHost, kContainer };
std::string_view to_string(LeaseScope scope);  // "host", "this container only"

class LeaseDirectory {
 public:
  // The directory unless another one is chosen: /run/lock, which the machine makes at boot for everybody, and which
  // nobody cleans up before the next; /dev/shm where there is none. Nothing in them outlives a boot.
  static std::string default_path();

  // Makes the directory if it does not exist, for all users (mode 1777), and tries a lock in it. An error
  // names the path and what is wrong: it cannot be written, somebody else could remove files in it, or its file system
  // has no such locks.
  static Result<LeaseDirectory> open(const std::string& path);

  const std::string& path() const { return path_; }
  // kContainer when this process is in a container and the directory is the default one, unless who started the
  // container says that it is the host's (kLeasesVariable). One that the user chose is assumed to be shared.
  LeaseScope scope() const;

  // Who has the device now, if anybody. This disturbs nobody, so it may be called at any time.
  std::optional<LeaseConflict> conflict(const std::string& device) const;
  // Takes the lease of one device, or says who has it. Never waits.
  Result<std::variant<Lease, LeaseConflict>> take(const std::string& device, const LeaseHolder& holder) const;
  // An inotify descriptor that becomes readable when a lease may have ended. Its reader must empty it.
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
  Result<std::optional<UniqueFd>> lock_file(const std::string& device, LeaseConflict& conflict) const;

  std::string path_;
};

}  // namespace proctor
