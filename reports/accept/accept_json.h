// A judgement as accept.json (docs/how-to/accept.md).
#pragma once

#include <string>

#include "reports/accept/acceptance.h"

namespace proctor {

// `run_dir`: where its run is.
std::string accept_json(const Acceptance& acceptance, const AcceptQuestion& question,
                        const std::string& run_dir);

}  // namespace proctor
