// The outcomes that a case can have (docs/reference/outcomes.md). The runner and every report share this closed set.
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
//   running --runner told to stop, or killed--> notrun(interrupted)
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

// "pass", "device_lost", ... : the spelling in every machine-readable output.
std::string_view to_string(Outcome outcome);
std::optional<Outcome> parse_outcome(std::string_view text);

// Why a case ended as it did. harness/journal/reasons.cc has what each of them means; one without a row there does not
// compile.
enum class Reason {
  // of fail
  kLeaky,
  kWarn,
  kSetup,
  kDriverCrash,  // its value: the signal
  kRankEnded,    // how the rank ended
  kExit,         // also of skip; the exit code
  kFailsAlone,   // it passed beside others in a process, and failed alone
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
  kSelftest,        // what of the self-test failed
  kUnknownOutcome,  // how a newer version spells it
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

// A reason with its value, or the words of somebody else: of a check, a framework, a journal.
class ReasonText {
 public:
  ReasonText() = default;           // none
  ReasonText(const char (&)[1]) {}  // "": none
  ReasonText(Reason reason);
  ReasonText(Reason reason, std::string_view value);
  ReasonText(Reason reason, int value) : ReasonText(reason, std::to_string(value)) {}

  bool empty() const { return text_.empty(); }
  // "signal:11": as every machine-readable output has it.
  const std::string& text() const { return text_; }
  // The value, if it is this reason: "11".
  std::optional<std::string_view> value_of(Reason reason) const;

  friend bool operator==(const ReasonText&, const ReasonText&) = default;
  friend auto operator<=>(const ReasonText&, const ReasonText&) = default;
  // With any value.
  friend bool operator==(const ReasonText& text, Reason reason) { return text.value_of(reason).has_value(); }

  // The only way in for words that are in no table.
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

// The owner of a failure: the first of the four answers that every failure gives. failure_owner() answers it for
// an attempt without a diagnosis (harness/classify/), because it knows only the outcome.
enum class FailureOwner { kNobody, kCode, kMachine, kSetup };
FailureOwner failure_owner(const Verdict& verdict);

// Whether the case was not run because its devices were found unhealthy, or went away.
bool is_device_lost(const Verdict& verdict);
std::string_view to_string(FailureOwner owner);
std::optional<FailureOwner> parse_failure_owner(std::string_view text);

// Whether the outcome is a failure of the machine and not of the code. The exit code is then 75: retry elsewhere. False for
// errors that another machine would have as well: a command that is not there, a result that contradicts itself.
bool is_machine_outcome(const Verdict& verdict);

// What a reason means with some of its outcomes: a row of the table in harness/journal/reasons.cc.
struct ReasonMeaning {
  Reason reason;
  std::string_view spelling;  // "leaky"; "signal:*" takes a value; "spawn:ENOENT" is for that value
  std::array<Outcome, 2> outcomes;
  FailureOwner problem;
  bool machine;  // the machine failed: another one might do better; the gate and the exit code follow from it
  int exec;      // the code of `proctor exec` (harness/journal/outcome_meaning.h); 0: the outcome says it
  std::string_view
      words;  // what happened, for people, with {} for the value; "": those of the outcome, and the reason
};

std::span<const ReasonMeaning> reason_meanings();

// Null where the outcome alone decides.
const ReasonMeaning* meaning_of_reason(const Verdict& verdict);

// What happened, for people: "exited with code 3".
std::string describe_reason(const ReasonMeaning& meaning, const ReasonText& reason);

// What the value ENOEXEC of a program that could not be started says of it.
inline constexpr std::string_view kNoProgram = "neither ELF for this machine nor a script with `#!`";

// "signal 11 (SIGSEGV)", of its number in any text.
std::string signal_words(std::string_view number);

// Of an attempt. True for every outcome except pass, skip, xfail and xpass: only foreign frameworks report an
// xpass, and to them it is none of their failures.
bool is_bad(Outcome outcome);

// Of a case of this kind. An unexpected pass is bad in our own suites, where a list expects each failure.
bool is_bad(Outcome outcome, std::string_view kind);

// Why a run was stopped before its end: one spelling each in journals and reports, and what it means for the rest.
enum class StopCause { kSignal, kParentDied, kDeadline, kFailFast, kMachineFailures, kJournal };
inline constexpr std::size_t kStopCauses = static_cast<std::size_t>(StopCause::kJournal) + 1;
std::string_view to_string(StopCause cause);

using StopWord = Word<StopCause>;

// The reason of a case that was not run because of this stop.
ReasonText reason_of_rest(const StopWord& cause);

}  // namespace proctor
