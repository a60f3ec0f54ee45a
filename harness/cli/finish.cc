// Implements `proctor finish RUN_DIR` for a CI step that always runs. It ends the runner if that is alive and nothing
// waits for it. It kills leftover processes, rebuilds the reports, and waits until the devices' memory is free.

#include <fmt/format.h>
#include <grp.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "harness/base/child_process.h"
#include "harness/base/clock.h"
#include "harness/base/held_directory.h"
#include "harness/base/surroundings.h"
#include "harness/base/user_name.h"
#include "harness/cli/commands.h"
#include "harness/cli/console/messages.h"
#include "harness/cli/end_run.h"
#include "harness/cli/load_run.h"
#include "harness/cli/report_command.h"
#include "harness/devices/admission/device_checks.h"
#include "harness/devices/health/drained.h"
#include "harness/devices/leases/lease.h"
#include "harness/journal/outcome_meaning.h"
#include "harness/runner/machine/installation.h"
#include "harness/runner/machine/machine.h"
#include "harness/runner/record/dead_runs.h"
#include "harness/runner/record/run_record.h"
#include "reports/resolve/resolved_run.h"

namespace proctor::cli {
namespace {

// Implements `proctor finish --slurm-job ID`, which the epilog of Slurm runs as root on each node when a job is over.

// The variable of the epilog with the job's user.
constexpr const char* kJobUser = "SLURM_JOB_UID";

std::optional<RecordOwner> parse_owner(std::string_view text) {
  RecordOwner owner;
  const char* end = text.data() + text.size();
  const auto uid = std::from_chars(text.data(), end, owner.uid);
  if (uid.ec != std::errc() || uid.ptr == end || *uid.ptr != ':') return std::nullopt;
  const auto gid = std::from_chars(uid.ptr + 1, end, owner.gid);
  return gid.ec == std::errc() && gid.ptr == end ? std::optional(owner) : std::nullopt;
}

// Drops all groups and all rights of root permanently.
Result<void> become(const RecordOwner& owner) {
  if (::setgroups(0, nullptr) != 0 || ::setresgid(owner.gid, owner.gid, owner.gid) != 0 ||
      ::setresuid(owner.uid, owner.uid, owner.uid) != 0)
    return Error::system("become " + user_name(owner.uid), errno);
  return {};
}

// Returns whether the directory still contains this run. A requeued job may reuse the directory of its predecessor.
bool is_still_of(const RunRecord& record) {
  const auto run = load_run(record.run_dir);
  return run && run->plan.run_id == record.run_id;
}

// Ends a recorded run. If its directory still exists, completes its reports. The caller trusts the record, because it
// names the processes to kill.
bool finish_recorded(const RunRecord& record, const Limit& limit) {
  print_sentences({fmt::format("run {} in {}", record.run_id, record.run_dir)});
  const auto ended = end_run(record.run_dir, record, /*stop=*/true, limit);
  if (!ended) {
    fail(ended.error());
    return is_of_another_machine(record);  // otherwise processes of the run may be left on this machine
  }
  if (is_still_of(record)) {
    limit.doing("rendering the reports");
    render_again(record.run_dir);
    std::fflush(stdout);
  } else {
    print_sentences({"its journal is missing, or belongs to another run: no report was written"});
  }
  if (*ended) remove_run_record(record);
  return *ended;
}

int finish_own(const SlurmJob& job, const Limit& limit) {
  limit.doing("searching for the runs of the job");
  bool clean = true;
  for (const RunRecord& record : run_records_of(job)) clean = finish_recorded(record, limit) && clean;
  return clean ? kExitGreen : kExitMachine;
}

// Runs this program as another user. The child searches for its own records and has the remaining time.
int finish_as(const RecordOwner& owner, const SlurmJob& job, const Limit& limit) {
  limit.doing("finishing the runs of another user");
  auto child = ChildProcess::start({.argv = {Installation().program(), "finish", "--slurm-job", job.id,
                                             "--as-user", fmt::format("{}:{}", owner.uid, owner.gid),
                                             "--limit", fmt::format("{}ms", limit.left().count())},
                                    .env = environment_with({"XDG_RUNTIME_DIR"})});
  if (!child) return fail(child.error()), kExitMachine;
  return child->wait().exit_code == kExitGreen ? kExitGreen : kExitMachine;
}

bool is_of_job(const RecordOwner& owner) {
  const char* user = std::getenv(kJobUser);
  return user == nullptr || std::to_string(owner.uid) == user;
}

// Ends all processes of all runs of the job on this node, and writes their reports. Root ends its own runs directly.
// For each other user with runs, it starts this program as that user, so that files of users are never trusted with
// root's rights. `as_user`: "UID:GID" of such a user, to which this process changes first; "": no change.
//
// Returns 0, also if there is no such run. Returns 75 if a process is left, so that Slurm drains the node, and 2 for an
// invalid id. Errors from a user's own files are printed but do not change the exit code, so that no user can drain a
// node.
int finish_slurm_job(const std::string& id, const std::string& as_user, const Limit& limit) {
  if (!is_slurm_job_id(id)) {
    return fail(Error::refused("--slurm-job must be a job id (got " + id + ")",
                               "Each task of an array has one of its own: $SLURM_JOB_ID in the epilog."));
  }
  SlurmJob job{.id = id};  // other fields come from the epilog's variables
  if (const char* node = std::getenv("SLURMD_NODENAME")) job.node = node;
  if (const char* cluster = std::getenv("SLURM_CLUSTER_NAME")) job.cluster = cluster;
  if (!as_user.empty()) {
    const auto owner = parse_owner(as_user);
    if (!owner) return fail(Error::refused("--as-user must be UID:GID (got " + as_user + ")"));
    if (auto became = become(*owner); !became) return fail(became.error()), kExitMachine;
    return finish_own(job, limit);
  }
  int code = finish_own(job, limit);
  if (::geteuid() != 0) return code;
  for (const RecordOwner& owner : others_with_run_records()) {
    if (is_of_job(owner)) code = std::max(code, finish_as(owner, job, limit));
  }
  return code;
}

struct FinishOptions {
  std::string run_dir;
  std::string slurm_job;
  std::string as_user;
  std::string limit = "60s";
  bool stop = false;
};

// ---- Waiting until the device memory of its cases is free ----

namespace fs = std::filesystem;

constexpr Milliseconds kPollInterval{200};

struct DevicesAfter {
  bool back = true;  // also false if the devices could not be checked
  std::vector<std::string> said{};
};

using Bytes = std::map<std::string, std::uint64_t>;  // by device

std::string value_of(const ResolvedRun& run, const std::string& name) {
  for (const auto& [key, value] : run.plan.stack) {
    if (key == name) return value;
  }
  return {};
}

std::vector<Backend> backends_of(const ResolvedRun& run) {
  std::vector<Backend> backends;
  for (const PlannedDevice& device : run.plan.devices) {
    if (const auto backend = parse_backend(device.backend)) backends.push_back(*backend);
  }
  return backends;
}

// Returns the devices to wait for, with their memory before the run. Devices that another process holds are left out,
// and so are devices that another run found unhealthy, because their memory may never become free.
Bytes to_wait_for(const ResolvedRun& run, const std::string& leases, DevicesAfter& after) {
  Bytes baseline = run.device_baseline;
  const auto directory =
      leases.empty() ? Result<LeaseDirectory>(Error::internal("")) : LeaseDirectory::open(leases);
  if (!directory) return baseline;
  std::erase_if(baseline, [&](const auto& entry) {
    const auto conflict = directory->conflict(entry.first);
    const bool other = conflict && conflict->holder && conflict->holder->holder.run != run.plan.run_id;
    if (other) after.said.push_back(describe(*conflict->holder) + ", and was not waited for");
    return other;
  });
  for (const DrainedDevice& drained : DrainList(leases).list()) {
    if (drained.run == run.plan.run_id || baseline.erase(drained.device) == 0) continue;
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
      } else if (*used > bytes + DeviceChecks::kGranularity) {
        missing[device] = *used - bytes;
      }
    }
    const auto waited = std::chrono::duration_cast<Milliseconds>(Clock::now() - began_);
    if (!missing.empty() && Clock::now() + kPollInterval < give_up_) return poll_again();
    after_.back = missing.empty();
    for (const auto& [device, bytes] : missing) {
      after_.said.push_back(fmt::format("{} still uses {} MiB more than before the run, after {}", device,
                                        bytes >> 20, human_duration(waited)));
    }
    for (const auto& device : unknown) after_.said.push_back(device + " does not report its used memory");
    const std::size_t back = baseline_.size() - missing.size() - unknown.size();
    if (back > 0) {
      after_.said.push_back(
          fmt::format("the memory of {} device{} is free again", back, back == 1 ? "" : "s"));
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

  void poll_again() {
    again_.expires_after(kPollInterval);
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

// Returns the simulated machine of the run, if the run left one in the directory `state`.
MachineOptions machine_of(const ResolvedRun& run, const std::string& run_dir, const std::string& state) {
  MachineOptions options;
  if (!run.plan.sim) return options;
  const fs::path described = fs::path(run_dir) / "sim_topology.toml";
  std::error_code error;
  options.sim =
      fs::is_regular_file(fs::symlink_status(described, error)) ? described.string() : run.plan.sim->topology;
  options.sim += ",driver=" + run.plan.sim->driver;
  if (!state.empty()) options.sim += ",state=" + state;
  return options;
}

std::string why_none(const FoundDevices& devices) {
  std::string why;
  for (const auto& [backend, reason] : devices.absent) why += "; " + backend + ": " + reason;
  for (const Warning& warning : devices.warnings) why += "; " + warning.text;
  return why;
}

Result<DevicesAfter> inspect_devices(const ResolvedRun& run, const std::string& run_dir,
                                     const std::string& sim_state, Bytes baseline, Milliseconds limit) {
  const auto machine =
      Machine::open(machine_of(run, run_dir, sim_state), fmt::format("finish-{}", ::getpid()));
  if (!machine) return machine.error();
  const auto devices = (*machine)->devices(backends_of(run));
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

// Waits until each device has no more memory in use than before the first case, or for `limit`. It does not wait for
// devices that another run holds.
DevicesAfter wait_for_devices(const ResolvedRun& run, const std::string& run_dir, Milliseconds limit) {
  DevicesAfter after;
  if (run.plan.devices.empty()) return after;
  const std::string leases = value_of(run, "leases");
  if (run.plan.sim && leases.empty()) return after;  // the simulated machine ended with its run
  Bytes baseline = to_wait_for(run, leases, after);
  if (baseline.empty()) return after;
  const std::string sim_state = run.plan.sim ? fs::path(leases).parent_path().string() : "";
  auto found = inspect_devices(run, run_dir, sim_state, std::move(baseline), limit);
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
    const auto ended = end_run(options.run_dir, **record, options.stop, limit);
    if (!ended) return fail(ended.error());
    clean = *ended;
  }
  limit.doing("rendering the reports");
  if (const int code = render_again(options.run_dir); code != kExitGreen) return code;
  std::fflush(stdout);  // flushed now, because the next step queries drivers and may hang
  if (*record) {
    const auto run = load_run(options.run_dir);
    if (!run) return fail(run.error());
    limit.doing("checking the devices");
    const DevicesAfter after = wait_for_devices(*run, options.run_dir, limit.left() * 3 / 4);
    print_sentences(after.said);
    clean = clean && after.back;
    if (clean) remove_run_record(**record);  // kept if something is left, so that the next call finds it
  }
  limit.doing("cleaning up other dead runs");
  if (clean) print_sentences(sweep_dead_runs());
  return clean ? kExitGreen : kExitMachine;
}

// Also used if the run left neither a record nor a directory because it was killed early.
int finish(const FinishOptions& options) {
  const auto duration = parse_duration(options.limit);
  if (!duration || *duration <= Milliseconds(0)) {
    return fail(Error::refused("--limit must be a duration greater than zero (got " + options.limit + ")",
                               "For example 60s."));
  }
  if (options.run_dir.empty() == options.slurm_job.empty()) {
    return fail(Error::refused("finish needs either a run directory or --slurm-job ID",
                               "For example: proctor finish proctor-out/latest"));
  }
  const Limit limit(*duration);
  if (!options.slurm_job.empty()) return finish_slurm_job(options.slurm_job, options.as_user, limit);
  const int code = finish_run(options, limit);
  limit.doing("removing scratch directories of dead runs");
  const SweptDirectories swept = sweep_held_directories();
  for (const std::string& path : swept.removed) print_sentences({"removed scratch directory " + path});
  for (const Error& error : swept.failed) print_sentences({error.message()});
  return code;
}

}  // namespace

void add_finish_command(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("finish", "Stop the remaining processes of a run and write its reports");
  command->footer(
      "You can run this command after every run, and more than once. It stops a runner whose parent process "
      "has "
      "exited. Use --stop to stop any other.");
  auto options = std::make_shared<FinishOptions>();
  command->add_option("run_dir", options->run_dir, "Run directory")->type_name("RUN_DIR");
  command
      ->add_option(
          "--slurm-job", options->slurm_job,
          "Instead of RUN_DIR, for the epilog of Slurm: stop the processes that the runs of this job left on "
          "this node, and write their reports")
      ->type_name("ID");
  command->add_option("--as-user", options->as_user, "For itself")->type_name("UID:GID")->group("");
  command->add_option("--limit", options->limit, "Time limit for the whole command (default: 60s)")
      ->type_name("DURATION");
  command->add_flag("--stop", options->stop,
                    "Stop the runner if it is alive, for example because `docker exec` forwarded no signal");
  command->callback([options, &action] { action = [options] { return finish(*options); }; });
}

}  // namespace proctor::cli
