// The words of a failed case on the console: its message, and of its output what the message does not say.
#pragma once

#include <string>
#include <vector>

#include "reports/resolve/log_text.h"
#include "reports/resolve/resolved_run.h"

namespace proctor::cli {

// The message of the case, whole, with its line breaks, then what was expected and what came; clean and bounded.
std::vector<std::string> message_lines(const ResolvedCase& test);

// Of the last lines of the log of an attempt, at most `most` that its program wrote itself: without the banner of
// GoogleTest, the output of other cases, and the messages of its failures.
LastLines own_lines(LastLines last, const ResolvedCase& test, const Attempt& attempt, std::size_t most);

}  // namespace proctor::cli
