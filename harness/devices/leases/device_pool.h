// The devices of a run and who holds which. Leases are by identity and all-or-nothing. Devices that other
// runs can see as well are leased from them too, through files (harness/devices/leases/lease.h).
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

struct PoolDevice {
  PlannedDevice device;
  // Any number of cases may hold it at once: a part of a simulated topology that each
  // process builds for itself.
  bool shared = false;
};

// Which devices are acceptable.
struct LeaseRequest {
  std::set<std::string> only = {};  // empty: any
  std::set<std::string> none_of = {};
  bool fits(const std::string& id) const {
    return (only.empty() || only.contains(id)) && !none_of.contains(id);
  }
};

class DevicePool {
 public:
  // `leases` is where the devices are leased from other runs; none if no other run can see them. `run` is the
  // id of this run. `retest`: devices that failed in `proctor accept` are given all the same.
  explicit DevicePool(std::vector<PoolDevice> devices, std::optional<LeaseDirectory> leases = {},
                      std::string run = {}, bool retest = false);

  // Leases `count` devices of `backend` for the case `what`, or returns none if so many are not free now. If
  // only other runs stand in the way, held_elsewhere() names them. If the devices are shared, a case gets the
  // whole topology, whatever `count` is. Never waits.
  std::optional<std::vector<std::string>> lease(const std::string& backend, int count,
                                                const std::string& what,
                                                const LeaseRequest& lease_request = {});
  // How the last holder left a device that is leased now, unless it was clean.
  std::optional<std::string> left_dirty(const std::string& id) const;
  // Somebody has examined the device since, so it is no longer dirty.
  void found_well(const std::string& id);
  // Other processes on a leased device for which this run or an earlier one waited in vain.
  std::string endured(const std::string& id) const;
  void endure(const std::string& id, const std::string& others);
  // Gives this device to nobody for a short time. `why` is a sentence for held_elsewhere().
  void leave_out(const std::string& id, const std::string& why);
  // Gives back devices that were not used after all, in the state in which they were found.
  void return_unused(const std::vector<std::string>& ids);
  // Gives them back clean.
  void release(const std::vector<std::string>& ids);
  // The leased devices whose lease file lost its name, so that another run may lease them too: taken out for the rest
  // of the run. Each with a warning (take_warnings()). To be asked every few seconds.
  std::vector<std::string> retire_lost();
  // Takes devices out for the rest of the run: a process that does not die may still hold them.
  void retire(const std::vector<std::string>& ids);
  // The same, and for every other run too, until a probe or a person says that the device is healthy.
  void drain(const std::string& id, const std::string& reason, const std::string& evidence);

  // Descriptors that the whole process tree of the case must hold (ProcessSpec::leases).
  std::vector<int> descriptors(const std::vector<std::string>& ids) const;
  // Why the last lease() gave no device: one sentence for each device that another run holds.
  const std::vector<std::string>& held_elsewhere() const { return held_elsewhere_; }
  // The warnings since the last call: devices that were left dirty, lease files that cannot be used.
  std::vector<Warning> take_warnings() { return std::exchange(warnings_, {}); }

  // How many devices of `backend` fit and are held by no case of this run. Other runs may hold them.
  int idle(const std::string& backend, const LeaseRequest& lease_request = {}) const;

  // Whether `lease` could ever succeed, with nothing else running.
  bool can_ever_lease(const std::string& backend, int count, const LeaseRequest& lease_request = {}) const;
  // Why not: one of the devices that fit was found unhealthy (kDeviceUnhealthy), or they went away (kDeviceLost).
  Reason why_taken_out(const std::string& backend, const LeaseRequest& lease_request = {}) const;
  // How many one-device cases of `backend` can run at once; none if devices set no limit.
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
  std::map<std::string, std::string> unhealthy_;  // taken out as such: id -> backend
  std::map<std::string, Lease> held_;
  std::map<std::string, LeftOut> left_out_;
  std::vector<std::string> held_elsewhere_;
  std::vector<Warning> warnings_;
};

}  // namespace proctor
