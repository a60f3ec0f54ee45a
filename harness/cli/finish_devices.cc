#include "harness/cli/finish_devices.h"

#include <fmt/format.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <filesystem>
#include <map>
#include <memory>
#include <set>

#include "harness/cli/run_devices.h"
#include "harness/cli/run_discovery.h"
#include "harness/cli/run_options.h"
#include "harness/cli/run_watch.h"
#include "harness/core/clock.h"
#include "harness/devices/leases/lease.h"
#include "harness/process/containment.h"
#include "harness/run/care/device_care.h"
#include "harness/run/record/scratch.h"

namespace proctor::cli {
namespace {

namespace fs = std::filesystem;

constexpr Milliseconds kBetweenLooks{200};

using Bytes = std::map<std::string, std::uint64_t>;  // by device

std::string value_of(const RunModel& model, const std::string& name) {
  for (const auto& [key, value] : model.plan().stack) {
    if (key == name) return value;
  }
  return {};
}

// What a plan needs to make the run's devices be looked for.
Plan plan_for(const RunModel& model) {
  Plan plan;
  std::set<std::string> backends;
  for (const PlannedDevice& device : model.plan().devices) backends.insert(device.backend);
  for (const std::string& name : backends) {
    const auto backend = parse_backend(name);
    if (!backend) continue;
    Suite suite;
    suite.backend = *backend;
    plan.cases.emplace_back();
    plan.cases.back().suite = plan.suites.size();
    plan.cases.back().devices = 1;
    plan.suites.push_back(std::move(suite));
  }
  return plan;
}

// The devices whose memory was known, and that nobody else has by now.
Bytes to_wait_for(const RunModel& model, const std::string& leases, DevicesAfter& after) {
  Bytes baseline = model.device_baseline();
  const auto directory =
      leases.empty() ? Result<LeaseDirectory>(Error::internal("")) : LeaseDirectory::open(leases);
  if (!directory) return baseline;
  std::erase_if(baseline, [&](const auto& entry) {
    const auto conflict = directory->conflict(entry.first);
    const bool other = conflict && conflict->holder && conflict->holder->holder.run != model.plan().run_id;
    if (other) after.said.push_back(describe(*conflict->holder) + ", and was not waited for");
    return other;
  });
  return baseline;
}

class Wait {
 public:
  Wait(boost::asio::io_context& io, Containment& containment, MonitorSetup setup, Bytes baseline,
       Milliseconds limit)
      : monitor_(io, containment, std::move(setup)),
        again_(io),
        baseline_(std::move(baseline)),
        began_(Clock::now()),
        give_up_(began_ + limit) {}

  void begin() {
    monitor_.take_snapshot([this](const DeviceMonitor::Snapshot& snapshot) { judge(snapshot); });
  }
  DevicesAfter take() { return std::move(after_); }

 private:
  void judge(const DeviceMonitor::Snapshot& snapshot) {
    Bytes missing;
    std::vector<std::string> unknown;
    for (const auto& [device, bytes] : baseline_) {
      const auto used = used_on(device, snapshot);
      if (!used) {
        unknown.push_back(device);
      } else if (*used > bytes + DeviceCare::kGranularity) {
        missing[device] = *used - bytes;
      }
    }
    const auto waited = std::chrono::duration_cast<Milliseconds>(Clock::now() - began_);
    if (!missing.empty() && Clock::now() + kBetweenLooks < give_up_) return look_again();
    after_.back = missing.empty();
    for (const auto& [device, bytes] : missing) {
      after_.said.push_back(fmt::format("{} still has {} MiB more in use than before the run, after {}",
                                        device, bytes >> 20, human_duration(waited)));
    }
    for (const auto& device : unknown)
      after_.said.push_back(device + " does not say how much of its memory is in use");
    const std::size_t back = baseline_.size() - missing.size() - unknown.size();
    if (back > 0) {
      after_.said.push_back(fmt::format("the memory of {} device{} is back", back, back == 1 ? "" : "s"));
    }
    monitor_.stop([] {});
  }

  std::optional<std::uint64_t> used_on(const std::string& device,
                                       const DeviceMonitor::Snapshot& snapshot) const {
    for (std::size_t i = 0; snapshot && i < snapshot->size(); ++i) {
      if (monitor_.ids()[i] == device) return (*snapshot)[i].used_bytes;
    }
    return std::nullopt;
  }

  void look_again() {
    again_.expires_after(kBetweenLooks);
    again_.async_wait([this](const boost::system::error_code& error) {
      if (!error) begin();
    });
  }

  DeviceMonitor monitor_;
  boost::asio::steady_timer again_;
  Bytes baseline_;
  Clock::time_point began_;
  Clock::time_point give_up_;
  DevicesAfter after_;
};

// The same simulated machine, if the run left one; none: there was no simulation.
Result<std::optional<Simulation>> simulation_of(const RunModel& model, const std::string& run_dir,
                                                const std::string& state) {
  if (!model.plan().sim) return std::optional<Simulation>();
  PlanOptions options;
  const fs::path described = fs::path(run_dir) / "sim_topology.toml";
  std::error_code error;
  options.sim = fs::exists(described, error) ? described.string() : model.plan().sim->topology;
  options.sim_driver = model.plan().sim->driver;
  options.sim_state = state;
  return parse_simulation_options(options);
}

std::string why_none(const RunDevices& devices) {
  std::string why;
  for (const auto& [backend, reason] : devices.absent) why += "; " + backend + ": " + reason;
  for (const Warning& warning : devices.warnings) why += "; " + warning.text;
  return why;
}

Result<DevicesAfter> look_at(const RunModel& model, const std::string& run_dir, const std::string& sim_state,
                             Bytes baseline, Milliseconds limit) {
  const auto simulation = simulation_of(model, run_dir, sim_state);
  if (!simulation) return simulation.error();
  auto containment = Containment::open(std::nullopt, fmt::format("finish-{}", ::getpid()));
  if (!containment) return containment.error();
  auto scratch = ScratchRoot::create();
  if (!scratch) return scratch.error();
  const auto devices = find_devices(plan_for(model), *simulation, **containment, caller_environment());
  if (!devices) return devices.error();
  auto monitor = monitor_of(*devices, sim_state, **scratch);
  if (!monitor) {
    return DevicesAfter{.back = false,
                        .said = {"nobody could look at the devices: they are not found on this machine" +
                                 why_none(*devices)}};
  }
  boost::asio::io_context io;
  Wait wait(io, **containment, *std::move(monitor), std::move(baseline), limit);
  wait.begin();
  io.run();
  return wait.take();
}

}  // namespace

DevicesAfter wait_for_devices(const RunModel& model, const std::string& run_dir, Milliseconds limit) {
  DevicesAfter after;
  if (model.plan().devices.empty()) return after;
  const std::string leases = value_of(model, "leases");
  if (model.plan().sim && leases.empty()) return after;  // the simulated machine ended with its run
  Bytes baseline = to_wait_for(model, leases, after);
  if (baseline.empty()) return after;
  const std::string sim_state = model.plan().sim ? fs::path(leases).parent_path().string() : "";
  auto found = look_at(model, run_dir, sim_state, std::move(baseline), limit);
  if (!found) {
    after.back = false;
    after.said.push_back("nobody could look at the devices: failed to " + found.error().what);
    return after;
  }
  found->said.insert(found->said.begin(), after.said.begin(), after.said.end());
  return *std::move(found);
}

}  // namespace proctor::cli
