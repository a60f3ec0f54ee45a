// The list of drained devices: they get no cases until a probe or a person reports them as healthy. The list
// outlives the run that found them unhealthy.
//
// Each device has one JSON file in the lease directory, DEVICE.drained: {"format":1, "device", "reason",
// "evidence", "since", "run", "uid"}. A node controller can thus read which devices are out of use and why.
// An unreadable file drains its device too: an unreadable reason does not make the device usable. Every user
// who may write in the directory can drain a device, for all users. The owner of the file is the author, and
// only this user and root can undrain the device.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "harness/base/result.h"

namespace proctor {

// The reason of a device that `proctor accept` rejected. Only a run that accepts it again uses it, and clears
// it.
inline constexpr const char* kFailedAcceptance = "failed_acceptance";

// The content of the file of a drained device.
struct DrainedDevice {
  std::string device;    // "xpu:0000:03:00.0"
  std::string reason;    // "lost", "memory_missing", "unkillable", or the text of a person
  std::string evidence;  // one sentence
  std::string since{};   // UTC
  std::string run{};     // "": a person drained it
  uid_t uid = 0;
};

// Returns "xpu:0000:03:00.0 is drained since ... (lost, by run X of alice (uid 1000)): EVIDENCE".
std::string describe(const DrainedDevice& drained);

// Returns the reason that a scheduler gets for a node with these devices: "proctor: cuda:GPU-8932f937 lost,
// ...". The prefix identifies Proctor as the origin.
inline constexpr const char* kNodeReason = "proctor: ";
std::string node_reason(const std::vector<DrainedDevice>& drained);
// Returns the shell command that stops Slurm from starting jobs on this node; "" outside of Slurm.
std::string slurm_drain_line(const std::vector<DrainedDevice>& drained);

// Reads and changes the files of drained devices in a lease directory.
class DrainList {
 public:
  // `path`: an existing lease directory (LeaseDirectory::open).
  explicit DrainList(std::string path) : path_(std::move(path)) {}

  // Drains a device. The first reason stays: later ones are often its consequence. `since` and `uid` are
  // filled in.
  Result<void> drain(DrainedDevice drained) const;
  // Returns false if the device was not drained. If another user drained it, the error names this user and
  // the time.
  Result<bool> undrain(const std::string& device) const;
  std::optional<DrainedDevice> find(const std::string& device) const;
  std::vector<DrainedDevice> list() const;

 private:
  std::string path_of(std::string device) const;

  std::string path_;
};

}  // namespace proctor
