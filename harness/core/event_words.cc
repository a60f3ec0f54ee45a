#include "harness/core/event_words.h"

#include <algorithm>
#include <array>

namespace proctor {
namespace {

constexpr bool kOfMachine = true;

struct WarningRow {
  WarningCode code;
  std::string_view spelling;
  bool machine = false;  // is_machine_warning()
};

constexpr std::array kWarnings = {
    WarningRow{WarningCode::kBenchmarkList, "benchmark_list"},
    WarningRow{WarningCode::kCallerFilter, "caller_filter"},
    WarningRow{WarningCode::kCaseRenamed, "case_renamed"},
    WarningRow{WarningCode::kCaseWarning, "case_warning"},
    WarningRow{WarningCode::kClockUnused, "clock_unused"},
    WarningRow{WarningCode::kDeviceDrained, "device_drained"},
    WarningRow{WarningCode::kDeviceErrors, "device_errors"},
    WarningRow{WarningCode::kDeviceForeignHolder, "device_foreign_holder"},
    WarningRow{WarningCode::kDeviceHealthFailed, "device_health_failed"},
    WarningRow{WarningCode::kDeviceLost, "device_lost"},
    WarningRow{WarningCode::kDeviceNotBack, "device_not_back"},
    WarningRow{WarningCode::kDeviceReset, "device_reset"},
    WarningRow{WarningCode::kDeviceShortage, "device_shortage", kOfMachine},
    WarningRow{WarningCode::kDeviceSuspect, "device_suspect"},
    WarningRow{WarningCode::kDeviceUnknown, "device_unknown"},
    WarningRow{WarningCode::kDeviceWaited, "device_waited"},
    WarningRow{WarningCode::kDrain, "drain"},
    WarningRow{WarningCode::kDuplicateCase, "duplicate_case"},
    WarningRow{WarningCode::kEvidence, "evidence"},
    WarningRow{WarningCode::kFrozen, "frozen"},
    WarningRow{WarningCode::kGtestListener, "gtest_listener"},
    WarningRow{WarningCode::kGuardLost, "guard_lost"},
    WarningRow{WarningCode::kGuardSlow, "guard_slow"},
    WarningRow{WarningCode::kJournalChanged, "journal_changed", kOfMachine},
    WarningRow{WarningCode::kJournalLost, "journal_lost"},
    WarningRow{WarningCode::kJournalSeal, "journal_seal"},
    WarningRow{WarningCode::kJournalSecondPlan, "journal_second_plan"},
    WarningRow{WarningCode::kJournalTorn, "journal_torn"},
    WarningRow{WarningCode::kKernelLog, "kernel_log"},
    WarningRow{WarningCode::kKnownFailureExpired, "known_failure_expired"},
    WarningRow{WarningCode::kKnownFailureUnused, "known_failure_unused"},
    WarningRow{WarningCode::kLease, "lease"},
    WarningRow{WarningCode::kLeaseDirty, "lease_dirty"},
    WarningRow{WarningCode::kLeaseLost, "lease_lost"},
    WarningRow{WarningCode::kLeaseRecord, "lease_record"},
    WarningRow{WarningCode::kLeaseWait, "lease_wait"},
    WarningRow{WarningCode::kLeaseWatch, "lease_watch"},
    WarningRow{WarningCode::kLeftAlive, "left_alive"},
    WarningRow{WarningCode::kMaskMismatch, "mask_mismatch", kOfMachine},
    WarningRow{WarningCode::kNotListed, "not_listed"},
    WarningRow{WarningCode::kOpenFiles, "open_files"},
    WarningRow{WarningCode::kOutputNotPassed, "output_not_passed"},
    WarningRow{WarningCode::kOverrideReplaced, "override_replaced"},
    WarningRow{WarningCode::kOverrideUnused, "override_unused"},
    WarningRow{WarningCode::kParentWatch, "parent_watch"},
    WarningRow{WarningCode::kPartIncomplete, "part_incomplete"},
    WarningRow{WarningCode::kPartRefused, "part_refused"},
    WarningRow{WarningCode::kPartsDiffer, "parts_differ"},
    WarningRow{WarningCode::kPressure, "pressure"},
    WarningRow{WarningCode::kProbe, "probe"},
    WarningRow{WarningCode::kProcessFile, "process_file"},
    WarningRow{WarningCode::kProgramChanged, "program_changed"},
    WarningRow{WarningCode::kPytestFilter, "pytest_filter"},
    WarningRow{WarningCode::kReadyFile, "ready_file"},
    WarningRow{WarningCode::kReportLost, "report_lost", kOfMachine},
    WarningRow{WarningCode::kRunRecord, "run_record"},
    WarningRow{WarningCode::kScratch, "scratch"},
    WarningRow{WarningCode::kScratchLeft, "scratch_left"},
    WarningRow{WarningCode::kStackChanged, "stack_changed", kOfMachine},
    WarningRow{WarningCode::kStandIn, "stand_in"},
    WarningRow{WarningCode::kStdoutLost, "stdout_lost"},
    WarningRow{WarningCode::kSubject, "subject"},
    WarningRow{WarningCode::kSwept, "swept"},
    WarningRow{WarningCode::kTelemetryTable, "telemetry_table"},
    WarningRow{WarningCode::kTelemetryTimeout, "telemetry_timeout"},
    WarningRow{WarningCode::kTelemetryTool, "telemetry_tool"},
    WarningRow{WarningCode::kUnplannedCase, "unplanned_case"},
    WarningRow{WarningCode::kUserConfig, "user_config"},
    WarningRow{WarningCode::kWorkflowCommands, "workflow_commands"},
};

struct HealthRow {
  HealthFact fact;
  std::string_view spelling;
};

constexpr std::array kHealth = {
    HealthRow{HealthFact::kWaited, "waited"},   HealthRow{HealthFact::kNotBack, "not_back"},
    HealthRow{HealthFact::kLost, "lost"},       HealthRow{HealthFact::kForeignHolder, "foreign_holder"},
    HealthRow{HealthFact::kUnknown, "unknown"}, HealthRow{HealthFact::kL1Pass, "l1_pass"},
    HealthRow{HealthFact::kL1Fail, "l1_fail"},  HealthRow{HealthFact::kReset, "reset"},
    HealthRow{HealthFact::kDrained, "drained"}, HealthRow{HealthFact::kBaseline, "baseline"},
};

struct MarkRow {
  Mark mark;
  std::string_view spelling;
};

constexpr std::array kMarkRows = {
    MarkRow{Mark::kLeaky, "leaky"}, MarkRow{Mark::kGuardLost, "guard_lost"},
    MarkRow{Mark::kWarn, "warn"},   MarkRow{Mark::kSlow, "slow"},
    MarkRow{Mark::kFlaky, "flaky"}, MarkRow{Mark::kDeviceSuspect, "device_suspect"},
};

// Each enumerator has the row in its place, and no two rows have one spelling.
template <std::size_t N, typename Row, typename Known>
constexpr bool is_whole(const std::array<Row, N>& rows, Known Row::*known) {
  for (std::size_t i = 0; i < N; ++i) {
    if (rows[i].*known != static_cast<Known>(i) || rows[i].spelling.empty()) return false;
    for (std::size_t j = 0; j < i; ++j) {
      if (rows[j].spelling == rows[i].spelling) return false;
    }
  }
  return true;
}

static_assert(kWarnings.size() == kWarningCodes && is_whole(kWarnings, &WarningRow::code));
static_assert(kHealth.size() == kHealthFacts && is_whole(kHealth, &HealthRow::fact));
static_assert(kMarkRows.size() == kMarks && is_whole(kMarkRows, &MarkRow::mark));

}  // namespace

std::string_view to_string(WarningCode code) { return kWarnings[static_cast<std::size_t>(code)].spelling; }

std::string_view to_string(HealthFact fact) { return kHealth[static_cast<std::size_t>(fact)].spelling; }

std::string_view to_string(Mark mark) { return kMarkRows[static_cast<std::size_t>(mark)].spelling; }

bool is_machine_warning(const WarningWord& code) {
  return std::ranges::any_of(
      kWarnings, [&](const WarningRow& row) { return row.machine && row.spelling == code.text(); });
}

}  // namespace proctor
