// The devices that a running group holds, from their lease until it gives them back. It may hold none.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "harness/devices/care/device_visits.h"
#include "harness/devices/leases/device_pool.h"
#include "harness/plan/plan.h"

namespace proctor {

class GroupDevices {
 public:
  GroupDevices(DevicePool& pool, DeviceVisits& visits, std::vector<std::string> ids)
      : pool_(pool), visits_(visits), ids_(std::move(ids)) {}

  const std::vector<std::string>& ids() const { return ids_; }
  bool empty() const { return ids_.empty(); }
  // They get no more cases of this group.
  bool are_lost() const { return lost_; }
  // The descriptors of their leases.
  std::vector<int> descriptors() const { return pool_.descriptors(ids_); }
  // Returns whether the pool can ever have other devices for the case.
  bool have_others(const Suite& suite, const Case& test, const DeviceWish& wish) const {
    return pool_.can_ever_lease(std::string(to_string(suite.backend)), test.devices, wish);
  }

  // These call DeviceVisits. A sick device makes all of them lost.
  void enter(const std::string& case_id, bool doubt, DeviceVisits::OnEntry done);
  void leave(const std::string& case_id, bool doubt, DeviceVisits::OnLeft done);

  // A process of the case does not die: no run gets them any more.
  void drain_unreapable(const std::string& case_id);
  // Returns whether this device is one of them. Then they are lost and retired.
  bool lose(const std::string& device);
  // The next run must examine them.
  void retire() { pool_.retire(ids_); }
  // Returns unused devices in their earlier state.
  void return_unused() { pool_.return_unused(std::exchange(ids_, {})); }
  void release() { pool_.release(ids_); }

 private:
  DevicePool& pool_;
  DeviceVisits& visits_;
  std::vector<std::string> ids_;
  bool lost_ = false;
};

}  // namespace proctor
