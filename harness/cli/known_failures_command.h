// Implements `proctor gate known-failures`: checks and proposes lists of known failures
// (docs/how-to/known-failures.md).
#pragma once

#include <string>
#include <vector>

#include "harness/base/clock.h"
#include "reports/resolve/resolved_run.h"

namespace proctor::cli {

struct SuggestRequest {
  std::string owner;
  std::string issue;
  Day added{};
  int days = 30;  // days until the entry expires
};

struct SuggestedFailures {
  std::string toml;                // entries for a list, one per cause
  std::vector<std::string> notes;  // failures without an entry, with reasons
};

// Returns entries that pass the check against the cases of the run.
SuggestedFailures suggest_known_failures(const ResolvedRun& run, const SuggestRequest& request);

}  // namespace proctor::cli
