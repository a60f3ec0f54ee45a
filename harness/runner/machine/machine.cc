#include "harness/runner/machine/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/base/surroundings.h"
#include "harness/devices/device.h"
#include "harness/devices/inventory.h"
#include "harness/plan/sim_faults.h"
#include "harness/request/option.h"
#include "harness/runner/machine/installation.h"
#include "harness/runner/machine/program_needs.h"
#include "harness/runner/machine/slurm_allocation.h"

namespace proctor {
namespace {

// The caller sets this variable to record which functions of the simulator the cases call
// (fixtures/simgpu/environment.h).
constexpr const char* kSimCallsVariable = "PROCTOR_SIM_CALLS";

Result<std::optional<Simulation>> read_simulation(const MachineOptions& options) {
  if (options.sim.empty()) return std::optional<Simulation>();
  auto simulation = parse_simulation(options.sim);
  if (!simulation) return simulation.error();
  return std::optional<Simulation>(std::move(*simulation));
}

Result<std::unique_ptr<Containment>> open_containment(const MachineOptions& options, const std::string& name,
                                                      const std::string& programs) {
  const auto layers = parse_layers(options.containment);
  if (!layers) return layers.error();
  auto containment = Containment::open(layers->wanted, name, options.known_containment, programs);
  if (!containment || !layers->required || (*containment)->layer() <= *layers->required) return containment;
  for (const auto& probe : Containment::probe_all(programs)) {
    if (probe.layer != *layers->required) continue;
    return Error::refused(
        fmt::format("--containment '{}' cannot be met: {}", options.containment, probe.why_not),
        probe.how_to_improve.empty() ? "" : probe.how_to_improve.front());
  }
  return Error::refused(fmt::format("--containment '{}' cannot be met", options.containment));
}

bool is_leased(const PoolDevice& entry) { return !entry.shared; }

}  // namespace

Machine::Machine(Installation installation)
    : installation_(std::move(installation)), caller_(caller_environment()) {}

Result<std::unique_ptr<Machine>> Machine::open(const MachineOptions& options, std::string name) {
  auto machine = std::make_unique<Machine>();
  if (auto opened = machine->reopen(options, std::move(name)); !opened) return opened.error();
  return machine;
}

Result<void> Machine::reopen(const MachineOptions& options, std::string name) {
  auto simulation = read_simulation(options);
  if (!simulation) return simulation.error();
  if (const auto layers = parse_layers(options.containment); !layers)
    return Error::refused("--containment: " + layers.error().what, layers.error().hint);
  close();
  options_ = options;
  name_ = std::move(name);
  caller_ = caller_environment();
  simulation_ = *std::move(simulation);
  return {};
}

void Machine::close() {
  sim_state_.clear();
  scratch_.reset();
  leases_.reset();
  found_.clear();
  containment_.reset();
}

// A wheel of the suites can have another version than the runner.
Result<void> Machine::check_suites() const {
  const std::string version = installation_.suites_version();
  if (version.empty() || version == PROCTOR_VERSION) return {};
  return Error::refused(
      fmt::format("the installed suites are of version {}, but this is proctor {}", version, PROCTOR_VERSION),
      fmt::format("Install one version of both: pip install ./proctor-{0}-*.whl ./proctor_suites-{0}-*.whl",
                  PROCTOR_VERSION));
}

Result<void> Machine::take_faults() {
  const auto found = caller_.find(kSimFaultsVariable);
  if (found == caller_.end() || found->second.empty()) return {};
  const bool simgpu = simulation_ && simulation_->driver.kind == SimDriverKind::kSimgpu;
  auto checked = check_sim_faults(found->second, simgpu ? &simulation_->topology : nullptr);
  if (!checked) return checked;
  simulation_->faults = found->second;
  return {};
}

Result<Containment*> Machine::containment() {
  if (!containment_) {
    auto opened = open_containment(options_, name_, installation_.directory());
    if (!opened) return opened.error();
    containment_ = std::move(*opened);
  }
  return containment_.get();
}

Result<FoundDevices> Machine::sample(const std::vector<Backend>& backends) {
  const auto containment = this->containment();
  if (!containment) return containment.error();
  FoundDevices all;
  for (const Backend backend : {Backend::kXpu, Backend::kCuda}) {
    const bool is_wanted = std::ranges::find(backends, backend) != backends.end();
    if (!is_wanted && options_.devices.empty()) continue;  // --devices may name devices of any backend
    if (!found_.contains(backend)) {
      auto same = check_suites();
      auto found = same ? find_devices(backend, simulation_, **containment, caller_) : same.error();
      if (!found && !is_wanted) continue;  // none of its devices can be named, and no case needs one
      if (!found) return found.error();
      found_.emplace(backend, *std::move(found));
    }
    all.add(found_.at(backend));
  }
  return all;
}

Result<FoundDevices> Machine::devices(const std::vector<Backend>& backends) {
  const auto all = sample(backends);
  if (!all) return all.error();
  FoundDevices wanted;
  for (const Backend backend : {Backend::kXpu, Backend::kCuda}) {
    if (std::ranges::find(backends, backend) != backends.end()) wanted.add(found_.at(backend));
  }
  if (auto within = check_allocation(wanted); !within) return within.error();
  wanted.nodes = slurm_nodes(caller_);
  if (!options_.devices.empty()) {
    const auto chosen = all->choose(options_.devices);
    if (!chosen) return chosen.error();
    wanted.keep(*chosen);
  }
  if (auto kept = wanted.keep_what_ctest_allocated(caller_); !kept) return kept.error();
  return wanted;
}

// Slurm does not allocate the devices of a machine that is simulated for this run only.
Result<void> Machine::check_allocation(const FoundDevices& wanted) {
  if (lease_path().empty() || wanted.pool.empty()) return {};
  if (!slurm_masks_both_vendors(caller_)) return check_slurm_allocation(wanted, caller_);
  std::vector<Backend> backends = likely_backends();
  for (const PoolDevice& entry : wanted.pool) backends.push_back(*parse_backend(entry.device.backend));
  const auto all = sample(backends);
  return all ? check_slurm_allocation(*all, caller_) : all.error();
}

Result<std::map<Backend, int>> Machine::chosen() {
  std::map<Backend, int> count;
  if (options_.devices.empty()) return count;
  const auto all = sample({});
  if (!all) return all.error();
  const auto ids = all->choose(options_.devices);
  if (!ids) return ids.error();
  for (const std::string& id : *ids) ++count[*parse_backend(all->find(id)->device.backend)];
  return count;
}

std::vector<Backend> Machine::likely_backends() const {
  if (simulation_) return backends_of(simulation_->topology);
  std::vector<Backend> backends;
  if (has_intel_node()) backends.push_back(Backend::kXpu);
  if (has_nvidia_node()) backends.push_back(Backend::kCuda);
  return backends;
}

std::vector<Backend> Machine::discrete_backends() const {
  if (simulation_) return discrete_backends_of(simulation_->topology);
  std::vector<Backend> backends;
  if (has_discrete_intel_node()) backends.push_back(Backend::kXpu);
  if (has_nvidia_node()) backends.push_back(Backend::kCuda);
  return backends;
}

void Machine::lease_in(const std::string& directory) {
  if (!directory.empty()) options_.state_dir = directory;
}

std::string Machine::lease_path() const {
  if (simulation_) return simulation_->state.empty() ? "" : simulation_->state + "/leases";
  return options_.state_dir.empty() ? LeaseDirectory::default_path() : options_.state_dir;
}

Result<LeaseDirectory*> Machine::leases(const FoundDevices& devices) {
  if (lease_path().empty() || std::ranges::none_of(devices.pool, is_leased)) return nullptr;
  if (!leases_) {
    auto opened = LeaseDirectory::open(lease_path());
    if (!opened) return opened.error();
    leases_ = std::make_unique<LeaseDirectory>(std::move(*opened));
  }
  return leases_.get();
}

Result<ScratchRoot*> Machine::scratch() {
  if (!scratch_) {
    auto made = ScratchRoot::create();
    if (!made) return made.error();
    scratch_ = std::move(*made);
  }
  return scratch_.get();
}

Result<std::string> Machine::sim_state(const FoundDevices& devices) {
  const bool simgpu = simulation_ && simulation_->driver.kind == SimDriverKind::kSimgpu;
  if (!simgpu || devices.simulations.empty()) return std::string();
  if (!simulation_->state.empty()) return simulation_->state;
  if (sim_state_.empty()) {
    const auto scratch = this->scratch();
    if (!scratch) return scratch.error();
    auto made = (*scratch)->new_directory();
    if (!made) return made;
    sim_state_ = *std::move(made);
  }
  return sim_state_;
}

Result<CaseEnvironments> Machine::environments(const FoundDevices& devices, const Extent& extent,
                                               SimSession session) {
  const auto scratch = this->scratch();
  if (!scratch) return scratch.error();
  if (session.state.empty()) {
    auto state = sim_state(devices);
    if (!state) return state.error();
    session.state = *std::move(state);
  }
  SimEnvironments simulations = devices.simulations;
  if (!session.state.empty()) bind_session(simulations, session);
  if (const auto calls = caller_.find(kSimCallsVariable); calls != caller_.end() && !session.state.empty()) {
    for (auto& [backend, environment] : simulations) environment.set.emplace_back(*calls);
  }
  return CaseEnvironments(caller_, devices.leasable, std::move(simulations), (*scratch)->path(), extent);
}

Result<Machine::ProbeStart> Machine::start_of_probe(const FoundDevices& devices,
                                                    const WatchedDevices& watched,
                                                    const std::string& faults) {
  const auto state = sim_state(devices);
  if (!state) return state.error();
  ProbeStart start{.argv = {}, .env = watched.env};
  if (const auto found = devices.simulations.find(watched.backend); found != devices.simulations.end()) {
    SimEnvironment simulated = found->second;
    bind_session(simulated, {.state = *state, .log = {}, .faults = faults});
    start.env = with_simulation(std::move(start.env), simulated);
    start.argv = simulated.loader_words;
  }
  start.argv.push_back(probe_program(watched.backend, installation_.directory()));
  return start;
}

// The monitor sees the simulated devices without their faults, because faults apply to the programs on these devices.
Result<std::optional<MonitorSetup>> Machine::monitor(const FoundDevices& devices) {
  const auto scratch = this->scratch();
  if (!scratch) return scratch.error();
  MonitorSetup setup;
  for (const WatchedDevices& watched : devices.watched) {
    auto start = start_of_probe(devices, watched, "");
    if (!start) return start.error();
    setup.probes.push_back({.argv = std::move(start->argv),
                            .env = std::move(start->env),
                            .fifo = (*scratch)->new_file_name(),
                            .ids = watched.ids});
  }
  if (setup.probes.empty()) return std::optional<MonitorSetup>();
  return std::optional<MonitorSetup>(std::move(setup));
}

// The probe sees the faults of the simulated devices, because acceptance judges its facts.
Result<Machine::Facts> Machine::facts(const FoundDevices& devices) {
  const auto containment = this->containment();
  if (!containment) return containment.error();
  const auto scratch = this->scratch();
  if (!scratch) return scratch.error();
  const auto directory = (*scratch)->new_directory();
  if (!directory) return directory.error();
  Facts facts;
  for (const WatchedDevices& watched : devices.watched) {
    auto start = start_of_probe(devices, watched, simulation_ ? simulation_->faults : "");
    if (!start) return start.error();
    for (std::size_t i = 0; i < watched.ids.size(); ++i) {
      auto answer = ask_facts(**containment,
                              {.argv = start->argv, .env = start->env, .device = i, .directory = *directory});
      if (!answer) {
        facts.problems.push_back(watched.ids[i] + ": failed to " + answer.error().what);
      } else {
        facts.cards[watched.ids[i]] = *std::move(answer);
      }
    }
  }
  return facts;
}

Result<std::optional<HealthRequest>> Machine::health_request(const FoundDevices& devices,
                                                             const std::string& device,
                                                             CaseEnvironments& environments, bool may_reset) {
  const PoolDevice* entry = devices.find(device);
  if (entry == nullptr || entry->shared) return std::optional<HealthRequest>();
  std::string program = health_program(entry->device.backend, installation_.directory());
  const auto backend = parse_backend(entry->device.backend);
  if (backend == Backend::kCuda) {
    if (auto other = program_for_runtime(program, devices.cuda_runtime); !other.empty())
      program = std::move(other);
  }
  if (program.empty() || !backend) return std::optional<HealthRequest>();
  const auto scratch = this->scratch();
  if (!scratch) return scratch.error();
  auto environment = environments.of_program(*backend, {device});
  if (!environment) return environment.error();
  HealthRequest request{.argv = {program},
                        .env = std::move(environment->variables),
                        .directory = (*scratch)->path(),
                        .leases = {}};
  if (may_reset) request.reset = {program, "--reset"};
  return std::optional<HealthRequest>(std::move(request));
}

}  // namespace proctor
