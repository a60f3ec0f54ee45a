// The meaning of each reason: one table for summaries, the exit codes, the gate and
// docs/reference/outcomes.md.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "harness/base/result.h"
#include "harness/journal/outcome.h"
#include "harness/journal/outcome_meaning.h"

namespace proctor {
namespace {

using enum Outcome;
using enum FailureOwner;
using R = Reason;

constexpr bool kOfMachine = true;
constexpr bool kAnywhere = false;
constexpr int kByOutcome = 0;
constexpr auto kLimits = std::array{kTimeout, kStall};
constexpr std::array<Outcome, 2> only(Outcome outcome) { return {outcome, outcome}; }

// A row for one value of a reason precedes the row for any value.
// clang-format off
constexpr std::array kReasons = {
    ReasonMeaning{R::kLeaky, "leaky", only(kFail), kCode, kAnywhere, kByOutcome,
                  "passed, but it left something behind, and leaks = \"fail\""},
    ReasonMeaning{R::kWarn, "warn", only(kFail), kCode, kAnywhere, kByOutcome,
                  "it warned, and --strict turns warnings into failures"},
    ReasonMeaning{R::kSetup, "setup", only(kFail), kSetup, kAnywhere, kByOutcome,
                  "its framework failed to set it up"},
    ReasonMeaning{R::kNotReady, "not_ready", only(kFail), kCode, kAnywhere, kExitRed,
                  "ended before a line of its output matched --ready-regex"},
    ReasonMeaning{R::kExit, "exit:*", only(kFail), kCode, kAnywhere, kByOutcome, "exited with code {}"},
    ReasonMeaning{R::kDriverCrash, "driver_crash:*", only(kFail), kCode, kAnywhere, kByOutcome,
                  "the driver crashed its process with {}"},
    ReasonMeaning{R::kFailsAlone, "fails_alone", only(kFail), kCode, kAnywhere, kByOutcome,
                  "passed in a process with other cases, and failed alone: it depends on the cases before it"},
    ReasonMeaning{R::kRankEnded, "rank_ended:*", only(kFail), kCode, kAnywhere, kByOutcome, ""},
    ReasonMeaning{R::kDeviceLost, "device_lost", only(kFail), kCode, kAnywhere, kByOutcome, ""},

    ReasonMeaning{R::kNoResult, "no_result", only(kError), kCode, kAnywhere, kByOutcome,
                  "ended without a readable result: no verdict was reported"},
    ReasonMeaning{R::kResultMismatch, "result_mismatch", only(kError), kCode, kAnywhere, kByOutcome,
                  "its reported result is not that of this case alone, or contradicts its events or its exit code"},
    ReasonMeaning{R::kProtocol, "protocol", only(kError), kCode, kAnywhere, kByOutcome,
                  "wrote a line that is not an event to its events descriptor"},
    ReasonMeaning{R::kDiscovery, "discovery", only(kError), kCode, kAnywhere, kByOutcome,
                  "the cases of the suite are not known: its program did not list them"},
    ReasonMeaning{R::kSpawn, "spawn:ENOENT", only(kError), kSetup, kAnywhere, kExecNotFound,
                  "could not be started: {}"},
    ReasonMeaning{R::kSpawn, "spawn:EACCES", only(kError), kSetup, kAnywhere, kExecNotExecutable,
                  "could not be started: {}"},
    ReasonMeaning{R::kSpawn, "spawn:ENOEXEC", only(kError), kSetup, kAnywhere, kExecNotExecutable,
                  "could not be started: it is {}"},
    ReasonMeaning{R::kSpawn, "spawn:EAGAIN", only(kError), kMachine, kOfMachine, kExitMachine,
                  "could not be started: {}"},
    ReasonMeaning{R::kSpawn, "spawn:ENOMEM", only(kError), kMachine, kOfMachine, kExitMachine,
                  "could not be started: {}"},
    ReasonMeaning{R::kSpawn, "spawn:EMFILE", only(kError), kMachine, kOfMachine, kExitMachine,
                  "could not be started: {}"},
    ReasonMeaning{R::kSpawn, "spawn:ENFILE", only(kError), kMachine, kOfMachine, kExitMachine,
                  "could not be started: {}"},
    ReasonMeaning{R::kSpawn, "spawn:ENOSPC", only(kError), kMachine, kOfMachine, kExitMachine,
                  "could not be started: {}"},
    ReasonMeaning{R::kSpawn, "spawn:*", only(kError), kMachine, kOfMachine, kExecNotExecutable,
                  "could not be started: {}"},
    ReasonMeaning{R::kGuardLost, "guard_lost", only(kError), kMachine, kOfMachine, kByOutcome,
                  "its guard died, or another process killed or froze its cgroup"},
    ReasonMeaning{R::kDeviceInUse, "device_in_use", only(kError), kMachine, kOfMachine, kByOutcome,
                  "not started: other processes hold memory on its device"},
    ReasonMeaning{R::kMaskMismatch, "mask_mismatch", only(kError), kMachine, kOfMachine, kByOutcome,
                  "it sees other devices than it was given"},
    ReasonMeaning{R::kRankLost, "rank_lost", only(kError), kMachine, kOfMachine, kByOutcome,
                  "not all of its ranks could be followed to their end"},
    ReasonMeaning{R::kRanksDisagree, "ranks_disagree", only(kError), kMachine, kOfMachine, kByOutcome,
                  "its ranks skip for different reasons, or only some of them do"},
    ReasonMeaning{R::kNoExitStatus, "no_exit_status", only(kError), kMachine, kOfMachine, kByOutcome, ""},
    ReasonMeaning{R::kProcessSetup, "process_setup", only(kError), kMachine, kOfMachine, kByOutcome, ""},
    ReasonMeaning{R::kLeaseTimeout, "lease_timeout", only(kError), kMachine, kOfMachine, kByOutcome, ""},
    ReasonMeaning{R::kReportedByTest, "reported_by_test", only(kError), kMachine, kOfMachine, kByOutcome, ""},
    ReasonMeaning{R::kSkipWithoutReason, "skip_without_reason", only(kError), kMachine, kOfMachine, kByOutcome, ""},
    ReasonMeaning{R::kSelftest, "selftest:*", only(kError), kMachine, kOfMachine, kByOutcome, ""},
    ReasonMeaning{R::kUnknownOutcome, "unknown_outcome:*", only(kError), kMachine, kOfMachine, kByOutcome, ""},

    ReasonMeaning{R::kStarved, "starved", kLimits, kMachine, kOfMachine, kByOutcome, ""},
    ReasonMeaning{R::kShutdown, "shutdown", kLimits, kCode, kAnywhere, kByOutcome, ""},
    ReasonMeaning{R::kStartup, "startup", only(kTimeout), kCode, kAnywhere, kByOutcome, ""},
    ReasonMeaning{R::kNotReady, "not_ready", only(kTimeout), kCode, kAnywhere, kByOutcome,
                  "not ready in time: no line of its output matched --ready-regex"},
    ReasonMeaning{R::kStoppedByProctor, "stopped_by_proctor", only(kTimeout), kCode, kAnywhere, kByOutcome, ""},

    ReasonMeaning{R::kSignal, "signal:*", only(kCrash), kCode, kAnywhere, kByOutcome, "killed by {}"},
    ReasonMeaning{R::kOomHost, "oom_host", only(kCrash), kMachine, kAnywhere, kByOutcome,
                  "killed because the machine ran out of memory"},

    ReasonMeaning{R::kDevice, "device:*", only(kDeviceLost), kMachine, kOfMachine, kByOutcome, ""},

    ReasonMeaning{R::kRunLimit, "run_limit", only(kNotrun), kSetup, kAnywhere, kExecTimeout,
                  "not run to its end before --deadline, or before the journal was full"},
    ReasonMeaning{R::kInterrupted, "interrupted", only(kNotrun), kNobody, kAnywhere, kByOutcome, ""},
    ReasonMeaning{R::kFailFast, "fail_fast", only(kNotrun), kSetup, kAnywhere, kByOutcome,
                  "not run: an earlier case failed and --fail-fast was given"},
    ReasonMeaning{R::kStartupFailed, "startup_failed", only(kNotrun), kSetup, kAnywhere, kByOutcome,
                  "not run: the process that it shares with others ended before it ran anything"},
    ReasonMeaning{R::kDeviceLost, "device_lost", only(kNotrun), kMachine, kOfMachine, kByOutcome,
                  "not run: its device was lost"},
    ReasonMeaning{R::kDeviceUnhealthy, "device_unhealthy", only(kNotrun), kMachine, kOfMachine, kByOutcome,
                  "not run: its device was found unhealthy, and there is no other"},
    ReasonMeaning{R::kMachineFailures, "machine_failures", only(kNotrun), kMachine, kOfMachine, kByOutcome,
                  "not run: the machine had failed too many cases in a row"},

    ReasonMeaning{R::kNeeds, "needs:*", only(kSkip), kNobody, kAnywhere, kByOutcome, ""},
    ReasonMeaning{R::kNoDevice, "no_device", only(kSkip), kNobody, kAnywhere, kByOutcome, ""},
    ReasonMeaning{R::kNoDriver, "no_driver", only(kSkip), kNobody, kAnywhere, kByOutcome, ""},
    ReasonMeaning{R::kHidden, "hidden:*", only(kSkip), kNobody, kAnywhere, kByOutcome, ""},
    ReasonMeaning{R::kDriverTooOld, "driver_too_old:*", only(kSkip), kNobody, kAnywhere, kByOutcome, ""},
    ReasonMeaning{R::kDisabled, "disabled", only(kSkip), kNobody, kAnywhere, kByOutcome, ""},
    ReasonMeaning{R::kConfig, "config:*", only(kSkip), kNobody, kAnywhere, kByOutcome, "written off: {}"},
    ReasonMeaning{R::kFramework, "framework", only(kSkip), kNobody, kAnywhere, kByOutcome, ""},
    ReasonMeaning{R::kExit, "exit:*", only(kSkip), kNobody, kAnywhere, kByOutcome, ""},
    ReasonMeaning{R::kLibraryMissing, "library_missing:*", only(kSkip), kNobody, kAnywhere, kByOutcome, ""},
    ReasonMeaning{R::kSymbolMissing, "symbol_missing:*", only(kSkip), kNobody, kAnywhere, kByOutcome, ""},
    ReasonMeaning{R::kPackageMissing, "package_missing:*", only(kSkip), kNobody, kAnywhere, kByOutcome, ""},
    ReasonMeaning{R::kFatbinMissing, "fatbin_missing:*", only(kSkip), kNobody, kAnywhere, kByOutcome, ""},
    ReasonMeaning{R::kUnsupported, "unsupported:*", only(kSkip), kNobody, kAnywhere, kByOutcome, ""},
    ReasonMeaning{R::kNotOnSimulator, "not_on_simulator:*", only(kSkip), kNobody, kAnywhere, kByOutcome, ""},

    ReasonMeaning{R::kExpectedFailures, "expected_failures", only(kXfail), kNobody, kAnywhere, kByOutcome,
                  "failed as its program expects it to"},
};
// clang-format on

constexpr std::string_view name_in(std::string_view spelling) {
  return spelling.substr(0, spelling.find(':'));
}

constexpr bool takes_any_value(const ReasonMeaning& row) { return row.spelling.ends_with(":*"); }

constexpr bool is_of(const ReasonMeaning& row, Outcome outcome) {
  return std::ranges::find(row.outcomes, outcome) != row.outcomes.end();
}

constexpr const ReasonMeaning* first_row(Reason reason) {
  const auto* row = std::ranges::find(kReasons, reason, &ReasonMeaning::reason);
  return row == kReasons.end() ? nullptr : row;
}

constexpr bool every_reason_has_a_row() {
  for (std::size_t reason = 0; reason < kReasonCount; ++reason) {
    if (first_row(static_cast<Reason>(reason)) == nullptr) return false;
  }
  return true;
}

// Returns true if two rows can be in one table: they have different names, or the same name and different values or
// outcomes.
constexpr bool go_together(const ReasonMeaning& a, const ReasonMeaning& b) {
  const bool same_name = name_in(a.spelling) == name_in(b.spelling);
  const bool same_outcome = is_of(a, b.outcomes[0]) || is_of(a, b.outcomes[1]);
  return same_name == (a.reason == b.reason) && !(a.spelling == b.spelling && same_outcome);
}

constexpr bool all_go_together() {
  for (std::size_t i = 0; i < kReasons.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (!go_together(kReasons[i], kReasons[j])) return false;
    }
  }
  return true;
}

static_assert(every_reason_has_a_row());
static_assert(all_go_together());
static_assert(std::ranges::none_of(kReasons, &std::string_view::empty, &ReasonMeaning::spelling));

std::string_view name_of(Reason reason) { return name_in(first_row(reason)->spelling); }

bool matches(const ReasonMeaning& row, const std::string& text) {
  return row.spelling == text ||
         (takes_any_value(row) && text.starts_with(row.spelling.substr(0, row.spelling.size() - 1)));
}

// "SIGSEGV" of "11".
std::string signal_or_number(std::string_view number) {
  int signal = 0;
  std::from_chars(number.data(), number.data() + number.size(), signal);
  const std::string name = signal_name(signal);
  return name.empty() ? fmt::format("signal {}", number) : name;
}

std::string value_words(Reason reason, std::string_view value) {
  const bool is_signal = reason == Reason::kSignal || reason == Reason::kDriverCrash;
  if (is_signal) return signal_words(value);
  return std::string(reason == Reason::kSpawn && value == "ENOEXEC" ? kNoProgram : value);
}

}  // namespace

