// `proctor finish RUN_DIR`: for a CI step that runs whatever happened before. Ends the runner if it is still
// there and nobody waits for it, kills what it left, rebuilds the reports, and waits for its devices.
#include <fmt/format.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>

#include "harness/cli/commands.h"
#include "harness/cli/console/messages.h"
#include "harness/cli/load_run.h"
#include "harness/cli/report_render.h"
#include "harness/core/clock.h"
#include "harness/core/exit_code.h"
#include "harness/core/held_directory.h"
#include "harness/devices/health/drained.h"
#include "harness/devices/leases/lease.h"
#include "harness/machine/machine.h"
#include "harness/run/care/device_care.h"
#include "harness/run/record/find_runner.h"
#include "harness/run/record/run_record.h"
#include "reports/model/run_model.h"

namespace proctor::cli {
namespace {

struct FinishOptions {
  std::string run_dir;
  std::string limit = "60s";
  bool stop = false;
};

// What is being done, for the handler of the limit's signal.
std::atomic<const char*>& under_way() {
  static constinit std::atomic<const char*> what{"the record is read"};
  return what;
}

// A driver may hang whoever looks at its devices: then this process ends, and its helpers with it. Nothing
// here but what a signal handler may do.
void end_at_limit(int) {
  char text[200] = {};
  std::size_t size = 0;
  for (const char* part :
       {"proctor: the limit is over while ", under_way().load(), "; what is above was done\n"}) {
    const std::size_t length = std::min(std::strlen(part), sizeof text - size);
    std::memcpy(text + size, part, length);
    size += length;
  }
  static_cast<void>(!::write(STDERR_FILENO, text, size));
  ::_exit(kExitMachine);
}

// The signal comes a little before the limit, so that the end is within it.
class Limit {
 public:
  explicit Limit(Milliseconds limit) : end_(Clock::now() + limit - std::min(limit / 10, kForTheEnd)) {
    struct sigaction action {};
    action.sa_handler = end_at_limit;
    ::sigaction(SIGALRM, &action, nullptr);
    sigset_t alarm;  // whoever started this may have blocked it
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    ::sigprocmask(SIG_UNBLOCK, &alarm, nullptr);
    const auto us = std::max<std::int64_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(end_ - Clock::now()).count(), 1);
    const itimerval timer{
        .it_interval = {},
        .it_value = {.tv_sec = us / 1'000'000, .tv_usec = static_cast<suseconds_t>(us % 1'000'000)}};
    ::setitimer(ITIMER_REAL, &timer, nullptr);
  }
  Milliseconds left() const {
    return std::max(Milliseconds(0), std::chrono::duration_cast<Milliseconds>(end_ - Clock::now()));
  }
  // From now on, `what` (a literal, as in "while WHAT").
  void doing(const char* what) const { under_way() = what; }

