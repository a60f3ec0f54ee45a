// A case of a run with all facts that follow from its records. RunResolver (run_resolver.h) computes each fact once.
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

// Stores the variables and the telemetry of attempts in little memory: each distinct word once, and numbers in binary
// form. For 100,000 attempts, the plain values would need half of the memory of the run. Example:
//
//   PackedWords words;
//   const std::string packed = pack(TelemetryInfo{}, words);
//   const TelemetryInfo telemetry = unpack_telemetry(packed, words);
class PackedWords {
 public:
  std::uint64_t number_of(const std::string& word);
  const std::string& word(std::uint64_t number) const { return *words_[number]; }

 private:
  // shared, so that the keys of `numbers_` stay valid in copies
  std::vector<std::shared_ptr<const std::string>> words_;
  std::unordered_map<std::string_view, std::uint64_t> numbers_;
};

std::string pack(const TelemetryInfo& telemetry, PackedWords& words);
std::string pack(const std::vector<EnvironmentVariable>& environment, PackedWords& words);

// `packed` must be the result of pack() with the same words.
TelemetryInfo unpack_telemetry(std::string_view packed, const PackedWords& words);
std::vector<EnvironmentVariable> unpack_environment(std::string_view packed, const PackedWords& words);

// Facts that all attempts of a run share. The address of this object stays the same when the run is moved.
struct CommonFacts {
  PackedWords words{};
  // Both refer to members of RunPlanned.
  std::span<const PlannedDevice> devices{};
  std::span<const std::pair<std::string, std::string>> stack{};
};

// One attempt of a case. Facts that are stored elsewhere are not repeated: the ResolvedCase has the case, `start` has
// the log, and variables and telemetry are packed. Copies would double the memory of 100,000 cases.
struct Attempt {
  const CommonFacts* common = nullptr;  // never null in a run
  AttemptStarted start{};
  std::optional<AttemptEnded> end{};
  std::string packed_environment{};
  std::string packed_telemetry{};
  // The attempt ran in a shared process, and its repeat has an attempt alone that counts instead
  // (docs/explanation/batches.md).
  bool confirmed_alone = false;
  // The failure in one line of at most 200 bytes: the first failed expectation, or "killed by signal 11 (SIGSEGV); last
  // step ...". It is empty for a plain pass.
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
// Returns whether its result is not reliable, or another case ended its process before it had a result.
bool is_unproven(const Attempt& attempt);
// Returns whether it is evidence about the code: its device was healthy, and its result is reliable.
bool counts(const Attempt& attempt);
// Returns whether its framework repeated the case after a failure, and the case then passed.
bool passed_after_retry(const Attempt& attempt);

// Attempts of a case on one device.
struct DeviceCount {
  int bad = 0;
  int good = 0;
};

// The cause of the failures of a case, by device.
enum class Suspect {
  kNone,     // no attempt was bad
  kCode,     // bad on every device that it used, at least two
  kDevice,   // bad on `devices`, by more than chance
  kUnclear,  // bad on some device, with too few attempts or devices for a result
};
std::string_view to_string(Suspect suspect);  // "none", "code", "device", "unclear"

// The results of a case on each device, and whether the code or a device is the cause (devices.h).
struct DeviceRow {
  std::map<std::string, DeviceCount> counts{};  // device, or devices joined by '+', -> attempts
  std::set<std::string> unhealthy{};            // devices in `counts` that were unhealthy after a bad attempt
  Suspect suspect = Suspect::kNone;
  std::vector<std::string> devices{};  // for kDevice: the devices at fault
  double p = 1;                        // for kDevice and kUnclear: the smallest probability that it is chance
};

// The number of runs and failures, with the interval of the failure rate.
struct FailureRate {
  int runs = 0;
  int failures = 0;
  RateInterval interval{};  // 95 %

