// Events are the only contract between the runner and everything that reports. The journal consists of these
// structs, one JSON line for each; JUnit, report.json, summaries, the console and the exit code are functions
// of them.
//
// A journal holds one RunPlanned first, then any number of the others, then at most one RunEnded. A journal
// that ends early, because the runner was killed, still tells how each case ended: a case that has an
// AttemptStarted and no end is notrun(interrupted), and a planned case without any record is notrun with the
// reason why the run ended, or notrun(interrupted) if there is none.
// The format only grows: readers ignore keys and record types that they do not know.
//
// A class that wants to know what happens derives from EventSink. Example:
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
// Units: *_ms are milliseconds of the monotonic clock since the start of the run, or a length of time
// where the name says `duration`.
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
  // What its driver says of the model; "" what it does not say.
  std::string uuid{};
  std::string pci{};         // "0000:03:00.0"
  std::string pci_id{};      // vendor and device: "8086:0bd5"
  std::string capability{};  // of CUDA: "9.0"
};

// Which containment holds the cases, and what it does not promise (one sentence each).
struct ContainmentInfo {
  std::string layer;  // as journal/containment_layer.h names it
  std::vector<std::string> not_guaranteed;
  std::vector<std::string> how_to_improve;
  std::string signals{};  // what keeps a case's signals in the case: "landlock", "seccomp" or ""
};

struct SimInfo {
  std::string topology;  // the text given to --sim
  std::string driver;    // "simgpu" or "intel"
};

// What a machine says about one layer of its driver stack (docs/how-to/stacks.md).
struct StackFact {
  std::string name{};                  // "host.kernel"
  std::optional<std::string> value{};  // none: it is unknown
  std::string source{};                // the file or variable that says so
  std::string reason{};                // why the value is unknown, or ""
  bool absent = false;                 // without a value: true if the layer does not exist, false if unknown
};

// The part of a plan that a run took (docs/how-to/ci.md).
struct PlannedShard {
  int index = 1;  // 1 to `count`
  int count = 1;
  int planned = 0;     // cases of the whole plan
  std::string plan{};  // digest of the whole plan with commands and limits (harness/plan/plan_file.h)
};

// What a run that goes on with others is the rest of (`run --resume`, `plan --remaining`): a plan, and the runs of it that left
// cases without an outcome.
struct PlannedRest {
  std::vector<std::string> runs{};  // their ids
  std::string plan_digest{};        // of the whole plan: digest_of_plan() of base/digest.h
  std::string plan{};               // as PlannedShard::plan; "" of a plan that is no file
  int planned = 0;                  // cases of the whole plan
  int shards = 1;                   // into how many the whole plan was divided
};

// One thing that is known of what is tested, and who says it.
struct SubjectFact {
  std::optional<std::string> value{};  // none: it is unknown
  std::string source{};                // "--subject", "GITHUB_SHA", ".git/HEAD"; "" of an unknown one
  std::string reason{};                // why the value is unknown, or ""
};

// What is tested: the state of which sources (docs/how-to/ci.md).
struct Subject {
  SubjectFact commit{};
  SubjectFact dirty{};  // "true": the checkout has changes that are in no commit; or "false"
  SubjectFact branch{};
  SubjectFact repository{};  // its address
  SubjectFact build{};       // the address of the CI's job
  std::string checkout{};    // the directory of the sources; "": there is none
};

// A suite of the plan, and the program that it starts.
struct PlannedSuite {
  std::string name{};
  std::string backend{};
  std::string kind{};
  std::vector<std::string> command{};
  std::string program{};  // the file; "": there is none
  std::uint64_t bytes = 0;
  std::string reason{};           // why there is no program, or ""
  int devices = 0;                // of each case
  std::string devices_reason{};   // why, where nobody wrote it: "pytest imports torch"
  bool devices_disabled = false;  // somebody wrote that it gets none: --gpus 0, backend = "none"
};

// An entry of the list of --known-failures, for people who read of the run.
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

// Who else tells a gate of an option or a variable: the digest of the plan, or one of its rules.
inline constexpr std::string_view kCoveredByPlan = "plan";
inline constexpr std::string_view kCoveredByRule = "rule";

// An option of a run by which cases may be left out, or judged in another way than their suites say.
struct NarrowingOption {
  std::string option{};  // "--filter"
  std::string value{};   // as it was typed; "" of a flag
  std::string
      covered_by{};  // what else tells a gate of it: "plan" (its digest) or "rule" (one of the gate's); "": nothing
};

