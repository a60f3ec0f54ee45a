// Records what each row of mask_rows.h really selects on the present driver, right or wrong, so that two
// drivers can be compared.
#pragma once

#include <string>
#include <vector>

namespace proctor::visibility {

inline constexpr const char* kMaskTableOption = "--mask-table";

// `visibility_xpu --mask-table FILE HIERARCHY...` writes one JSON object a line into FILE, for each row under
// each hierarchy: {"row","value","hierarchy","end","selected"}. end: "answer", or how the process ended
// without one: "signal:11", "exit:10", "hang". selected: {"init", "devices":[{"sub_device","sub_id","root",
// "sub_ids"}]}, without anything that only one driver has. root: the number of the first device of the same
// root; -1: none. Returns an exit code.
int write_mask_table(const std::string& file, const std::vector<std::string>& hierarchies);

}  // namespace proctor::visibility
