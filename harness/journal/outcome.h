// The outcomes of a case (docs/reference/outcomes.md). The runner and every report share this closed set.
//
// An attempt moves through these states. The label of an arrow is the only cause of that step:
//
//   planned --(budget, stop, lost device)--> notrun
//   planned --spawn refused--> error
//   planned --spawned--> running
//   running --exit as its kind expects--> pass | fail | skip      (known failure: xfail | xpass)
//   running --own signal--> crash
//   running --time limit--> timeout
//   running --no output for the stall limit--> stall
//   running --exit without a readable result--> error
//   running --the driver reports the device gone--> device_lost
//   running --stop requested, or runner killed--> notrun(interrupted)
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "harness/journal/event_words.h"

namespace proctor {

// The outcome of an attempt or a case (see the top of this file).
enum class Outcome {
  kPass,
  kFail,
  kError,
  kTimeout,
  kStall,
  kCrash,
  kDeviceLost,
  kSkip,
  kXfail,
  kXpass,
  kNotrun,
};

inline constexpr std::array kAllOutcomes = {Outcome::kPass,       Outcome::kFail,  Outcome::kError,
                                            Outcome::kTimeout,    Outcome::kStall, Outcome::kCrash,
                                            Outcome::kDeviceLost, Outcome::kSkip,  Outcome::kXfail,
                                            Outcome::kXpass,      Outcome::kNotrun};

// The spelling in every machine-readable output: "pass", "device_lost", ...
std::string_view to_string(Outcome outcome);
std::optional<Outcome> parse_outcome(std::string_view text);

// Why a case ended as it did. harness/journal/reasons.cc has the meaning of each reason. A reason without a
// row there does not compile.
enum class Reason {
  // of fail
  kLeaky,
  kWarn,
  kSetup,
  kDriverCrash,  // its value: the signal
  kRankEnded,    // how the rank ended
  kExit,         // also of skip; the exit code
  kFailsAlone,   // it passed in a process with other cases, and failed alone
  // of error
  kNoResult,
  kResultMismatch,
  kProtocol,
  kDiscovery,
  kSpawn,  // the name of the errno
  kGuardLost,
  kDeviceInUse,
  kMaskMismatch,
  kRankLost,
  kRanksDisagree,
  kNoExitStatus,
  kProcessSetup,
  kLeaseTimeout,
  kReportedByTest,
  kSkipWithoutReason,
  kSelftest,        // the part of the self-test that failed
  kUnknownOutcome,  // the spelling of a newer version
  // of timeout, stall
  kStarved,
  kStartup,
  kShutdown,
  kNotReady,  // also of fail
  kStoppedByProctor,
  // of crash
  kSignal,  // its number
  kOomHost,
  // of device_lost
  kDevice,  // its id
  // of notrun
  kRunLimit,
  kInterrupted,
  kFailFast,
  kStartupFailed,
  kDeviceLost,  // also of fail
  kDeviceUnhealthy,
  kMachineFailures,
  // of skip
  kNeeds,  // "devices>=2"
  kNoDevice,
  kNoDriver,
  kHidden,        // the variable
  kDriverTooOld,  // "12.2<13.0"
  kDisabled,
  kConfig,  // "waits for driver 580 (jane, until 2027-03-01)"
  kFramework,
  kLibraryMissing,  // its name
  kSymbolMissing,
  kPackageMissing,
  kFatbinMissing,
  kUnsupported,
  kNotOnSimulator,
  // of xfail
  kExpectedFailures,
};
inline constexpr std::size_t kReasonCount = static_cast<std::size_t>(Reason::kExpectedFailures) + 1;

// A reason with its value, or a text from outside: from a check, a framework or a journal.
class ReasonText {
 public:
  ReasonText() = default;           // none
  ReasonText(const char (&)[1]) {}  // "": none
  ReasonText(Reason reason);
  ReasonText(Reason reason, std::string_view value);
  ReasonText(Reason reason, int value) : ReasonText(reason, std::to_string(value)) {}

