// What a history knows of the cases that failed, and of the stack on which the machine was green last (`--history FILE`):
// checked before the run, told after its last case.
#pragma once

#include <memory>
#include <string>

#include "harness/core/events.h"
#include "harness/core/result.h"
#include "reports/history/history.h"

namespace proctor {
class RunModel;
}

namespace proctor::cli {

// Null where there is none. A file that does not exist is no mistake: the first run of a project has no history.
Result<std::shared_ptr<History>> open_history(const std::string& file);

// As CasePast events and, where the run is not green, as a warning. A history that cannot be read any more is a warning.
void tell_past(const std::string& file, const RunModel& model, EventSink& events);

}  // namespace proctor::cli
