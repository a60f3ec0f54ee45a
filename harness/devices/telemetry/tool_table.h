// The CSV tables that nvidia-smi and xpu-smi print, read by the names in their header and never by position:
// columns move, vendors rename them, and units are sometimes in the header and sometimes in the cell.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"
#include "harness/devices/telemetry/telemetry_sample.h"

namespace proctor {

// Names are compared without their unit, in lower case.
struct ToolColumn {
  Metric metric;
  std::vector<std::string> names;  // any of them
};

struct ToolDialect {
  std::string program;     // "nvidia-smi": the source of its values
  std::string key_column;  // its cell names the device of a row; "": the caller knows it
  std::vector<ToolColumn> columns;
};

const ToolDialect& nvidia_smi();
const ToolDialect& xpu_smi();

struct ToolTable {
  struct Row {
    std::string key;
    DeviceSample values;
  };
  std::vector<Row> rows;
  std::vector<std::string> unknown;  // metrics whose column is not there
  std::string header;                // as it was printed
};

// An error if the text is no table with at least one of the columns.
Result<ToolTable> parse_tool_table(std::string_view text, const ToolDialect& dialect);

}  // namespace proctor
