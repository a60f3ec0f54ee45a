// How many descriptors a run needs at once. A run that meets the limit half way would blame its cases for it.
#pragma once

#include "harness/base/result.h"

namespace proctor {

// For `jobs` cases at once, of which the largest has `ranks` processes of its own. More than is ever used, by a little
// (harness/e2e/record.py runs with just that).
int open_files_needed(int jobs, int ranks);

// How many cases at once the limit allows for.
int most_jobs_with_open_files();

// A usage error that names the limit (`ulimit -n`) and the number that is needed, when it is too low.
Result<void> check_open_files(int jobs, int ranks);

}  // namespace proctor
