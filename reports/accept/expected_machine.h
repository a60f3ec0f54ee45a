// The expected devices of a machine. `proctor devices --expect-file` writes this file, users edit it, and `proctor
// accept --expect` compares a machine with it (docs/how-to/accept.md). A file with one model:
//
//   [[model]]
//   name = "NVIDIA H100 80GB HBM3"
//   count = 4
//   pcie_width = 16
//   [model.floor]
//   "memory.bandwidth.device_to_device" = 2700.0   # in the unit of that measure
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"
#include "harness/journal/events.h"
#include "harness/journal/machine_facts.h"

namespace proctor {

// The expected devices of one model.
struct ExpectedModel {
  std::string name;
  int count = 0;
  std::vector<std::string> uuids{};  // devices that must be present; the list may be shorter than `count`
  std::map<std::string, nlohmann::json> facts{};  // by their keys
  std::map<std::string, double> floors{};         // by the name of a measure: a device below this value fails
};

// The content of the file of --expect.
struct ExpectedMachine {
  std::string file;
  std::vector<ExpectedModel> models;

  // Returns null if no table has this name.
  const ExpectedModel* find(std::string_view name) const;
};

// Parses the file. An error names the file, the line and the value. Contradicting tables are refused.
Result<ExpectedMachine> parse_expected(std::string_view text, const std::string& file);

// Returns a file that expects exactly the present machine.
std::string write_expected(const std::vector<PlannedDevice>& devices, const FactsOfCards& facts);

}  // namespace proctor
