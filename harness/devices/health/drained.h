// Devices that get no cases until a probe or a person says that they are well again: the list outlives the
// run that found them sick.
//
// One JSON file per device beside the lease files, DEVICE.drained, so that a node controller can read which
// devices are out of use and why: {"format":1, "device", "reason", "evidence", "since", "run", "uid"}. A file
// that cannot be read counts too: its device is not used just because the reason is unreadable. Whoever may write there
// may drain a device, for all users; who did it is the owner of the file, and only that user and root undrain it.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "harness/base/result.h"

namespace proctor {

// The reason of a device that failed in `proctor accept`: only an acceptance uses it, and clears it if the device passes.
inline constexpr const char* kFailedAcceptance = "failed_acceptance";

struct DrainedDevice {
  std::string device;    // "xpu:0000:03:00.0"
  std::string reason;    // "lost", "memory_missing", "unkillable", or a person's words
  std::string evidence;  // one sentence
  std::string since{};   // UTC
  std::string run{};     // "" = a person did it
  uid_t uid = 0;
};

// "xpu:0000:03:00.0 is drained since ... (lost, by run X of alice (uid 1000)): EVIDENCE".
std::string describe(const DrainedDevice& drained);

// The reason that a scheduler is given for a node with these devices: "proctor: cuda:GPU-8932f937 lost, ...". Its
// beginning says who gave it.
inline constexpr const char* kNodeReason = "proctor: ";
std::string node_reason(const std::vector<DrainedDevice>& drained);
// The command that stops Slurm from starting jobs on this node, for a shell; "" outside of Slurm.
std::string slurm_drain_line(const std::vector<DrainedDevice>& drained);

class DrainList {
 public:
  // `path`: a lease directory that exists (LeaseDirectory::open).
  explicit DrainList(std::string path) : path_(std::move(path)) {}

  // The first reason stays: what comes later is often its consequence. `since` and `uid` are filled in.
  Result<void> drain(DrainedDevice drained) const;
  // False if it was not drained. An error names who drained it and since when, if that was another user.
  Result<bool> undrain(const std::string& device) const;
  std::optional<DrainedDevice> find(const std::string& device) const;
  std::vector<DrainedDevice> list() const;

 private:
  std::string path_of(std::string device) const;

  std::string path_;
};

}  // namespace proctor
