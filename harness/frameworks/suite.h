// A suite of a configuration and the cases that its program listed.
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
  std::optional<Milliseconds> timeout;  // none: there is no such limit
  std::optional<Milliseconds> stall;
  Milliseconds grace{};
  int retries = 0;
  bool leaks_fail = false;  // a good case that left a process behind is red, and not only marked
  // Of a process: until its first case begins, and from the end of its last one. None: they are in the case's own time.
  std::optional<Milliseconds> startup{};
  std::optional<Milliseconds> shutdown{};
  // Name in Plan::concurrency_groups. "": none. Case::group is another thing: the cases of one process.
  std::string concurrency_group{};
};

inline constexpr const char* kBuiltInOrigin = "built in";
inline constexpr const char* kCommandLineOrigin = "command line";

inline constexpr int kMaxRanks = 256;  // the most that one case may have

// Who determined the devices of a suite. kAuto: nobody yet (harness/runner/machine/default_devices.h).
enum class DevicesBy { kAuto, kRule, kWritten };

struct Suite {
  std::string name;
  const Kind* kind = &command_kind();
  std::string kind_reason;  // how the kind was recognised, for the header: "config", "lists GoogleTest tests"
  std::vector<std::string> command;
  std::string directory;  // working directory of its processes
  Backend backend = Backend::kNone;
  int devices = 0;  // of each case; of DevicesBy::kAuto, -1: no number is written
  DevicesBy devices_by = DevicesBy::kWritten;
  std::string devices_reason;  // for people, of DevicesBy::kRule: "needs libze_loader.so.1"
  // Kind pytest, listed: the modules for GPUs that its test modules import, each with its vendor; "": any vendor.
  std::map<std::string, std::string> gpu_modules;
  std::string devices_marker;    // kind pytest: the marker that says how many devices a test needs; "" = none
  int ranks = 0;                 // processes that execute a case together; 0: one, which is no rank
  std::string process = "case";  // case | file | suite
  bool process_chosen = false;   // by a configuration, an option or a plan: whoever chose is not asked again
  int batch = 0;      // of process "suite": the most cases of a process, or kAutoBatch; 0: no limit (batch.h)
  double verify = 2;  // percent of the cases that passed beside others, which run alone as well
  bool listener = false;      // kind gtest: the program has our listener, which reports cases as they happen
  std::string mask = "uuid";  // uuid | index
  std::string hierarchy;      // xpu: flat | composite | combined; "" = the caller's, else composite
  std::uint64_t mem_cap = 0;  // bytes of each device that a process may take; 0: no such limit
  bool host_pids = false;     // its processes get no PID and no user namespace, whatever the layer
  int skip_code = 0;          // kind command: the exit code of a skip; 0: none is
  CasePolicy policy;
  std::map<std::string, std::string> env;
  // What selects its tests besides its command and the options of a run, and is part of the plan: "PYTEST_ADDOPTS", or
  // "addopts of pytest.ini", with its value.
  std::map<std::string, std::string> filters;
  std::vector<std::string> labels;
  std::string origin;  // "proctor.toml:12", "built in", "command line"
};

struct Case {
  std::string id;
  std::size_t suite = 0;  // index into Plan::suites
  std::string name;       // JUnit: "Group.Name" of ours, the framework's own name, else the program
  std::string classname;  // JUnit: proctor.SUITE.BACKEND, the framework's own, else the suite (planner.h)
  std::vector<std::string> argv;
  // Cases of one suite with the same group and number of devices share a process; "" = each has its own.
  std::string group;
  int devices = 0;  // for all ranks together
  int ranks = 0;    // processes that execute it together and share the devices equally; 0: one, not a rank
  CasePolicy policy;
  bool disabled = false;  // the framework itself does not run it: skip(disabled)
  // The entry of [[skip]] that applies to it: it is not started.
  std::shared_ptr<const WrittenOff> config_skip{};
  int expected_failures = 0;      // with which it still counts as expected, by its framework's list
  std::vector<std::string> tags;  // as its framework names them
  std::string rule;               // as the suite listed them; empty for foreign suites
  std::string source;
  SeverityWord severity;
  std::vector<std::string> needs;             // "tiles>=2", "fp64"
  std::map<std::string, std::int64_t> sizes;  // size -> how much the case does under it
  std::string sizes_unit;
  // What a check of ours is tried with, and at how many points of these axes under size=ci. Not in a plan's file.
  std::vector<Axis> axes{};
  int points = 0;
  std::vector<std::string> faults;  // simulator faults, each of which must make it fail; the cheapest first
  std::string
      expects;  // how these faults end it, if not by a failed assertion: "hang", "lost", "abort" or "mismatch"
  std::string
      unlisted;  // why its suite could not be listed: the case stands for it and never runs; "" = a real one
  bool wants_device = false;  // unlisted for want of a device: skipped where there is none
  int shard = 0;              // of Plan::shards, from 1; 0: the id decides
};

// Whether the case stands for a suite that could not be listed; its id is then that of the suite: "attention".
inline bool is_unlisted(const Case& test) { return !test.unlisted.empty(); }

// What the suite's own framework calls the case: its id without the suite.
std::string_view framework_id(const Case& test);

}  // namespace proctor
