// A suite of a configuration, and the cases that its program listed. The plan is made of these plain values.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/axes.h"
#include "harness/base/backend.h"
#include "harness/base/duration.h"
#include "harness/journal/event_words.h"

namespace proctor {

class Kind;  // frameworks/kind.h
const Kind& command_kind();
struct WrittenOff;  // harness/plan/written_off.h

// The limits of a suite or of one case, after all layers and overrides.
struct CasePolicy {
  std::optional<Milliseconds> timeout;  // none: no limit
  std::optional<Milliseconds> stall;
  Milliseconds grace{};
  int retries = 0;
  bool leaks_fail = false;  // a good case that left a process behind fails, and is not only marked
  // Limits of a process: until its first case begins, and from the end of its last case. If unset, these times
  // count as the case's own time.
  std::optional<Milliseconds> startup{};
  std::optional<Milliseconds> shutdown{};
  // Name in Plan::concurrency_groups, or "". It is not related to Case::group, which lists the cases of one
  // process.
  std::string concurrency_group{};
};

inline constexpr const char* kBuiltInOrigin = "built in";
inline constexpr const char* kCommandLineOrigin = "command line";

inline constexpr int kMaxRanks = 256;  // the most that one case may have

// The origin of the devices of a suite. kAuto: they are not determined yet
// (harness/runner/machine/default_devices.h).
enum class DevicesBy { kAuto, kRule, kWritten };

// One suite of the plan, with its settings after all layers and overrides.
struct Suite {
  std::string name;
  const Kind* kind = &command_kind();
  std::string kind_reason;  // how the kind was recognised, for the header: "config", "lists GoogleTest tests"
  std::vector<std::string> command;
  std::string directory;  // working directory of its processes
  Backend backend = Backend::kNone;
  int devices = 0;  // of each case; -1 with DevicesBy::kAuto: no number is configured
  DevicesBy devices_by = DevicesBy::kWritten;
  std::string devices_reason;  // for people, with DevicesBy::kRule: "needs libze_loader.so.1"
  // Kind pytest, listed: the GPU modules that its test modules import, each with its vendor; "": any vendor.
  std::map<std::string, std::string> gpu_modules;
  std::string devices_marker;    // kind pytest: the marker with the number of devices of a test; "": none
  int ranks = 0;                 // processes that execute a case together; 0: a single one, not a rank
  std::string process = "case";  // case | file | suite
  bool process_chosen = false;   // a configuration, an option or a plan set it, so no default replaces it
  int batch = 0;      // process "suite": the most cases of a process, or kAutoBatch; 0: no limit (batch.h)
  double verify = 2;  // percent of the cases that passed in a shared process, which also run alone
  bool listener = false;      // kind gtest: the program contains Proctor's listener
  std::string mask = "uuid";  // uuid | index
  std::string hierarchy;      // xpu: flat | composite | combined; "": the caller's, else composite
  std::uint64_t mem_cap = 0;  // bytes of each device that a process may use; 0: no limit
  bool host_pids = false;     // its processes get no PID and no user namespace in any layer
  int skip_code = 0;          // kind command: the exit code of a skip; 0: none
  CasePolicy policy;
  std::map<std::string, std::string> env;
  // Other settings that select its tests, in addition to its command and the options of a run. They are part
  // of the plan: "PYTEST_ADDOPTS", or "addopts of pytest.ini", with its value.
  std::map<std::string, std::string> filters;
  std::vector<std::string> labels;
  std::string origin;  // "proctor.toml:12", "built in", "command line"
};

// One case of the plan.
struct Case {
  std::string id;
  std::size_t suite = 0;  // index into Plan::suites
  // JUnit: "Group.Name" of Proctor's suites, the framework's own name, else the program
  std::string name;       // JUnit: "Group.Name" of ours, the framework's own name, else the program
  std::string classname;  // JUnit: proctor.SUITE.BACKEND, the framework's own, else the suite (planner.h)
  std::vector<std::string> argv;
  // Cases of one suite with the same group and number of devices share a process; "": each has its own.
  std::string group;
  int devices = 0;  // for all ranks together
  // processes that execute it together and share the devices equally; 0: a single one, not a rank
  int ranks = 0;
  CasePolicy policy;
  bool disabled = false;  // the framework itself does not run it: skip(disabled)
  // The entry of [[skip]] that applies to it. The case is then not started.
  std::shared_ptr<const WrittenOff> config_skip{};
  int expected_failures = 0;      // number of failures that count as expected, from its framework's list
  std::vector<std::string> tags;  // as in its framework
  std::string rule;               // from the list of the suite; empty for foreign suites
  std::string source;
  SeverityWord severity;
  std::vector<std::string> needs;             // "tiles>=2", "fp64"
  std::map<std::string, std::int64_t> sizes;  // size -> amount of work of the case
  std::string sizes_unit;
  // The axes of a check of Proctor's suites, and the number of their points under size=ci. A plan's file does
  // not contain them.
  std::vector<Axis> axes{};
  int points = 0;
  // simulator faults, each of which must make the case fail; the cheapest first
  std::vector<std::string> faults;
  // How these faults end it, if not by a failed assertion: "hang", "lost", "abort" or "mismatch".
  std::string expects;
  // Why its suite could not be listed. Such a case represents the suite and never runs. "": an ordinary case.
  std::string unlisted;
  bool wants_device = false;  // not listed because of a missing device: skipped on a machine without one
  int shard = 0;              // of Plan::shards, from 1; 0: the id determines it
};

// Returns true if the case represents a suite that could not be listed. Its id is then that of the suite:
// "attention".
inline bool is_unlisted(const Case& test) { return !test.unlisted.empty(); }

// The id of the case in the suite's own framework: its id without the suite.
std::string_view framework_id(const Case& test);

}  // namespace proctor
