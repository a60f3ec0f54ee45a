// Judges a run of `proctor accept`. The result is an AcceptReport; nothing is written.
//
// A case that fails on one device counts against that device. A case with several devices counts against the only
// device that its other trials do not clear (attribution.h). If no trial clears any of them, all of them are
// incomplete. A case that fails on all devices counts against the software. No failure is dropped.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/accept/accept_report.h"
#include "reports/accept/expected_machine.h"

namespace proctor {

// The input of the judgement in addition to the run.
struct AcceptQuestion {
  int level = 2;
  ChosenSteps steps;
  std::optional<ExpectedMachine> expected{};
  FactsOfCards before{};
  FactsOfCards after{};
  std::vector<std::string> problems{};  // why facts are missing
  std::string again{};  // the command of the next acceptance, to which --devices may be appended
  std::string command_line{};
  std::string run_dir{};
};

AcceptReport judge_acceptance(const ResolvedRun& run, const AcceptQuestion& question);

// ---- The parts of the judgement: each adds its findings to the devices ----

using JudgedDevices = std::map<std::string, AcceptedDevice>;  // by id

// Adds the findings of the runner: lost devices, failed health probes, errors in the kernel log.
void judge_health(const ResolvedRun& run, JudgedDevices& devices);
// Counts the cases of each device and attributes their failures. It must run after judge_health().
void judge_cases(const ResolvedRun& run, const AcceptQuestion& question, JudgedDevices& devices);
// Compares speeds with floors and with devices of the same model, and compares results that devices of one model must
// share. It must run after judge_cases().
void judge_figures(const ResolvedRun& run, const AcceptQuestion& question, JudgedDevices& devices);
// Compares the facts of the management library before and after the run, and with --expect. It adds missing devices.
// Returns the differences that concern no single device.
std::vector<std::string> judge_facts(const AcceptQuestion& question, JudgedDevices& devices);

// Returns the action for a failure. `name` is SUITE/GROUP.NAME without the backend, or a name of the same form.
ActionRule action_for(std::string_view name, Outcome outcome = Outcome::kFail);

// Returns whether devices of one model may be compared by this figure. Devices that work at the same time share the
// links to the host, so figures of these links are not comparable.
bool is_of_device_alone(const std::string& figure);
// Returns whether the figure is more than 10 % below the best, beyond its own spread.
bool is_far_below(const AcceptFigure& figure, double best);

}  // namespace proctor
