// Selects the suites and cases of a run. An option that matches nothing (suite, backend, label, filter, case,
// exclude) is a usage error with the near miss. Otherwise an empty selection would look like a pass.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/plan/config.h"
#include "harness/plan/plan.h"
#include "harness/request/run_request.h"

namespace proctor {

// Parses the option --backend. "all" is nullopt.
Result<std::optional<Backend>> parse_backend_option(const std::optional<std::string>& text);

// Returns the suite name of an ad hoc command, made from its program. Ids contain only letters, digits, `-`
// and `_` before the '/'.
std::string ad_hoc_name(const std::string& program);

// Returns the suites to discover. By default these are the suites of the files, or the built-in ones if the
// files define none. An ad hoc command is one suite. Its name is the kind that its words show, or else its
// program. Suites and a command together are refused.
Result<std::vector<SuiteConfig>> select_suites(const Config& config, const SelectionOptions& options);

// Removes the cases that filters, cases and excludes do not select. A case that represents an unlisted suite
// stays if a pattern may match a case of that suite. `--case attention` selects every case of that suite.
// Therefore the rerun command of an unlisted suite still works when the suite can be listed again.
Result<std::vector<Case>> select_cases(std::vector<Case> cases, const SelectionOptions& options);

// Returns whether `pattern` matches the id. A pattern without '/' may also match the part after the first
// '/'.
bool matches_case(std::string_view pattern, std::string_view id);

// Matches patterns that leave cases out: "suite/*" also matches the case that represents an unlisted suite.
bool matches_all_of(std::string_view pattern, const Case& test);

}  // namespace proctor
