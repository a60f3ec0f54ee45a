// The options that replace settings of suites, as the rows of suite_settings.h have them. A typed value that changes nothing is
// refused.
#pragma once

#include <string>
#include <vector>

#include "harness/base/result.h"
#include "harness/plan/config.h"
#include "harness/request/run_request.h"

namespace proctor {

// Replaces the settings of all suites for which the typed value counts.
Result<void> apply_suite_options(const SelectionOptions& typed, std::vector<SuiteConfig>& suites);
// The same for the command of `exec`, whose devices are not known yet.
Result<void> apply_suite_options(const SelectionOptions& typed, Suite& command);

// Refuse a typed value that does not count for any suite of a plan, or for the command, when their devices are known.
Result<void> check_suite_options(const SelectionOptions& typed, const std::vector<Suite>& suites);
Result<void> check_suite_options(const SelectionOptions& typed, const Suite& command);

// Refuses a setting that does not count for the suite, whose backend is known. In a built-in suite, which has one
// configuration for all backends, it becomes the default.
Result<void> settle_unused_settings(const std::string& where, SuiteConfig& config);

}  // namespace proctor
