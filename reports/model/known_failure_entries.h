// What a run made of the entries of its list of known failures.
#pragma once

#include <optional>

#include "reports/model/run_model.h"

namespace proctor {

// From the day on which the run began to the last one on which the entry holds; below zero when it had expired. None where
// the journal does not tell.
std::optional<int> days_left(const RunModel& model, const KnownFailureEntry& entry);

// The cases that failed as it expects.
int hits(const RunModel& model, const KnownFailureEntry& entry);

}  // namespace proctor
