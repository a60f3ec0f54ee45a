// Which suites and cases a run takes. An option that names nothing (suite, backend, label, filter, case,
// exclude) is a usage error with the near miss: a selection that silently matches nothing would be green.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/plan/config.h"
#include "harness/plan/plan.h"
#include "harness/request/run_request.h"

namespace proctor {

// "all" is nullopt.
Result<std::optional<Backend>> parse_backend_option(const std::optional<std::string>& text);

// The suite name of an ad hoc command, made from its program: ids use letters, digits, `-` and `_` before the
// '/'.
std::string ad_hoc_name(const std::string& program);

// The suites to discover. Without names: those of the files, or the built-in ones when the files define none.
// An ad hoc command is one suite, named after the kind that its words tell, else after its program; suites and a command together are refused.
Result<std::vector<SuiteConfig>> select_suites(const Config& config, const SelectionOptions& options);

// Drops the cases that filters, cases and excludes do not select. A case that stands for a suite that could not be
// listed stays where one of the suite's may be meant. `--case attention` is every case of that suite: so the rerun
// command of the case that stands for it is right also when it can be listed again.
Result<std::vector<Case>> select_cases(std::vector<Case> cases, const SelectionOptions& options);

// `pattern` over the id; a pattern without '/' may also match what follows the first '/' of the id.
bool matches_case(std::string_view pattern, std::string_view id);

// The same for patterns that leave cases out: "suite/*" also matches the case that stands for a suite that cannot be listed.
bool matches_all_of(std::string_view pattern, const Case& test);

}  // namespace proctor
