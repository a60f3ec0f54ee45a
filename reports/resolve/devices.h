// Determines whether the code or a device causes failures.
//
// For one case (DeviceRow): a device is at fault if the case fails on it more often than elsewhere, by more than chance
// explains. The test is Fisher's exact test, one-sided, on the table (bad, good) x (this device, all others), with the
// bound 0.01. A device that was unhealthy after an attempt is at fault independent of the numbers.
//
// For all cases (DeviceShare): a device is an outlier by the same test over pairs of a case and a device, so that
// retries of one bad case are not more evidence. The bound 0.01 is shared among the devices. For an attempt with
// several devices, each device counts.
#pragma once

#include <string>

#include "reports/resolve/resolved_run.h"

namespace proctor {

// Returns the probability of at least `bad` bad attempts among the `here` attempts of one device, if `all_bad` of `all`
// attempts are bad and the device has no influence.
double chance_of_so_many(int bad, int here, int all_bad, int all);

// Sets the result of a case on each device of its attempts.
void resolve_device_row(const RunPlanned& plan, ResolvedCase& test);
// Sets ResolvedRun::device_shares and ResolvedRun::device_suspicions. The shares are in the order of RunPlanned::devices,
// without devices that had no attempt.
void resolve_devices(ResolvedRun& run);

// Returns the conclusion for people: "the code: it fails on every device".
std::string conclusion(const DeviceRow& row);

// Returns the table of a run with --each-device for people. Each case that was bad somewhere has one line for each
// device, and its conclusion last. Returns "" if no bad case has attempts on two devices.
std::string device_table(const ResolvedRun& run);

// Returns the command that gives more evidence if ResolvedRun::device_suspicions has a sentence. Returns "" if the run
// already used this command, or if it is a run of `exec`, which has one device.
std::string code_or_device_command(const RunPlanned& plan, const std::string& run_dir);

}  // namespace proctor
