// Whether the code or a card is to blame: how often each case failed on each device, and what follows from
// it.
//
// A device is blamed when the case failed on it and it fails there more often than elsewhere, by more than
// chance explains: Fisher's exact test, one-sided, on the table (bad, good) x (this device, all others). A device
// that was found unhealthy after an attempt is blamed whatever the numbers are.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "reports/model/run_model.h"

namespace proctor {

struct DeviceCount {
  int bad = 0;
  int good = 0;
};

enum class Suspect {
  kNone,     // no attempt was bad
  kCode,     // bad wherever it ran, on two devices or more
  kDevice,   // bad on `devices`, by more than chance
  kUnclear,  // bad somewhere, but too few attempts, or devices, to decide
};
std::string_view to_string(Suspect suspect);  // "none", "code", "device", "unclear"

struct DeviceRow {
  std::string case_id;
  std::map<std::string, DeviceCount> counts;  // device, or devices joined by '+', -> attempts
  std::set<std::string> sick;                 // of them: those that were found sick after a bad attempt
  Suspect suspect = Suspect::kNone;
  std::vector<std::string> devices;  // kDevice: the blamed ones
  double p = 1;                      // kDevice, kUnclear: the smallest probability that it is chance
};

// The probability of at least `bad` bad attempts among the `here` attempts of one device, when `all_bad` of
// `all` attempts are bad and the device does not matter.
double chance_of_so_many(int bad, int here, int all_bad, int all);

// Attempts that say nothing about code or card (skip, notrun) are not counted.
DeviceRow device_row(const CaseRecord& record);

// What follows from it, for people: "the code: it fails on every device".
std::string conclusion(const DeviceRow& row);

// Of a case of a run with --each-device that was bad somewhere; none of any other.
std::optional<DeviceRow> each_device_row(const RunModel& model, const CaseRecord& record);

// The devices of --each-device on which a case that ran on others was not run: they were taken out before.
std::vector<std::string> devices_not_tried(const RunModel& model, const CaseRecord& record);

// Whether the case fails on some devices, by more than chance, and nowhere else. It then says nothing about
// the code. Never true of a case for several devices.
bool is_fault_of_devices(const CaseRecord& record);

// For people: one line per device of each case that was bad somewhere, its conclusion last. "" where no case that was
// bad has attempts on two devices.
std::string device_table(const RunModel& model);

}  // namespace proctor
