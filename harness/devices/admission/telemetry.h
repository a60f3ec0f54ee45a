// Samples the devices of running cases at a steady rate, and returns to each case its own figures. No device
// is sampled while no case uses it. At most one request is under way, so a slow driver lowers the rate and
// delays no case.
#pragma once

#include <array>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/alive.h"
#include "harness/base/clock.h"
#include "harness/devices/telemetry/device_monitor.h"
#include "harness/devices/telemetry/telemetry_sample.h"
#include "harness/devices/telemetry/tool_sampler.h"
#include "harness/journal/events.h"

namespace proctor {

// Collects the samples of one device during one case, and computes the figures of the attempt. It has no side
// effects.
class TelemetryWindow {
 public:
  void add(const DeviceSample& sample);
  // Records why samples are missing. Earlier samples stay.
  void miss(const std::string& why);

  std::vector<TelemetryFigure> figures() const;
  std::optional<double> last(Metric metric) const;

 private:
  struct Series {
    std::int64_t samples = 0;
    double first = 0;
    double last = 0;
    double sum = 0;
    double peak = 0;
    std::set<std::string> words;
    std::string source;
    std::string why;
  };
  static TelemetryFigure figure(Metric metric, const Series& series);

  std::array<Series, kMetrics> series_;
  bool begun_ = false;
};

// Figures about the use of the machine by the processes of a case. `shared`: these processes ran other cases
// too.
struct HostUsage;
std::vector<TelemetryFigure> host_figures(const HostUsage& usage, bool shared);

// The source of the telemetry of one backend: the library, through the contained child that watches the
// devices. If that library is missing, the source is the vendor's tool. A source that hangs or fails is not
// used again.
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
  void stop(std::function<void()> stopped);

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
  std::string why_;  // why the last stage ended
  std::vector<Warning> warnings_;
  Alive alive_;
};

// Settings for the sampling of a run.
struct TelemetrySetup {
  int rate = 10;  // samples a second; 0: none
  ToolSetup tool;
  // Called if the driver or the tool did not respond to a query about these devices, or ended the child that
  // queries. May be empty.
  std::function<void(const std::vector<std::string>& devices, const std::string& why)> on_silence{};
};

// Samples all devices of a run while cases use them (see the top of this file).
class Telemetry {
 public:
  Telemetry(boost::asio::io_context& io, Containment& containment, DeviceMonitor* monitor,
            TelemetrySetup setup, EventSink& sink);
  Telemetry(const Telemetry&) = delete;
  Telemetry& operator=(const Telemetry&) = delete;

  // begin() and end() are called when a case starts and ends on `devices`.
  using Window = std::uint64_t;
  Window begin(const std::vector<std::string>& devices);
  std::vector<DeviceTelemetry> end(Window window, const std::string& case_id);
  // The load of the device at its last sample in the window, in percent; none if unknown.
  std::optional<double> utilisation(Window window, const std::string& device) const;
  // Stops sampling. `stopped` is called when the loop no longer uses this object.
  void stop(std::function<void()> stopped);

 private:
  struct Open {
    Clock::time_point began;
    std::map<std::string, TelemetryWindow> devices;
  };
  struct Stream {  // the samples of one backend
    std::unique_ptr<TelemetrySource> source;
    boost::asio::steady_timer next;
    Clock::time_point requested{};
    std::vector<std::string> about{};  // the devices of that request
    bool busy = false;                 // a request is under way or scheduled
  };

  Stream& stream_of(const std::string& backend);
  std::vector<std::string> watched(const std::string& backend) const;
  void go_on(const std::string& backend);
  void request_sample(const std::string& backend);
  void on_sample(const std::string& backend, const Result<Sample>& sample);

  boost::asio::io_context& io_;
  Containment& containment_;
  DeviceMonitor* monitor_;
  TelemetrySetup setup_;
  EventSink& sink_;
  std::map<std::string, Stream> streams_;
  std::map<Window, Open> open_;
  Window next_window_ = 1;
  Alive alive_;
};

}  // namespace proctor
