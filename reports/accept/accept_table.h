// A judgement for people: device by device the verdict with its reason, what was proven and what was not, and speeds beside
// what they are compared with.
#pragma once

#include <string>
#include <vector>

#include "reports/accept/acceptance.h"

namespace proctor {

// Rows of DEVICE, MODEL, VERDICT, ACTION, REASON.
std::vector<std::vector<std::string>> verdict_rows(const Acceptance& acceptance);
// Rows of FIGURE, DEVICE, VALUE, FLOOR, BEST, VERDICT, of those that were compared.
std::vector<std::vector<std::string>> figure_rows(const Acceptance& acceptance);
// "cuda-sim:0, cuda-sim:1: proven: driver, copy; not proven: links (1 case: needs:devices>=2)".
std::vector<std::string> proof_lines(const Acceptance& acceptance);
// "memory.ceiling, kernels.saxpy"; "": all were compared.
std::string figures_without_bound(const Acceptance& acceptance);
// "rejected: 1 of 6 devices rejected, 5 accepted · level 3 · not proven: fabric".
std::string accept_line(const Acceptance& acceptance);

}  // namespace proctor
