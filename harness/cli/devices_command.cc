// Implements `proctor devices`: lists the devices of this machine, found by contained probes, and which of them get no
// cases.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <variant>

#include "harness/base/json.h"
#include "harness/base/number_text.h"
#include "harness/base/replace_file.h"
#include "harness/base/text.h"
#include "harness/cli/commands.h"
#include "harness/cli/console/messages.h"
#include "harness/cli/device_report.h"
#include "harness/cli/end_run.h"
#include "harness/devices/caller_devices.h"
#include "harness/devices/health/drained.h"
#include "harness/devices/health/health_check.h"
#include "harness/devices/leases/lease.h"
#include "harness/journal/outcome_meaning.h"
#include "harness/runner/machine/machine.h"
#include "harness/runner/record/run_directory.h"
#include "reports/accept/expected_machine.h"

namespace proctor::cli {
namespace {

// Returns the directory in which runs on the same machine keep leases and the list of drained devices.
Result<std::string> state_dir_of(const MachineOptions& machine) {
  if (!machine.state_dir.empty()) return machine.state_dir;
  if (machine.sim.empty()) return LeaseDirectory::default_path();
  const auto simulation = parse_simulation(machine.sim);
  if (!simulation) return simulation.error();
  return simulation->state.empty() ? LeaseDirectory::default_path() : simulation->state + "/leases";
}

// Holders by device id. Empty if the directory of leases does not exist or is not usable.
using Held = std::map<std::string, LeaseConflict>;

Held held_devices(const std::string& state_dir, const std::vector<Device>& devices) {
  Held held;
  std::error_code error;
  if (!std::filesystem::is_directory(state_dir, error)) return held;  // open() would create it
  const auto leases = LeaseDirectory::open(state_dir);
  if (!leases) return held;
  for (const Device& device : devices) {
    if (auto conflict = leases->conflict(device.id)) held.emplace(device.id, *std::move(conflict));
  }
  return held;
}

std::string state_of_device(const std::string& device, const std::vector<DrainedDevice>& drained,
                            const Held& held) {
  if (std::ranges::find(drained, device, &DrainedDevice::device) != drained.end()) return "drained";
  return held.contains(device) ? "held" : "idle";
}

nlohmann::json to_json(const Device& device) {
  nlohmann::json entry = {{"id", device.id},
                          {"backend", device.backend},
                          {"name", device.name},
                          {"type", device.type},
                          {"uuid", device.uuid},
                          {"pci", device.pci},
                          {"tiles", device.tiles},
                          {"memory_bytes", device.memory_bytes},
                          {"integrated", device.integrated},
                          {"simulated", device.simulated}};
  if (!device.capability.empty()) entry["compute_capability"] = device.capability;
  return entry;
}

// The top-level members "problem", "detail" and "missing_symbols" date from a single backend. They describe the first
// backend that was probed.
nlohmann::json to_json(const DeviceReport& report, const std::vector<DrainedDevice>& drained,
                       const Held& held) {
  nlohmann::json devices = nlohmann::json::array();
  for (const Device& device : report.devices()) {
    nlohmann::json entry = to_json(device);
    entry["state"] = state_of_device(device.id, drained, held);
    const auto conflict = held.find(device.id);
    if (conflict != held.end() && conflict->second.holder) {
      const LeaseRecord& holder = *conflict->second.holder;
      entry["held_by"] = {{"pid", holder.pid},
                          {"uid", holder.uid},
                          {"run", holder.holder.run},
                          {"command", holder.holder.command},
                          {"since", holder.since}};
    }
    devices.push_back(std::move(entry));
  }
  nlohmann::json out = nlohmann::json::array();
  for (const auto& device : drained) {
    out.push_back({{"device", device.device},
                   {"reason", device.reason},
                   {"evidence", device.evidence},
                   {"since", device.since},
                   {"run", device.run}});
  }
  nlohmann::json stack = nlohmann::json::object();
  nlohmann::json backends = nlohmann::json::object();
  for (const auto& [backend, inventory] : report.inventories) {
    for (const auto& [name, value] : inventory.stack) stack[name] = value;
    backends[std::string(to_string(backend))] = {{"problem", inventory.problem},
                                                 {"detail", inventory.detail},
                                                 {"runtime_problem", inventory.runtime_problem},
                                                 {"runtime_detail", inventory.runtime_detail},
                                                 {"missing_symbols", inventory.missing_symbols}};
  }
  const auto xpu = report.inventories.find(Backend::kXpu);
  const Inventory& first = xpu != report.inventories.end() ? xpu->second : report.inventories.begin()->second;
  return {{"devices", devices},
          {"drained", out},
          {"stack", stack},
          {"backends", backends},
          {"problem", first.problem},
          {"detail", first.detail},
          {"missing_symbols", first.missing_symbols}};
}

struct ListOptions {
  DeviceQuery query;
  bool json = false;
  bool ids = false;
  bool ctest_resource_spec = false;
  std::string expect_file{};
};

std::string model_and_size(const Device& device) {
  if (!device.capability.empty()) return fmt::format("{}, capability {}", device.name, device.capability);
  return device.tiles > 1 ? fmt::format("{}, {} tiles", device.name, device.tiles) : device.name;
}

// Prints the table. Below it, prints the holder of each held device and the reason of each drained one.
void print_list(const DeviceReport& report, const std::vector<DrainedDevice>& drained, const Held& held) {
  constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;
  std::vector<TextRow> rows;
  for (const Device& device : report.devices()) {
    rows.push_back({device.id, model_and_size(device), device.pci,
                    fmt::format("{:.1f} GiB", static_cast<double>(device.memory_bytes) / kGiB),
                    state_of_device(device.id, drained, held)});
  }
  if (report.simulation) print_simulation(*report.simulation, std::cout);
  if (!rows.empty())
    std::cout << shown(text_table({"ID", "MODEL", "PCI", "MEMORY", "STATE"}, rows, columns_of_stdout()));
  for (const auto& [id, conflict] : held) {
    std::cout << shown(conflict.holder ? describe(*conflict.holder) : id + " is held") << '\n';
  }
  for (const auto& device : drained) std::cout << shown(describe(device)) << '\n';
  if (const std::string line = slurm_drain_line(drained); !line.empty())
    std::cout << "to drain the node: " << shown(line) << '\n';
  print_stack(report, std::cout);
}

// Writes a file for `proctor accept --expect` that describes the present devices. Values that the management library
// does not report are left out.
int write_expect_file(const ListOptions& options) {
  if (auto usable = check_output_file("--expect-file", options.expect_file); !usable)
    return fail(usable.error());
  const auto machine = Machine::open(options.query.machine, fmt::format("devices-{}", getpid()));
  if (!machine) return fail(machine.error());
  std::vector<Backend> backends = (*machine)->likely_backends();
  if (const auto only = parse_backend(options.query.backend)) backends = {*only};
  const auto devices = (*machine)->devices(backends);
  if (!devices) return fail(devices.error());
  const auto facts = (*machine)->facts(*devices);
  if (!facts) return fail(facts.error());
  std::vector<PlannedDevice> planned;
  for (const PoolDevice& entry : devices->pool) planned.push_back(entry.device);
  if (planned.empty()) return fail(Error::refused("There is no device to describe"));
  for (const std::string& problem : facts->problems) print_sentences({problem});
  const auto written = replace_file(options.expect_file, write_expected(planned, facts->cards));
  if (!written) return fail(written.error());
  print_sentences({"wrote " + options.expect_file + ": " + count_text(planned.size(), "device")});
  return kExitGreen;
}

int run_devices(const ListOptions& options) {
  if (!options.expect_file.empty()) return write_expect_file(options);
  const auto report = report_devices(options.query);
  if (!report) return fail(report.error());
  if (options.ctest_resource_spec) {
    std::cout << ctest_resource_spec(report->devices()).dump(2) << '\n';
    return report->devices().empty() ? kExitIncomplete : kExitGreen;
  }
  if (options.ids) {
    for (const Device& device : report->devices()) std::cout << device.id << '\n';
    return report->devices().empty() ? kExitIncomplete : kExitGreen;
  }
  const auto state_dir = state_dir_of(options.query.machine);
  if (!state_dir) return fail(state_dir.error());
  const auto drained = DrainList(*state_dir).list();
  const auto held = held_devices(*state_dir, report->devices());
  if (options.json) {
    std::cout << to_json(*report, drained, held).dump(2) << '\n';
  } else {
    print_list(*report, drained, held);
  }
  return report->devices().empty() ? kExitIncomplete : kExitGreen;
}

struct DrainOptions {
  DeviceQuery query;
  std::string device;
  std::string reason;
};

// Returns an error for an unknown device, because draining it would have no effect. If no device can be listed, any
// name is valid, because the device's driver may be dead.
Result<void> check_name(const DrainOptions& options) {
  const auto report = report_devices(options.query);
  if (!report) return report.error();
  std::vector<std::string> ids;
  for (const auto& device : report->devices()) ids.push_back(device.id);
  if (ids.empty() || std::find(ids.begin(), ids.end(), options.device) != ids.end()) return {};
  return Error::refused("This machine has no device `" + options.device + "`",
                        suggestion(options.device, ids, "devices"));
}

int drain(const DrainOptions& options) {
  if (auto known = check_name(options); !known) return fail(known.error());
  const auto state_dir = state_dir_of(options.query.machine);
  if (!state_dir) return fail(state_dir.error());
  const auto leases = LeaseDirectory::open(*state_dir);
  if (!leases) return fail(leases.error());
  const DrainList list(leases->path());
  auto drained = list.drain({.device = options.device, .reason = "by hand", .evidence = options.reason});
  if (!drained) return fail(drained.error());
  std::cout << shown(describe(*list.find(options.device))) << '\n';
  return kExitGreen;
}

void add_state_dir(CLI::App& command, std::string& state_dir) {
  command
      .add_option("--state-dir", state_dir, "Directory of leases and drained devices (default: /run/lock)")
      ->type_name("DIR");
}

void add_drain_command(CLI::App& devices, Action& action) {
  auto options = std::make_shared<DrainOptions>();
  CLI::App* out = devices.add_subcommand("drain", "Stop using a device, in all runs");
  out->add_option("DEVICE", options->device, "Device id, as `proctor devices` prints it")
      ->type_name("DEVICE")
      ->required();
  out->add_option("--reason", options->reason, "Reason, one sentence (required)")
      ->type_name("TEXT")
      ->required();
  add_device_query_options(*out, options->query);
  add_state_dir(*out, options->query.machine.state_dir);
  out->callback([&action, options] { action = [options] { return drain(*options); }; });
}

struct UndrainOptions {
  MachineOptions machine;
  std::string device;
  bool probe = false;
};

Error not_drained(const std::string& device, const DrainList& list, const std::string& state_dir) {
  std::vector<std::string> ids;
  for (const auto& drained : list.list()) ids.push_back(drained.device);
  return Error::refused("Device `" + device + "` is not drained in " + state_dir,
                        suggestion(device, ids, "drained devices"));
}

Error cannot_probe(const std::string& device, const std::string& why, const std::string& hint = {}) {
  return {ErrorKind::kSystem, fmt::format("probe {}: {}", device, why), hint, 0};
}

// Examples: "cuda:GPU-...", "xpu-sim:0".
Backend backend_of(const std::string& device) {
  return parse_backend(device.substr(0, device.find_first_of(":-"))).value_or(Backend::kXpu);
}

// Tests the health of the device. The caller holds its lease. The device is tested under the conditions of a case,
// including the faults of a simulated device.
Result<HealthAnswer> examine(const UndrainOptions& options, int lease) {
  const auto machine = Machine::open(options.machine, fmt::format("undrain-{}", getpid()));
  if (!machine) return machine.error();
  if (auto taken = (*machine)->take_faults(); !taken) return taken.error();
  const auto devices = (*machine)->devices({backend_of(options.device)});
  if (!devices) return devices.error();
  if (devices->find(options.device) == nullptr) {
    return cannot_probe(
        options.device, "it is not found on this machine",
        "Run `proctor devices` to list the devices. Without --probe it is undrained unchecked.");
  }
  const auto& simulation = (*machine)->simulation();
  auto environments =
      (*machine)->environments(*devices, {.size = "smoke", .seed = 0, .point = ""},
                               {.state = {}, .log = {}, .faults = simulation ? simulation->faults : ""});
  if (!environments) return environments.error();
  auto request = (*machine)->health_request(*devices, options.device, *environments, /*may_reset=*/false);
  if (!request) return request.error();
  if (!*request) {
    return cannot_probe(options.device, "no health probe on this machine can check it",
                        "Check it by other means, and undrain it without --probe.");
  }
  (*request)->leases = {lease};
  const auto containment = (*machine)->containment();
  if (!containment) return containment.error();
  return examine_now(**containment, **std::move(request));
}

// Acquires the lease of the device. An error names the holder.
Result<Lease> take(const UndrainOptions& options, const std::string& state_dir) {
  const auto leases = LeaseDirectory::open(state_dir);
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
  std::cout << fmt::format("{} passed its health probe ({}) and gets cases again\n", options.device,
                           clean_text(answer.words));
  return kExitGreen;
}

int undrain_if_well(const UndrainOptions& options, const std::string& state_dir, const DrainList& list) {
  auto lease = take(options, state_dir);
  if (!lease) return fail(lease.error());
  const auto answer = examine(options, lease->fd());
  if (!answer) {
    if (auto marked = lease->mark_as_found(); !marked) return fail(marked.error());
    return fail(answer.error());
  }
  const bool well = answer->status == HealthStatus::kPass;
  if (auto marked = well ? lease->mark_clean() : lease->mark_as_found(); !marked) return fail(marked.error());
  return report(options, *answer, list);
}

int undrain(const UndrainOptions& options) {
  const auto state_dir = state_dir_of(options.machine);
  if (!state_dir) return fail(state_dir.error());
  const DrainList list(*state_dir);
  const auto drained = list.find(options.device);
  if (!drained) return fail(not_drained(options.device, list, *state_dir));
  if (drained->reason == kFailedAcceptance)
    return fail(Error::refused(
        options.device + " failed in `proctor accept`, and gets cases again only after it passes there",
        "Run: proctor accept --devices " + options.device));
  if (options.probe) return undrain_if_well(options, *state_dir, list);
  if (const auto undrained = list.undrain(options.device); !undrained) return fail(undrained.error());
  std::cout << options.device << " gets cases again\n";
  return kExitGreen;
}

void add_undrain_command(CLI::App& devices, Action& action) {
  auto options = std::make_shared<UndrainOptions>();
  CLI::App* command = devices.add_subcommand("undrain", "Use a drained device again");
  command->add_option("DEVICE", options->device, "Device id")->type_name("DEVICE")->required();
  command->add_flag("--probe", options->probe, "Use it again only if it passes its health probe now");
  add_state_dir(*command, options->machine.state_dir);
  add_simulation_option(*command, options->machine);
  command->callback([&action, options] { action = [options] { return undrain(*options); }; });
}

}  // namespace

void add_devices_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("devices", "List the devices of this machine");
  auto options = std::make_shared<ListOptions>();
  add_device_query_options(*command, options->query);
  add_state_dir(*command, options->query.machine.state_dir);
  command->add_flag("--json", options->json, "Print one JSON document");
  command->add_flag("--ids", options->ids, "Print only the ids, one on each line, drained devices included");
  command->add_flag("--ctest-resource-spec", options->ctest_resource_spec,
                    "Print a file for `ctest --resource-spec-file`");
  command
      ->add_option(
          "--expect-file", options->expect_file,
          "Write a description of the devices of this machine to this file, for `proctor accept --expect`")
      ->type_name("FILE");
  command->callback([&action, command, options] {
    if (!command->get_subcommands().empty()) return;  // drain and undrain have their own actions
    action = [options] { return run_devices(*options); };
  });
  add_drain_command(*command, action);
  add_undrain_command(*command, action);
}

}  // namespace proctor::cli
