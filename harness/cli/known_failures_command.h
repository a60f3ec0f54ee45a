// `proctor gate known-failures`: lists of failures that are known, judged and proposed (docs/how-to/known-failures.md).
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
  int days = 30;  // until it expires
};

struct SuggestedFailures {
  std::string toml;                // entries ready to paste, one for each cause
  std::vector<std::string> notes;  // what is bad and is no entry, and why
};

// Each entry of it passes the check against the cases of the run.
SuggestedFailures suggest_known_failures(const ResolvedRun& run, const SuggestRequest& request);

}  // namespace proctor::cli
