// The judgement of a run of `proctor accept`.
//
// A case that fails on one device counts against that device. A case of several devices counts against the only one that
// its other runs do not clear (attribution.h). If no run clears one of them, all of them are incomplete. A case that fails
// on all devices counts against the software. No failure is dropped.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/accept/accept_report.h"
#include "reports/accept/expected_machine.h"

namespace proctor {

// The input of the judgement besides the run.
struct AcceptQuestion {
  int level = 2;
  ChosenSteps steps;
  std::optional<ExpectedMachine> expected{};
  FactsOfCards before{};
  FactsOfCards after{};
  std::vector<std::string> problems{};  // why facts are missing
  std::string again{};                  // the command of the next acceptance; --devices may follow
  std::string command_line{};
  std::string run_dir{};
};

AcceptReport judge_acceptance(const ResolvedRun& run, const AcceptQuestion& question);

// ---- The parts of the judgement: each adds what it finds to the devices ----

using JudgedDevices = std::map<std::string, AcceptedDevice>;  // by id

// Adds the findings of the runner: lost devices, failed health probes, errors in the kernel log.
void judge_health(const ResolvedRun& run, JudgedDevices& devices);
// Counts the cases of each device and attributes their failures. It runs after judge_health().
void judge_cases(const ResolvedRun& run, const AcceptQuestion& question, JudgedDevices& devices);
// Speeds, against floors and siblings, and results that devices of one model must have in common. It runs after judge_cases().
void judge_figures(const ResolvedRun& run, const AcceptQuestion& question, JudgedDevices& devices);
// Compares the facts of the management library before and after the run, and with --expect. It adds devices that are missing.
// Returns the differences that no single device has.
std::vector<std::string> judge_facts(const AcceptQuestion& question, JudgedDevices& devices);

// What a failure means for the device. `name`: SUITE/GROUP.NAME without the backend, or a name of the same form.
ActionRule action_for(std::string_view name, Outcome outcome = Outcome::kFail);

// Whether devices of one model may be compared by this figure. Devices that work at the same time share the links to the host,
// so that one of them is slower for the others.
bool is_of_device_alone(const std::string& figure);
// Whether the figure is more than 10 % below the best, beyond its own spread.
bool is_far_below(const AcceptFigure& figure, double best);

}  // namespace proctor