// A variable that does so (harness/base/narrowing_variables.h), as the processes of a suite have it.
struct NarrowingVariable {
  std::string suite{};
  std::string backend{};
  std::string name{};
  std::string value{};
  std::string by{};          // who says so: "caller" or "suite"
  std::string covered_by{};  // kCoveredByPlan: it stands in the plan; "": it does not
};

// What of the caller decides which cases there are and how they are judged, besides the suites.
struct Narrowed {
  std::vector<NarrowingOption> options{};
  std::vector<NarrowingVariable> variables{};
};

// A file that decided what was run, as it was read: of the configuration, --plan, or the machine of --sim.
struct InputFile {
  std::string file{};  // relative to RunPlanned::directory, or absolute
  std::string sha256{};
};

struct RunPlanned {
  std::string run_id;
  std::string started;  // UTC, 2026-01-31T12:00:00Z
  std::string proctor_version;
  std::vector<std::string> command_line;
  std::string directory;  // where proctor was started: the rerun command starts there
  std::string hostname;
  std::string plan_digest;  // digest_of_plan() of base/digest.h; for a shard, of the whole plan
  // What leaves tests out besides the commands of the suites and the options of the run: "SUITE NAME=VALUE".
  std::vector<std::string> filters{};
  std::optional<PlannedShard> shard{};  // --shard or --plan
  std::optional<PlannedRest> rest{};
  ContainmentInfo containment;
  std::optional<SimInfo> sim;
  int jobs = 1;
  RunRules rules{};
  bool exec = false;                            // `proctor exec`: the exit code is the command's own
  std::vector<std::string> backends_present{};  // of whose devices this machine has some to give: "cuda"
  std::string missing_backend;                  // backend of which no device exists, or empty
  // For it, the variable of the caller that leaves none; or empty.
  std::string hidden_by{};
  std::int64_t stress_ms = 0;            // --repeat 2h: cases repeat in turns for this time; 0: they do not
  std::optional<Exclusion> exclusion{};  // --repeat 99%:1%: what PlannedCase::repeat good executions exclude
  bool flaky_passes = false;             // if false, a flaky case is as red as a failed one
  int max_flaky_percent = 0;  // with flaky_passes: how many of the executed cases may be flaky, in percent
  std::vector<PlannedDevice> devices;
  std::vector<PlannedCase> cases;
  std::vector<std::pair<std::string, std::string>> stack;  // "xpu.driver" -> "22.43.24595.41", ...
  std::vector<StackFact> fingerprint;  // taken before the first case; the known values are also in `stack`
  Subject subject{};
  std::vector<PlannedSuite> suites{};
  std::optional<KnownFailuresFile> known_failures{};
  std::string size{};      // of our checks
  std::uint64_t seed = 0;  // which points of their axes our checks were tried with
  std::string profile{};   // --profile
  Narrowed restrictions{};
  std::vector<InputFile> inputs{};
};

// A variable that decides which devices a process sees, as the process has it.
struct EnvironmentVariable {
  std::string name{};
  std::optional<std::string> value{};  // none: it is not set
  std::string by{};                    // who says so: "proctor", "simulation", "caller", "suite" or "none"
};

struct AttemptStarted {
  std::string case_id;
  int attempt = 1;  // 1.. : retries
  int repeat = 1;   // 1.. : --repeat
  std::int64_t at_ms = 0;
  std::vector<std::string> devices;                // leased ids
  std::string log;                                 // path relative to the run directory
  std::vector<EnvironmentVariable> environment{};  // not of a case with ranks: each rank has its own
  bool shared = false;                             // its process was started for several cases
};

// A process that outlived the leader of its case.
struct LeakedProcess {
  int pid = 0;
  std::string command;
};

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

// The part of a device in a trial. `role`: "source", "target", "reader", "host", or "" where the parts are equal.
struct TrialDevice {
  std::string role;
  std::string device;  // as Failure::device
};

// One thing that a check tried with several devices, and whether it went right.
struct Trial {
  bool ok = true;
  std::vector<TrialDevice> devices;
};