  bool empty() const { return text_.empty(); }
  // The form in every machine-readable output: "signal:11".
  const std::string& text() const { return text_; }
  // The value, if the reason is `reason`: "11".
  std::optional<std::string_view> value_of(Reason reason) const;

  friend bool operator==(const ReasonText&, const ReasonText&) = default;
  friend auto operator<=>(const ReasonText&, const ReasonText&) = default;
  // Compares the reason alone; its value does not matter.
  friend bool operator==(const ReasonText& text, Reason reason) { return text.value_of(reason).has_value(); }

  // The only way to make a reason of words that are in no table.
  friend ReasonText reason_in_words(std::string words);

 private:
  std::string text_;
};
ReasonText reason_in_words(std::string words);

// An outcome with its reason, e.g. {kCrash, {Reason::kSignal, 11}}.
struct Verdict {
  Outcome outcome = Outcome::kNotrun;
  ReasonText reason{};

  friend bool operator==(const Verdict&, const Verdict&) = default;
};
std::string to_string(const Verdict& verdict);        // "crash(signal:11)": for programs
std::string readable(const Verdict& verdict);         // "crash · SIGSEGV": for people
std::string readable_reason(const Verdict& verdict);  // "SIGSEGV"; "" without a reason

// The owner of the problem: the first of the four questions about a red run. failure_owner() is for an
// attempt without a diagnosis (harness/classify/), because it uses only the outcome.
enum class FailureOwner { kNobody, kCode, kMachine, kSetup };
FailureOwner failure_owner(const Verdict& verdict);

// Returns true if the case was not run because its devices were unhealthy or lost.
bool is_device_lost(const Verdict& verdict);
std::string_view to_string(FailureOwner owner);
std::optional<FailureOwner> parse_failure_owner(std::string_view text);

// Returns true if the outcome makes the machine red and not the code. The exit code is then 75: retry elsewhere.
// False for errors that another machine would have too: a command that does not exist, a result that
// contradicts itself.
bool is_machine_outcome(const Verdict& verdict);

// The meaning of a reason for some of its outcomes: a row of the table in harness/journal/reasons.cc.
struct ReasonMeaning {
  Reason reason;
  std::string_view spelling;  // "leaky"; "signal:*" for any value; "spawn:ENOENT" only for that value
  std::array<Outcome, 2> outcomes;
  FailureOwner problem;
  bool machine;  // the machine failed: another one might do better; the gate and the exit code follow from it
  int exec;      // the code of `proctor exec` (harness/journal/outcome_meaning.h); 0: the outcome says it
  std::string_view
      words;  // what happened, for people, with {} for the value; "": those of the outcome, and the reason
};

std::span<const ReasonMeaning> reason_meanings();

// Null if the meaning follows from the outcome alone.
const ReasonMeaning* meaning_of_reason(const Verdict& verdict);

// Returns the text for people: "exited with code 3".
std::string describe_reason(const ReasonMeaning& meaning, const ReasonText& reason);

// The meaning of the value ENOEXEC for a program that could not be started.
inline constexpr std::string_view kNoProgram = "neither ELF for this machine nor a script with `#!`";

// Returns "signal 11 (SIGSEGV)" for the number of a signal as text.
std::string signal_words(std::string_view number);

// For an attempt: true for every outcome except pass, skip, xfail and xpass. Only foreign frameworks report
// an xpass, and they do not count it as a failure.
bool is_bad(Outcome outcome);

// For a case of this kind: an unexpected pass is bad in Proctor's own suites, where a list expects each
// failure.
bool is_bad(Outcome outcome, std::string_view kind);

// Why a run stopped before its end. Each cause has one spelling in journals and reports, and one reason for
// the cases that were not run.
enum class StopCause { kSignal, kParentDied, kDeadline, kFailFast, kMachineFailures, kJournal };
inline constexpr std::size_t kStopCauses = static_cast<std::size_t>(StopCause::kJournal) + 1;
std::string_view to_string(StopCause cause);

using StopWord = Word<StopCause>;

// The reason of a case that was not run because of this stop.
ReasonText reason_of_rest(const StopWord& cause);

}  // namespace proctor
