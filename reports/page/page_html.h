// What a page says without its script, as plain HTML in the order in which people ask: the verdict, whose problem it is,
// what changed, why, where, and the first bad cases. The script adds the list of all cases to it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "reports/formats/text_output.h"
#include "reports/page/page_cases.h"
#include "reports/page/page_data.h"
#include "reports/page/page_request.h"

namespace proctor {

// "Red: 37 of 10,000 cases are not good".
std::string page_title(const PageRequest& request, const std::vector<PageCase>& cases);

// What stands in <body>, before the data.
void write_page_body(const PageRequest& request, const std::vector<PageCase>& cases, const PageData& data,
                     TextOutput& output);

}  // namespace proctor
