// The main() of the visibility suite for Level Zero. It runs the checks, a child (child.h), or writes the table of
// masks.
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "suites/main/check.h"
#include "suites/visibility/child.h"
#include "suites/visibility/mask_model.h"
#include "suites/visibility/preconditions.h"

namespace proctor::visibility {
namespace {

// The option that records what each row of mask_rows() selects on the present driver, so that two drivers can be
// compared.
constexpr const char* kMaskTableOption = "--mask-table";

using nlohmann::json;

json selected_by(const Enumeration& seen) {
  std::map<std::string, int> first_of_root;
  json devices = json::array();
  for (const auto& device : seen.devices) {
    const auto position = static_cast<int>(devices.size());
    const int root = device.root.empty() ? -1 : first_of_root.emplace(device.root, position).first->second;
    devices.push_back({{"sub_device", device.is_sub_device},
                       {"sub_id", device.sub_id},
                       {"root", root},
                       {"sub_ids", device.sub_ids}});
  }
  return {{"init", seen.init}, {"devices", std::move(devices)}};
}

std::string end_text(const ChildEnd& end) {
  if (end.hung) return "hang";
  if (end.signal != 0) return "signal:" + std::to_string(end.signal);
  if (!end.answer || end.exit_code != 0) return "exit:" + std::to_string(end.exit_code);
  return "answer";
}

json enumerate_row(const MaskRow& row, const std::string& hierarchy) {
  const auto value = row.value == nullptr ? std::nullopt : std::optional<std::string>(row.value);
  const ChildEnd end = Child({"enumerate"}, {{kMask, value}, {kHierarchy, hierarchy}}).finish();
  json line = {{"row", row.name}, {"value", nullptr}, {"hierarchy", hierarchy}, {"end", end_text(end)}};
  if (value) line["value"] = *value;
  if (line["end"] != "answer") return line;
  if (const auto seen = parse_enumeration(end.answer->value("seen", json()))) {
    line["selected"] = selected_by(*seen);
  } else {
    line["end"] = end.answer->value("problem", "unreadable");
  }
  return line;
}

// `visibility_xpu --mask-table FILE HIERARCHY...` writes one JSON object per line into FILE, for each row under
// each hierarchy: {"row","value","hierarchy","end","selected"}. "end" is "answer", or the end of a process without
// a result: "signal:11", "exit:10", "hang". "selected" is {"init",
// "devices":[{"sub_device","sub_id","root","sub_ids"}]}, without members that only one driver has. "root" is the
// number of the first device with the same root; -1: none. Returns an exit code.
int write_mask_table(const std::string& file, const std::vector<std::string>& hierarchies) {
  std::ofstream out(file);
  for (const auto& hierarchy : hierarchies) {
    for (const MaskRow& row : mask_rows()) out << enumerate_row(row, hierarchy).dump() << "\n";
  }
  out.close();
  if (out) return 0;
  std::cerr << "failed to write " << file << "\n";
  return 1;
}

}  // namespace
}  // namespace proctor::visibility

int main(int argc, char** argv) {
  using namespace proctor::visibility;
  if (argc > 1 && std::strcmp(argv[1], kChildOption) == 0) return child_main(argc - 2, argv + 2);
  if (argc > 3 && std::strcmp(argv[1], kMaskTableOption) == 0) {
    return write_mask_table(argv[2], {argv + 3, argv + argc});
  }
  return proctor::suite::run_main(argc, argv);
}
