// The words of a failed case on the console: its message, and of its output what the message does not say.
#pragma once

#include <string>
#include <vector>

#include "reports/model/log_text.h"
#include "reports/model/run_model.h"

namespace proctor::cli {

// The message of the case, whole, with its line breaks, then what was expected and what came; clean and bounded.
std::vector<std::string> message_lines(const RunModel& model, const CaseRecord& record);

// Of the last lines of the log of an attempt, at most `most` that its program wrote itself: without the banner of
// GoogleTest, the output of other cases, and the messages of its failures.
LastLines own_lines(LastLines last, const CaseRecord& record, const Attempt& attempt, std::size_t most);

}  // namespace proctor::cli
