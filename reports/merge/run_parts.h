// The records of a run as those of a larger one that it is a part of, and what the parts of a larger run tested, as one:
// a fact on which they differ is unknown, and a warning says so.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/journal/events.h"
#include "reports/resolve/resolved_run.h"

namespace proctor {

struct PartOrigin {
  std::string place;          // "shard-2/": where its files are in the directory of the whole
  std::string host{};         // "host/" where the whole has several hosts: their devices are told apart
  std::int64_t later_ms = 0;  // how long after the whole it began
};

class RunCopy {
 public:
  RunCopy(const ResolvedRun& run, PartOrigin origin) : run_(run), origin_(std::move(origin)) {}

  const ResolvedRun& run() const { return run_; }
  std::string device(const std::string& id) const { return id.empty() ? id : origin_.host + id; }
  // The attempts of a case, numbered after the `before` that others made of it.
  void copy_attempts(const ResolvedCase& test, int before, std::vector<Event>& out) const;
  // Also of a case that has no such record: why it has none is a matter of its own run.
  CaseEnded end_of(const ResolvedCase& test) const;
  void copy_health(std::vector<Event>& out) const;
  void copy_hardware(std::vector<Event>& out) const;
  // Why it did not come to its end; "" when it did.
  std::string cut_short() const;

 private:
  void move_below(std::string& path) const {
    if (!path.empty()) path = origin_.place + path;
  }

  const ResolvedRun& run_;
  PartOrigin origin_;
};

// Of which backend the whole has no device, and whether that is allowed: a part that does not allow it speaks for all.
void add_lack_of_devices(const RunPlanned& part, RunPlanned& whole);

// Weaker layers promise less.
bool is_weaker(const ContainmentInfo& one, const ContainmentInfo& other);

struct TestedPart {
  std::string name;  // for messages
  const ResolvedRun& run;
};

struct Tested {
  Subject subject{};
  std::vector<PlannedSuite> suites{};
  std::vector<ProgramRead> programs{};
  std::optional<KnownFailuresFile> known_failures{};
  std::string size{};
  std::uint64_t seed = 0;
  std::string profile{};
  std::vector<Warning> warnings{};

  // All but the programs and the warnings, which are records of their own.
  void move_into(RunPlanned& plan);
};

Tested tested_by(const std::vector<TestedPart>& parts);

}  // namespace proctor
