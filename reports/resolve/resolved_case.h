// A case of a run with what follows from its records: RunResolver (run_resolver.h) computes each fact once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "harness/base/failure_rate.h"
#include "harness/journal/events.h"
#include "harness/journal/outcome_meaning.h"

namespace proctor {

// What attempts say at length and nearly alike, their variables and their telemetry, in little memory: each word is kept
// once, and numbers as they are. Of 100,000 attempts it would be half of all that is known. Example:
//
//   PackedWords words;
//   const std::string packed = pack(TelemetryInfo{}, words);
//   const TelemetryInfo telemetry = unpack_telemetry(packed, words);
class PackedWords {
 public:
  std::uint64_t number_of(const std::string& word);
  const std::string& word(std::uint64_t number) const { return *words_[number]; }

 private:
  std::vector<std::shared_ptr<const std::string>> words_;  // shared, so that the keys are those of copies too
  std::unordered_map<std::string_view, std::uint64_t> numbers_;
};

std::string pack(const TelemetryInfo& telemetry, PackedWords& words);
std::string pack(const std::vector<EnvironmentVariable>& environment, PackedWords& words);

// Of what pack() made with the same words.
TelemetryInfo unpack_telemetry(std::string_view packed, const PackedWords& words);
std::vector<EnvironmentVariable> unpack_environment(std::string_view packed, const PackedWords& words);

// The facts that all attempts of a run share. Its address stays the same when the run is moved.
struct CommonFacts {
  PackedWords words{};
  // Both belong to RunPlanned.
  std::span<const PlannedDevice> devices{};
  std::span<const std::pair<std::string, std::string>> stack{};
};

// Its records do not repeat what is elsewhere: the case is that of the ResolvedCase, the log is that of `start`, variables
// and telemetry are packed. They would double the memory of 100,000 cases.
struct Attempt {
  const CommonFacts* common = nullptr;  // never null in a run
  AttemptStarted start{};
  std::optional<AttemptEnded> end{};
  std::string packed_environment{};
  std::string packed_telemetry{};
  // It ran in a shared process, and its repeat has an attempt alone, which counts instead (docs/explanation/batches.md).
  bool confirmed_alone = false;
  // What happened, in one line of at most 200 bytes: the first failed expectation, or "killed by signal 11 (SIGSEGV); last
  // step ...". Empty in a case that simply passed.
  std::string headline{};

  std::vector<EnvironmentVariable> environment() const;
  TelemetryInfo telemetry() const;
  // Returns the devices of the attempt that the plan describes, in the order of `start`.
  std::vector<const PlannedDevice*> devices() const;
};

// Returns the verdict of an attempt. An attempt without an end record is notrun(interrupted).
const Verdict& verdict_of(const Attempt& attempt);
// Returns whether its device was unhealthy after it. Such an attempt proves nothing about the code.
bool is_suspect(const Attempt& attempt);
// Returns whether its result is not reliable, or another case ended its process before it had one.
bool is_unproven(const Attempt& attempt);
// Returns whether it proves something about the code: its device was healthy, and its result is reliable.
bool counts(const Attempt& attempt);
// Returns whether its framework ran the case again after a failure, and it passed then.
bool passed_after_retry(const Attempt& attempt);

struct DeviceCount {
  int bad = 0;
  int good = 0;
};

enum class Suspect {
  kNone,     // no attempt was bad
  kCode,     // bad wherever it ran, on two devices or more
  kDevice,   // bad on `devices`, by more than chance
  kUnclear,  // bad somewhere, with too few attempts or devices for a result
};
std::string_view to_string(Suspect suspect);  // "none", "code", "device", "unclear"

// How often a case failed on each device, and whether the code or a device is the cause (devices.h).
struct DeviceRow {
  std::map<std::string, DeviceCount> counts{};  // device, or devices joined by '+', -> attempts
  std::set<std::string> unhealthy{};  // of them: those that were found unhealthy after a bad attempt
  Suspect suspect = Suspect::kNone;
  std::vector<std::string> devices{};  // kDevice: those that cause it
  double p = 1;                        // kDevice, kUnclear: the smallest probability that it is chance
};

struct FailureRate {
  int runs = 0;
  int failures = 0;
  RateInterval interval{};  // of 95 %

