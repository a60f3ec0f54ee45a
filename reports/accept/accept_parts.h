// The parts of a judgement (acceptance.h): each adds what it finds to the devices.
#pragma once

#include <map>
#include <string>

#include "reports/accept/acceptance.h"

namespace proctor {

using JudgedDevices = std::map<std::string, AcceptedDevice>;  // by id

// What the cases did on each device.
void judge_cases(const RunModel& model, const AcceptQuestion& question, JudgedDevices& devices);
// Results that devices of one model must have in common.
void judge_common_results(const RunModel& model, JudgedDevices& devices);
// What the runner found out about the devices beside the cases.
void judge_health(const RunModel& model, JudgedDevices& devices);
// Speeds, against floors and siblings.
void judge_figures(const RunModel& model, const AcceptQuestion& question, JudgedDevices& devices);
// What the management library tells, before and after, and what was expected. Devices that are missing are added.
void judge_facts(const RunModel& model, const AcceptQuestion& question, JudgedDevices& devices);

}  // namespace proctor
