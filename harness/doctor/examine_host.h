// Everything that doctor says about a host. A pure function: the same files and the same day give the same
// findings.
#pragma once

#include <string>
#include <vector>

#include "harness/doctor/examination.h"
#include "harness/doctor/known_bad.h"

namespace proctor {

// The demands of the stack locks with which this program was built.
std::vector<HostMinimum> embedded_host_minima();

// `today` is "2026-11-21"; a rule whose re-check date has passed is reported whether it holds or not.
HostFindings examine_host(const Host& host, const std::vector<HostMinimum>& minima,
                          const std::vector<KnownBad>& rules, const std::string& today);

// This day in UTC.
std::string today_text();

HostState worst_state(const HostFindings& findings);

// One line about why a device may be missing: the first thing that is broken, else which cards there are.
std::string telling_finding(const HostFindings& findings);

// {"verdicts": [{check, state, what, where, fix, sources}], "ok": N, "warn": N, "broken": N}
std::string to_json(const HostFindings& findings);

}  // namespace proctor
