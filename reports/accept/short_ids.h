// Ids of devices as tables show them: the id of a device on hardware is as long as its UUID.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "reports/accept/accept_report.h"

namespace proctor {

// At most 20 columns for each device of the report; the whole ids where two would be equal.
using ShortIds = std::map<const ReportedDevice*, std::string>;
ShortIds short_ids(const AcceptReport& report);

// The first `columns` characters of UTF-8 text; "…" stands for the rest.
std::string cut_text(const std::string& text, std::size_t columns);

// Columns of UTF-8 text without wide characters.
std::size_t width_of(std::string_view text);

}  // namespace proctor
