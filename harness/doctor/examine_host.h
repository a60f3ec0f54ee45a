// Runs all checks of doctor on a host. The functions are pure: the same Host and the same day give the same findings.
#pragma once

#include <string>
#include <vector>

#include "harness/doctor/examination.h"
#include "harness/doctor/known_bad.h"

namespace proctor {

// Returns the host requirements of the stack locks that are embedded in this program.
std::vector<HostMinimum> embedded_host_minima();

// `today` is "2026-11-21". A rule whose re-check date has passed is reported in any case.
HostFindings examine_host(const Host& host, const std::vector<HostMinimum>& minima,
                          const std::vector<KnownBad>& rules, const std::string& today);

// Finds faults that take devices away from a program. The way from driver to program has four parts: kernel module,
// libraries, CDI specification and device nodes. In a container, others can replace each of them. The function runs a
// part of the checks of examine_host().
HostFindings find_access_faults(const Host& host, Backend backend);

// Formats a finding: "WHAT, at WHERE; to fix it: FIX".
std::string to_sentence(const HostFinding& finding);

// Returns the current day in UTC: "2026-11-21".
std::string today_text();

HostState worst_state(const HostFindings& findings);

// Returns one line about why a device may be missing: the first broken finding, else the list of cards.
std::string telling_finding(const HostFindings& findings);

// {"verdicts": [{check, state, what, where, fix, sources}], "ok": N, "warn": N, "broken": N}
std::string to_json(const HostFindings& findings);

}  // namespace proctor