  double rate() const { return runs > 0 ? static_cast<double>(failures) / runs : 0; }
};

// The failure rate of runs with the same devices (ids joined by '+'), or after the same predecessor in their process.
struct RatePart {
  std::string of{};
  FailureRate rate{};
};

// The failure rates of a case in a run that repeats its cases (failure_rates.h).
struct CaseRates {
  FailureRate all{};
  std::optional<Claim> claim{};  // only with a rate to exclude
  int needed = 0;                // runs without a failure that the claim requires
  // `by_device` is empty if the case used no device. `by_order` is empty if the case never shared a process. Its parts
  // are "alone", "first in its process", and "after CASE".
  std::vector<RatePart> by_device{};
  std::vector<RatePart> by_order{};
  std::string text{};  // the claim, or the rate, as text
};

// Quotes a word of a command for a shell. A word with control characters, or with bytes that are not UTF-8, needs a
// shell with $'...', such as bash.
std::string quoted_word(const std::string& word);

// The command that runs a case again, split at the id of the case. The parts depend only on its suite and devices.
struct RerunLine {
  std::string before{};  // the text before the id
  std::optional<std::string>
      after{};             // the text after the id; nothing: the command has no id, as with `exec`
  std::string left_out{};  // options that apply to a complete run only: "--deadline 5m, --shard 1/4"

  std::string of(const std::string& case_id) const;
};

inline constexpr std::uint32_t kNoCause = UINT32_MAX;

// A case with its facts. The first four members are recorded. The others follow from them and from the run. Pointers
// refer to members of the run.
struct ResolvedCase {
  PlannedCase planned{};
  std::vector<Attempt> attempts{};  // in the order of their first record
  std::optional<CaseEnded> end{};   // without `case_id`
  std::uint32_t index = 0;          // index in ResolvedRun::cases

  std::uint32_t variant = 0;       // index in ResolvedRun::variants
  std::uint32_t cause = kNoCause;  // index in ResolvedRun::causes

  Verdict verdict{};
  ResultClass result_class = ResultClass::kNotrun;
  Marks marks{};                  // of its end and its attempts: sorted, each once
  bool bad = false;               // its verdict fails a case of its kind
  bool flaky = false;             // failed and then passed, with the mark `flaky`
  bool moved = false;             // bad on one device and good on another: the first device is at fault
  bool simulated = false;         // it is not evidence about hardware
  bool is_new = false;            // the history has no earlier failure of it
  bool fault_of_devices = false;  // it fails only on some devices, beyond chance
  bool of_exec = false;           // the command of `proctor exec`
  bool fails_only_after_others = false;  // it fails only after the cases that ran before it in its process
  bool changes_device = false;  // `moved`, and not a case of --each-device, which runs on all devices
  FailureOwner problem = FailureOwner::kNobody;  // the owner of the failure
  std::int64_t duration_ms = 0;                  // the sum of all its attempts
  // The attempt that shows the verdict: the last attempt with its outcome, otherwise the last bad one, otherwise the
  // last one. It is null if no attempt was started.
  const Attempt* deciding = nullptr;
  // The attempt that explains the case: `deciding`, or the bad attempt of a case that finally passed.
  const Attempt* telling = nullptr;
  const Diagnosis* diagnosis =
      nullptr;  // the diagnosis of `deciding`, if that attempt has the verdict of the case
  // Its earlier results in the history. It is null if the run had no history, or if the case passed at once.
  const CasePast* past = nullptr;
  // The entry of --known-failures that matched its end, or null.
  const KnownFailureEntry* known_failure = nullptr;
  const RerunLine* rerun = nullptr;
  std::string headline{};              // like the headline of an attempt
  std::unique_ptr<Culprit> culprit{};  // the cause of the failure; null: unknown
  std::unique_ptr<DeviceRow>
      by_device{};  // with --each-device, for a case that was bad on some device; otherwise null
  std::unique_ptr<CaseRates> rates{};    // in a run that repeats its cases; otherwise null
  std::vector<std::string> not_tried{};  // devices of --each-device on which the case was not run
  std::string devices_text{};  // the devices of `telling`: "xpu:0000:03:00.0 (Intel Arc Pro B60 · 8086:e211)"

  std::string rerun_command() const { return rerun == nullptr ? "" : rerun->of(planned.id); }
};

// Returns whether the run has an outcome of the case. Other runs may execute a case that is notrun.
bool is_proven(const ResolvedCase& test);
// Returns the number of its attempts. An attempt that was confirmed alone, or that is unconfirmed, does not count.
int attempt_count(const ResolvedCase& test);
// Returns the ids of the devices of ResolvedCase::telling, joined by '+'.
std::string telling_devices(const ResolvedCase& test);
// Returns the headline of a bad case, or of the bad attempt of a flaky one.
const std::string& message_line(const ResolvedCase& test);

}  // namespace proctor
