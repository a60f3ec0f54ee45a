// The judgement of a run of `proctor accept` (acceptance.h).
#pragma once

#include "reports/accept/acceptance.h"

namespace proctor {

Acceptance judge_acceptance(const ResolvedRun& run, const AcceptQuestion& question);

}  // namespace proctor
