// Reads telemetry from a vendor's tool, for machines whose management library cannot be used. nvidia-smi
// reads all devices at once, xpu-smi one device per call. Each call is a contained process with a deadline. A
// tool that is missing, hangs, or prints an unreadable table is not called again.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/base/alive.h"
#include "harness/base/duration.h"
#include "harness/base/result.h"
#include "harness/devices/telemetry/telemetry_sample.h"
#include "harness/journal/events.h"

namespace boost::asio {
class io_context;
}

namespace proctor {

// ---- The CSV tables that the tools print ----
// Columns are found by the names in the header and never by position. Columns move, vendors rename them, and
// units are sometimes in the header and sometimes in the cell.

// Names are compared in lower case, without their unit.
struct ToolColumn {
  Metric metric;
  std::vector<std::string> names;  // any of them matches
};

// The tables of one tool: the columns that contain metrics.
struct ToolDialect {
  std::string program;     // "nvidia-smi": also the source of its values
  std::string key_column;  // the column with the device of a row; "": the caller requests one device
  std::vector<ToolColumn> columns;
};

const ToolDialect& nvidia_smi();
const ToolDialect& xpu_smi();

// A parsed table.
struct ToolTable {
  struct Row {
    std::string key;
    DeviceSample values;
  };
  std::vector<Row> rows;
  std::vector<std::string> unknown;  // metrics whose column is missing
  std::string header;                // as printed
};

// Returns an error if the text is not a table with at least one of the columns.
Result<ToolTable> parse_tool_table(std::string_view text, const ToolDialect& dialect);

class ContainedProcess;
class Containment;
struct ProcessEnd;

// ---- The calls of a tool ----

// How a tool is called.
struct ToolSetup {
  std::vector<std::string> env;  // NAME=VALUE; the tool is found on its PATH
  Milliseconds deadline{3'000};
};

// Calls one vendor's tool for samples (see the top of this file).
class ToolSampler {
 public:
  ToolSampler(boost::asio::io_context& io, Containment& containment, const ToolDialect& dialect,
              ToolSetup setup);
  ~ToolSampler();
  ToolSampler(const ToolSampler&) = delete;
  ToolSampler& operator=(const ToolSampler&) = delete;

  // Samples `ids`. The result is an error once the tool is no longer called. `on_sample` is called from the
  // loop.
  using OnSample = std::function<void(const Result<Sample>&)>;
  void sample(const std::vector<std::string>& ids, OnSample on_sample);
  // Warnings about the tool, each once.
  std::vector<Warning> take_warnings() { return std::exchange(warnings_, {}); }
  // Ends a call under way without its callback, and calls `stopped` from the loop.
  void stop(std::function<void()> stopped);

 private:
  void call_next();
  std::vector<std::string> command() const;
  void on_end(const ProcessEnd& end);
  void add(const ToolTable& table);
  void give_up(std::optional<WarningCode> code, const std::string& why);
  void answer(const Result<Sample>& sample);

  boost::asio::io_context& io_;
  Containment& containment_;
  const ToolDialect& dialect_;
  ToolSetup setup_;
  std::vector<std::string> ids_;  // devices of the sample under way
  std::size_t next_ = 0;          // index in ids_, for tools that are called once per device
  Sample sample_;
  OnSample on_sample_;
  std::function<void()> stopped_;
  std::string given_up_;  // the reason why the tool is no longer called, or ""
  bool reported_unknown_ = false;
  std::vector<Warning> warnings_;
  std::shared_ptr<ContainedProcess> process_;
  Alive alive_;
};

}  // namespace proctor
