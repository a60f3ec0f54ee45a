#include "reports/resolve/devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/hypergeometric.hpp>
#include <map>
#include <utility>

#include "harness/base/number_text.h"
#include "harness/base/text.h"

namespace proctor {
namespace {

// ---- One case on several devices ----

constexpr double kBeyondChance = 0.01;

bool counts_for_a_verdict(Outcome outcome) {
  return outcome != Outcome::kSkip && outcome != Outcome::kNotrun;
}

void conclude(DeviceRow& row) {
  int bad = 0;
  int all = 0;
  std::size_t bad_devices = 0;
  for (const auto& [device, count] : row.counts) {
    bad += count.bad;
    all += count.bad + count.good;
    bad_devices += count.bad > 0 ? 1 : 0;
  }
  if (bad == 0) return;
  for (const auto& [device, count] : row.counts) {
    if (count.bad == 0) continue;
    const double p = chance_of_so_many(count.bad, count.bad + count.good, bad, all);
    row.p = std::min(row.p, p);
    if (p < kBeyondChance || row.unhealthy.contains(device)) row.devices.push_back(device);
  }
  if (!row.devices.empty()) {
    row.suspect = Suspect::kDevice;
  } else {
    const bool everywhere = bad_devices >= 2 && bad_devices == row.counts.size();
    row.suspect = everywhere ? Suspect::kCode : Suspect::kUnclear;
  }
}

bool fails_elsewhere(const DeviceRow& row) {
  return std::any_of(row.counts.begin(), row.counts.end(), [&](const auto& entry) {
    return entry.second.bad > 0 &&
           std::find(row.devices.begin(), row.devices.end(), entry.first) == row.devices.end();
  });
}

// Attempts that are not evidence about code or device (skip, notrun) are not counted.
DeviceRow row_of(const ResolvedCase& test) {
  DeviceRow row;
  for (const Attempt& attempt : test.attempts) {
    const Outcome outcome = verdict_of(attempt).outcome;
    if (attempt.start.devices.empty() || !counts_for_a_verdict(outcome) || attempt.confirmed_alone) continue;
    const std::string where = fmt::format("{}", fmt::join(attempt.start.devices, "+"));
    if (is_suspect(attempt)) row.unhealthy.insert(where);
    DeviceCount& count = row.counts[where];
    ++(is_bad(outcome) ? count.bad : count.good);
  }
  conclude(row);
  return row;
}

// Returns the devices of --each-device on which the case was not run, although it ran on others.
// These devices were drained before.
std::vector<std::string> devices_not_tried(const RunPlanned& plan, const ResolvedCase& test) {
  std::vector<std::string> devices;
  if (!plan.rules.each_device || test.planned.devices < 1 || test.attempts.empty()) return devices;
  if (test.verdict.outcome == Outcome::kNotrun) return devices;
  const auto ran_on = [&](const std::string& id) {
    return std::ranges::any_of(test.attempts, [&](const Attempt& attempt) {
      return std::ranges::find(attempt.start.devices, id) != attempt.start.devices.end();
    });
  };
  for (const PlannedDevice& device : plan.devices) {
    if (device.backend == test.planned.backend && !ran_on(device.id)) devices.push_back(device.id);
  }
  return devices;
}

// ---- One device over all cases ----

constexpr double kSharedBound = 0.01;
constexpr int kFewestFailures = 2;  // a single failure is always on one device

// The attempts of one device, and the cases that ran on it.
struct DeviceTally {
  int bad = 0;
  int all = 0;
  int bad_cases = 0;
  int cases = 0;
};

std::map<std::string, DeviceTally> tallies_of(const ResolvedRun& run) {
  std::map<std::string, DeviceTally> tallies;
  for (const ResolvedCase& test : run.cases) {
    std::map<std::string, bool> failed_on;
    for (const Attempt& attempt : test.attempts) {
      const Outcome outcome = verdict_of(attempt).outcome;
      if (outcome == Outcome::kSkip || outcome == Outcome::kNotrun || is_unproven(attempt) ||
          attempt.confirmed_alone)
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

std::vector<DeviceShare> device_shares(const ResolvedRun& run) {
  const std::map<std::string, DeviceTally> tallies = tallies_of(run);
  int bad = 0;
  int all = 0;
  for (const auto& [device, tally] : tallies) {
    bad += tally.bad_cases;
    all += tally.cases;
  }
  const double bound = kSharedBound / static_cast<double>(std::max<std::size_t>(1, tallies.size()));
  std::vector<DeviceShare> shares;
  for (const PlannedDevice& device : run.plan.devices) {
    const auto found = tallies.find(device.id);
    if (found == tallies.end()) continue;
    const DeviceTally& tally = found->second;
    DeviceShare share{.device = device.id, .bad = tally.bad, .all = tally.all, .bad_cases = tally.bad_cases};
    share.p = tally.bad_cases == 0 ? 1 : chance_of_so_many(tally.bad_cases, tally.cases, bad, all);
    share.is_outlier = share.p < bound;
    shares.push_back(std::move(share));
  }
  return shares;
}

std::vector<DeviceSuspicionText> device_suspicions(const std::vector<DeviceShare>& shares) {
  std::vector<DeviceSuspicionText> suspicions;
  int bad = 0;
  int all = 0;
  for (const DeviceShare& share : shares) {
    bad += share.bad;
    all += share.all;
  }
  for (const DeviceShare& share : shares) {
    const std::string device = clean_text(share.device);
    if (share.is_outlier) {
      suspicions.push_back({fmt::format("{} of {} attempts failed on {}, {} of {} elsewhere (p = {:.1g}).",
                                        thousands(share.bad), thousands(share.all), device,
                                        thousands(bad - share.bad), thousands(all - share.all), share.p),
                            share.device});
    } else if (share.bad == bad && share.bad_cases >= kFewestFailures && all > share.all) {
      suspicions.push_back(
          {fmt::format("All {} failures ran only on {}.", thousands(share.bad_cases), device), share.device});
    }
  }
  return suspicions;
}

}  // namespace

// Values below the support of the distribution, where the probability is 1, are handled first.
double chance_of_so_many(int bad, int here, int all_bad, int all) {
  if (bad <= std::max(0, here - (all - all_bad))) return 1;
  const boost::math::hypergeometric_distribution<double> count(all_bad, here, all);
  return cdf(complement(count, bad - 1));
}

void resolve_device_row(const RunPlanned& plan, ResolvedCase& test) {
  test.by_device.reset();
  test.fault_of_devices = false;
  test.not_tried = devices_not_tried(plan, test);
  DeviceRow row = row_of(test);
  if (row.suspect == Suspect::kNone) return;
  // A failure on a set of devices does not show which device is at fault.
  test.fault_of_devices =
      test.planned.devices <= 1 && row.suspect == Suspect::kDevice && !fails_elsewhere(row);
  if (plan.rules.each_device) test.by_device = std::make_unique<DeviceRow>(std::move(row));
}

void resolve_devices(ResolvedRun& run) {
  run.device_shares = device_shares(run);
  run.device_suspicions = device_suspicions(run.device_shares);
}

std::string conclusion(const DeviceRow& row) {
  switch (row.suspect) {
    case Suspect::kNone:
      return "no failure";
    case Suspect::kCode:
      return "the code: it fails on every device";
    case Suspect::kDevice:
      if (!row.unhealthy.empty()) {
        return fmt::format("{}: found unhealthy after the case failed there{}", fmt::join(row.unhealthy, "+"),
                           fails_elsewhere(row) ? "; it fails elsewhere too" : "");
      }
      return fmt::format("{}: it fails there more often than chance explains (p = {:.1g}){}",
                         fmt::join(row.devices, "+"), row.p,
                         fails_elsewhere(row) ? ", and elsewhere too" : "");
    case Suspect::kUnclear:
      if (row.counts.size() < 2) return "unclear: it ran on one device only";
      return fmt::format("unclear: chance can explain it (p = {:.2g}); repeat it more often", row.p);
  }
  return "";
}

std::string device_table(const ResolvedRun& run) {
  std::string text;
  bool several = false;
  for (const ResolvedCase& test : run.cases) {
    if (!test.by_device) continue;
    const DeviceRow& row = *test.by_device;
    several |= row.counts.size() > 1;
    text += clean_text(test.planned.id) + '\n';
    for (const auto& [device, count] : row.counts) {
      text += fmt::format("  {:<40} {:>5} of {:<5} failed\n", clean_text(device), count.bad,
                          count.bad + count.good);
    }
    text += "  -> " + clean_text(conclusion(row)) + '\n';
  }
  return several ? text : "";
}

std::string code_or_device_command(const RunPlanned& plan, const std::string& run_dir) {
  if (plan.rules.each_device || plan.exec) return "";
  return fmt::format("proctor rerun {} --failed --each-device --repeat 5", shell_quote(run_dir));
}

}  // namespace proctor
