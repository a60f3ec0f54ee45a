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

// What is wrong on the way from a vendor's driver to a program, which in a container has four parts that others
// replace: kernel module, libraries, CDI specification and device nodes. The checks are some of those of examine_host();
// only what takes devices away is found.
HostFindings find_access_faults(const Host& host, Backend backend);

// "WHAT, at WHERE; to fix it: FIX"
std::string to_sentence(const HostFinding& finding);

// This day in UTC.
std::string today_text();

HostState worst_state(const HostFindings& findings);

// One line about why a device may be missing: the first thing that is broken, else which cards there are.
std::string telling_finding(const HostFindings& findings);

// {"verdicts": [{check, state, what, where, fix, sources}], "ok": N, "warn": N, "broken": N}
std::string to_json(const HostFindings& findings);

}  // namespace proctor
