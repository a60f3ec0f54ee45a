// Converts the records of a run into records of a larger run, and combines the tested subjects of its parts. join.cc
// and merge.cc use it. A fact on which the parts differ becomes unknown, with a warning.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/journal/events.h"
#include "reports/resolve/resolved_run.h"

namespace proctor {

// The position of a part in the larger run.
struct PartOrigin {
  std::string place;   // "shard-2/": the place of its files in the directory of the larger run
  std::string host{};  // "host/" if the larger run has several hosts, so that their devices are distinct
  std::int64_t later_ms = 0;  // time between the start of the larger run and the start of this one
};

// Copies the records of one part, with paths, devices and times of the larger run.
class RunCopy {
 public:
  RunCopy(const ResolvedRun& run, PartOrigin origin) : run_(run), origin_(std::move(origin)) {}

  const ResolvedRun& run() const { return run_; }
  std::string device(const std::string& id) const { return id.empty() ? id : origin_.host + id; }
  // Copies the attempts of a case. Their numbers continue after `before` attempts of other parts.
  void copy_attempts(const ResolvedCase& test, int before, std::vector<Event>& out) const;
  // Also works for a case without an end record: its own run determines the verdict.
  CaseEnded end_of(const ResolvedCase& test) const;
  void copy_health(std::vector<Event>& out) const;
  void copy_hardware(std::vector<Event>& out) const;
  // Returns why the run did not finish; "" if it did.
  std::string cut_short() const;

 private:
  void move_below(std::string& path) const {
    if (!path.empty()) path = origin_.place + path;
  }

  const ResolvedRun& run_;
  PartOrigin origin_;
};

// Adds the backend without devices, and whether that is allowed. If one part does not
// allow it, the larger run does not.
void add_lack_of_devices(const RunPlanned& part, RunPlanned& whole);

// Weaker layers guarantee less.
bool is_weaker(const ContainmentInfo& one, const ContainmentInfo& other);

// A part for tested_by().
struct TestedPart {
  std::string name;  // for messages
  const ResolvedRun& run;
};

// The tested subject that all parts share.
struct Tested {
  Subject subject{};
  std::vector<PlannedSuite> suites{};
  std::vector<ProgramRead> programs{};
  std::optional<KnownFailuresFile> known_failures{};
  std::string size{};
  std::uint64_t seed = 0;
  std::string profile{};
  std::vector<Warning> warnings{};

  // Moves all members except the programs and the warnings, which have their own records.
  void move_into(RunPlanned& plan);
};

Tested tested_by(const std::vector<TestedPart>& parts);

}  // namespace proctor
