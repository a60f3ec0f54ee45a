// Where a line of the sources is on the site of its repository.
#pragma once

#include <string>

#include "harness/core/events.h"

namespace proctor {

// "https://github.com/a/b/blob/COMMIT/src/x.cc#L7". "" unless the repository has an http or https address of GitHub or
// GitLab, the commit is known and the file is below the checkout.
std::string source_address(const RunPlanned& plan, const std::string& file, int line);

// The repository at its commit, and the comparison of two of its commits; "" as above.
std::string commit_address(const Subject& subject);
std::string comparison_address(const Subject& before, const Subject& after);

}  // namespace proctor
