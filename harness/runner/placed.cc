#include "harness/runner/placed.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/base/backend.h"
#include "harness/base/text.h"
#include "harness/devices/environment.h"
#include "harness/frameworks/kind.h"
#include "harness/plan/recognise.h"
#include "harness/runner/machine/case_environment.h"
#include "harness/runner/machine/default_devices.h"
#include "harness/runner/machine/discover_plan.h"
#include "harness/runner/machine/installation.h"
#include "harness/runner/machine/program_needs.h"
#include "harness/runner/schedule/describe_plan.h"
#include "reports/resolve/rerun.h"

namespace proctor::runner {
namespace {

// ---- Devices ----

// Refuses --devices if no case uses a device, because the option would appear to have an effect.
Result<void> check_devices_used(const std::string& chosen, const Plan& plan) {
  const auto gets_some = [](const Case& test) { return test.devices > 0; };
  if (chosen.empty() || std::ranges::any_of(plan.cases, gets_some)) return {};
  return Error::refused("--devices " + chosen + " has no effect: no selected case uses a device",
                        "Add --backend cuda or --backend xpu.");
}

// Refuses --devices with too few devices. Other shortages are warnings: the run continues, and the reports name the
// skipped cases.
Result<void> check_devices_asked(const Checked& checked, Placed& placed) {
  const RunRequest& request = checked.request();
  const SelectionOptions& selection = request.selection;
  const std::string& chosen = request.machine.devices;
  const bool backend = selection.backend.has_value() && request.plan.file.empty();
  const bool anybody = !selection.backend && checked.machine->likely_backends().empty();
  for (DeviceShortage& lack :
       device_shortages(placed.planned.plan, placed.devices, {.backend = backend, .count = selection.gpus})) {
    if (!chosen.empty())
      return Error::refused(fmt::format("--devices {} is not enough: {}, {} named", shell_quote(chosen),
                                        requested(lack), lack.present),
                            "Name more devices, or change --backend or --gpus.");
    if (lack.present == 0 && request.rules.allow_no_device.value_or(false)) continue;
    if (anybody) lack.backend = lack.why = "";  // no vendor is likely here: the message names no vendor
    const char* next = checked.machine->simulation() ? "" : "; next: `proctor doctor`";
    placed.planned.warnings.push_back(
        {WarningCode::kDeviceShortage, to_string(lack) + "; " + about_machine(*checked.machine) + next});
    if (anybody) break;
  }
  return {};
}

// Warns about faults that hide the devices of the plan. It does not warn if a mask variable of the user hides the
// devices, or if the user allows a run without devices.
void report_access_faults(const Checked& checked, Placed& placed) {
  const RunRequest& request = placed.planned.request;
  const bool may_be_none = request.rules.allow_no_device.value_or(false);
  const std::string& root = request.reports.stack_root;
  const Plan& plan = placed.planned.plan;
  const bool simulated = checked.machine->simulation() && root == "/";
  if (simulated || std::ranges::none_of(plan.cases, [](const Case& test) { return test.devices > 0; }))
    return;
  const auto path = checked.machine->caller().find("LD_LIBRARY_PATH");
  placed.access =
      std::make_unique<DeviceAccess>(root, path == checked.machine->caller().end() ? "" : path->second);
  const AskedDevices all{.backend = true, .count = request.selection.gpus};
  for (const DeviceShortage& lack : device_shortages(plan, placed.devices, all)) {
    const bool allowed = lack.present == 0 && may_be_none;
    const auto backend = parse_backend(lack.backend);
    if (allowed || !backend || !variable_that_hides(lack.backend, placed.devices).empty()) continue;
    for (Warning& warning : placed.access->why_missing(*backend))
      placed.planned.warnings.push_back(std::move(warning));
  }
}

// Reads "CASE=DEVICE". An id can contain any character. The name of a device contains no '='.
Result<std::pair<std::string, std::string>> read_pin(const std::string& pin, const Plan& plan,
                                                     const FoundDevices& devices) {
  const auto refuse = [&](const std::string& why, const std::string& hint) {
    return Error::refused("--pin " + shell_quote(pin) + ": " + why, hint);
  };
  const std::size_t equals = pin.rfind('=');
  if (equals == std::string::npos)
    return refuse("must be CASE=DEVICE", "For example --pin suite/case=xpu:0.");
  const std::string id = pin.substr(0, equals);
  const auto test = std::ranges::find(plan.cases, id, &Case::id);
  if (test == plan.cases.end())
    return refuse("no selected case is `" + id + "`", "Run `proctor list` to see the ids.");
  if (test->devices != 1) {
    return refuse(fmt::format("the case uses {} devices", test->devices),
                  "Use --devices to select the devices of a run.");
  }
  const auto chosen = devices.choose(pin.substr(equals + 1));
  if (!chosen) {
    const std::string& what = chosen.error().what;
    return refuse(what.substr(what.find(": ") + 2), chosen.error().hint);
  }
  if (chosen->size() != 1) return refuse("must name exactly one device", "");
  return std::pair(id, chosen->front());
}

void note(const std::vector<std::string>& lines, FoundDevices& devices) {
  devices.notes.insert(devices.notes.end(), lines.begin(), lines.end());
}

Result<void> find_devices(const Checked& checked, Placed& placed) {
  const RunRequest& request = checked.request();
  Plan& plan = placed.planned.plan;
  auto found = checked.machine->devices(backends_of(plan));
  if (!found) return found.error();
  FoundDevices& devices = placed.devices = *std::move(found);
  // The cases of a plan for several machines must not depend on the devices of one machine.
  if (!request.selection.backend && request.plan.file.empty()) note(leave_out_absent(plan, devices), devices);
  if (!devices.pool.empty()) note(describe_cleared(checked.machine->caller()), devices);
  note(describe_devices(*checked.machine, plan, devices), devices);
  warn_of_unused_masks(*checked.machine, plan, placed.planned.warnings);
  if (auto used = check_devices_used(request.machine.devices, plan); !used) return used;
  if (auto enough = check_devices_asked(checked, placed); !enough) return enough;
  report_access_faults(checked, placed);
  if (!request.rules.allow_no_device.value_or(false)) attribute_to_drivers(plan, devices);
  for (const std::string& pin : request.devices.pins) {
    const auto read = read_pin(pin, plan, devices);
    if (!read) return read.error();
    placed.pins[read->first] = read->second;
  }
  std::vector<Warning>& warnings = placed.planned.warnings;
  warnings.insert(warnings.end(), devices.warnings.begin(), devices.warnings.end());
  if (const auto& simulation = checked.machine->simulation(); simulation && !simulation->faults.empty())
    devices.stack.emplace_back(kSimFaultsEntry, simulation->faults);
  return {};
}

// ---- Ranks ----

// Returns whether the case is skipped on this machine for another reason than the number of its cards.
bool is_skipped_anyway(const Suite& suite, const Case& test, const FoundDevices& devices) {
  const std::string backend(to_string(suite.backend));
  return test.config_skip || test.disabled || devices.unusable.contains(backend) ||
         (suite.kind->ours() && devices.unusable_by_ours.contains(backend));
}

// Returns "" if each rank of the case gets separate cards on this machine. Otherwise it returns which ranks would
// share.
std::string who_shares(const Case& test, const std::string& backend, const FoundDevices& devices) {
  std::vector<std::string> cards;
  for (const PoolDevice& entry : devices.pool) {
    if (entry.device.backend != backend) continue;
    if (entry.shared)
      return "each process simulates all cards itself, so all ranks would share " + entry.device.id;
    cards.push_back(entry.device.id);
  }
  const auto wanted = static_cast<std::size_t>(test.devices);
  if (cards.size() >= wanted) return {};
  std::string who = fmt::format("they need {} cards, and here are {}", wanted, cards.size());
  const auto served = cards.size() / (wanted / static_cast<std::size_t>(test.ranks));
  if (served > 0) who += fmt::format("; ranks 0 and {} would share {}", served, cards.front());
  return who;
}

Result<void> check_cards(const Plan& plan, const FoundDevices& devices) {
  for (const Case& test : plan.cases) {
    const Suite& suite = plan.suites[test.suite];
    if (test.ranks == 0 || test.devices == 0 || is_skipped_anyway(suite, test, devices)) continue;
    const std::string who = who_shares(test, std::string(to_string(suite.backend)), devices);
    if (who.empty()) continue;
    return Error{ErrorKind::kSystem, fmt::format("start the {} ranks of {}: {}", test.ranks, test.id, who),
                 "Without --require-card-per-rank the case is skipped where cards are too few.", 0};
  }
  return {};
}

// ---- Jobs, programs and leases ----

// Returns the requested number of concurrent cases, or a number from the devices and cores. It lowers that number if
// the limit of open files requires this.
Result<Jobs> count_jobs(int asked, const FoundDevices& devices, PlannedRun& planned) {
  const Jobs jobs = effective_jobs(planned.plan, DevicePool(devices.pool), asked, usable_cores());
  int ranks = 0;
  for (const Case& test : planned.plan.cases) ranks = std::max(ranks, test.ranks);
  const auto enough = check_open_files(jobs.all, ranks);
  if (enough) return jobs;
  const int fewer = most_jobs_with_open_files();
  if (asked != 0 || fewer < 1 || !check_open_files(fewer, ranks)) return enough.error();
  planned.warnings.push_back(
      {WarningCode::kOpenFiles,
       fmt::format("{} cases at once instead of {}, because the limit of open files is too low: {} ({})",
                   fewer, jobs.all, enough.error().what, enough.error().hint)});
  return Jobs{.all = fewer, .on_cores = std::min(jobs.on_cores, fewer)};
}

// Selects the programs that run with the installed driver.
Result<void> choose_programs(const std::string& programs, const FoundDevices& devices, Plan& plan) {
  use_cuda_runtime(devices.cuda_runtime, programs, plan);
  for (const auto& [backend, simulated] : devices.simulations) {
    if (simulated.loader_words.empty()) continue;
    auto started = start_through(simulated.loader_words, backend, search_path(), plan);
    if (!started) return started;
  }
  return {};
}

Result<const LeaseDirectory*> open_leases(Machine& machine, FoundDevices& devices) {
  const auto leases = machine.leases(devices);
  if (!leases) return leases.error();
  const LeaseDirectory* directory = *leases;
  if (directory == nullptr) return directory;
  devices.stack.emplace_back("leases", directory->path());
  devices.stack.emplace_back("leases.scope", std::string(to_string(directory->scope())));
  return directory;
}

}  // namespace

Result<Placed> place(const Checked& checked, PlannedRun planned) {
  Placed placed{.planned = std::move(planned)};
  if (auto found = find_devices(checked, placed); !found)
    return with_finding(found.error(), *checked.machine);
  // The steps before this line give the same result on all machines. The steps after it may depend on this machine.
  auto part = take_part(checked, placed.planned);
  if (!part) return part.error();
  placed.part = *std::move(part);
  Plan& plan = placed.planned.plan;
  if (checked.request().devices.require_card_per_rank.value_or(false)) {
    if (auto own = check_cards(plan, placed.devices); !own) return own.error();
  }
  const auto jobs = count_jobs(checked.request().schedule.jobs.value_or(0), placed.devices, placed.planned);
  if (!jobs) return jobs.error();
  placed.jobs = *jobs;
  if (auto chosen = choose_programs(checked.machine->installation().directory(), placed.devices, plan);
      !chosen)
    return chosen.error();
  const auto leases = open_leases(*checked.machine, placed.devices);
  if (!leases) return leases.error();
  placed.leases = *leases;
  return placed;
}

}  // namespace proctor::runner
