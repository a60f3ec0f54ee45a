// A case of a run with what follows from its records: RunResolver (run_resolver.h) computes each fact once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/events.h"
#include "harness/core/failure_rate.h"
#include "harness/core/outcome_meaning.h"

namespace proctor {

// Its records do not repeat what is elsewhere: the case is that of the ResolvedCase, the log is that of `start`, variables
// and telemetry are ResolvedRun::environment() and telemetry(). They would double the memory of 100,000 cases.
struct Attempt {
  AttemptStarted start{};
  std::optional<AttemptEnded> end{};
  std::string packed_environment{};
  std::string packed_telemetry{};
  // It ran in a shared process, and its repeat has an attempt alone, which counts instead (docs/explanation/batches.md).
  bool confirmed_alone = false;
  // What happened, in one line of at most 200 bytes: the first failed expectation, or "killed by signal 11 (SIGSEGV); last
  // step ...". Empty in a case that simply passed.
  std::string headline{};
};

// Returns the verdict of an attempt. Without an end record it is notrun(interrupted).
const Verdict& verdict_of(const Attempt& attempt);
// Whether its device was found unhealthy after it, so that it proves nothing about the code.
bool is_suspect(const Attempt& attempt);
// Whether it proves something about the code: its device was healthy, and its program can be believed.
bool counts(const Attempt& attempt);
// Whether its framework ran the case again after a failure, and it passed then.
bool passed_after_retry(const Attempt& attempt);

struct DeviceCount {
  int bad = 0;
  int good = 0;
};

enum class Suspect {
  kNone,     // no attempt was bad
  kCode,     // bad wherever it ran, on two devices or more
  kDevice,   // bad on `devices`, by more than chance
  kUnclear,  // bad somewhere, but too few attempts, or devices, to decide
};
std::string_view to_string(Suspect suspect);  // "none", "code", "device", "unclear"

// How often a case failed on each device, and whether the code or a device is to blame (devices.h).
struct DeviceRow {
  std::map<std::string, DeviceCount> counts{};  // device, or devices joined by '+', -> attempts
  std::set<std::string> sick{};  // of them: those that were found unhealthy after a bad attempt
  Suspect suspect = Suspect::kNone;
  std::vector<std::string> devices{};  // kDevice: the blamed ones
  double p = 1;                        // kDevice, kUnclear: the smallest probability that it is chance
};

struct FailureRate {
  int runs = 0;
  int failures = 0;
  RateInterval interval{};  // of 95 %

  double rate() const { return runs > 0 ? static_cast<double>(failures) / runs : 0; }
};

// What its runs have in common: the id of their devices, joined by '+', or a place in their process.
struct RatePart {
  std::string of{};
  FailureRate rate{};
};

// How often a case failed in a run that repeated its cases (failure_rates.h).
struct CaseRates {
  FailureRate all{};
  std::optional<Claim> claim{};  // of a rate to exclude
  int needed = 0;                // for the claim: runs without a failure
  // Of turns. By device: where it used any. By order: where it shared a process; "alone", "first in its process", or
  // "after CASE", the case just before it.
  std::vector<RatePart> by_device{};
  std::vector<RatePart> by_order{};
  std::string text{};  // the claim, or the rate, in words
};

// The command that runs a case again. All but its id depends on its suite and devices alone.
struct RerunLine {
  std::string before{};                // the id
  std::optional<std::string> after{};  // none: the id is not in it, as with `exec`
  std::string left_out{};              // options that are about a whole run: "--deadline 5m, --shard 1/4"

  std::string of(const std::string& case_id) const;
};

inline constexpr std::uint32_t kNoCause = UINT32_MAX;

// The first four members are recorded. The others follow from them and from the run. Pointers lead into the run.
struct ResolvedCase {
  PlannedCase planned{};
  std::vector<Attempt> attempts{};  // in the order of their first record
  std::optional<CaseEnded> end{};   // without `case_id`
  std::uint32_t index = 0;          // in ResolvedRun::cases

  std::uint32_t variant = 0;       // in ResolvedRun::variants
  std::uint32_t cause = kNoCause;  // in ResolvedRun::causes

  Verdict verdict{};
  Standing standing = Standing::kUnrun;
  Marks marks{};                  // of its end and its attempts: sorted, each once
  bool bad = false;               // its verdict is, for a case of its kind
  bool flaky = false;             // bad first and then good, and no device is to blame
  bool moved = false;             // bad on one device, and good on another: its first device is to blame
  bool simulated = false;         // it proves nothing about hardware
  bool is_new = false;            // the history has no earlier failure of it
  bool fault_of_devices = false;  // it fails on some devices, beyond chance, and nowhere else
  bool of_exec = false;           // the command of `proctor exec`
  bool fails_only_after_others = false;  // it fails only after the cases that ran before it in its process
  bool changes_device = false;           // `moved`, and not a case of --each-device, which has all devices
  Blame problem = Blame::kNobody;        // whose problem it is
  std::int64_t duration_ms = 0;          // of all its attempts
  // The attempt that shows the verdict best: the last one with its outcome, else the last bad one, else the last one. Null
  // where nothing was started.
  const Attempt* deciding = nullptr;
  // The attempt that explains the case best: `deciding`, or the bad one of a case that was good in the end.
  const Attempt* telling = nullptr;
  const Diagnosis* diagnosis = nullptr;  // of `deciding`, where it has the verdict of the case
  // What a history knows of it; null where the run had none, or the case passed at once.
  const CasePast* past = nullptr;
  // The entry of --known-failures that expected how it ended; null where there is none.
  const KnownFailureEntry* known_failure = nullptr;
  const RerunLine* rerun = nullptr;
  std::string headline{};                  // as of an attempt
  std::unique_ptr<Culprit> culprit{};      // who made the failure; null where nobody is known
  std::unique_ptr<DeviceRow> by_device{};  // with --each-device, of a case that was bad somewhere; else null
  std::unique_ptr<CaseRates> rates{};      // of a run that repeated its cases; else null
  std::vector<std::string> not_tried{};    // devices of --each-device that did not get it
  std::string devices_text{};  // of `telling`: "xpu:0000:03:00.0 (Intel Arc Pro B60 · 8086:e211)"

  std::string rerun_command() const { return rerun == nullptr ? "" : rerun->of(planned.id); }
};

// Whether the run has an outcome of the case. What is notrun is left for others.
bool is_proven(const ResolvedCase& test);
// Returns the number of its attempts, without those that an attempt alone replaces.
int attempt_count(const ResolvedCase& test);
// Returns the ids of the devices of ResolvedCase::telling, joined by '+'.
std::string telling_devices(const ResolvedCase& test);
// Returns the headline of a bad case, or of the bad attempt of a flaky one.
const std::string& message_line(const ResolvedCase& test);

}  // namespace proctor
