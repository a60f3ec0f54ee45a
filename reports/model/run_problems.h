// What makes a run something else than green and is no case. Every format that CI systems read shows each of them
// as an error of the suite `proctor.run`, so that no report is green where the exit code is not.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reports/model/run_model.h"

namespace proctor {

inline constexpr std::string_view kRunSuite = "proctor.run";

struct RunProblem {
  std::string name{};  // "flaky": of its testcase
  std::string title{};
  std::string message{};
};

// The name of the problem that says that nothing else explains the exit code.
inline constexpr std::string_view kUnexplained = "exit_code";

// The name of the problem of flaky cases that the policy of the run does not allow.
inline constexpr std::string_view kFlakyProblem = "flaky";

// The name of the problem of devices that cases failed on, or could not run on, while they passed on others.
inline constexpr std::string_view kDeviceProblem = "device_suspect";

// That it was stopped from outside, or killed.
RunProblem interruption(const RunModel& model);

// At least one where the exit code is not 0 and no case is bad.
std::vector<RunProblem> run_problems(const RunModel& model);

}  // namespace proctor
