#include "reports/model/device_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/hypergeometric.hpp>
#include <utility>

#include "harness/core/text.h"

namespace proctor {
namespace {

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
    if (p < kBeyondChance || row.sick.contains(device)) row.devices.push_back(device);
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

}  // namespace

std::string_view to_string(Suspect suspect) {
  switch (suspect) {
    case Suspect::kNone:
      return "none";
    case Suspect::kCode:
      return "code";
    case Suspect::kDevice:
      return "device";
    case Suspect::kUnclear:
      return "unclear";
  }
  return "unclear";
}

// The distribution has no value below its support, where so many are certain.
double chance_of_so_many(int bad, int here, int all_bad, int all) {
  if (bad <= std::max(0, here - (all - all_bad))) return 1;
  const boost::math::hypergeometric_distribution<double> count(all_bad, here, all);
  return cdf(complement(count, bad - 1));
}

DeviceRow device_row(const CaseRecord& record) {
  DeviceRow row;
  row.case_id = record.planned.id;
  for (const Attempt& attempt : record.attempts) {
    const Outcome outcome = verdict_of(attempt).outcome;
    if (attempt.start.devices.empty() || !counts_for_a_verdict(outcome) || attempt.confirmed_alone) continue;
    const std::string where = fmt::format("{}", fmt::join(attempt.start.devices, "+"));
    if (is_suspect(attempt)) row.sick.insert(where);
    DeviceCount& count = row.counts[where];
    ++(is_bad(outcome) ? count.bad : count.good);
  }
  conclude(row);
  return row;
}

std::string conclusion(const DeviceRow& row) {
  switch (row.suspect) {
    case Suspect::kNone:
      return "no failure";
    case Suspect::kCode:
      return "the code: it fails on every device";
    case Suspect::kDevice:
      if (!row.sick.empty()) {
        return fmt::format("{}: found unhealthy after the case failed there{}", fmt::join(row.sick, "+"),
                           fails_elsewhere(row) ? "; it fails elsewhere too" : "");
      }
      return fmt::format("{}: it fails there more often than luck explains (p = {:.1g}){}",
                         fmt::join(row.devices, "+"), row.p,
                         fails_elsewhere(row) ? ", and elsewhere too" : "");
    case Suspect::kUnclear:
      if (row.counts.size() < 2) return "unclear: it ran on one device only";
      return fmt::format("unclear: luck would do it too (p = {:.2g}); repeat it more often", row.p);
  }
  return "";
}

std::optional<DeviceRow> each_device_row(const RunModel& model, const CaseRecord& record) {
  if (!model.plan().each_device) return std::nullopt;
  DeviceRow row = device_row(record);
  return row.suspect == Suspect::kNone ? std::nullopt : std::optional(std::move(row));
}

std::vector<std::string> devices_not_tried(const RunModel& model, const CaseRecord& record) {
  std::vector<std::string> devices;
  if (!model.plan().each_device || record.planned.devices < 1 || record.attempts.empty()) return devices;
  if (model.verdict(record).outcome == Outcome::kNotrun) return devices;
  const auto ran_on = [&](const std::string& id) {
    return std::ranges::any_of(record.attempts, [&](const Attempt& attempt) {
      return std::ranges::find(attempt.start.devices, id) != attempt.start.devices.end();
    });
  };
  for (const PlannedDevice& device : model.plan().devices) {
    if (device.backend == record.planned.backend && !ran_on(device.id)) devices.push_back(device.id);
  }
  return devices;
}

bool is_fault_of_devices(const CaseRecord& record) {
  if (record.planned.devices > 1) return false;  // a set of devices does not show which of them is at fault
  const DeviceRow row = device_row(record);
  return row.suspect == Suspect::kDevice && !fails_elsewhere(row);
}

std::string device_table(const RunModel& model) {
  std::string text;
  bool several = false;
  for (const CaseRecord& record : model.cases()) {
    const DeviceRow row = device_row(record);
    if (row.suspect == Suspect::kNone) continue;
    several |= row.counts.size() > 1;
    text += clean_text(row.case_id) + '\n';
    for (const auto& [device, count] : row.counts) {
      text +=
          fmt::format("  {:<40} {:>5} of {:<5} bad\n", clean_text(device), count.bad, count.bad + count.good);
    }
    text += "  -> " + clean_text(conclusion(row)) + '\n';
  }
  return several ? text : "";
}

}  // namespace proctor
