// Whether the code or a device is at fault.
//
// Of one case (DeviceRow): a device is at fault if the case failed on it and fails there more often than elsewhere, by more
// than chance explains: Fisher's exact test, one-sided, on the table (bad, good) x (this device, all others), with the bound
// 0.01. A device that was found unhealthy after an attempt is at fault whatever the numbers are.
//
// Over all cases (DeviceShare): a device stands out by the same test over pairs of a case and a device, so that the retries
// of one bad case are not taken for more evidence. The bound, 0.01, is shared among the devices. Of attempts that had
// several devices, each counts.
#pragma once

#include <string>

#include "reports/resolve/resolved_run.h"

namespace proctor {

// The probability of at least `bad` bad attempts among the `here` attempts of one device, when `all_bad` of
// `all` attempts are bad and the device does not matter.
double chance_of_so_many(int bad, int here, int all_bad, int all);

// Sets what the devices of its attempts show of a case.
void resolve_device_row(const RunPlanned& plan, ResolvedCase& test);
// Sets ResolvedRun::device_shares, by the order of RunPlanned::devices and without devices that had no attempt, and
// ResolvedRun::device_suspicions.
void resolve_devices(ResolvedRun& run);

// What follows from it, for people: "the code: it fails on every device".
std::string conclusion(const DeviceRow& row);

// Of a run with --each-device, for people: one line per device of each case that was bad somewhere, its conclusion last.
// "" where no case that was bad has attempts on two devices.
std::string device_table(const ResolvedRun& run);

// What to run next where ResolvedRun::device_suspicions has a sentence; "" if the run did so, or is one of `exec`, which has one
// device.
std::string code_or_device_command(const RunPlanned& plan, const std::string& run_dir);

}  // namespace proctor
