// The groups that have not begun, in the planned order. Decides which of them starts next and on which
// devices.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/devices/leases/device_pool.h"
#include "harness/run/attempt/case_group.h"
#include "harness/run/schedule/run_setup.h"

namespace proctor {

class PendingCases {
 public:
  PendingCases(const RunSetup& setup, DevicePool& pool) : setup_(setup), pool_(pool) {}

  // Takes every case of the plan that can run here; `refused` gets the others. `in_parts` gets the cases that
  // are divided into one part per device (--each-device), with the number of parts. Each part ends on its
  // own.
  void admit(const std::function<void(const CaseGroup::Finished&)>& refused,
             const std::function<void(std::size_t index, std::size_t parts)>& in_parts);
  // Takes the first group for which there are devices now. It is no longer pending, and holds the devices.
  struct Start {
    CaseGroup group;
    std::vector<std::string> devices;
  };
  std::optional<Start> take_first_that_fits();
  // The devices that other runs held at the last take_first_that_fits(), one sentence each.
  const std::set<std::string>& holders() const { return holders_; }

  bool empty() const { return groups_.empty(); }
  // Puts back a group that goes on elsewhere. It is the next one to start.
  void put_back(CaseGroup group) { groups_.push_front(std::move(group)); }
  // Ends all cases that are left with this verdict.
  std::vector<CaseGroup::Finished> drop(const Verdict& verdict, const std::string& note);

 private:
  DeviceWish wish_of(const CaseGroup& group, const std::string& backend, int count) const;

  const RunSetup& setup_;
  DevicePool& pool_;
  std::deque<CaseGroup> groups_;
  std::set<std::string> holders_;
};

}  // namespace proctor
