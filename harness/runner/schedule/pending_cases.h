// The groups that have not begun, and the selection of the next group with its devices. Slots calls it. It starts no
// process.
//
// Groups with the same demand start in their order (start_order.h, or the planned order). If the devices of a group are
// not free, later groups pass it over. After kMostPassedOver of them the group is overdue. It is then examined first.
// While only groups of this run hold the devices that it needs, no other group gets a device that it could use. Thus a
// case for several devices starts although cases for one device are always ready.
//
// If more groups could start than may run at once, groups with devices and groups that need a core alternate.
//
// While a concurrency group (harness/plan/concurrency_groups.h) is at its limit, its cases wait without a claim on
// devices. Later cases start instead.
//
// A group that must run alone (put_lone) starts when nothing runs and no other group can start.
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

// The resource that a running group occupies: exclusive devices, or only a core.
enum class Takes { kCore, kDevices };

// The resources that the next group may take.
struct Room {
  bool has_core = true;
  bool is_empty = true;          // nothing runs
  std::optional<Takes> first{};  // the kind that is examined first; none: only the order counts
};

class PendingCases {
 public:
  PendingCases(const RunSetup& setup, DevicePool& pool) : setup_(setup), pool_(pool) {}

  // Takes every case of the plan that can run here. `refused` receives the other cases. With --each-device a case has
  // one part per device or set of devices. `in_parts` receives such a case with the number of its parts. Each part ends
  // separately. Call this once.
  void admit(const std::function<void(const CaseGroup::Finished&)>& refused,
             const std::function<void(std::size_t index, std::size_t parts)>& in_parts);
  // Takes the first group whose devices are free now. The group is no longer pending, and it holds the devices.
  struct Start {
    CaseGroup group;
    std::vector<std::string> devices;
    Takes takes = Takes::kCore;
    bool is_lone = false;
    std::string concurrency_group{};
  };
  std::optional<Start> take_first_that_fits(const Room& room = {});
  // The holders that refused devices to the last take_first_that_fits(): other runs, one sentence each.
  const std::set<std::string>& holders() const { return holders_; }

  // Call this at the end of each Start, so that another case of its concurrency group may start.
  void ended(const std::string& concurrency_group);

  bool empty() const { return left_ == 0; }
  // Puts back a group that continues on other devices. It is the next group to start.
  void put_back(CaseGroup group);
  // Puts a group behind all others, after its cases have had their turn.
  void put_last(CaseGroup group);
  // Puts back a group that must run alone.
  void put_lone(CaseGroup group);
  // Ends all remaining cases, in the planned order.
  std::vector<CaseGroup::Finished> drop(const CaseGroup::NoMore& why);
  // Ends all remaining cases. Each waits for devices that were taken out of the run.
  std::vector<CaseGroup::Finished> drop_without_devices();
  // Returns why the group can never get devices.
  CaseGroup::NoMore why_no_devices(const CaseGroup& group) const;

  // Returns the number of examined candidates, for tests. It should be about one per process.
  std::size_t looked_at() const { return looked_at_; }

 private:
  // The resources that a group needs.
  struct Demand {
    std::string backend{};
    int devices = 0;               // 0: no device
    std::set<std::string> only{};  // the allowed devices; empty: any
    Takes takes = Takes::kCore;
    std::string concurrency_group{};

    friend auto operator<=>(const Demand&, const Demand&) = default;
  };
  // Groups with the same demand, as indices of groups_, in order. The first `begun` groups have begun.
  struct Queue {
    Demand demand;
    std::vector<std::size_t> places{};
    std::size_t begun = 0;
  };
  // A group that began, stopped and waits for another start.
  struct PutBack {
    CaseGroup group;
    Demand demand;
    std::size_t passed_over = 0;
    bool is_lone = false;
  };
  // The first group of a queue, or a group that was put back.
  struct Candidate {
    const CaseGroup* group = nullptr;
    const Demand* demand = nullptr;
    bool overdue = false;
    std::size_t queue = 0;  // index of queues_; unused if `put_back` is set
    std::optional<std::size_t> put_back{};
    bool is_lone = false;
  };
  struct Found;  // results of the candidates before
  struct Admission;

  Demand demand_of(std::size_t index, const std::set<std::string>& only) const;
  static bool is_full(const Suite& suite, const Admission& admission, std::size_t place, std::size_t index);
  // Returns the group that a case joins, or a new group. `only` has the allowed devices; empty: any.
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
  std::vector<CaseGroup> groups_;  // in start order; groups that have begun are empty
  std::vector<Queue> queues_;
  std::deque<PutBack> put_back_;
  std::size_t left_ = 0;
  std::size_t looked_at_ = 0;
  std::set<std::string> holders_;
  std::map<std::string, int> running_;  // number of running groups per concurrency group
};

}  // namespace proctor
