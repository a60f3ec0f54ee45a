// Events are the only contract between the runner and everything that reports. The journal consists of these
// structs, one JSON line for each. JUnit, report.json, summaries, the console and the exit code are functions
// of them.
//
// A journal contains one RunPlanned first, then any number of other events, then at most one RunEnded. A
// journal can end early because the runner was killed, and still determines the end of each case. A case that
// has an AttemptStarted and no end is notrun(interrupted). A planned case without any record is notrun with
// the reason of the run's end, or notrun(interrupted) without such a reason. The format only grows: readers ignore
// unknown keys and record types.
//
// A class that receives events derives from EventSink. Example:
//
//   class BadCases final : public EventSink {
//    public:
//     void on(const Event& event) override {
//       const auto* end = std::get_if<CaseEnded>(&event);
//       if (end != nullptr && is_bad(end->verdict.outcome)) ids_.push_back(end->case_id);
//     }
//
//    private:
//     std::vector<std::string> ids_;
//   };
//
// Units: *_ms are milliseconds of the monotonic clock since the start of the run, or a length of time where
// the name contains `duration`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "harness/base/failure_rate.h"
#include "harness/base/result.h"
#include "harness/journal/event_words.h"
#include "harness/journal/outcome.h"
#include "harness/journal/run_rules.h"

