// A case with ranks. Its process is a supervisor (harness/process/ranks), which starts the ranks. rank_reports.h
// handles their events and their ends.
#pragma once

#include <string>
#include <vector>

#include "harness/journal/events.h"
#include "harness/process/process_spec.h"
#include "harness/runner/attempt/attempt_files.h"
#include "harness/runner/attempt/attempt_plan.h"
#include "harness/runner/attempt/rank_reports.h"

namespace proctor {

// Returns the equal share of the devices that one rank gets.
std::vector<std::string> devices_of_rank(const std::vector<std::string>& devices, std::size_t rank,
                                         std::size_t ranks);

// Converts the spec of one rank to the spec of the supervisor. Creates AttemptFiles::rank_plan and `rendezvous`.
void make_rank_supervisor(const AttemptSetup& setup, const AttemptPlan& plan, RunFiles& run_files,
                          AttemptFiles& files, ProcessSpec& spec);

// Adds the end of each rank to the end of the case, and which rank determines the verdict. CaseFacts describes `end`.
void describe_ranks(const RankReports& reports, const RunFiles& run_files, const AttemptPlan& plan,
                    const ProcessEnd* end, AttemptEnded& event);

}  // namespace proctor
