// Samples the devices of the cases that run, at a steady rate, and hands each case its own figures. Nothing
// is sampled while no case has a device. At most one request is under way, so that a slow driver lowers the
// rate and delays no case.
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

// The samples of one device during one case, as the figures that its attempt reports. Pure.
class TelemetryWindow {
 public:
  void add(const DeviceSample& sample);
  // Notes why there are no samples. Samples that were added before stay.
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

// What the processes of a case used of the machine. `shared` says that they ran other cases too.
struct HostUsage;
std::vector<TelemetryFigure> host_figures(const HostUsage& usage, bool shared);

// Where the telemetry of one backend comes from: the library, through the contained child that watches the
// devices; if that library is missing, the vendor's tool. A source that hangs or fails is not asked again.
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
  std::string why_;  // why the last stage was left
  std::vector<Warning> warnings_;
  Alive alive_;
};

struct TelemetrySetup {
  int rate = 10;  // samples a second; 0: none
  ToolSetup tool;
  // The driver, or the tool, did not answer a question about these devices, or ended the child that asks. May be empty.
  std::function<void(const std::vector<std::string>& devices, const std::string& why)> on_silence{};
};

class Telemetry {
 public:
  Telemetry(boost::asio::io_context& io, Containment& containment, DeviceMonitor* monitor,
            TelemetrySetup setup, EventSink& sink);
  Telemetry(const Telemetry&) = delete;
  Telemetry& operator=(const Telemetry&) = delete;

  // A case begins on `devices`, and ends.
  using Window = std::uint64_t;
  Window begin(const std::vector<std::string>& devices);
  std::vector<DeviceTelemetry> end(Window window, const std::string& case_id);
  // How busy the device was at its last sample in the window, in percent; none if unknown.
  std::optional<double> utilisation(Window window, const std::string& device) const;
  // Stops sampling. `gone` is called when nothing of this object is left on the loop.
  void stop(std::function<void()> stopped);

 private:
  struct Open {
    Clock::time_point began;
    std::map<std::string, TelemetryWindow> devices;
  };
  struct Stream {  // of one backend
    std::unique_ptr<TelemetrySource> source;
    boost::asio::steady_timer next;
    Clock::time_point requested{};
    std::vector<std::string> about{};  // the devices of that request
    bool busy = false;                 // a request is under way, or its time is set
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
