#include "harness/devices/care/telemetry.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <set>
#include <utility>

namespace proctor {
namespace {

// "xpu:0000:03:00.0", "xpu-sim:0" -> "xpu"
std::string backend_of(const std::string& id) { return id.substr(0, id.find_first_of(":-")); }

}  // namespace

Telemetry::Telemetry(boost::asio::io_context& io, Containment& containment, DeviceMonitor* monitor,
                     TelemetrySetup setup, EventSink& sink)
    : io_(io), containment_(containment), monitor_(monitor), setup_(std::move(setup)), sink_(sink) {}

Telemetry::Window Telemetry::begin(const std::vector<std::string>& devices) {
  const Window window = next_window_++;
  if (setup_.rate == 0 || devices.empty()) return window;
  Open& open = open_[window];
  open.began = Clock::now();
  std::set<std::string> backends;
  for (const auto& device : devices) {
    open.devices.emplace(device, TelemetryWindow());
    backends.insert(backend_of(device));
  }
  for (const auto& backend : backends) go_on(backend);
  return window;
}

std::optional<double> Telemetry::utilisation(Window window, const std::string& device) const {
  const auto open = open_.find(window);
  if (open == open_.end()) return std::nullopt;
  const auto samples = open->second.devices.find(device);
  return samples == open->second.devices.end() ? std::nullopt : samples->second.last(Metric::kUtilisation);
}

std::vector<DeviceTelemetry> Telemetry::end(Window window, const std::string& case_id) {
  std::vector<DeviceTelemetry> devices;
  const auto open = open_.find(window);
  if (open == open_.end()) return devices;
  for (const auto& [device, samples] : open->second.devices) {
    devices.push_back({device, samples.figures()});
    for (const auto& figure : devices.back().figures) {
      if (figure.name != to_string(Metric::kEccErrors) || figure.delta.value_or(0) <= 0) continue;
      sink_.on(Warning{WarningCode::kDeviceErrors, fmt::format("{} counted {} uncorrected errors during {}",
                                                               device, *figure.delta, case_id)});
    }
  }
  open_.erase(open);
  return devices;
}

void Telemetry::stop(std::function<void()> gone) {
  alive_.renew();
  auto left = std::make_shared<std::size_t>(streams_.size());
  if (*left == 0) return boost::asio::post(io_, std::move(gone));
  for (auto& [backend, stream] : streams_) {
    stream.next.cancel();
    stream.source->stop([left, gone] {
      if (--*left == 0) gone();
    });
  }
}

Telemetry::Stream& Telemetry::stream_of(const std::string& backend) {
  const auto found = streams_.find(backend);
  if (found != streams_.end()) return found->second;
  Stream made{.source = std::make_unique<TelemetrySource>(io_, containment_, backend, monitor_, setup_.tool),
              .next = boost::asio::steady_timer(io_)};
  return streams_.emplace(backend, std::move(made)).first->second;
}

std::vector<std::string> Telemetry::watched(const std::string& backend) const {
  std::set<std::string> devices;
  for (const auto& [window, open] : open_) {
    for (const auto& [device, samples] : open.devices) {
      if (backend_of(device) == backend) devices.insert(device);
    }
  }
  return {devices.begin(), devices.end()};
}

// The next question, unless one is under way or nobody wants an answer.
void Telemetry::go_on(const std::string& backend) {
  Stream& stream = stream_of(backend);
  if (stream.busy || watched(backend).empty()) return;
  stream.busy = true;
  const auto period = std::max<Clock::duration>(std::chrono::microseconds(1'000'000 / setup_.rate),
                                                stream.source->least_period());
  stream.next.expires_at(stream.requested + period);
  stream.next.async_wait(alive_.guard([this, backend](const auto& error) {
    if (!error) request_sample(backend);
  }));
}

void Telemetry::request_sample(const std::string& backend) {
  Stream& stream = stream_of(backend);
  const auto devices = watched(backend);
  if (devices.empty()) {  // its case has ended meanwhile
    stream.busy = false;
    return;
  }
  stream.requested = Clock::now();
  stream.about = devices;
  stream.source->sample(
      devices, alive_.guard([this, backend](const Result<Sample>& sample) { on_sample(backend, sample); }));
}

void Telemetry::on_sample(const std::string& backend, const Result<Sample>& sample) {
  Stream& stream = stream_of(backend);
  stream.busy = false;
  for (const auto& warning : stream.source->take_warnings()) {
    sink_.on(warning);
    if (warning.code == WarningCode::kTelemetryTimeout && setup_.on_silence)
      setup_.on_silence(stream.about, warning.text);
  }
  for (auto& [window, open] : open_) {
    for (auto& [device, samples] : open.devices) {
      if (backend_of(device) != backend) continue;
      if (!sample) {
        samples.miss(sample.error().what);
        continue;
      }
      if (open.began > stream.requested) continue;  // it may be about the case before
      const auto found = sample->devices.find(device);
      if (found == sample->devices.end()) {
        samples.miss("the source does not know this device");
      } else {
        samples.add(found->second);
      }
    }
  }
  go_on(backend);
}

}  // namespace proctor
