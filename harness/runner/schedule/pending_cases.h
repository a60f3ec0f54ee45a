// The groups that have not begun. Decides which of them starts next and on which devices.
//
// Groups that need the same start in their order (start_order.h, or the planned one). A group whose devices are not
// free is passed over by those behind it. After kMostPassedOver of them it is overdue: it is the first that is looked
// at, and as long as only groups of this run hold what it lacks, no other group gets a device that it could have. So a
// case for several devices starts although there is always one for the only device that is free.
//
// Where more groups could start than may run at once, groups that hold devices and those that need a core take turns.
//
// While a concurrency group (harness/plan/concurrency_groups.h) is at its limit, its cases wait without a claim on devices,
// and those behind them start.
//
// A group that is to run without any other one beside it (put_lone) starts when nothing runs and no other can start.
#pragma once

#include <cstddef>
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
#include "harness/runner/attempt/case_group.h"
#include "harness/runner/schedule/run_setup.h"
#include "harness/runner/schedule/start_order.h"

namespace proctor {

inline constexpr std::size_t kMostPassedOver = 50;

// What a running group takes from others: devices that it holds alone, or nothing but a core.
enum class Takes { kCore, kDevices };

// What the next group may take.
struct Room {
  bool has_core = true;
  bool is_empty = true;          // nothing runs
  std::optional<Takes> first{};  // who is looked at first; none: whoever is first in the order
};

class PendingCases {
 public:
  PendingCases(const RunSetup& setup, DevicePool& pool) : setup_(setup), pool_(pool) {}

  // Takes every case of the plan that can run here; `refused` gets the others. `in_parts` gets the cases that
  // are divided into one part per device or set of devices (--each-device), with the number of parts. Each part ends on its
  // own. To be called once.
  void admit(const std::function<void(const CaseGroup::Finished&)>& refused,
             const std::function<void(std::size_t index, std::size_t parts)>& in_parts);
  // Takes the first group for which there are devices now. It is no longer pending, and holds the devices.
  struct Start {
    CaseGroup group;
    std::vector<std::string> devices;
    Takes takes = Takes::kCore;
    bool is_lone = false;
    std::string concurrency_group{};
  };
  std::optional<Start> take_first_that_fits(const Room& room = {});
  // The devices that other runs held at the last take_first_that_fits(), one sentence each.
  const std::set<std::string>& holders() const { return holders_; }

  // To be called at the end of each Start, so that another one of its concurrency group may start.
  void ended(const std::string& concurrency_group);

  bool empty() const { return left_ == 0; }
  // Puts back a group that goes on elsewhere. It is the next one to start.
  void put_back(CaseGroup group);
  // Lines up a group whose cases have had their turn behind all others.
  void put_last(CaseGroup group);
  void put_lone(CaseGroup group);
  // Ends all cases that are left, in the planned order.
  std::vector<CaseGroup::Finished> drop(const CaseGroup::NoMore& why);
  // The same, where what is left waits for devices that were taken out.
  std::vector<CaseGroup::Finished> drop_without_devices();
  // Why the group will never have devices.
  CaseGroup::NoMore why_no_devices(const CaseGroup& group) const;

  // How many groups take_first_that_fits() has looked at, for tests: about one for each process.
  std::size_t looked_at() const { return looked_at_; }

 private:
  struct Demand {
    std::string backend{};
    int devices = 0;               // 0: none
    std::set<std::string> only{};  // those that will do; empty: any
    Takes takes = Takes::kCore;
    std::string concurrency_group{};

    friend auto operator<=>(const Demand&, const Demand&) = default;
  };
  // Groups with one demand, as places in groups_, in order. The first `begun` of them have begun.
  struct Queue {
    Demand demand;
    std::vector<std::size_t> places{};
    std::size_t begun = 0;
  };
  struct PutBack {
    CaseGroup group;
    Demand demand;
    std::size_t passed_over = 0;
    bool is_lone = false;
  };
  // The first group of a queue, or one that was put back.
  struct Candidate {
    const CaseGroup* group = nullptr;
    const Demand* demand = nullptr;
    bool overdue = false;
    std::size_t queue = 0;  // of queues_, or
    std::optional<std::size_t> put_back{};
    bool is_lone = false;
  };
  struct Found;  // by a look at the candidates so far
  struct Admission;

  Demand demand_of(std::size_t index, const std::set<std::string>& only) const;
  static bool is_full(const Suite& suite, const Admission& admission, std::size_t place, std::size_t index);
  // The group that a case joins, a new one where no process may be shared. `only`: the devices that will do; empty: any.
  CaseGroup& group_for(std::size_t index, const std::set<std::string>& only, Admission& admission) const;
  void line_up(Admission admission);
  void append(const Demand& demand, CaseGroup group);
  std::size_t passed_over(const Queue& queue) const;
  bool is_at_limit(const std::string& concurrency_group) const;
  std::vector<Candidate> candidates(const Room& room) const;
  std::optional<std::vector<std::string>> devices_for(const Candidate& candidate, Found& found);
  CaseGroup take_batch(Queue& queue);
  Start take(const Candidate& candidate, std::vector<std::string> devices);
  LeaseRequest lease_request_of(const CaseGroup& group, const Demand& demand) const;
  using Why = std::function<CaseGroup::NoMore(const CaseGroup&)>;
  std::vector<CaseGroup::Finished> drop_each(const Why& why);

  const RunSetup& setup_;
  DevicePool& pool_;
  std::vector<CaseGroup> groups_;  // in order; empty where they have begun
  std::vector<Queue> queues_;
  std::deque<PutBack> put_back_;
  std::size_t left_ = 0;
  std::size_t looked_at_ = 0;
  std::set<std::string> holders_;
  std::map<std::string, int> running_;  // by concurrency group
};

}  // namespace proctor
