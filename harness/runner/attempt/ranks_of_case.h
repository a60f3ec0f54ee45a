// A case with ranks: its process is their supervisor (harness/process/ranks/), which starts as many. What they say and how they
// end is in rank_reports.h.
#pragma once

#include <string>
#include <vector>

#include "harness/journal/events.h"
#include "harness/process/process_spec.h"
#include "harness/runner/attempt/attempt_files.h"
#include "harness/runner/attempt/attempt_plan.h"
#include "harness/runner/attempt/rank_reports.h"

namespace proctor {

// Its equal share of the devices of the case.
std::vector<std::string> devices_of_rank(const std::vector<std::string>& devices, std::size_t rank,
                                         std::size_t ranks);

// Turns the spec of one rank into that of the supervisor, for which it makes AttemptFiles::rank_plan and `rendezvous`.
void make_rank_supervisor(const AttemptSetup& setup, const AttemptPlan& plan, RunFiles& run_files,
                          AttemptFiles& files, ProcessSpec& spec);

// Adds to the end of the case what each rank did, and which of them answers for it. `end` as in CaseFacts.
void describe_ranks(const RankReports& reports, const RunFiles& run_files, const AttemptPlan& plan,
                    const ProcessEnd* end, AttemptEnded& event);

}  // namespace proctor
