// What a machine should have: `proctor devices --expect-file` writes it, people edit it, `proctor accept --expect` compares
// (docs/how-to/accept.md). A file of one model:
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

struct ExpectedModel {
  std::string name;
  int count = 0;
  std::vector<std::string> uuids{};               // of those that must be here; may be fewer than `count`
  std::map<std::string, nlohmann::json> facts{};  // by their keys
  std::map<std::string, double> floors{};         // by the name of a measure: less than this is red
};

struct ExpectedMachine {
  std::string file;
  std::vector<ExpectedModel> models;

  // Null: no table has that name.
  const ExpectedModel* find(std::string_view name) const;
};

// An error names the file, the line and the value. Tables that contradict each other are refused.
Result<ExpectedMachine> parse_expected(std::string_view text, const std::string& file);

// A file that expects what is here.
std::string write_expected(const std::vector<PlannedDevice>& devices, const FactsOfCards& facts);

}  // namespace proctor
