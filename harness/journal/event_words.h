// The words of events that programs match. Each word is an enumerator, and has one spelling in journals and
// reports. The tables are in harness/journal/event_words.cc. An enumerator without a row there does not
// compile.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace proctor {

// The subject of a warning: an error that did not stop the run.
enum class WarningCode {
  kBatchUnused,
  kBenchmarkList,
  kCallerFilter,
  kCaseWarning,
  kTimeLimitUnused,
  kDeviceAccess,  // devices cannot be reached, or no longer, for a reason that files of the machine show
  kDeviceDrained,
  kDeviceErrors,
  kDeviceInUse,
  kDeviceHealthFailed,
  kDeviceLost,
  kDeviceMemoryMissing,
  kDeviceReset,
  kDeviceShortage,  // the command line requests devices, or a number of them, that the machine lacks
  kDeviceSuspect,
  kDeviceStateUnknown,
  kDeviceWaited,
  kDrainFailed,
  kDuplicateCase,
  kEvidence,
  kExcludeUnused,
  kRunnerFrozen,
  kGtestListener,
  kGuardLost,
  kGuardSlow,
  kHistory,
  kJournalChanged,  // the content of the journal is not what its runner wrote
  kJournalFull,     // no more cases started: the journal reached the size that readers accept
  kJournalNotWritten,
  kJournalDigestNotSaved,
  kJournalDuplicatePlan,  // the journal holds another plan, which is ignored
  kJournalTruncated,
  kKernelLog,
  kKnownFailureExpired,
  kKnownFailureUnused,
  kLease,
  kLeaseDirty,
  kLeaseLost,
  kLeaseRecord,
  kLeaseWait,
  kLeaseWatchFailed,
  kUnkillableProcess,
  kMaskMismatch,     // programs of a suite would see other devices than their leased ones
  kMaskUnused,       // the caller's mask selects devices, and no suite gets one
  kNoDefaultDevice,  // a suite gets no device, because nothing determines the vendor
  kNoTimeLimit,      // a case may run for as long as the CI job
  kNotListed,
  kOpenFiles,
  kOutputNotWritten,  // `exec` could not pass on the output of its command
  kOverrideReplaced,
  kOverrideUnused,
  kParentWatchFailed,
  kPartIncomplete,  // a part of a joined run was cut short or executed too few cases: the run is incomplete
  kPartRefused,  // a part of a joined run was refused by its arguments or its configuration: the code is red
  kPartMismatch,
  kCpuPressureUnavailable,
  kProbe,
  kProgramChanged,  // a suite's program changed during the run: its results belong to no single program
  kPytestFilter,
  kReadyFile,
  kReportNotWritten,  // the journal or a report could not be written, so the run is not green
  kRunRecord,
  kScratch,
  kScratchNotRemoved,
  kSharedProcessLeak,  // a shared process left processes behind, and the case that started them is unknown
  kSkipExpired,        // an entry of [[skip]] no longer holds: its cases run
  kSkipUnused,
  kStackChanged,           // the driver stack changed during the run
  kStackChangedSincePass,  // the driver stack differs from that of the last green run on this machine
  kSimulatedDriver,
  kStartupOverhead,
  kStdoutNotWritten,
  kSubject,
  kKilledRunCleanup,
  kTelemetryTable,
  kTelemetryTimeout,  // a driver or a tool did not respond, or ended the child that queries it
  kTelemetryTool,
  kUnplannedCase,
  kUserConfig,
  kWorkflowCommands,
};
inline constexpr std::size_t kWarningCodes = static_cast<std::size_t>(WarningCode::kWorkflowCommands) + 1;
std::string_view to_string(WarningCode code);

