#include "harness/runner/run.h"

#include <filesystem>
#include <utility>

#include "harness/base/replace_file.h"
#include "harness/runner/acceptance.h"
#include "harness/runner/exec_plan.h"
#include "harness/runner/finish_run.h"
#include "harness/runner/plan_step.h"
#include "harness/runner/record/joined_run.h"
#include "harness/runner/record/run_directory.h"
#include "reports/formats/junit.h"

namespace proctor {
namespace {

using namespace runner;

// Overwrites the file of --junit with a failure at the start, so that a file of an earlier run is never mistaken for
// the result of this one.
Result<void> forget_old_report(const RunRequest& request) {
  const std::string& junit = request.reports.junit;
  if (junit.empty()) return {};
  if (auto usable = check_output_file("--junit", junit); !usable) return usable;
  if (auto free = check_no_other_run("--junit", junit, request.reports.out); !free) return free;
  std::error_code unknown;
  const auto there = std::filesystem::status(junit, unknown);
  if (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there))
    return Error::refused("--junit " + junit + " is not a regular file");
  return replace_file(junit, junit_without_run("The run has not finished."));
}

// Sets the directory of the run: the directory of --out, or the one of a part of a joined run.
Result<void> set_directory(RunRequest& request, const std::string& run_id) {
  ReportRequest& reports = request.reports;
  if (reports.join.empty()) return {};
  std::error_code error;
  if (std::filesystem::exists(reports.join, error) && !std::filesystem::is_directory(reports.join, error))
    return Error::refused("--join " + reports.join + " is not a directory");
  const auto open = find_joined_run(reports.join, parent_of_this_process());
  reports.is_part = open && !is_closed(*open);
  if (!reports.is_part) {
    reports.out = reports.join + "/" + run_id;
    return {};
  }
  const auto part = new_part(*open);
  if (!part) return part.error();
  reports.out = part->string();
  request.machine.known_containment = known_containment_of(*open);
  return {};
}

// Writes the reason into the reports of a run that did not start. Returns the error. If a report could not be written,
// the hint of the error names it.
Error leave_why(const RunRequest& request, Error error) {
  const ReportRequest& reports = request.reports;
  // A refused part has no journal. The reports of the joined run show the reason.
  if (!reports.join.empty() && !reports.out.empty()) leave_refusal(reports.out, error);
  if (reports.junit.empty()) return error;
  const std::string why = "The run was refused: " + error.message() + ". " + error.hint;
  if (auto written = replace_file(reports.junit, junit_without_run(why)); !written)
    error.hint += (error.hint.empty() ? "" : " ") + written.error().message();
  return error;
}

// Reads the keys of the files. The places of the reports come from the request, then from these keys.
Result<AskedRun> ask_with_places(RunRequest& request, const std::string& run_id) {
  if (auto set = set_directory(request, run_id); !set) return set.error();
  auto asked = ask(request);
  if (!asked || !request.reports.junit.empty()) return asked;
  if (auto forgotten = forget_old_report(asked->request); !forgotten) return forgotten.error();
  request.reports.junit = asked->request.reports.junit;
  return asked;
}

// Runs the checks that only one command has.
Result<void> check_command(Checked& checked) {
  switch (checked.request().command) {
    case kForExec:
      return check_exec(checked);
    case kForAccept:
      return check_acceptance(checked);
    default:
      return {};
  }
}

Result<FoundPlan> find_cases(const Checked& checked, RunDisplay& display) {
  switch (checked.request().command) {
    case kForExec:
      return plan_of_command(checked);
    case kForAccept:
      return plan_of_acceptance(checked, display);
    default:
      return find_plan(checked, display);
  }
}

Result<PlannedRun> plan_with(Checked& checked, RunDisplay& display) {
  if (auto allowed = check_command(checked); !allowed) return allowed.error();
  sweep_dead(checked);
  auto found = find_cases(checked, display);
  if (!found) return with_finding(found.error(), *checked.machine);
  return plan_run(checked, *std::move(found));
}

Result<RunResult> take_steps(RunRequest& request, const std::string& run_id, Machine& machine,
                             RunDisplay& display, RunControl& control) {
  auto asked = ask_with_places(request, run_id);
  if (!asked) return asked.error();
  auto checked = check(*std::move(asked), run_id, machine);
  if (!checked) return checked.error();
  auto planned = plan_with(*checked, display);
  if (!planned) return planned.error();
  auto placed = place(*checked, *std::move(planned));
  if (!placed) return placed.error();
  auto prepared = prepare(*checked, *std::move(placed));
  if (!prepared) return prepared.error();
  return finish_run(*checked, **prepared, display, control);
}

RunRequest settled(const RunRequest& request) {
  return request.command == kForAccept ? with_level(request) : request;
}

}  // namespace

Result<RunResult> run(const RunRequest& request, Machine& machine, RunDisplay& display) {
  const auto control = RunControl::open();
  return control ? run(request, machine, display, **control) : control.error();
}

Result<RunResult> run(const RunRequest& request, Machine& machine, RunDisplay& display, RunControl& control) {
  RunRequest asked = settled(request);
  // A report file of another run is not changed.
  if (auto forgotten = forget_old_report(asked); !forgotten) return forgotten.error();
  auto result = take_steps(asked, new_run_id(), machine, display, control);
  machine.close();
  return result ? result : leave_why(asked, result.error());
}

Result<PlannedRun> plan_run(const RunRequest& request, Machine& machine, RunDisplay& display) {
  auto asked = ask(settled(request));
  if (!asked) return asked.error();
  asked->request.plan.dry_run = asked->typed.plan.dry_run = true;
  auto checked = check(*std::move(asked), new_run_id(), machine);
  if (!checked) return checked.error();
  auto planned = plan_with(*checked, display);
  if (!planned) return planned.error();
  if (auto part = take_part(*checked, *planned); !part) return part.error();
  return planned;
}

Error refuse_run(RunRequest request, Error error) {
  const std::string run_id = new_run_id();
  if (!forget_old_report(request) || !set_directory(request, run_id)) return error;
  return leave_why(request, std::move(error));
}

}  // namespace proctor
