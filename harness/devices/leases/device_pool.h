// The devices of a run, and the cases that hold them. Leases are by identity and all-or-nothing. Devices that
// other runs can see are also leased from these runs, through files (harness/devices/leases/lease.h). The
// pool does not check whether a device is healthy.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/clock.h"
#include "harness/devices/leases/lease.h"
#include "harness/journal/events.h"

namespace proctor {

// A device of the pool.
struct PoolDevice {
  PlannedDevice device;
  // Any number of cases may hold it at once: each process builds its own copy of this part of a simulated
  // topology.
  bool shared = false;
};

// The devices that a case accepts.
struct LeaseRequest {
  std::set<std::string> only = {};  // empty: any
  std::set<std::string> none_of = {};
  bool fits(const std::string& id) const {
    return (only.empty() || only.contains(id)) && !none_of.contains(id);
  }
};

// Leases the devices of a run to its cases, and takes out devices that must not be used any more. The
// scheduler and DeviceAdmission call it.
class DevicePool {
 public:
  // `leases` is the directory in which devices are leased from other runs; none if no other run can see the
  // devices. `run` is the id of this run. `retest`: devices that `proctor accept` rejected are leased too.
  explicit DevicePool(std::vector<PoolDevice> devices, std::optional<LeaseDirectory> leases = {},
                      std::string run = {}, bool retest = false);

  // Leases `count` devices of `backend` for the case `what`, or returns none if too few are free now. If only
  // other runs hold the missing devices, held_elsewhere() names them. If the devices are shared, a case gets
  // the whole topology, regardless of `count`. This call never waits.
  std::optional<std::vector<std::string>> lease(const std::string& backend, int count,
                                                const std::string& what,
                                                const LeaseRequest& lease_request = {});
  // Returns how the last holder left a device that is leased now, if it was not clean.
  std::optional<std::string> left_dirty(const std::string& id) const;
  // Marks the device as no longer dirty, because an examination found it healthy.
  void found_well(const std::string& id);
  // Foreign processes on a leased device for which this run or an earlier one waited in vain.
  std::string endured(const std::string& id) const;
  void endure(const std::string& id, const std::string& others);
  // Leases this device to no case for a short time. `why` is a sentence for held_elsewhere().
  void leave_out(const std::string& id, const std::string& why);
  // Releases devices that were not used after all, in the state in which they were found.
  void return_unused(const std::vector<std::string>& ids);
  // Releases devices and marks them as clean.
  void release(const std::vector<std::string>& ids);
  // Returns the leased devices whose lease file lost its name, so that another run may lease them too. They
  // are taken out of this run, each with a warning (take_warnings()). Call this every few seconds.
  std::vector<std::string> retire_lost();
  // Takes devices out of this run: a process that does not die may still hold them.
  void retire(const std::vector<std::string>& ids);
  // Takes the device out of this run and of every other one, until a probe or a person reports that it is
  // healthy.
  void drain(const std::string& id, const std::string& reason, const std::string& evidence);

  // Descriptors that the whole process tree of the case must hold (ProcessSpec::leases).
  std::vector<int> descriptors(const std::vector<std::string>& ids) const;
  // One sentence for each device that another run held when the last lease() failed.
  const std::vector<std::string>& held_elsewhere() const { return held_elsewhere_; }
  // Warnings since the last call: devices that were left dirty, lease files that cannot be used.
  std::vector<Warning> take_warnings() { return std::exchange(warnings_, {}); }

  // Returns how many devices of `backend` fit and are held by no case of this run. Other runs may hold them.
  int idle(const std::string& backend, const LeaseRequest& lease_request = {}) const;

  // Returns true if lease() can succeed when no other case runs.
  bool can_ever_lease(const std::string& backend, int count, const LeaseRequest& lease_request = {}) const;
  // The reason if can_ever_lease() is false: a device that fits was unhealthy (kDeviceUnhealthy), or all of
  // them were lost (kDeviceLost).
  Reason why_taken_out(const std::string& backend, const LeaseRequest& lease_request = {}) const;
  // Returns how many one-device cases of `backend` can run at once; none if devices set no limit.
  std::optional<int> width(const std::string& backend) const;

  const std::vector<PoolDevice>& devices() const { return devices_; }
  const std::optional<LeaseDirectory>& leases() const { return leases_; }

 private:
  std::vector<std::string> shared_ids(const std::string& backend) const;
  struct LeftOut {
    Clock::time_point until;
    std::string why;
  };

  void free(const std::vector<std::string>& ids, Result<void> (Lease::*mark)());
  bool is_left_out(const std::string& id);
  std::vector<std::string> free_devices(const std::string& backend);
  void note(const LeaseConflict& conflict);
  bool drained_meanwhile(const PlannedDevice& device);
  void note_drained(const PlannedDevice& device, const std::string& reason);
  bool take(const std::string& id, const std::string& what);
  void end_lease(const std::string& id, Result<void> (Lease::*mark)());

  std::vector<PoolDevice> devices_;
  std::optional<LeaseDirectory> leases_;
  std::string run_;
  bool retest_;
  std::vector<bool> busy_;
  std::map<std::string, std::string> unhealthy_;  // devices taken out as unhealthy: id -> backend
  std::map<std::string, Lease> held_;
  std::map<std::string, LeftOut> left_out_;
  std::vector<std::string> held_elsewhere_;
  std::vector<Warning> warnings_;
};

}  // namespace proctor
