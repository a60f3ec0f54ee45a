// Samples the devices of the cases that run, at a steady rate, and hands each case its own figures. Nothing
// is sampled while no case has a device. At most one request is under way, so that a slow driver lowers the
// rate and delays no case.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/alive.h"
#include "harness/base/clock.h"
#include "harness/devices/care/telemetry_source.h"
#include "harness/devices/care/telemetry_window.h"
#include "harness/journal/events.h"

namespace proctor {

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
  void stop(std::function<void()> gone);

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
