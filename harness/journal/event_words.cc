#include "harness/journal/event_words.h"

#include <algorithm>
#include <array>

namespace proctor {
namespace {

template <typename Known>
struct Spelled {
  Known known;
  std::string_view spelling;
};

constexpr auto kWarnings = std::to_array<Spelled<WarningCode>>({
    {WarningCode::kBatchUnused, "batch_unused"},
    {WarningCode::kBenchmarkList, "benchmark_list"},
    {WarningCode::kCallerFilter, "caller_filter"},
    {WarningCode::kCaseWarning, "case_warning"},
    {WarningCode::kTimeLimitUnused, "time_limit_unused"},
    {WarningCode::kDeviceAccess, "device_access"},
    {WarningCode::kDeviceDrained, "device_drained"},
    {WarningCode::kDeviceErrors, "device_errors"},
    {WarningCode::kDeviceInUse, "device_in_use"},
    {WarningCode::kDeviceHealthFailed, "device_health_failed"},
    {WarningCode::kDeviceLost, "device_lost"},
    {WarningCode::kDeviceMemoryMissing, "device_memory_missing"},
    {WarningCode::kDeviceReset, "device_reset"},
    {WarningCode::kDeviceShortage, "device_shortage"},
    {WarningCode::kDeviceSuspect, "device_suspect"},
    {WarningCode::kDeviceStateUnknown, "device_state_unknown"},
    {WarningCode::kDeviceWaited, "device_waited"},
    {WarningCode::kDrainFailed, "drain_failed"},
    {WarningCode::kDuplicateCase, "duplicate_case"},
    {WarningCode::kEvidence, "evidence"},
    {WarningCode::kExcludeUnused, "exclude_unused"},
    {WarningCode::kRunnerFrozen, "runner_frozen"},
    {WarningCode::kGtestListener, "gtest_listener"},
    {WarningCode::kGuardLost, "guard_lost"},
    {WarningCode::kGuardSlow, "guard_slow"},
    {WarningCode::kHistory, "history"},
    {WarningCode::kJournalChanged, "journal_changed"},
    {WarningCode::kJournalFull, "journal_full"},
    {WarningCode::kJournalNotWritten, "journal_not_written"},
    {WarningCode::kJournalDigestNotSaved, "journal_digest_not_saved"},
    {WarningCode::kJournalDuplicatePlan, "journal_duplicate_plan"},
    {WarningCode::kJournalTruncated, "journal_truncated"},
    {WarningCode::kKernelLog, "kernel_log"},
    {WarningCode::kKnownFailureExpired, "known_failure_expired"},
    {WarningCode::kKnownFailureUnused, "known_failure_unused"},
    {WarningCode::kLease, "lease"},
    {WarningCode::kLeaseDirty, "lease_dirty"},
    {WarningCode::kLeaseLost, "lease_lost"},
    {WarningCode::kLeaseRecord, "lease_record"},
    {WarningCode::kLeaseWait, "lease_wait"},
    {WarningCode::kLeaseWatchFailed, "lease_watch_failed"},
    {WarningCode::kUnkillableProcess, "unkillable_process"},
    {WarningCode::kMaskMismatch, "mask_mismatch"},
    {WarningCode::kMaskUnused, "mask_unused"},
    {WarningCode::kNoDefaultDevice, "no_default_device"},
    {WarningCode::kNoTimeLimit, "no_time_limit"},
    {WarningCode::kNotListed, "not_listed"},
    {WarningCode::kOpenFiles, "open_files"},
    {WarningCode::kOutputNotWritten, "output_not_written"},
    {WarningCode::kOverrideReplaced, "override_replaced"},
    {WarningCode::kOverrideUnused, "override_unused"},
    {WarningCode::kParentWatchFailed, "parent_watch_failed"},
    {WarningCode::kPartIncomplete, "part_incomplete"},
    {WarningCode::kPartRefused, "part_refused"},
    {WarningCode::kPartMismatch, "part_mismatch"},
    {WarningCode::kCpuPressureUnavailable, "cpu_pressure_unavailable"},
    {WarningCode::kProbe, "probe"},
    {WarningCode::kProgramChanged, "program_changed"},
    {WarningCode::kPytestFilter, "pytest_filter"},
    {WarningCode::kReadyFile, "ready_file"},
    {WarningCode::kReportNotWritten, "report_not_written"},
    {WarningCode::kRunRecord, "run_record"},
    {WarningCode::kScratch, "scratch"},
    {WarningCode::kScratchNotRemoved, "scratch_not_removed"},
    {WarningCode::kSharedProcessLeak, "shared_process_leak"},
    {WarningCode::kSkipExpired, "skip_expired"},
    {WarningCode::kSkipUnused, "skip_unused"},
    {WarningCode::kStackChanged, "stack_changed"},
    {WarningCode::kStackChangedSincePass, "stack_changed_since_pass"},
    {WarningCode::kSimulatedDriver, "simulated_driver"},
    {WarningCode::kStartupOverhead, "startup_overhead"},
    {WarningCode::kStdoutNotWritten, "stdout_not_written"},
    {WarningCode::kSubject, "subject"},
    {WarningCode::kKilledRunCleanup, "killed_run_cleanup"},
    {WarningCode::kTelemetryTable, "telemetry_table"},
    {WarningCode::kTelemetryTimeout, "telemetry_timeout"},
    {WarningCode::kTelemetryTool, "telemetry_tool"},
    {WarningCode::kUnplannedCase, "unplanned_case"},
    {WarningCode::kUserConfig, "user_config"},
    {WarningCode::kWorkflowCommands, "workflow_commands"},
});
constexpr std::array kMachineWarnings = {
    WarningCode::kDeviceAccess, WarningCode::kDeviceShortage,   WarningCode::kJournalChanged,
    WarningCode::kMaskMismatch, WarningCode::kReportNotWritten, WarningCode::kStackChanged,
};

constexpr auto kFacts = std::to_array<Spelled<HealthFact>>({
    {HealthFact::kWaited, "waited"},
    {HealthFact::kMemoryMissing, "memory_missing"},
    {HealthFact::kLost, "lost"},
    {HealthFact::kInUse, "in_use"},
    {HealthFact::kUnknown, "unknown"},
    {HealthFact::kProbePassed, "probe_passed"},
    {HealthFact::kProbeFailed, "probe_failed"},
    {HealthFact::kReset, "reset"},
    {HealthFact::kKernelLog, "kernel_log"},
    {HealthFact::kDrained, "drained"},
    {HealthFact::kBaseline, "baseline"},
});
constexpr auto kMarkWords = std::to_array<Spelled<Mark>>({
    {Mark::kLeaky, "leaky"},
    {Mark::kGuardLost, "guard_lost"},
    {Mark::kWarn, "warn"},
    {Mark::kSlow, "slow"},
    {Mark::kFlaky, "flaky"},
    {Mark::kDeviceSuspect, "device_suspect"},
    {Mark::kOrderDependent, "order_dependent"},
    {Mark::kInvalidated, "invalidated"},
    {Mark::kUnconfirmed, "unconfirmed"},
});
constexpr auto kSeverityWords = std::to_array<Spelled<Severity>>({
    {Severity::kGate, "gate"},
    {Severity::kWarn, "warn"},
    {Severity::kInfo, "info"},
});
constexpr auto kGravityWords = std::to_array<Spelled<Gravity>>({
    {Gravity::kFatal, "fatal"},
    {Gravity::kError, "error"},
    {Gravity::kSuspect, "suspect"},
    {Gravity::kNote, "note"},
});

static_assert(is_whole(kWarnings, kWarningCodes));
static_assert(is_whole(kFacts, kHealthFacts));
static_assert(is_whole(kMarkWords, kMarks));
static_assert(is_whole(kSeverityWords, kSeverities));
static_assert(is_whole(kGravityWords, kGravities));

template <std::size_t N, typename Known>
constexpr std::string_view spelling_in(const std::array<Spelled<Known>, N>& rows, Known known) {
  return rows[static_cast<std::size_t>(known)].spelling;
}

}  // namespace

std::string_view to_string(WarningCode code) { return spelling_in(kWarnings, code); }

std::string_view to_string(HealthFact fact) { return spelling_in(kFacts, fact); }

std::string_view to_string(Mark mark) { return spelling_in(kMarkWords, mark); }

std::string_view to_string(Severity severity) { return spelling_in(kSeverityWords, severity); }

std::string_view to_string(Gravity gravity) { return spelling_in(kGravityWords, gravity); }

bool is_machine_warning(const WarningWord& code) {
  return std::ranges::any_of(kMachineWarnings, [&](WarningCode known) { return code == known; });
}

bool has_mark(const Marks& marks, Mark mark) {
  return std::ranges::any_of(marks, [mark](const MarkWord& word) { return word == mark; });
}

void add_mark(Marks& marks, const MarkWord& mark) {
  if (std::ranges::find(marks, mark) == marks.end()) marks.push_back(mark);
}

std::vector<std::string> texts_of(const Marks& marks) {
  std::vector<std::string> texts;
  for (const MarkWord& mark : marks) texts.push_back(mark.text());
  return texts;
}

}  // namespace proctor
