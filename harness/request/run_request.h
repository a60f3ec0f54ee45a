// RunRequest holds what the user asks of a run, as plain values. The command line, a plan, proctor.toml and the built-in
// defaults each give a part of it (merge.h). An absent optional, an empty text or an empty list is not given.
//
// Each value has a row in the table of options (option.h): how it is typed, which key of proctor.toml it is, and what it
// does to the verdict of a run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/duration.h"
#include "harness/journal/run_rules.h"

namespace proctor {

// The surroundings of every case of a run.
struct MachineOptions {
  std::string sim{};                // --sim; "": the machine's own devices
  std::string state_dir{};          // of leases and drained devices; "": LeaseDirectory::default_path()
  std::string devices{};            // --devices; "": all that the caller may use
  std::string containment{};        // a layer, ">=LAYER", "auto" or "", which is the same
  std::string known_containment{};  // Containment::open(): the file of a session; "": none
};

// The files of the configuration.
struct ConfigOptions {
  std::string directory{};    // where proctor was started, absolute: ./proctor.toml is looked for here
  std::string config_file{};  // --config, replaces ./proctor.toml
  std::string user_file{};    // user_config_file(); a file that does not exist is none
  std::string profile{};      // --profile
  std::optional<std::string> text{};  // of a project file that is not written yet, instead of ./proctor.toml
};

// Which suites and cases. Empty lists select everything.
struct SelectionOptions {
  std::vector<std::string> suites{};       // names, before `--`
  std::vector<std::string> command{};      // the ad hoc suite, after `--`
  std::optional<std::string> backend{};    // cuda | xpu | none | all; none: all, of each suite its own
  std::optional<int> gpus{};               // devices per case, for suites that use a backend
  std::optional<std::string> hierarchy{};  // for suites of backend xpu
  std::optional<std::string> mask{};       // uuid | index, for suites with devices
  std::optional<std::string> mem_cap{};    // 512M, for suites with a backend
  bool host_pids = false;                  // for all suites
  std::optional<std::string> process{};    // batch.h
  std::vector<std::string> env{};          // NAME=VALUE, over every configuration
  std::optional<std::string> kind{};       // of an ad hoc suite; none: as recognised
  std::optional<std::string> name{};       // of an ad hoc suite; none: its program's
  std::vector<std::string> filters{};      // globs, any of them
  std::vector<std::string> cases{};        // literal ids, added to what the filters select
  std::vector<std::string> excludes{};     // globs, after filters and cases
  std::vector<std::string> labels{};       // any of them
  std::vector<std::string> tags{};         // any of them
  // Other commands share the report of the ad hoc suite (--join).
  bool joined = false;
  // A suite that cannot be listed becomes one case that is red, and the others go on; else the plan is refused.
  bool keep_unlisted = false;
  // Built-in suites are meant only where something names them: a suite, a case, a filter, a label or a tag.
  bool named_only = false;
  // A suite without cases is no mistake, nor is a plan without any.
  bool may_be_empty = false;
};

// How much the built-in checks do (harness/base/axes.h).
struct Extent {
  std::string size = "ci";  // smoke | ci | full | stress
  std::uint64_t seed = 0;   // another choice of the points that a check is tried with
  std::string point{};      // the only point to try; "": all points of the size
};

// Limits of cases as typed. Each wins over every configuration file.
struct LimitOptions {
  std::optional<std::string> timeout{};  // a duration, or "off"
  std::optional<std::string> grace{};
  std::optional<std::string> stall{};  // as `timeout`
  std::optional<std::string> retries{};
  std::optional<std::string> leaks{};  // warn | fail
};

// Which cases of a plan: a file, a part of it, what other runs left.
struct PlanRequest {
  std::string file{};                       // "": the cases are discovered
  std::string shard{};                      // "": all cases
  std::string resume{};                     // a run directory
  std::vector<std::string> remaining_of{};  // run directories whose outcomes are left out
  bool dry_run = false;
};

struct DeviceRequest {
  std::optional<Milliseconds> lease_wait{};  // longest wait for devices that other runs hold
  std::optional<bool> require_card_per_rank{};
  std::optional<bool> prove{};      // each device is examined before its first case
  std::vector<std::string> pins{};  // CASE=DEVICE
  bool retest = false;              // devices that failed in `proctor accept` are used: they are tested again
  // Keys of [run] alone.
  std::optional<std::string> device_in_use{};  // wait | fail | other (ForeignPolicy)
  std::optional<std::string> reset{};          // never | unhealthy
  std::optional<Milliseconds> memory_wait{};   // longest wait until the memory of a case is free again
  std::optional<int> telemetry{};              // samples a second
};

// How often and in which order cases start, and when no more do.
struct ScheduleRequest {
  std::optional<int> jobs{};                  // cases at once
  std::optional<std::string> repeat{};        // repeats.h
  std::optional<int> fail_fast{};             // failures after which no more cases start; 0: any number
  std::optional<Milliseconds> deadline{};     // for the whole run
  std::optional<int> max_machine_failures{};  // machine outcomes in a row that end the run; 0: none do
  std::optional<std::string> order{};         // longest | planned
};

struct VerdictRequest {
  std::string known_failures{};        // a file
  std::optional<std::string> flaky{};  // flaky.h
};

struct ReportRequest {
  std::string out{};                   // the run directory
  std::string join{};                  // this run is a part of the one that is open below this directory
  bool is_part = false;                // one is open
  std::string junit{};                 // one more file
  std::string history{};               // one more file
  std::vector<std::string> subject{};  // NAME=VALUE
  std::optional<int> keep{};           // runs in proctor-out/; 0: all
  std::string stack_root{};            // root of the driver stack's files
};

struct ConsoleRequest {
  std::optional<std::string> show_output{};  // failed | all | live | none
  std::optional<std::string> colour{};       // auto | always | never
  std::optional<int> durations{};            // so many of the slowest cases
  bool verbose = false;
  bool quiet = false;
};

// A command or a case on the caller's terminal.
struct TerminalRequest {
  bool no_capture = false;
  std::optional<std::string> debugger{};  // a command
  bool workflow_commands = false;         // in the output of the command of `exec`: they are obeyed
};

// A server, as `exec` runs it.
struct ServerRequest {
  std::optional<std::string> ready_regex{};
  std::optional<Milliseconds> ready_timeout{};
  std::string ready_file{};
};

struct AcceptRequest {
  std::optional<int> level{};
  std::optional<int> hours{};  // of level 4
  std::optional<Milliseconds> budget{};
  std::string expect{};  // a file
  std::string json{};    // a file
  bool drain = false;
};

// The commands. Each has options of its own (option.h), and rules of its own for its run.
enum Command : unsigned { kForRun = 1, kForExec = 2, kForAccept = 4, kForPlan = 8, kForList = 16 };

// The process that asks for the run.
struct CallerRequest {
  std::vector<std::string>
      command_line{};                   // argv of main(), or of a `run` that does the same: reruns repeat it
  std::vector<std::string> own_line{};  // of `accept`: argv of main()
  std::vector<int> inherited{};         // of `exec`: open descriptors for the command
  bool is_parent_unwatched = false;     // the death of the parent should stop the run, and cannot be detected
};

struct RunRequest {
  Command command = kForRun;
  CallerRequest caller{};
  MachineOptions machine{};
  ConfigOptions config{};
  SelectionOptions selection{};
  std::vector<std::string> suite_arguments{};  // NAME=VALUE
  LimitOptions limits{};
  PlanRequest plan{};
  DeviceRequest devices{};
  ScheduleRequest schedule{};
  AskedRules rules{};
  VerdictRequest verdicts{};
  ReportRequest reports{};
  ConsoleRequest console{};
  TerminalRequest terminal{};
  ServerRequest server{};
  AcceptRequest accept{};
};

}  // namespace proctor
