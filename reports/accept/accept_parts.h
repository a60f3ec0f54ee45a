// The parts of a judgement (acceptance.h): each adds what it finds to the devices.
#pragma once

#include <map>
#include <string>

#include "reports/accept/acceptance.h"

namespace proctor {

using JudgedDevices = std::map<std::string, AcceptedDevice>;  // by id

// Counts the cases of each device and attributes their failures. It runs after judge_health().
void judge_cases(const ResolvedRun& run, const AcceptQuestion& question, JudgedDevices& devices);
// Results that devices of one model must have in common.
void judge_common_results(const ResolvedRun& run, const AcceptQuestion& question, JudgedDevices& devices);
// Adds the findings of the runner: lost devices, failed health probes, errors in the kernel log.
void judge_health(const ResolvedRun& run, JudgedDevices& devices);
// Speeds, against floors and siblings.
void judge_figures(const ResolvedRun& run, const AcceptQuestion& question, JudgedDevices& devices);
// Compares the facts of the management library before and after the run, and with --expect. It adds devices that are missing.
// Returns the differences that no single device has.
std::vector<std::string> judge_facts(const AcceptQuestion& question, JudgedDevices& devices);

}  // namespace proctor