 private:
  static constexpr Milliseconds kForTheEnd{500};
  Clock::time_point end_;
};

void say(const std::vector<std::string>& sentences) {
  for (const auto& sentence : sentences) std::printf("%s\n", shown(sentence).c_str());
  std::fflush(stdout);
}

Error still_alive(const FinishOptions& options, const FoundRunner& found) {
  return Error::refused("The runner of " + options.run_dir + " (pid " + std::to_string(found.process->pid()) +
                            ") is still alive, and its parent process, too",
                        "Use --stop to stop it: it ends its cases and writes its reports.");
}

// Its processes and devices are not here to be looked at, and it may be writing its own reports.
Error is_elsewhere(const FinishOptions& options, const RunRecord& record) {
  return {ErrorKind::kSystem,
          "finish " + options.run_dir + ": its runner was started on " +
              (record.host.empty() ? "a machine that its record does not name" : record.host) +
              " and cannot be looked at from here, " + host_name(),
          "Run finish there. If that machine is lost: proctor report render " + options.run_dir, 0};
}

// Ends the runner and everything of the run. False: something may be left.
Result<bool> end_run(const FinishOptions& options, const RunRecord& record, const Limit& limit) {
  limit.doing("its runner is looked for and ended");
  const FoundRunner found = find_runner(record);
  if (found.state == RunnerState::kElsewhere) return is_elsewhere(options, record);
  std::vector<std::string> said;
  bool ended = true;
  if (record.boot_id != boot_id()) {
    said.push_back("the machine was restarted since: no process of the run is alive");
    if (is_confirmed(record)) ended = sweep_run(record, said);
    say(said);
    return ended;
  }
  if (found.state == RunnerState::kAlive) {
    if (!options.stop && !step_is_over(record)) return still_alive(options, found);
    ended = stop_runner(*found.process, limit.left() / 2, said);
  } else if (found.state == RunnerState::kUnknown) {
    ended = false;
    said.push_back(
        "the runner is in another PID namespace, " + record.pid_namespace +
        ", which cannot be seen from here; run finish there, or as root outside of all containers");
  }
  if (ended) {
    limit.doing("what it left is killed");
    ended = kill_leftovers(record, limit.left() / 4, said);
    ended = sweep_run(record, said) && ended;
  }
  say(said);
  return ended;
}

// ---- Whether the memory that its cases had on their devices has come back ----

namespace fs = std::filesystem;

constexpr Milliseconds kBetweenLooks{200};

struct DevicesAfter {
  bool back = true;  // false as well when nobody could look
  std::vector<std::string> said{};
};

using Bytes = std::map<std::string, std::uint64_t>;  // by device

std::string value_of(const RunModel& model, const std::string& name) {
  for (const auto& [key, value] : model.plan().stack) {
    if (key == name) return value;
  }
  return {};
}

std::vector<Backend> backends_of(const RunModel& model) {
  std::vector<Backend> backends;
  for (const PlannedDevice& device : model.plan().devices) {
    if (const auto backend = parse_backend(device.backend)) backends.push_back(*backend);
  }
  return backends;
}

// The devices whose memory was known, that nobody else has by now, and that no other run found sick: those may keep
// their memory for ever, and get no more cases.
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
  for (const DrainedDevice& drained : DrainList(leases).list()) {
    if (drained.run == model.plan().run_id || baseline.erase(drained.device) == 0) continue;
    after.said.push_back(describe(drained) + ", and was not waited for");
  }
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

// The same simulated machine, if the run left one in the directory `state`.
MachineOptions machine_of(const RunModel& model, const std::string& run_dir, const std::string& state) {
  MachineOptions options;
  if (!model.plan().sim) return options;
  const fs::path described = fs::path(run_dir) / "sim_topology.toml";
  std::error_code error;
  options.sim = fs::is_regular_file(fs::symlink_status(described, error)) ? described.string()
                                                                          : model.plan().sim->topology;
  options.sim_driver = model.plan().sim->driver;
  options.sim_state = state;
  return options;
}

std::string why_none(const FoundDevices& devices) {
  std::string why;
  for (const auto& [backend, reason] : devices.absent) why += "; " + backend + ": " + reason;
  for (const Warning& warning : devices.warnings) why += "; " + warning.text;
  return why;
}

Result<DevicesAfter> inspect_devices(const RunModel& model, const std::string& run_dir,
                                     const std::string& sim_state, Bytes baseline, Milliseconds limit) {
  const auto machine =
      Machine::open(machine_of(model, run_dir, sim_state), fmt::format("finish-{}", ::getpid()));
  if (!machine) return machine.error();
  const auto devices = (*machine)->devices(backends_of(model));
  if (!devices) return devices.error();
  auto monitor = (*machine)->monitor(*devices);
  if (!monitor) return monitor.error();
  if (!*monitor) {
    return DevicesAfter{.back = false,
                        .said = {"the devices could not be checked: they are not found on this machine" +
                                 why_none(*devices)}};
  }
  const auto containment = (*machine)->containment();
  if (!containment) return containment.error();
  boost::asio::io_context io;
  Wait wait(io, **containment, **std::move(monitor), std::move(baseline), limit);
  wait.begin();
  io.run();
  return wait.take();
}

// Looks until no more memory is in use than before the first case, or for `limit`. A device that another run
// holds by now is not waited for.
DevicesAfter wait_for_devices(const RunModel& model, const std::string& run_dir, Milliseconds limit) {
  DevicesAfter after;
  if (model.plan().devices.empty()) return after;
  const std::string leases = value_of(model, "leases");
  if (model.plan().sim && leases.empty()) return after;  // the simulated machine ended with its run
  Bytes baseline = to_wait_for(model, leases, after);
  if (baseline.empty()) return after;
  const std::string sim_state = model.plan().sim ? fs::path(leases).parent_path().string() : "";
  auto found = inspect_devices(model, run_dir, sim_state, std::move(baseline), limit);
  if (!found) {
    after.back = false;
    after.said.push_back("the devices could not be checked: " + found.error().message());
    return after;
  }
  found->said.insert(found->said.begin(), after.said.begin(), after.said.end());
  return *std::move(found);
}

// ---- The command ----

int finish_run(const FinishOptions& options, const Limit& limit) {
  if (auto ours = check_reports_place(options.run_dir); !ours) return fail(ours.error());
  const auto record = read_run_record(options.run_dir);
  if (!record) return fail(record.error());
  bool clean = true;
  if (*record) {
    const auto ended = end_run(options, **record, limit);
    if (!ended) return fail(ended.error());
    clean = *ended;
  }
  limit.doing("the reports are rendered");
  if (const int code = render_again(options.run_dir); code != kExitGreen) return code;
  std::fflush(stdout);  // the rest asks drivers
  if (*record) {
    const auto model = load_run(options.run_dir);
    if (!model) return fail(model.error());
    limit.doing("the devices are examined");
    const DevicesAfter after = wait_for_devices(*model, options.run_dir, limit.left() * 3 / 4);
    say(after.said);
    clean = clean && after.back;
    if (clean) remove_run_record(**record);  // while something is left, the next call finds it too
  }
  limit.doing("other dead runs are swept");
  if (clean) say(sweep_dead_runs());
  return clean ? kExitGreen : kExitMachine;
}

// Also where the run left neither a record nor a directory: it was killed before it had one.
int finish(const FinishOptions& options) {
  const auto duration = parse_duration(options.limit);
  if (!duration || *duration <= Milliseconds(0)) {
    return fail(Error::refused("--limit must be a duration greater than zero (got " + options.limit + ")",
                               "For example 60s."));
  }
  const Limit limit(*duration);
  const int code = finish_run(options, limit);
  limit.doing("scratch directories of dead runs are removed");
  const SweptDirectories swept = sweep_held_directories();
  for (const std::string& path : swept.removed) say({"removed scratch directory " + path});
  for (const Error& error : swept.failed) say({error.message()});
  return code;
}

}  // namespace

void add_finish_command(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("finish", "Stop what is left of a run and write its reports");
  command->footer(
      "You can run this command after every run, and more than once. It stops a runner whose parent process "
      "has "
      "exited. Use --stop to stop any other.");
  auto options = std::make_shared<FinishOptions>();
  command->add_option("run_dir", options->run_dir, "Run directory")->required()->type_name("RUN_DIR");
  command->add_option("--limit", options->limit, "Time limit for the whole command (default: 60s)")
      ->type_name("DURATION");
  command->add_flag("--stop", options->stop,
                    "Stop the runner if it is alive, for example because `docker exec` forwarded no signal");
  command->callback([options, &action] { action = [options] { return finish(*options); }; });
}

}  // namespace proctor::cli