namespace proctor {

inline constexpr int kJournalVersion = 2;

// One planned case. `id` is unique in the run: no two cases may share a verdict.
struct PlannedCase {
  std::string id;
  std::string suite;      // the name in the config
  std::string backend;    // "cuda", "xpu" or "none"
  std::string kind;       // as in the config: "proctor", "gtest", "command", ...
  std::string classname;  // for JUnit: the framework's own, or proctor.SUITE.BACKEND
  std::string name;       // for JUnit: the framework's own
  int devices = 0;        // how many devices the case needs
  int repeat = 1;         // executions wanted (--repeat)
  std::int64_t timeout_ms = 0;
  int ranks = 0;  // how many processes execute it together; 0: a single one, which is not a rank
};

// A device that the run may lease, named by identity.
struct PlannedDevice {
  std::string id;  // "xpu:0000:03:00.0", "cuda:GPU-...", "xpu-sim:0"
  std::string backend;
  std::string name;
  bool simulated = false;
  // Properties of the model that the driver reports; "" if it does not report one.
  std::string uuid{};
  std::string pci{};         // "0000:03:00.0"
  std::string pci_id{};      // vendor and device: "8086:0bd5"
  std::string capability{};  // of CUDA: "9.0"
};

// The containment of the cases, and the guarantees that it lacks (one sentence each).
struct ContainmentInfo {
  std::string layer;  // as journal/containment_layer.h names it
  std::vector<std::string> not_guaranteed;
  std::vector<std::string> how_to_improve;
  std::string signals{};  // mechanism that confines a case's signals to the case: "landlock", "seccomp" or ""
};

// The simulation of a run (--sim).
struct SimInfo {
  std::string topology;  // the text given to --sim
  std::string driver;    // "simgpu" or "intel"
};

// One layer of the driver stack as a machine reports it (docs/how-to/stacks.md).
struct StackFact {
  std::string name{};                  // "host.kernel"
  std::optional<std::string> value{};  // none: it is unknown
  std::string source{};                // the file or variable that contains the value
  std::string reason{};                // why the value is unknown, or ""
  bool absent = false;                 // without a value: true if the layer does not exist, false if unknown
};

// The part of a plan that this run executes (docs/how-to/ci.md).
struct PlannedShard {
  int index = 1;  // 1 to `count`
  int count = 1;
  int planned = 0;     // cases of the whole plan
  std::string plan{};  // digest of the whole plan with commands and limits (harness/plan/plan_file.h)
};

// The plan and the earlier runs that this run continues (`run --resume`, `plan --remaining`). Those runs left
// cases without an outcome.
struct PlannedRest {
  std::vector<std::string> runs{};  // their ids
  std::string plan_digest{};        // of the whole plan: digest_of_plan() of base/digest.h
  std::string plan{};               // as PlannedShard::plan; "" if the plan is not a file
  int planned = 0;                  // cases of the whole plan
  int shards = 1;                   // the number of shards of the whole plan
};

// One fact about what is tested, with its source.
struct SubjectFact {
  std::optional<std::string> value{};  // none: it is unknown
  std::string source{};                // "--subject", "GITHUB_SHA", ".git/HEAD"; "" if the value is unknown
  std::string reason{};                // why the value is unknown, or ""
};

// The tested sources: their revision and state (docs/how-to/ci.md).
struct Subject {
  SubjectFact commit{};
  SubjectFact dirty{};  // "true": the checkout has uncommitted changes; else "false"
  SubjectFact branch{};
  SubjectFact repository{};  // its address
  SubjectFact build{};       // the address of the CI job
  std::string checkout{};    // the directory of the sources, or ""
};

// A suite of the plan, and the program that it starts.
struct PlannedSuite {
  std::string name{};
  std::string backend{};
  std::string kind{};
  std::vector<std::string> command{};
  std::string program{};  // the file, or ""
  std::uint64_t bytes = 0;
  std::string reason{};  // the reason if the suite has no program, or ""
  int devices = 0;       // of each case
  // the reason of the number, if no file or option gives one: "pytest imports torch"
  std::string devices_reason{};
  bool devices_disabled = false;  // the user requested no device: --gpus 0, backend = "none"
};

// An entry of the list of --known-failures, for readers of the run.
struct KnownFailureEntry {
  std::string at{};                  // "known.toml:12"
  std::vector<std::string> cases{};  // globs over the ids
  std::string source{};
  std::string issue{};
  std::string owner{};
  std::string added{};    // "2027-04-01", or ""
  std::string expires{};  // "2027-06-30": the last day on which it holds
};

// The list of --known-failures.
struct KnownFailuresFile {
  std::string file{};
  std::string sha256{};
  std::vector<KnownFailureEntry> entries{};
};

// The other places where a gate sees an option or a variable: the digest of the plan, or one of the gate's
// rules.
inline constexpr std::string_view kCoveredByPlan = "plan";
inline constexpr std::string_view kCoveredByRule = "rule";

// An option of a run that can leave out cases, or change how they are judged.
struct NarrowingOption {
  std::string option{};  // "--filter"
  std::string value{};   // the value as typed; "" for a flag
  // The other place where a gate sees the option: kCoveredByPlan, kCoveredByRule, or "".
  std::string covered_by{};
};

// An environment variable with the same effect (harness/base/narrowing_variables.h), as the processes of a
// suite have it.
struct NarrowingVariable {
  std::string suite{};
  std::string backend{};
  std::string name{};
  std::string value{};
  std::string by{};          // its source: "caller" or "suite"
  std::string covered_by{};  // kCoveredByPlan: the plan contains it; "": it does not
};

// The options and variables of the caller that change, apart from the suites, which cases exist and how they
// are judged.
struct Narrowed {
  std::vector<NarrowingOption> options{};
  std::vector<NarrowingVariable> variables{};
};

// A file that determined what was run, with its digest: of the configuration, --plan, or the machine of
// --sim.
struct InputFile {
  std::string file{};  // relative to RunPlanned::directory, or absolute
  std::string sha256{};
};

// The plan of a run, its first event: what will run, on which machine and by which rules.
struct RunPlanned {
  std::string run_id;
  std::string started;  // UTC, 2026-01-31T12:00:00Z
  std::string proctor_version;
  std::vector<std::string> command_line;
  std::string directory;  // where proctor was started: the rerun command starts there
  std::string hostname;
  std::string plan_digest;  // digest_of_plan() of base/digest.h; for a shard, of the whole plan
  // Restrictions of the tests other than the commands of the suites and the options of the run: "SUITE
  // NAME=VALUE".
  std::vector<std::string> filters{};
  std::optional<PlannedShard> shard{};  // --shard or --plan
  std::optional<PlannedRest> rest{};
  ContainmentInfo containment;
  std::optional<SimInfo> sim;
  int jobs = 1;
  RunRules rules{};
  bool exec = false;                            // `proctor exec`: the exit code is the command's own
  std::vector<std::string> backends_present{};  // vendors with usable devices on this machine: "cuda"
  std::string missing_backend;                  // backend without any device, or empty
  // The caller's variable that hides all devices of that backend; or empty.
  std::string hidden_by{};
  std::int64_t stress_ms = 0;  // --repeat 2h: cases repeat in turn for this time; 0: they do not
  // --repeat 99%:1%: the failure rate that PlannedCase::repeat good executions exclude
  std::optional<Exclusion> exclusion{};
  bool flaky_passes = false;  // if false, a flaky case makes the run red, as a failed one
  int max_flaky_percent = 0;  // with flaky_passes: the greatest share of flaky executed cases, in percent
  std::vector<PlannedDevice> devices;
  std::vector<PlannedCase> cases;
  std::vector<std::pair<std::string, std::string>> stack;  // "xpu.driver" -> "22.43.24595.41", ...
  std::vector<StackFact> fingerprint;  // taken before the first case; the known values are also in `stack`
  Subject subject{};
  std::vector<PlannedSuite> suites{};
  std::optional<KnownFailuresFile> known_failures{};
  std::string size{};      // of Proctor's own checks: --size
  std::uint64_t seed = 0;  // selects the points of their axes at which Proctor's checks ran
  std::string profile{};   // --profile
  Narrowed restrictions{};
  std::vector<InputFile> inputs{};
};

// A variable that determines which devices a process sees, as the process has it.
struct EnvironmentVariable {
  std::string name{};
  std::optional<std::string> value{};  // none: it is not set
  std::string by{};                    // who says so: "proctor", "simulation", "caller", "suite" or "none"
};

// An execution of a case began.
struct AttemptStarted {
  std::string case_id;
  int attempt = 1;  // 1.. : retries
  int repeat = 1;   // 1.. : --repeat
  std::int64_t at_ms = 0;
  std::vector<std::string> devices;                // leased ids
  std::string log;                                 // path relative to the run directory
  std::vector<EnvironmentVariable> environment{};  // empty for a case with ranks: each rank has its own
  bool shared = false;                             // its process was started for several cases
};

// A leaked process: it outlived the leader of its case.
struct LeakedProcess {
  int pid = 0;
  std::string command;
};

// A measured figure of a case, as the child reported it.
struct Measure {
  std::string name;
  double value = 0;
  std::string unit;
  std::int64_t n = 1;
  double spread = 0;
};

// One failed expectation as the child reported it. All fields may be empty.
struct Failure {
  std::string rule;
  std::string message;
  std::string file;
  int line = 0;
  std::string expected;
  std::string got;
  std::string device;
};

// The part of a device in a trial. `role`: "source", "target", "reader", "host", or "" if all parts are
// equal.
struct TrialDevice {
  std::string role;
  std::string device;  // as Failure::device
};

// One operation of a check with several devices, and whether it was correct.
struct Trial {
  bool ok = true;
  std::vector<TrialDevice> devices;
};

// How the runner ended a case, and the processes that the case left behind.
struct Termination {
  int signal_sent = 0;  // 0: the case ended by itself
  bool forced = false;  // SIGKILL was necessary after the grace period
  bool unkillable = false;
  std::int64_t kill_duration_ms = 0;  // from SIGKILL to the proof that no process is left
  std::vector<LeakedProcess> leaked_processes;
  // If several cases shared the process: the cases that began in it. Any of them may have started `strays`.
  std::vector<std::string> leaked_by{};
  // Why the guard of the case failed, so that the runner ended the case itself: "it was killed by signal 9".
  // "": the guard did its work.
  std::string guard_lost{};
};

// The output of an attempt: sizes, and the end of each stream.
struct OutputInfo {
  std::string log;
  std::uint64_t bytes = 0;
  std::uint64_t dropped_bytes = 0;
  bool write_failed = false;  // the log could not be written to disk
  std::string stdout_tail;
  std::string stderr_tail;
};

// The kept core file of a process that crashed.
struct CoreInfo {
  std::string file{};     // relative to the run directory, or ""
  std::string program{};  // the executable that crashed, for a debugger
  std::uint64_t bytes = 0;
};

// One frame of a stack, native or Python.
struct StackFrame {
  std::string function{};
  std::string location{};  // "train.py:12", "wait.c:40", or ""
};

// Observations of the processes before a timeout or a stall ended them, or of their core after a crash.
struct EvidenceInfo {
  std::string file;                // relative to the run directory; "": none was gathered
  std::vector<std::string> lines;  // at most ten, for people
  std::int64_t duration_ms = 0;
  CoreInfo core{};
  // the innermost one in the program itself, not in the C library or a runtime
  std::optional<StackFrame> frame{};
};

// The component at fault for a bad end, as far as it is known. If a conformance check failed, this is the
// stack under test, and not the check. `name` and `version` are "" if unknown.
struct Culprit {
  std::string kind{};     // device | driver | library | test
  std::string name{};     // "Level Zero driver", "NVIDIA H100 80GB HBM3", "gloo", the name of a suite
  std::string version{};  // "26.31.34567"

