// The judgement of a run of `proctor accept`.
//
// A case that fails on one device counts against that device. A case of several devices counts against the only one that
// its other runs do not clear (attribution.h). If no run clears one of them, all of them are incomplete. A case that fails
// on all devices counts against the software. No failure is dropped.
#pragma once

#include "reports/accept/accept_question.h"

namespace proctor {

AcceptReport judge_acceptance(const ResolvedRun& run, const AcceptQuestion& question);

}  // namespace proctor