  double rate() const { return runs > 0 ? static_cast<double>(failures) / runs : 0; }
};

// Runs with the same devices (their ids, joined by '+'), or at the same place in their process.
struct RatePart {
  std::string of{};
  FailureRate rate{};
};

// How often a case failed in a run that repeated its cases (failure_rates.h).
struct CaseRates {
  FailureRate all{};
  std::optional<Claim> claim{};  // of a rate to exclude
  int needed = 0;                // for the claim: runs without a failure
  // `by_device` is empty if the case used none. `by_order` is empty if it always had a process of its own. Its parts are
  // "alone", "first in its process", and "after CASE".
  std::vector<RatePart> by_device{};
  std::vector<RatePart> by_order{};
  std::string text{};  // the claim, or the rate, in words
};

// Quotes a word of a command for a shell. A word with control characters, or with bytes that are not UTF-8, needs a shell
// with $'...', such as bash.
std::string quoted_word(const std::string& word);

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
  ResultClass result_class = ResultClass::kNotrun;
  Marks marks{};                  // of its end and its attempts: sorted, each once
  bool bad = false;               // its verdict is, for a case of its kind
  bool flaky = false;             // failed and then passed, with the mark `flaky`
  bool moved = false;             // bad on one device, and good on another: its first device is the cause
  bool simulated = false;         // it proves nothing about hardware
  bool is_new = false;            // the history has no earlier failure of it
  bool fault_of_devices = false;  // it fails on some devices, beyond chance, and nowhere else
  bool of_exec = false;           // the command of `proctor exec`
  bool fails_only_after_others = false;  // it fails only after the cases that ran before it in its process
  bool changes_device = false;           // `moved`, and not a case of --each-device, which has all devices
  FailureOwner problem = FailureOwner::kNobody;  // the owner of the failure
  std::int64_t duration_ms = 0;                  // of all its attempts
  // The attempt that shows the verdict: the last one with its outcome, else the last bad one, else the last one. It is null
  // if nothing was started.
  const Attempt* deciding = nullptr;
  // The attempt that explains the case: `deciding`, or the bad one of a case that was good in the end.
  const Attempt* telling = nullptr;
  const Diagnosis* diagnosis = nullptr;  // of `deciding`, where it has the verdict of the case
  // Its earlier results in the history. It is null if the run had no history, or the case passed at once.
  const CasePast* past = nullptr;
  // The entry of --known-failures that expected its end, or null.
  const KnownFailureEntry* known_failure = nullptr;
  const RerunLine* rerun = nullptr;
  std::string headline{};                  // as of an attempt
  std::unique_ptr<Culprit> culprit{};      // what caused the failure; null: unknown
  std::unique_ptr<DeviceRow> by_device{};  // with --each-device, of a case that was bad somewhere; else null
  std::unique_ptr<CaseRates> rates{};      // of a run that repeated its cases; else null
  std::vector<std::string> not_tried{};    // devices of --each-device that did not get it
  std::string devices_text{};  // of `telling`: "xpu:0000:03:00.0 (Intel Arc Pro B60 · 8086:e211)"

  std::string rerun_command() const { return rerun == nullptr ? "" : rerun->of(planned.id); }
};

// Returns whether the run has an outcome of the case. Other runs can take a case that is notrun.
bool is_proven(const ResolvedCase& test);
// Returns the number of its attempts, without those that an attempt alone replaces.
int attempt_count(const ResolvedCase& test);
// Returns the ids of the devices of ResolvedCase::telling, joined by '+'.
std::string telling_devices(const ResolvedCase& test);
// Returns the headline of a bad case, or of the bad attempt of a flaky one.
const std::string& message_line(const ResolvedCase& test);

}  // namespace proctor
