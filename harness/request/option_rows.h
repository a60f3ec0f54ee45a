// The rows of the table of options, grouped by the help heading of most rows. Internal to harness/request.
#pragma once

#include <string_view>
#include <vector>

#include "harness/request/option.h"

namespace proctor {

// The headings of the help. option_headings() orders them.
inline constexpr std::string_view kCases = "Case selection";
inline constexpr std::string_view kCommandAfterDashes = "Command after --";
inline constexpr std::string_view kDevices = "Devices";
inline constexpr std::string_view kLimits = "Limits and containment";
inline constexpr std::string_view kReadiness = "Readiness";
inline constexpr std::string_view kRetries = "Retries and repeats";
inline constexpr std::string_view kVerdicts = "Verdicts";
inline constexpr std::string_view kReports = "Reports";
inline constexpr std::string_view kAcceptance = "Acceptance";
inline constexpr std::string_view kConsole = "Console";
inline constexpr std::string_view kConfiguration = "Configuration";

inline constexpr unsigned kSelecting = kForRun | kForPlan | kForList;
inline constexpr unsigned kStarting = kForRun | kForExec | kForAccept;
inline constexpr unsigned kEvery = kStarting | kForPlan | kForList;

using Rows = std::vector<Option>;

// options_of_cases.cc
Rows suite_rows();
Rows case_rows();
Rows plan_rows();
// options_of_devices.cc
Rows device_view_rows();
Rows machine_rows();
Rows limit_rows();
Rows schedule_rows();
Rows device_rows();
// options.cc
Rows verdict_rows();
Rows report_rows();
Rows console_rows();
Rows server_rows();
Rows accept_rows();

}  // namespace proctor

// A function that returns a reference to this member of a request.
#define PROCTOR_AT(member) \
  [](RunRequest & request) -> auto& { return request.member; }
