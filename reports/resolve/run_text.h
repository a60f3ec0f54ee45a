// Sentences with the numbers of a whole run. Each is made here alone, so that no two outputs disagree.
#pragma once

#include <string>

#include "reports/resolve/resolved_run.h"

namespace proctor {

// "45 of 2,000 cases failed, with 10 causes, 3 of them new; 2 cases were flaky: failed, then passed"; "" where no case
// failed or was flaky.
std::string failures_text(const ResolvedRun& run);

// "2,000 planned: 1,953 pass, 40 fail, 5 crash".
std::string outcomes_text(const Summary& summary);

// "1 of 3 planned cases executed, at least 2 wanted"; "" where enough were executed.
std::string shortage_text(const ResolvedRun& run);

}  // namespace proctor