ReasonText::ReasonText(Reason reason) : text_(name_of(reason)) {}

ReasonText::ReasonText(Reason reason, std::string_view value)
    : text_(fmt::format("{}:{}", name_of(reason), value)) {}

std::optional<std::string_view> ReasonText::value_of(Reason reason) const {
  const std::string_view name = name_of(reason);
  const std::string_view text = text_;
  if (text == name) return "";
  if (!text.starts_with(name) || text.substr(name.size(), 1) != ":") return std::nullopt;
  return text.substr(name.size() + 1);
}

ReasonText reason_in_words(std::string words) {
  ReasonText text;
  text.text_ = std::move(words);
  return text;
}

std::span<const ReasonMeaning> reason_meanings() { return kReasons; }

const ReasonMeaning* meaning_of_reason(const Verdict& verdict) {
  if (verdict.reason.empty()) return nullptr;
  const auto* row = std::ranges::find_if(kReasons, [&](const ReasonMeaning& each) {
    return is_of(each, verdict.outcome) && matches(each, verdict.reason.text());
  });
  return row == kReasons.end() ? nullptr : row;
}

std::string readable_reason(const Verdict& verdict) {
  const ReasonText& reason = verdict.reason;
  if (const auto signal = reason.value_of(Reason::kSignal)) return signal_or_number(*signal);
  if (const auto signal = reason.value_of(Reason::kDriverCrash))
    return "driver crash: " + signal_or_number(*signal);
  if (const auto code = reason.value_of(Reason::kExit); code && !code->empty())
    return fmt::format("exit code {}", *code);
  return reason.text();
}

std::string describe_reason(const ReasonMeaning& meaning, const ReasonText& reason) {
  const std::string value = value_words(meaning.reason, reason.value_of(meaning.reason).value_or(""));
  return fmt::format(fmt::runtime(meaning.words), value);
}

std::string signal_words(std::string_view number) {
  const std::string name = signal_or_number(number);
  return name.starts_with("SIG") ? fmt::format("signal {} ({})", number, name) : name;
}

}  // namespace proctor
