// What a run made of the entries of its list of known failures.
#pragma once

#include <optional>
#include <string>

#include "reports/model/run_model.h"

namespace proctor {

// From the day on which the run began to the last one on which the entry holds; below zero when it had expired. None where
// the journal does not tell.
std::optional<int> days_left(const RunModel& model, const KnownFailureEntry& entry);

std::string days_left_words(int days);  // "3 days left", "the last day", "expired 1 day before"

// The cases that failed as it expects.
int hits(const RunModel& model, const KnownFailureEntry& entry);

}  // namespace proctor
