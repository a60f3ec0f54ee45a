// RunRequest contains everything that a user can request of a run, as plain values. The command line, a plan,
// proctor.toml and the built-in defaults each provide a part of it (merge_requests.h). An absent optional, an empty
// text or an empty list means that the value is not given.
//
// Each value has a row in the table of options (option.h). The row defines its option, its key in proctor.toml, and its
// effect on the verdict of a run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/duration.h"
#include "harness/journal/run_rules.h"

namespace proctor {

// The environment of every case of a run.
struct MachineOptions {
  std::string sim{};          // --sim; "": the machine's devices
  std::string state_dir{};    // directory of leases and drained devices; "": LeaseDirectory::default_path()
  std::string devices{};      // --devices; "": all that the caller can use
  std::string containment{};  // a layer, ">=LAYER", "auto", or "" for "auto"
  std::string known_containment{};  // Containment::open(): file of a session; "": none
};

// The files of the configuration.
struct ConfigOptions {
  std::string directory{};    // absolute directory where proctor was started; contains ./proctor.toml
  std::string config_file{};  // --config, replaces ./proctor.toml
  std::string user_file{};    // user_config_file(); the file need not exist
  std::string profile{};      // --profile
  std::optional<std::string>
      text{};  // text of a project file that is not written yet; replaces ./proctor.toml
};

// Selects suites and cases. Empty lists select everything.
struct SelectionOptions {
  std::vector<std::string> suites{};     // names, before `--`
  std::vector<std::string> command{};    // the ad hoc suite, after `--`
  std::optional<std::string> backend{};  // cuda | xpu | none | all; absent: all, each suite with its backend
  std::optional<int> gpus{};             // devices per case, for suites that use a backend
  std::optional<std::string> hierarchy{};  // for suites of backend xpu
  std::optional<std::string> mask{};       // uuid | index, for suites with devices
  std::optional<std::string> mem_cap{};    // 512M, for suites with a backend
  bool host_pids = false;                  // for all suites
  std::optional<std::string> process{};    // batch.h
  std::vector<std::string> env{};          // NAME=VALUE; wins over every configuration file
  std::optional<std::string> kind{};       // framework of an ad hoc suite; absent: detected
  std::optional<std::string> name{};       // name of an ad hoc suite; absent: the program's name
  std::vector<std::string> filters{};      // globs; a case matches any of them
  std::vector<std::string> cases{};        // literal ids, in addition to the filters
  std::vector<std::string> excludes{};     // globs, applied after filters and cases
  std::vector<std::string> labels{};       // a case has any of them
  std::vector<std::string> tags{};         // a case has any of them
  // Other commands use the report of the ad hoc suite too (--join).
  bool joined = false;
  // If true, a suite that cannot be listed becomes one failing case. Otherwise planning fails.
  bool keep_unlisted = false;
  // If true, built-in suites are selected only by name: by a suite, a case, a filter, a label or a tag.
  bool named_only = false;
  // If true, a suite or a plan without cases is not an error.
  bool may_be_empty = false;
};

// The amount of work of the built-in checks (harness/base/axes.h).
struct Extent {
  std::string size = "ci";  // smoke | ci | full | stress
  std::uint64_t seed = 0;   // selects other points of a check
  std::string point{};      // the only point to check; "": all points of the size
};

// Limits of cases as the user typed them. They win over every configuration file.
struct LimitOptions {
  std::optional<std::string> timeout{};  // a duration, or "off"
  std::optional<std::string> grace{};
  std::optional<std::string> stall{};  // the same values as `timeout`
  std::optional<std::string> retries{};
  std::optional<std::string> leaks{};  // warn | fail
};

// Selects cases of a plan by a file, a shard or the results of other runs.
struct PlanRequest {
  std::string file{};                       // "": the cases are discovered
  std::string shard{};                      // "": all cases
  std::string resume{};                     // a run directory
  std::vector<std::string> remaining_of{};  // run directories; cases with an outcome there are left out
  bool dry_run = false;
};

struct DeviceRequest {
  std::optional<Milliseconds> lease_wait{};  // longest wait for devices that other runs hold
  std::optional<bool> require_card_per_rank{};
  std::optional<bool> prove{};      // each device is checked before its first case
  std::vector<std::string> pins{};  // CASE=DEVICE
  bool retest = false;              // use devices that failed in `proctor accept`, to test them again
  // These values are only keys of [run].
  std::optional<std::string> device_in_use{};  // wait | fail | other (ForeignPolicy)
  std::optional<std::string> reset{};          // never | unhealthy
  std::optional<Milliseconds> memory_wait{};   // longest wait until the memory that a case needs is free
  std::optional<int> telemetry{};              // samples per second
};

// The order and number of cases, and conditions that stop the start of further cases.
struct ScheduleRequest {
  std::optional<int> jobs{};                  // cases that run at once
  std::optional<std::string> repeat{};        // repeats.h
  std::optional<int> fail_fast{};             // failures after which no case starts; 0: no limit
  std::optional<Milliseconds> deadline{};     // limit of the whole run
  std::optional<int> max_machine_failures{};  // consecutive machine outcomes that end the run; 0: no limit
  std::optional<std::string> order{};         // longest | planned
};

struct VerdictRequest {
  std::string known_failures{};        // path of a file
  std::optional<std::string> flaky{};  // option.h (FlakyPolicy)
};

struct ReportRequest {
  std::string out{};                   // the run directory
  std::string join{};                  // directory of an open run that this run joins
  bool is_part = false;                // true if a run is open in `join`
  std::string junit{};                 // path of an additional file
  std::string history{};               // path of an additional file
  std::vector<std::string> subject{};  // NAME=VALUE
  std::optional<int> keep{};           // number of runs that stay in proctor-out/; 0: all
  std::string stack_root{};            // root of the driver stack's files
};

struct ConsoleRequest {
  std::optional<std::string> show_output{};  // failed | all | live | none
  std::optional<std::string> colour{};       // auto | always | never
  std::optional<int> durations{};            // number of the slowest cases to list
  bool verbose = false;
  bool quiet = false;
};

// A command or a case that uses the caller's terminal.
struct TerminalRequest {
  bool no_capture = false;
  std::optional<std::string> debugger{};  // command of the debugger
  bool workflow_commands = false;         // GitHub workflow commands in the output of `exec` take effect
};

// A server that `exec` runs.
struct ServerRequest {
  std::optional<std::string> ready_regex{};
  std::optional<Milliseconds> ready_timeout{};
  std::string ready_file{};
};

struct AcceptRequest {
  std::optional<int> level{};
  std::optional<int> hours{};  // duration of level 4
  std::optional<Milliseconds> budget{};
  std::string expect{};  // path of a file
  std::string json{};    // path of a file
  bool drain = false;
};

// The commands that have a RunRequest. Each has its own options (option.h) and its own rules for a run.
enum Command : unsigned { kForRun = 1, kForExec = 2, kForAccept = 4, kForPlan = 8, kForList = 16 };

// The process that requests the run.
struct CallerRequest {
  std::vector<std::string> command_line{};  // argv of main(), or of an equivalent `run`; reruns repeat it
  std::vector<std::string> own_line{};      // for `accept`: argv of main()
  std::vector<int> inherited{};             // for `exec`: open descriptors for the command
  bool is_parent_unwatched = false;         // the parent's death should stop the run, but cannot be detected
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