// A finding about a device, after a case or before it began.
enum class HealthFact {
  kWaited,         // its memory was freed, or the foreign holder left, after `wait_ms`
  kMemoryMissing,  // `bytes` are still missing after `wait_ms`
  kLost,           // the driver reports that the device is lost
  kInUse,          // processes of other users or programs have `bytes` on it
  kUnknown,        // nothing can determine its state; this never counts as healthy
  kProbePassed,    // the health probe copied, computed and compared
  kProbeFailed,
  kReset,      // it was unhealthy and has been reset, as the policy allows
  kKernelLog,  // the kernel logged an error of it
  kDrained,    // it gets no more cases
  kBaseline,   // `bytes` were in use before the first case: `proctor finish` compares with it; no incident
};
inline constexpr std::size_t kHealthFacts = static_cast<std::size_t>(HealthFact::kBaseline) + 1;
std::string_view to_string(HealthFact fact);

// A property of an attempt or a case, in addition to its outcome.
enum class Mark {
  kLeaky,
  kGuardLost,
  kWarn,
  kSlow,
  kFlaky,
  kDeviceSuspect,   // an attempt, and its case, that shows nothing about the code: the device is at fault
  kOrderDependent,  // it failed twice after the same cases in one process, and passed alone
  kInvalidated,     // it passed in a process in which a device failed later, and ran again
  kUnconfirmed,     // an attempt that does not count: its result cannot be trusted
};
inline constexpr std::size_t kMarks = static_cast<std::size_t>(Mark::kUnconfirmed) + 1;
std::string_view to_string(Mark mark);

// The weight of the rule of a check.
enum class Severity {
  kGate,  // a specification requires it, or another project's test suite that passes on devices
  kWarn,  // no correct driver is required to do it, or the project alone proposes it
  kInfo,  // the result is only recorded
};
inline constexpr std::size_t kSeverities = static_cast<std::size_t>(Severity::kInfo) + 1;
std::string_view to_string(Severity severity);

// The consequence of a diagnosed error for its device.
enum class Gravity { kFatal, kError, kSuspect, kNote };
inline constexpr std::size_t kGravities = static_cast<std::size_t>(Gravity::kNote) + 1;
std::string_view to_string(Gravity gravity);

// A word of such an enumeration, or the word of another version of Proctor, which is kept as text.
template <typename Known>
class Word {
 public:
  Word() = default;  // ""
  Word(Known known) : text_(to_string(known)) {}
  static Word in_text(std::string text) {
    Word word;
    word.text_ = std::move(text);
    return word;
  }

  const std::string& text() const { return text_; }

  friend bool operator==(const Word&, const Word&) = default;
  friend auto operator<=>(const Word&, const Word&) = default;
  friend bool operator==(const Word& word, Known known) { return word.text_ == to_string(known); }

 private:
  std::string text_;
};

using WarningWord = Word<WarningCode>;
using HealthWord = Word<HealthFact>;
using MarkWord = Word<Mark>;
using Marks = std::vector<MarkWord>;  // each once
using SeverityWord = Word<Severity>;
using GravityWord = Word<Gravity>;

bool has_mark(const Marks& marks, Mark mark);
void add_mark(Marks& marks, const MarkWord& mark);
std::vector<std::string> texts_of(const Marks& marks);

// Returns true if the warning makes the machine red, regardless of the outcomes of the cases.
bool is_machine_warning(const WarningWord& code);

// The only line of the log (harness/process/capture.h) of a bad attempt that printed nothing. A good attempt
// without output has no log: each file costs more than the whole start of a small case.
inline constexpr std::string_view kNoOutputMark = "-------- no output --------";

// Returns true if a table is complete. Its rows have `known` and `spelling`. Each of the `count` enumerators has the
// row with its index, and no two rows have the same spelling.
template <typename Row, std::size_t N>
constexpr bool is_whole(const std::array<Row, N>& rows, std::size_t count) {
  for (std::size_t i = 0; i < N; ++i) {
    if (static_cast<std::size_t>(rows[i].known) != i || rows[i].spelling.empty()) return false;
    for (std::size_t j = 0; j < i; ++j) {
      if (rows[j].spelling == rows[i].spelling) return false;
    }
  }
  return N == count;
}

}  // namespace proctor
