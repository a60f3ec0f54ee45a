#include "harness/runner/first_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <set>
#include <utility>

#include "harness/base/clock.h"
#include "harness/base/secrets.h"
#include "harness/base/text.h"
#include "harness/base/words.h"
#include "harness/frameworks/kind.h"
#include "harness/plan/recognise.h"
#include "harness/plan/written_off.h"
#include "harness/request/merge_requests.h"
#include "harness/request/option.h"
#include "harness/runner/checked.h"
#include "harness/runner/machine/case_environment.h"
#include "harness/runner/machine/default_devices.h"
#include "harness/runner/machine/installation.h"
#include "harness/runner/new_cases.h"
#include "harness/runner/prepared.h"
#include "harness/runner/schedule/describe_plan.h"

namespace proctor::runner {
namespace {

std::set<std::size_t> suites_with_cases(const Plan& plan) {
  std::set<std::size_t> used;
  for (const Case& test : plan.cases) used.insert(test.suite);
  return used;
}

// Adds the suites with `host_pids` to the guarantees that do not hold, with the weaker layer that they get.
void describe_host_pids(const Plan& plan, Layer layer, ContainmentInfo& info) {
  std::string names;
  for (const Suite& suite : plan.suites) {
    if (suite.host_pids) names += (names.empty() ? "" : ", ") + suite.name;
  }
  if (names.empty()) return;
  info.not_guaranteed.push_back(
      fmt::format("host_pids: {} held by {}{}", names, to_string(without_pid_namespace(layer)),
                  info.signals.empty() ? "" : "; without CAP_SYS_ADMIN in no signal scope"));
}

void describe_machine(const Checked& checked, const Prepared& prepared, RunPlanned& planned) {
  const Placed& placed = prepared.placed;
  const Plan& plan = placed.planned.plan;
  const Containment& containment = *prepared.setup.containment;
  planned.hostname = host_name();
  planned.containment = containment.info();
  describe_host_pids(plan, containment.layer(), planned.containment);
  if (const auto& simulation = checked.machine->simulation()) planned.sim = to_sim_info(*simulation);
  for (const Backend backend : checked.machine->discrete_backends())
    planned.backends_present.emplace_back(to_string(backend));
  const bool reported = std::ranges::find(placed.planned.warnings, WarningCode::kDeviceShortage,
                                          &Warning::code) != placed.planned.warnings.end();
  if (!reported) planned.missing_backend = backend_without_devices(plan, placed.devices);
  planned.hidden_by = variable_that_hides(planned.missing_backend, placed.devices);
  planned.stack = placed.devices.stack;
  prepared.stack.describe(planned);
  for (StackFact& fact : unsaid_drivers(placed.devices)) planned.fingerprint.push_back(std::move(fact));
}

void describe_choices(const Checked& checked, const PlannedRun& chosen, RunPlanned& planned) {
  const RunRequest& request = chosen.request;
  planned.command_line = without_credentials(hide_secrets(checked.request().caller.command_line));
  planned.directory = request.config.directory;
  planned.profile = request.config.profile;
  planned.inputs = chosen.inputs;
  planned.size = chosen.extent.size;
  planned.seed = chosen.extent.seed;
  const auto flaky = parse_flaky(request.verdicts.flaky.value_or("fail"));
  planned.flaky_passes = flaky && flaky->passes;
  planned.max_flaky_percent = flaky ? flaky->budget : 0;
  planned.rules = rules_in_force(request.rules);
  planned.stress_ms = checked.repeats.turns.count();
  planned.exclusion = checked.repeats.exclusion;
  planned.exec = checked.request().command == kForExec;
  planned.known_failures = checked.known_failures.file;
}

void describe_subject(const Checked& checked, Prepared& prepared) {
  FoundSubject found =
      find_subject(checked.subject, checked.machine->caller(), checked.request().config.directory);
  prepared.planned.subject = std::move(found.subject);
  std::vector<Warning>& warnings = prepared.placed.planned.warnings;
  warnings.insert(warnings.end(), found.warnings.begin(), found.warnings.end());
}

PlannedSuite describe_suite(const Suite& suite) {
  PlannedSuite planned{.name = suite.name,
                       .backend = std::string(to_string(suite.backend)),
                       .kind = std::string(suite.kind->name()),
                       .command = suite.command,
                       .devices = suite.devices,
                       .devices_reason = suite.devices_by == DevicesBy::kRule ? suite.devices_reason : "",
                       .devices_disabled = suite.devices_by == DevicesBy::kWritten && suite.devices == 0};
  const auto own_path = suite.env.find("PATH");
  const auto program = find_executable(suite, own_path != suite.env.end() ? own_path->second : search_path());
  if (program) planned.program = *program;
  if (!program) planned.reason = "failed to " + program.error().what;
  std::error_code error;
  const auto bytes = std::filesystem::file_size(planned.program, error);
  if (!error) planned.bytes = bytes;
  return planned;
}

void repeat_new_cases(const Checked& checked, Prepared& prepared) {
  const Plan& plan = prepared.placed.planned.plan;
  const Repeats& repeats = checked.repeats;
  const NewCases found = new_cases(plan, prepared.planned.suites, *checked.seen);
  for (const std::string& id : found.ids) prepared.setup.repeats.at_least[id] = repeats.times_if_new;
  prepared.placed.devices.notes.push_back(
      fmt::format("  new since    {}: {}", repeats.known_from,
                  to_string(found, plan.cases.size(), repeats.times_if_new)));
}

// Records everything that narrows the run: typed options, keys of the files, entries of [[skip]], and variables of each
// suite that has cases.
void describe_narrowing(const Checked& checked, Prepared& prepared) {
  const Plan& plan = prepared.placed.planned.plan;
  const Environment& caller = checked.machine->caller();
  Narrowed& narrowed = prepared.planned.restrictions;
  const AskedRun& asked = checked.asked;
  narrowed.options = narrowing_options(asked.typed, asked.typed.command);
  std::ranges::move(narrowing_keys(asked.typed, asked.keys), std::back_inserter(narrowed.options));
  std::ranges::move(narrowing_of_skips(plan.cases), std::back_inserter(narrowed.options));
  for (const std::size_t i : suites_with_cases(plan)) {
    const Suite& suite = plan.suites[i];
    // If the environment of a suite cannot be created here, none of its cases starts.
    const auto environment = prepared.environments->of(suite, {});
    const auto found =
        narrowing_variables(suite, caller, environment ? environment->variables : to_list(caller),
                            checked.machine->installation().shared_file("pytest"));
    narrowed.variables.insert(narrowed.variables.end(), found.begin(), found.end());
  }
  const auto lines = proctor::describe_narrowing(narrowed.variables);
  std::vector<std::string>& notes = prepared.placed.devices.notes;
  notes.insert(notes.end(), lines.begin(), lines.end());
}

// Adds a note that names the runs of the same plan and the command that merges them. Their directories are known only
// here.
void report_rest(const Checked& checked, const PlannedRest& rest, Prepared& prepared) {
  const std::vector<std::string>& runs = checked.request().plan.remaining_of;
  std::string note = fmt::format("remaining cases of run {}: {} of {}", joined(rest.runs, ", "),
                                 prepared.placed.planned.plan.cases.size(), rest.planned);
  if (!runs.empty()) {
    std::string words;
    for (const std::string& run : runs) words += shell_quote(run) + ' ';
    note += fmt::format("; afterwards: proctor report merge {}{} --out DIR", words,
                        shell_quote(prepared.run_dir));
    if (rest.shards > 1) note += ", with the other shards";
  }
  prepared.placed.devices.notes.push_back(std::move(note));
}

}  // namespace

void write_first_record(const Checked& checked, Prepared& prepared) {
  const Placed& placed = prepared.placed;
  const Plan& plan = placed.planned.plan;
  RunPlanned& planned = prepared.planned;
  planned.run_id = checked.run_id;
  planned.started = utc_now();
  planned.proctor_version = PROCTOR_VERSION;
  describe_choices(checked, placed.planned, planned);
  describe_machine(checked, prepared, planned);
  planned.jobs = placed.jobs.all;
  for (const std::size_t i : suites_with_cases(plan))
    planned.suites.push_back(describe_suite(plan.suites[i]));
  if (checked.seen) repeat_new_cases(checked, prepared);
  describe_plan(plan, DevicePool(placed.devices.pool), prepared.setup.repeats, planned);
  describe_subject(checked, prepared);
  prepared.programs.emplace(planned.suites);
  describe_narrowing(checked, prepared);
  if (!placed.part) return;
  planned.shard = placed.part->shard;
  planned.rest = placed.part->rest;
  planned.plan_digest = placed.part->digest;
  planned.filters = placed.part->filters;
  if (planned.rest) report_rest(checked, *planned.rest, prepared);
}

}  // namespace proctor::runner
