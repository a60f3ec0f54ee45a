// The devices of a run and who holds which. Leases are by identity and all-or-nothing; they live in this
// process only (leases between runs are a later layer).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/core/events.h"

namespace proctor {

struct PoolDevice {
  PlannedDevice device;
  // Any number of cases may hold it at once: a part of a simulated topology that each process builds for
  // itself.
  bool shared = false;
};

class DevicePool {
 public:
  explicit DevicePool(std::vector<PoolDevice> devices)
      : devices_(std::move(devices)), busy_(devices_.size()) {}

  // `count` devices of `backend`, or none if so many are not free now. Where they are shared, a case gets
  // the whole topology, whatever `count` is.
  std::optional<std::vector<std::string>> lease(const std::string& backend, int count);
  void release(const std::vector<std::string>& ids);
  // Takes devices out for the rest of the run: a process that does not die may still hold them.
  void retire(const std::vector<std::string>& ids);

  // Whether `lease` could ever succeed, with nothing else running.
  bool can_ever_lease(const std::string& backend, int count) const;
  // How many one-device cases of `backend` can run at once; none: no bound by devices.
  std::optional<int> width(const std::string& backend) const;

  const std::vector<PoolDevice>& devices() const { return devices_; }

 private:
  std::vector<std::string> shared_ids(const std::string& backend) const;

  std::vector<PoolDevice> devices_;
  std::vector<bool> busy_;
};

}  // namespace proctor
