#include "harness/cli/undrain.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <variant>

#include "harness/cli/device_report.h"
#include "harness/cli/run_devices.h"
#include "harness/cli/run_discovery.h"
#include "harness/cli/run_options.h"
#include "harness/core/exit_code.h"
#include "harness/core/text.h"
#include "harness/devices/health/drained.h"
#include "harness/devices/health/health_check.h"
#include "harness/devices/leases/lease.h"
#include "harness/run/attempt/case_environment.h"
#include "harness/run/record/scratch.h"

namespace proctor::cli {
namespace {

struct UndrainOptions {
  PlanOptions simulation;  // --sim, --sim-driver and --sim-state of it
  std::string state_dir;   // "" = where a run of the same machine keeps it
  std::string device;
  bool probe = false;
};

std::string state_dir_of(const UndrainOptions& options) {
  if (!options.state_dir.empty()) return options.state_dir;
  return options.simulation.sim_state.empty() ? LeaseDirectory::kDefaultPath
                                              : options.simulation.sim_state + "/leases";
}

Error not_drained(const std::string& device, const DrainList& list, const std::string& state_dir) {
  std::vector<std::string> ids;
  for (const auto& drained : list.list()) ids.push_back(drained.device);
  const auto near = near_miss(device, ids);
  std::string hint;
  if (!near.empty()) {
    hint = fmt::format("Did you mean `{}`?", near);
  } else if (!ids.empty()) {
    hint = fmt::format("There are: {}.", fmt::join(ids, ", "));
  }
  return Error::usage("undrain " + device + ": it is not drained in " + state_dir, hint);
}

Error cannot_probe(const std::string& device, const std::string& why, const std::string& hint = {}) {
  return {ErrorKind::kSystem, fmt::format("probe {}: {}", device, why), hint, 0};
}

// One case of a backend that needs a device: all that is asked of the machine.
Plan plan_for(Backend backend) {
  Plan plan;
  Suite suite;
  suite.kind = SuiteKind::kProctor;
  suite.backend = backend;
  plan.suites.push_back(std::move(suite));
  Case test;
  test.devices = 1;
  plan.cases.push_back(std::move(test));
  return plan;
}

// "cuda:GPU-...", "xpu-sim:0"
Backend backend_of(const std::string& device) {
  return parse_backend(device.substr(0, device.find_first_of(":-"))).value_or(Backend::kXpu);
}

class Prober {
 public:
  explicit Prober(const UndrainOptions& options) : options_(options) {}

  // How the device is; its lease is held by the caller.
  Result<HealthAnswer> examine(int lease);

 private:
  Result<HealthRequest> request(Containment& containment, const std::string& directory);

