// The words of events that programs match: each is an enumerator, and has one spelling in journals and reports.
// harness/journal/event_words.cc has the tables, without a row in which a new one does not compile.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace proctor {

// What an error that did not stop the run is about.
enum class WarningCode {
  kBatchUnused,
  kBenchmarkList,
  kCallerFilter,
  kCaseWarning,
  kTimeLimitUnused,
  kDeviceAccess,  // devices cannot be reached, or not any more, for a reason that the machine's files tell
  kDeviceDrained,
  kDeviceErrors,
  kDeviceInUse,
  kDeviceHealthFailed,
  kDeviceLost,
  kDeviceMemoryMissing,
  kDeviceReset,
  kDeviceShortage,  // the command line asked for devices, or for a number of them, that the machine lacks
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
  kJournalChanged,  // the journal is not what its runner wrote
  kJournalFull,     // no more cases started, as nobody reads a longer journal
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
  kMaskMismatch,     // programs of a suite would see other devices than those that are leased for them
  kMaskUnused,       // the caller's mask names devices, and no suite gets one
  kNoDefaultDevice,  // a suite gets no device, as nothing determines the vendor
  kNoTimeLimit,      // a case may run for as long as the CI job does
  kNotListed,
  kOpenFiles,
  kOutputNotWritten,  // `exec` could not pass on what its command printed
  kOverrideReplaced,
  kOverrideUnused,
  kParentWatchFailed,
  kPartIncomplete,  // of a joined run: a part was cut short, or executed less than it was to; the run is incomplete
  kPartRefused,  // of a joined run: a part was refused by its arguments or its configuration; the code is red
  kPartMismatch,
  kCpuPressureUnavailable,
  kProbe,
  kProgramChanged,  // a suite's program was changed during the run: its results are of no one program
  kPytestFilter,
  kReadyFile,
  kReportNotWritten,  // the journal or a report could not be written: no report, no green
  kRunRecord,
  kScratch,
  kScratchNotRemoved,
  kSharedProcessLeak,  // a shared process left processes behind: the case that started them is not known
  kSkipExpired,        // an entry of [[skip]] no longer holds: its cases run
  kSkipUnused,
  kStackChanged,           // the driver stack changed during the run
  kStackChangedSincePass,  // the driver stack is not that of the last green run on this machine
  kSimulatedDriver,
  kStartupOverhead,
  kStdoutNotWritten,
  kSubject,
  kKilledRunCleanup,
  kTelemetryTable,
  kTelemetryTimeout,  // a driver or a tool did not answer, or ended the child that asks
  kTelemetryTool,
  kUnplannedCase,
  kUserConfig,
  kWorkflowCommands,
};
inline constexpr std::size_t kWarningCodes = static_cast<std::size_t>(WarningCode::kWorkflowCommands) + 1;
std::string_view to_string(WarningCode code);

// What was found out about a device, after a case or before it began.
enum class HealthFact {
  kWaited,         // its memory came back, or its foreign holder went away, after `wait_ms`
  kMemoryMissing,  // `bytes` are still missing after `wait_ms`
  kLost,           // the driver says that the device is lost
  kInUse,          // processes that are not ours have `bytes` on it
  kUnknown,        // nothing can tell its state; this never counts as healthy
  kProbePassed,    // the health probe copied, computed and compared
  kProbeFailed,
  kReset,      // it was sick and has been reset, as the policy allows
  kKernelLog,  // the kernel logged an error of it
  kDrained,    // it gets no more cases
  kBaseline,  // `bytes` were in use before the first case: not an incident, `proctor finish` compares with it
};
inline constexpr std::size_t kHealthFacts = static_cast<std::size_t>(HealthFact::kBaseline) + 1;
std::string_view to_string(HealthFact fact);

// What is noteworthy of an attempt or a case beside its outcome.
enum class Mark {
  kLeaky,
  kGuardLost,
  kWarn,
  kSlow,
  kFlaky,
  kDeviceSuspect,   // an attempt that says nothing about the code, and its case: the device is to blame
  kOrderDependent,  // it failed twice after the same cases in a process, and passed alone
  kInvalidated,     // it passed in a process in which a device failed later, and ran again
  kUnconfirmed,     // an attempt that counts for nothing: nobody can tell whether it is so
};
inline constexpr std::size_t kMarks = static_cast<std::size_t>(Mark::kUnconfirmed) + 1;
std::string_view to_string(Mark mark);

// How much the rule of a check weighs.
enum class Severity {
  kGate,  // a document demands it, or a test suite of others that passes on devices
  kWarn,  // no correct driver has to do it, or it is our own opinion
  kInfo,  // the result is only recorded
};
inline constexpr std::size_t kSeverities = static_cast<std::size_t>(Severity::kInfo) + 1;
std::string_view to_string(Severity severity);

// What a diagnosed error means for its device.
enum class Gravity { kFatal, kError, kSuspect, kNote };
inline constexpr std::size_t kGravities = static_cast<std::size_t>(Gravity::kNote) + 1;
std::string_view to_string(Gravity gravity);

// One of these words, or one that another version wrote, which is kept as it is.
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

// Whether the warning makes the machine red, whatever the cases say.
bool is_machine_warning(const WarningWord& code);

// The only line of the log (harness/process/capture.h) of a bad attempt that printed nothing. A good one has no log then: each file costs more than
// the whole start of a small case.
inline constexpr std::string_view kNoOutputMark = "-------- no output --------";

// For a table whose rows have `known` and `spelling`: each of `count` enumerators has the row in its place, and no two
// rows have one spelling.
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