  friend bool operator==(const Culprit&, const Culprit&) = default;
};

// The cause of a bad attempt, as far as the rules of harness/classify/ find one
// (docs/reference/diagnosis.md).
struct Diagnosis {
  std::string rule{};                             // "xid:79"
  std::string error_class{};                      // "device_lost", "oom_device", "test_failure", ...
  FailureOwner problem = FailureOwner::kMachine;  // the owner of the failure
  std::optional<Culprit> culprit{};
  GravityWord severity{};
  std::string where{};  // signal | kernel_log | code | output | outcome
  std::string line{};   // the line that matched; "": the rule matched only how the process ended
  std::string next{};   // one sentence for an engineer
  std::string source{};
  std::vector<std::string> others{};  // other rules that match, in the order in which they were tried
  // evidence that could not be read, each with the setting that permits it
  std::vector<std::string> gaps{};

  friend bool operator==(const Diagnosis&, const Diagnosis&) = default;
};

// One telemetry figure of an attempt. A number is missing if no source reported it, and `note` gives the
// reason. `note` also names what the numbers leave out.
struct TelemetryFigure {
  std::string name;    // "memory_used", "temperature", ...; docs/reference/telemetry.md lists all
  std::string unit;    // "bytes", "%", "C", "W", "MHz", "errors", "s"; "" for words
  std::string source;  // "sysman", "nvml", "nvidia-smi", "xpu-smi", "cgroup", "rusage"; "": no number
  std::int64_t samples = 0;
  std::optional<double> first;
  std::optional<double> last;
  std::optional<double> mean;
  std::optional<double> peak;
  std::optional<double> delta;    // for counters: last - first
  std::vector<std::string> seen;  // for throttle reasons: all that occurred
  std::string note;
};

// The telemetry figures of one device during an attempt.
struct DeviceTelemetry {
  std::string device;
  std::vector<TelemetryFigure> figures;
};

// The telemetry of an attempt.
struct TelemetryInfo {
  std::vector<TelemetryFigure> host;     // about the processes of the case
  std::vector<DeviceTelemetry> devices;  // about the leased devices; empty if no source samples them
};

// How one rank of a case ended. A rank that was still running when the case ended has no verdict.
struct RankEnd {
  int rank = 0;
  std::vector<std::string> devices{};  // leased ids
  std::optional<Verdict> verdict{};
  std::optional<int> exit_code{};
  std::optional<int> exit_signal{};
  std::string announced_end{};      // the end that the check announced for this rank: "signal:9", "ended"
  bool stopped_by_proctor = false;  // the runner ended it after the others had ended
  std::string last_step{};
  std::string log{};  // relative to the run directory
  std::uint64_t bytes = 0;
  std::uint64_t dropped_bytes = 0;
  std::vector<EnvironmentVariable> environment{};
};

// The end of an execution of a case, with everything that is known about it.
struct AttemptEnded {
  std::string case_id;
  int attempt = 1;
  int repeat = 1;
  std::int64_t at_ms = 0;
  std::int64_t duration_ms = 0;
  Verdict verdict;
  std::optional<int> exit_code;
  std::optional<int> exit_signal;
  Termination termination;
  OutputInfo output;
  EvidenceInfo evidence;
  TelemetryInfo telemetry;
  std::string last_step;  // the last `step` that the child announced
  std::vector<Failure> failures;
  std::vector<Measure> measures;
  std::vector<std::pair<std::string, std::string>> properties{};  // name, value: recorded by the case
  std::vector<Trial> trials{};
  Marks marks;
  std::string rule;
  std::string source;
  SeverityWord severity;
  std::optional<Diagnosis> diagnosis;  // for a bad verdict that the runner did not cause itself
  std::vector<RankEnd> ranks;          // for a case with ranks: the end of each, in the order of ranks
};

// Follows the end of a bad attempt whose device was found unhealthy by an examination. The machine is then at
// fault for the attempt.
struct AttemptSuspected {
  std::string case_id;
  int attempt = 1;
  int repeat = 1;
  std::string device;
  std::string evidence;  // one sentence
};

// The final verdict on a case, after its retries and the known-failure list.
struct CaseEnded {
  std::string case_id;
  Verdict verdict;
  Marks marks;
  std::string known_failure;             // source of the matching entry, if any
  std::string note;                      // one sentence, e.g. why it was not run
  std::string known_failure_location{};  // the place of that entry: "known.toml:12"
};

// Earlier results, from --history, of a case that failed or was flaky. They are read after the last case.
struct CasePast {
  std::string case_id;
  int runs = 0;          // earlier runs in which the case passed or failed
  int failing_runs = 0;  // the uninterrupted series of most recent runs in which it failed
  int flaky_runs = 0;    // other runs of `runs` in which it did not simply pass
  std::string since{};   // commit of the first failing run, or that run if the commit is unknown; "": new
  std::string passed{};  // the same for the last run before it that passed; "": none is known
};

// A finding about a device, after the case `case_id` or before it began.
struct DeviceHealth {
  std::string device;
  HealthWord what;
  std::string case_id;  // may be empty
  std::int64_t at_ms = 0;
  std::int64_t wait_ms = 0;
  std::uint64_t bytes = 0;
  std::string evidence;  // one sentence
};

// The kernel's data about a device that the run may lease, and the driver file that the probe loaded
// for it. The record is written before the first case and after the last one. The runner reads it from /sys
// and /proc, and loads no driver. An unreadable value is empty, and `gaps` gives the reason.
struct HardwareEvidence {
  std::string id{};               // the id for leases: "xpu:0000:03:00.0"
  std::string when{};             // "start" or "end"
  std::string pci{};              // PCI address as the driver reports it: "0000:03:00.0"
  std::string vendor{};           // from /sys/bus/pci: "8086"
  std::string device{};           // from /sys/bus/pci: "e20b"
  std::string kernel_driver{};    // the kernel driver that is bound to it: "xe"
  std::string driver_file{};      // the driver library that the probe loaded
  std::string driver_build_id{};  // the GNU build id in that file
  std::string boot_id{};
  bool simulator = false;  // the library is Proctor's simulator, or a driver without hardware
  std::vector<std::string> gaps{};
  std::int64_t at_ms = 0;
};

// The digest of a suite's program. The program is read while cases run, because it may be large, so this is a
// separate record.
struct ProgramRead {
  std::string program{};  // PlannedSuite::program
  std::string sha256{};   // "": it could not be read, or is no longer the planned file
  std::string reason{};   // the reason if the digest is missing, or ""
};

// An error that did not stop the run. Each of them is reported, so that nothing fails silently.
struct Warning {
  WarningWord code;
  std::string text;
};

// A request to stop the run before its end.
struct StopRequested {
  int signal = 0;  // 0: the cause was not a signal
  StopWord reason;
  std::int64_t at_ms = 0;
};

// The last event of a run.
struct RunEnded {
  std::string finished;
  std::int64_t at_ms = 0;
};

using Event = std::variant<RunPlanned, AttemptStarted, AttemptEnded, AttemptSuspected, CaseEnded, CasePast,
                           DeviceHealth, HardwareEvidence, ProgramRead, Warning, StopRequested, RunEnded>;

// Returns one line of JSON, without the newline. The strings may contain any bytes: those that are not UTF-8
// are written in a visible form.
std::string to_json_line(const Event& event);

// The inverse of to_json_line(). A record of an unknown type gives nullopt; a line that is not a record is an
// error.
Result<std::optional<Event>> parse_json_line(std::string_view line);

// Receives each event. on() is called on the runner's only thread, in the order of the events.
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void on(const Event& event) = 0;
};

}  // namespace proctor
