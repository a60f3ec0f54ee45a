// Where the telemetry of one backend comes from: the library, through the contained child that watches the
// devices; if that library is missing, the vendor's tool. A source that hangs or fails is not asked again.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/alive.h"
#include "harness/devices/telemetry/device_monitor.h"
#include "harness/devices/telemetry/tool_sampler.h"

namespace proctor {

class TelemetrySource {
 public:
  // `monitor` is null if no driver can be loaded.
  TelemetrySource(boost::asio::io_context& io, Containment& containment, const std::string& backend,
                  DeviceMonitor* monitor, ToolSetup tool);

  // The result is an error once no source is left. `on_sample` is called from the loop.
  using OnSample = std::function<void(const Result<Sample>&)>;
  void sample(const std::vector<std::string>& ids, OnSample on_sample);
  // The shortest time between two samples that this source allows.
  Milliseconds least_period() const { return stage_ == Stage::kTool ? Milliseconds(1'000) : Milliseconds(0); }
  std::vector<Warning> take_warnings() { return std::exchange(warnings_, {}); }
  void stop(std::function<void()> gone);

 private:
  enum class Stage { kLibrary, kTool, kNothing };

  void request_from_library(const std::vector<std::string>& ids, OnSample on_sample);
  void request_from_tool(const std::vector<std::string>& ids, OnSample on_sample);
  Error give_up(const std::string& why);

  boost::asio::io_context& io_;
  std::string backend_;
  DeviceMonitor* monitor_;
  ToolSampler tool_;
  Stage stage_ = Stage::kLibrary;
  std::string why_;  // why the last stage was left
  std::vector<Warning> warnings_;
  Alive alive_;
};

}  // namespace proctor
