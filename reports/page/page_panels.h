// The panels of a page that are made of files beside its runs: the verdict of a gate, and what the suites cover. Plain HTML,
// which needs no script; long lists are folded, and cut.
#pragma once

#include <string>
#include <vector>

#include "reports/page/page_cases.h"
#include "reports/page/page_request.h"

namespace proctor {

// What stands below the titles of both. Empty where the page was made without the file.
std::string gate_panel(const PageRequest& request);
// `cases`: page_cases().
std::string coverage_panel(const PageRequest& request, const std::vector<PageCase>& cases);

}  // namespace proctor
