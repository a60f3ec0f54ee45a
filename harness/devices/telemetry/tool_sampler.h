// Telemetry from a vendor's tool, for machines whose library cannot be used: nvidia-smi for all devices at
// once, xpu-smi for one after the other. Each call is a contained process with a deadline. A tool that is not
// there, hangs or cannot be understood is not called again.
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
// They are read by the names in their header and never by position: columns move, vendors rename them, and
// units are sometimes in the header and sometimes in the cell.

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

class ContainedProcess;
class Containment;
struct ProcessEnd;

// ---- The calls of a tool ----

struct ToolSetup {
  std::vector<std::string> env;  // NAME=VALUE; the tool is found on its PATH
  Milliseconds deadline{3'000};
};

class ToolSampler {
 public:
  ToolSampler(boost::asio::io_context& io, Containment& containment, const ToolDialect& dialect,
              ToolSetup setup);
  ~ToolSampler();
  ToolSampler(const ToolSampler&) = delete;
  ToolSampler& operator=(const ToolSampler&) = delete;

  // What the tool says about `ids`. An error once the tool is not called any more. `on_sample` is called from
  // the loop.
  using OnSample = std::function<void(const Result<Sample>&)>;
  void sample(const std::vector<std::string>& ids, OnSample on_sample);
  // Warnings about the tool, each once.
  std::vector<Warning> take_warnings() { return std::exchange(warnings_, {}); }
  // Ends a call under way without calling `on_sample`, and calls `gone` from the loop.
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
  std::string given_up_;  // why
  bool reported_unknown_ = false;
  std::vector<Warning> warnings_;
  std::shared_ptr<ContainedProcess> process_;
  Alive alive_;
};

}  // namespace proctor