struct Termination {
  int signal_sent = 0;  // 0: the case ended by itself
  bool forced = false;  // SIGKILL was needed after the grace
  bool unkillable = false;
  std::int64_t kill_duration_ms = 0;  // from SIGKILL to the proof that nothing is left
  std::vector<LeakedProcess> leaked_processes;
  // Of a process that several cases shared: those that began in it, any of which may have left the leaked_processes.
  std::vector<std::string> leaked_by{};
  // What became of the process that guards the case, so that the runner ended the case itself: "it was killed
  // by signal 9". "": it did its work.
  std::string guard_lost{};
};

struct OutputInfo {
  std::string log;
  std::uint64_t bytes = 0;
  std::uint64_t dropped_bytes = 0;
  bool write_failed = false;  // the log could not be written to disk
  std::string stdout_tail;
  std::string stderr_tail;
};

// The core of a process that crashed, as it was kept.
struct CoreInfo {
  std::string file{};     // relative to the run directory; "": there is none
  std::string program{};  // the executable that it is of, for a debugger
  std::uint64_t bytes = 0;
};

// One frame of a stack, native or Python.
struct StackFrame {
  std::string function{};
  std::string location{};  // "train.py:12", "wait.c:40", or ""
};

// What was seen of the processes before a timeout or a stall ended them, or after a crash in their core.
struct EvidenceInfo {
  std::string file;                // relative to the run directory; "": none was gathered
  std::vector<std::string> lines;  // at most ten, for people
  std::int64_t duration_ms = 0;
  CoreInfo core{};
  std::optional<StackFrame> frame{};  // the innermost of the program's own, not of the C library or a runtime
};

// Who made a bad end, as far as it is known: for a conformance check that failed the stack under test, and not the
// check. `name` and `version` are "" where nobody knows them.
struct Culprit {
  std::string kind{};     // device | driver | library | test
  std::string name{};     // "Level Zero driver", "NVIDIA H100 80GB HBM3", "gloo", the name of a suite
  std::string version{};  // "26.31.34567"

  friend bool operator==(const Culprit&, const Culprit&) = default;
};

// Why an attempt ended badly, as far as the rules of harness/classify/ can tell (docs/reference/diagnosis.md).
struct Diagnosis {
  std::string rule{};                             // "xid:79"
  std::string error_class{};                      // "device_lost", "oom_device", "test_failure", ...
  FailureOwner problem = FailureOwner::kMachine;  // the owner of the failure
  std::optional<Culprit> culprit{};
  GravityWord severity{};
  std::string where{};  // signal | kernel_log | code | output | outcome
  std::string line{};   // the line that matched; "": only the end of the process did
  std::string next{};   // one sentence for an engineer
  std::string source{};
  std::vector<std::string> others{};  // rules that match as well, in the order in which they were tried
  std::vector<std::string> gaps{};    // evidence that could not be read, each with how to allow it

  friend bool operator==(const Diagnosis&, const Diagnosis&) = default;
};

// One telemetry figure of an attempt. A number is missing where nothing gave one; `note` then says why. It
// also says what the numbers leave out.
struct TelemetryFigure {
  std::string name;    // "memory_used", "temperature", ...; docs/reference/telemetry.md has all
  std::string unit;    // "bytes", "%", "C", "W", "MHz", "errors", "s"; "" for words
  std::string source;  // "sysman", "nvml", "nvidia-smi", "xpu-smi", "cgroup", "rusage"; "": no number
  std::int64_t samples = 0;
  std::optional<double> first;
  std::optional<double> last;
  std::optional<double> mean;
  std::optional<double> peak;
  std::optional<double> delta;    // for counters: last - first
  std::vector<std::string> seen;  // for throttle reasons: all that were seen
  std::string note;
};

struct DeviceTelemetry {
  std::string device;
  std::vector<TelemetryFigure> figures;
};

struct TelemetryInfo {
  std::vector<TelemetryFigure> host;     // about the processes of the case
  std::vector<DeviceTelemetry> devices;  // about the leased devices; empty when nothing samples them
};

