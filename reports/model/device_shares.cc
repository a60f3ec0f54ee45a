#include "reports/model/device_shares.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "harness/core/text.h"
#include "reports/model/device_table.h"

namespace proctor {
namespace {

constexpr double kSharedBound = 0.01;
constexpr int kFewestFailures = 2;  // of one case alone, all failures are on one device

// Of one device: its attempts, and the cases that ran there.
struct DeviceTally {
  int bad = 0;
  int all = 0;
  int bad_cases = 0;
  int cases = 0;
};

std::map<std::string, DeviceTally> tallies_of(const RunModel& model) {
  std::map<std::string, DeviceTally> tallies;
  for (const CaseRecord& record : model.cases()) {
    std::map<std::string, bool> failed_on;
    for (const Attempt& attempt : record.attempts) {
      const Outcome outcome = verdict_of(attempt).outcome;
      const bool unproven = attempt.end && has_mark(attempt.end->marks, Mark::kUnproven);
      if (outcome == Outcome::kSkip || outcome == Outcome::kNotrun || unproven || attempt.confirmed_alone)
        continue;
      for (const std::string& device : attempt.start.devices) {
        DeviceTally& tally = tallies[device];
        ++tally.all;
        if (is_bad(outcome)) ++tally.bad;
        failed_on[device] |= is_bad(outcome);
      }
    }
    for (const auto& [device, failed] : failed_on) {
      ++tallies[device].cases;
      if (failed) ++tallies[device].bad_cases;
    }
  }
  return tallies;
}

}  // namespace

std::vector<DeviceShare> device_shares(const RunModel& model) {
  const std::map<std::string, DeviceTally> tallies = tallies_of(model);
  int bad = 0;
  int all = 0;
  for (const auto& [device, tally] : tallies) {
    bad += tally.bad_cases;
    all += tally.cases;
  }
  const double bound = kSharedBound / static_cast<double>(std::max<std::size_t>(1, tallies.size()));
  std::vector<DeviceShare> shares;
  for (const PlannedDevice& device : model.plan().devices) {
    const auto found = tallies.find(device.id);
    if (found == tallies.end()) continue;
    const DeviceTally& tally = found->second;
    DeviceShare share{.device = device.id, .bad = tally.bad, .all = tally.all, .bad_cases = tally.bad_cases};
    share.p = tally.bad_cases == 0 ? 1 : chance_of_so_many(tally.bad_cases, tally.cases, bad, all);
    share.stands_out = share.p < bound;
    shares.push_back(std::move(share));
  }
  return shares;
}

std::string code_or_device_command(const RunModel& model, const std::string& run_dir) {
  if (model.plan().each_device || model.plan().exec) return "";
  return fmt::format("proctor rerun {} --failed --each-device --repeat 5", shell_quote(run_dir));
}

std::vector<DeviceDoubtText> device_doubts(const RunModel& model) {
  const std::vector<DeviceShare> shares = device_shares(model);
  std::vector<DeviceDoubtText> doubts;
  int bad = 0;
  int all = 0;
  for (const DeviceShare& share : shares) {
    bad += share.bad;
    all += share.all;
  }
  for (const DeviceShare& share : shares) {
    const std::string device = clean_text(share.device);
    if (share.stands_out) {
      doubts.push_back({fmt::format("{} of {} attempts failed on {}, {} of {} elsewhere (p = {:.1g}).",
                                    share.bad, share.all, device, bad - share.bad, all - share.all, share.p),
                        share.device});
    } else if (share.bad == bad && share.bad_cases >= kFewestFailures && all > share.all) {
      doubts.push_back(
          {fmt::format("All {} failures ran only on {}.", share.bad_cases, device), share.device});
    }
  }
  return doubts;
}

}  // namespace proctor