  const UndrainOptions& options_;
};

Result<HealthAnswer> Prober::examine(int lease) {
  auto containment = Containment::open(std::nullopt, fmt::format("undrain-{}", getpid()));
  if (!containment) return containment.error();
  auto scratch = ScratchRoot::create();
  if (!scratch) return scratch.error();
  auto how = request(**containment, (*scratch)->path());
  if (!how) return how.error();
  how->leases = {lease};
  return examine_now(**containment, *std::move(how));
}

Result<HealthRequest> Prober::request(Containment& containment, const std::string& directory) {
  auto simulation = parse_simulation_options(options_.simulation);
  if (!simulation) return simulation.error();
  const Environment caller = caller_environment();
  if (auto added = add_sim_faults(*simulation, caller); !added) return added.error();
  const Plan plan = plan_for(backend_of(options_.device));
  auto devices = find_devices(plan, *simulation, containment, caller);
  if (!devices) return devices.error();
  const auto entry =
      std::find_if(devices->pool.begin(), devices->pool.end(),
                   [&](const PoolDevice& candidate) { return candidate.device.id == options_.device; });
  if (entry == devices->pool.end()) {
    return cannot_probe(options_.device, "it is not found on this machine",
                        "`proctor devices` lists what is; without --probe it is undrained all the same.");
  }
  const std::string program = health_program(entry->device.backend);
  if (entry->shared || program.empty()) {
    return cannot_probe(options_.device, "nothing here can examine it",
                        "Look at it, and undrain it without --probe.");
  }
  if (!devices->simulations.empty()) {
    const std::string& shared = options_.simulation.sim_state;
    bind(devices->simulations, {.state = shared.empty() ? directory : shared,
                                .log = {},
                                .faults = *simulation ? (*simulation)->faults : ""});
  }
  CaseEnvironments environments(caller, devices->leasable, devices->simulations, directory, "smoke");
  auto environment = environments.of(plan.suites.front(), {options_.device});
  if (!environment) return environment.error();
  return HealthRequest{
      .argv = {program}, .env = *std::move(environment), .directory = directory, .leases = {}};
}

// The lease of the device; an error says who has it.
Result<Lease> take(const UndrainOptions& options) {
  const auto leases = LeaseDirectory::open(state_dir_of(options));
  if (!leases) return leases.error();
  auto taken = leases->take(options.device, {.run = "undrain", .command = "proctor devices undrain --probe"});
  if (!taken) return taken.error();
  if (auto* lease = std::get_if<Lease>(&*taken)) return std::move(*lease);
  const auto& holder = std::get<LeaseConflict>(*taken).holder;
  return cannot_probe(options.device, holder ? describe(*holder) : "another run holds it");
}

int report(const UndrainOptions& options, const HealthAnswer& answer, const DrainList& list) {
  if (answer.status != HealthStatus::kPass) {
    std::cout << fmt::format("{} stays drained: {}\n", options.device, clean_text(answer.words));
    return kExitMachine;
  }
  if (const auto undrained = list.undrain(options.device); !undrained) return fail(undrained.error());
  std::cout << fmt::format("{} is well ({}) and gets cases again\n", options.device,
                           clean_text(answer.words));
  return kExitGreen;
}

int undrain_if_well(const UndrainOptions& options, const DrainList& list) {
  auto lease = take(options);
  if (!lease) return fail(lease.error());
  const auto answer = Prober(options).examine(lease->fd());
  if (!answer) {
    if (auto marked = lease->mark_as_found(); !marked) return fail(marked.error());
    return fail(answer.error());
  }
  const bool well = answer->status == HealthStatus::kPass;
  if (auto marked = well ? lease->mark_clean() : lease->mark_as_found(); !marked) return fail(marked.error());
  return report(options, *answer, list);
}

int undrain(const UndrainOptions& options) {
  const std::string state_dir = state_dir_of(options);
  const DrainList list(state_dir);
  if (!list.find(options.device)) return fail(not_drained(options.device, list, state_dir));
  if (options.probe) return undrain_if_well(options, list);
  if (const auto undrained = list.undrain(options.device); !undrained) return fail(undrained.error());
  std::cout << options.device << " gets cases again\n";
  return kExitGreen;
}

}  // namespace

void add_undrain_command(CLI::App& devices, Action& action) {
  auto options = std::make_shared<UndrainOptions>();
  CLI::App* command = devices.add_subcommand("undrain", "give a drained device cases again");
  command->add_option("DEVICE", options->device, "its id")->required();
  command->add_flag("--probe", options->probe,
                    "only if it copies, computes and compares without a mistake now");
  command->add_option("--state-dir", options->state_dir, "where leases and drained devices are kept");
  command->add_option("--sim", options->simulation.sim, "the simulated machine that the device belongs to");
  command->add_option("--sim-driver", options->simulation.sim_driver, "as for `proctor run`");
  command->add_option("--sim-state", options->simulation.sim_state,
                      "its directory, as for `proctor run`; leases and drained devices are in it");
  command->footer(
      "Exit codes: 0 it gets cases again; 2 it is not drained, or the options are wrong; 75 it stays "
      "drained:\n"
      "the probe failed, could not be made, or somebody holds the device.");
  command->callback([&action, options] { action = [options] { return undrain(*options); }; });
}

}  // namespace proctor::cli