// How one rank of a case ended. A rank that was still running when the case ended has no verdict.
struct RankEnd {
  int rank = 0;
  std::vector<std::string> devices{};  // leased ids
  std::optional<Verdict> verdict{};
  std::optional<int> exit_code{};
  std::optional<int> exit_signal{};
  std::string announced_end{};      // how the check announced that this rank would end: "signal:9", "ended"
  bool stopped_by_proctor = false;  // the runner ended it after the others had ended
  std::string last_step{};
  std::string log{};  // relative to the run directory
  std::uint64_t bytes = 0;
  std::uint64_t dropped_bytes = 0;
  std::vector<EnvironmentVariable> environment{};
};

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
  std::vector<std::pair<std::string, std::string>>
      properties{};  // what the case recorded of itself: name, value
  std::vector<Trial> trials{};
  Marks marks;
  std::string rule;
  std::string source;
  SeverityWord severity;
  std::optional<Diagnosis> diagnosis;  // for a bad verdict that the runner did not cause itself
  std::vector<RankEnd> ranks;          // for a case with ranks: how each ended, in the order of ranks
};

// Said of a bad attempt after its end: its device was examined and found sick. The attempt is the machine's.
struct AttemptSuspected {
  std::string case_id;
  int attempt = 1;
  int repeat = 1;
  std::string device;
  std::string evidence;  // one sentence
};

// The final word on a case, after its retries and the known-failure list.
struct CaseEnded {
  std::string case_id;
  Verdict verdict;
  Marks marks;
  std::string known_failure;             // source of the matching entry, if any
  std::string note;                      // one sentence, e.g. why it was not run
  std::string known_failure_location{};  // where that entry stands: "known.toml:12"
};

// What the history of --history knows of a case that failed or was flaky. It is read after the last case.
struct CasePast {
  std::string case_id;
  int runs = 0;          // earlier runs in which the case passed or failed
  int failing_runs = 0;  // of them, the last ones in a row in which it failed
  int flaky_runs = 0;    // of `runs`: the others in which it did not simply pass
  std::string since{};  // the commit of the first failing one, or its run where no commit is known; "" if new
  std::string passed{};  // the same, of the last run before in which it passed; "" none is known
};

// What was found out about a device, after the case `case_id` or before it began.
struct DeviceHealth {
  std::string device;
  HealthWord what;
  std::string case_id;  // may be empty
  std::int64_t at_ms = 0;
  std::int64_t wait_ms = 0;
  std::uint64_t bytes = 0;
  std::string evidence;  // one sentence
};

// What the kernel says of a device that the run may lease, and which driver the probe had loaded for it; written before the
// first case and after the last one. The runner reads it from /sys and /proc, and loads no driver. What could not be read is
// empty, and `gaps` says why.
struct HardwareEvidence {
  std::string id{};               // the leased one: "xpu:0000:03:00.0"
  std::string when{};             // "start" or "end"
  std::string pci{};              // its address, as the driver says it: "0000:03:00.0"
  std::string vendor{};           // by /sys/bus/pci: "8086"
  std::string device{};           // the same: "e20b"
  std::string kernel_driver{};    // which is bound to it: "xe"
  std::string driver_file{};      // the driver's library that the probe had loaded
  std::string driver_build_id{};  // the GNU build id in that file
  std::string boot_id{};
  bool simulator = false;  // the library is a simulator of ours, or a driver without hardware
  std::vector<std::string> gaps{};
  std::int64_t at_ms = 0;
};

// The content of a suite's program. It is read while cases run, since it may be large, so that it is a record of its own.
struct ProgramRead {
  std::string program{};  // PlannedSuite::program
  std::string sha256{};   // "": it could not be read, or is not what was planned any more
  std::string reason{};   // why there is no digest, or ""
};

// An error that did not stop the run. Each of them is reported, so that nothing fails silently.
struct Warning {
  WarningWord code;
  std::string text;
};

struct StopRequested {
  int signal = 0;  // 0: not by a signal
  StopWord reason;
  std::int64_t at_ms = 0;
};

struct RunEnded {
  std::string finished;
  std::int64_t at_ms = 0;
};

using Event = std::variant<RunPlanned, AttemptStarted, AttemptEnded, AttemptSuspected, CaseEnded, CasePast,
                           DeviceHealth, HardwareEvidence, ProgramRead, Warning, StopRequested, RunEnded>;

// One line of JSON, without the newline. The strings may hold any bytes: those that are not UTF-8 are written
// in a visible form.
std::string to_json_line(const Event& event);

// The inverse of to_json_line(). A record of an unknown type gives nullopt; a line that is not a record is an
// error.
Result<std::optional<Event>> parse_json_line(std::string_view line);

// A listener. It is called on the runner's only thread, in the order of the events.
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void on(const Event& event) = 0;
};

}  // namespace proctor
