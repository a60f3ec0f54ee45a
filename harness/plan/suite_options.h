// Applies the options that replace settings of suites. The rows of suite_settings.h define these options. A
// typed value without any effect is refused.
#pragma once

#include <string>
#include <vector>

#include "harness/base/result.h"
#include "harness/plan/config.h"
#include "harness/request/run_request.h"

namespace proctor {

// Replaces the setting in all suites to which the typed value applies.
Result<void> apply_suite_options(const SelectionOptions& typed, std::vector<SuiteConfig>& suites);
// Replaces the settings of the command of `exec`, whose devices are not known yet.
Result<void> apply_suite_options(const SelectionOptions& typed, Suite& command);

// Refuses a typed value that applies to no suite of a plan, or not to the command. The devices must be known.
Result<void> check_suite_options(const SelectionOptions& typed, const std::vector<Suite>& suites);
Result<void> check_suite_options(const SelectionOptions& typed, const Suite& command);

// Refuses a setting that does not apply to the suite, whose backend is known. A built-in suite has one
// configuration for all backends, so its setting becomes the default.
Result<void> settle_unused_settings(const std::string& where, SuiteConfig& config);

}  // namespace proctor
