// The groups that have not begun, in the planned order. Decides which of them starts next and on which
// devices.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
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
  void put_back(CaseGroup group);
  // Ends all cases that are left with this verdict.
  std::vector<CaseGroup::Finished> drop(const Verdict& verdict, const std::string& note);

  // How many groups take_first_that_fits() has looked at, for tests: about one for each process.
  std::size_t looked_at() const { return looked_at_; }

 private:
  using Demand = std::pair<std::string, int>;  // backend and number of devices; {"", 0}: none
  // Where the cases of a suite are that may share a process: suite, group, devices, the only device -> groups_.
  using SharedGroups = std::map<std::tuple<std::size_t, std::string, int, std::string>, std::size_t>;

  // The group that a case joins, a new one where no process may be shared. `device`: the only one that will do, or "".
  CaseGroup& group_for(std::size_t index, SharedGroups& shared, const std::string& device);
  Demand demand_of(std::size_t index) const;
  // How many groups cannot start while so many devices cannot be had.
  std::size_t hopeless(const std::map<std::string, int>& refused) const;
  DeviceWish wish_of(const CaseGroup& group, const std::string& backend, int count) const;

  const RunSetup& setup_;
  DevicePool& pool_;
  std::deque<CaseGroup> groups_;
  std::map<Demand, std::size_t> waiting_;  // how many of groups_ have which demand
  std::size_t looked_at_ = 0;
  std::set<std::string> holders_;
};

}  // namespace proctor
