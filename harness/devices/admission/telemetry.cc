#include "harness/devices/admission/telemetry.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cmath>
#include <set>
#include <utility>

#include "harness/process/host_usage.h"

namespace proctor {
namespace {

// Returns true for a rate that covers the time before the case. Sysman counts energy and activity, so the
// rates of its first sample do.
bool is_of_the_time_before(Metric metric, const MetricReading& read) {
  return (metric == Metric::kUtilisation || metric == Metric::kPower) && read.source == "sysman";
}

double rounded(double value) { return std::round(value * 1000) / 1000; }

}  // namespace

void TelemetryWindow::add(const DeviceSample& sample) {
  const bool first = !std::exchange(begun_, true);
  for (const Metric metric : kAllMetrics) {
    const MetricReading& read = reading(sample, metric);
    Series& series = series_[static_cast<std::size_t>(metric)];
    if (first && is_of_the_time_before(metric, read)) {
      series.why = "a rate needs two samples";
      continue;
    }
    if (!read.value) {
      series.why = read.reason;
      continue;
    }
    if (series.samples++ == 0) series.first = series.peak = *read.value;
    series.last = *read.value;
    series.sum += *read.value;
    series.peak = std::max(series.peak, *read.value);
    series.words.insert(read.words.begin(), read.words.end());
    series.source = read.source;
  }
}

void TelemetryWindow::miss(const std::string& why) {
  for (auto& series : series_) series.why = why;
}

TelemetryFigure TelemetryWindow::figure(Metric metric, const Series& series) {
  TelemetryFigure figure;
  figure.name = to_string(metric);
  figure.unit = unit_of(metric);
  figure.samples = series.samples;
  figure.source = series.source;
  if (series.samples == 0) {
    figure.note = series.why.empty() ? "the case ended before a sample was taken" : series.why;
    return figure;
  }
  figure.seen.assign(series.words.begin(), series.words.end());
  if (metric == Metric::kThrottle) return figure;
  figure.first = rounded(series.first);
  figure.last = rounded(series.last);
  if (metric == Metric::kEccErrors) {
    figure.delta = *figure.last - *figure.first;
  } else {
    figure.mean = rounded(series.sum / static_cast<double>(series.samples));
    figure.peak = rounded(series.peak);
  }
  return figure;
}

std::optional<double> TelemetryWindow::last(Metric metric) const {
  const Series& series = series_[static_cast<std::size_t>(metric)];
  return series.samples > 0 ? std::optional(series.last) : std::nullopt;
}

std::vector<TelemetryFigure> TelemetryWindow::figures() const {
  std::vector<TelemetryFigure> figures;
  for (const Metric metric : kAllMetrics)
    figures.push_back(figure(metric, series_[static_cast<std::size_t>(metric)]));
  return figures;
}

std::vector<TelemetryFigure> host_figures(const HostUsage& usage, bool shared) {
  TelemetryFigure cpu;
  cpu.name = "cpu_time";
  cpu.unit = "s";
  TelemetryFigure memory;
  memory.name = "host_memory";
  memory.unit = "bytes";
  if (shared || (!usage.cpu_s && !usage.peak_bytes)) {
    cpu.note = memory.note =
        shared ? "its process ran other cases, too" : "the end of its leader was not observed";
    return {cpu, memory};
  }
  if (usage.cpu_s) {
    cpu.source = usage.cpu_source;
    cpu.samples = 1;
    cpu.delta = rounded(*usage.cpu_s);
    if (cpu.source == "rusage") cpu.note = "of the leader and the children that it waited for";
  } else {
    cpu.note = "the cgroup does not report it";
  }
  if (usage.peak_bytes) {
    memory.source = usage.peak_source;
    memory.samples = 1;
    memory.peak = static_cast<double>(*usage.peak_bytes);
    memory.note = memory.source == "rusage"
                      ? "resident set of the largest of the leader and the children that it waited for"
                      : "of the whole tree, with its page cache";
  } else {
    memory.note = "the cgroup does not report it";
  }
  std::vector<TelemetryFigure> figures{cpu, memory};
  const auto add = [&](const char* name, std::optional<double> seconds, const std::string& source) {
    if (!seconds) return;
    TelemetryFigure& figure = figures.emplace_back();
    figure.name = name;
    figure.unit = "s";
    figure.source = source;
    figure.samples = 1;
    figure.delta = rounded(*seconds);
  };
  add("cpu_wait", usage.cpu_wait_s, usage.wait_source);
  add("memory_wait", usage.memory_wait_s, usage.wait_source);
  add("disk_wait", usage.disk_wait_s, usage.wait_source);
  add("frozen", usage.frozen_s, "runner");
  return figures;
}

namespace {

constexpr const char* kXpu = "xpu";

const ToolDialect& tool_of(const std::string& backend) { return backend == kXpu ? xpu_smi() : nvidia_smi(); }

}  // namespace

TelemetrySource::TelemetrySource(boost::asio::io_context& io, Containment& containment,
                                 const std::string& backend, DeviceMonitor* monitor, ToolSetup tool)
    : io_(io),
      backend_(backend),
      monitor_(monitor),
      tool_(io, containment, tool_of(backend), std::move(tool)) {
  if (monitor_ != nullptr) return;
  stage_ = Stage::kTool;
  why_ = "no library can be queried here";
}

void TelemetrySource::sample(const std::vector<std::string>& ids, OnSample on_sample) {
  switch (stage_) {
    case Stage::kLibrary:
      return request_from_library(ids, std::move(on_sample));
    case Stage::kTool:
      return request_from_tool(ids, std::move(on_sample));
    case Stage::kNothing:
      boost::asio::post(io_, [on_sample = std::move(on_sample), why = why_] {
        on_sample(Error{ErrorKind::kSystem, why, "", 0});
      });
  }
}

void TelemetrySource::request_from_library(const std::vector<std::string>& ids, OnSample on_sample) {
  monitor_->sample(ids, alive_.guard([this, ids, on_sample](const Result<Sample>& sample) {
    if (!sample) {
      warnings_.push_back({WarningCode::kTelemetryTimeout,
                           "failed to " + sample.error().what +
                               "; it is not queried for telemetry again, and its values are missing"});
      return on_sample(give_up(sample.error().what));
    }
    if (sample->missing.empty()) return on_sample(sample);
    stage_ = Stage::kTool;
    why_ = sample->missing;
    request_from_tool(ids, on_sample);
  }));
}

void TelemetrySource::request_from_tool(const std::vector<std::string>& ids, OnSample on_sample) {
  const std::string real = backend_ + ":";
  const bool simulated =
      std::any_of(ids.begin(), ids.end(), [&](const std::string& id) { return !id.starts_with(real); });
  if (simulated) {
    why_ += "; no tool supports simulated devices";
    stage_ = Stage::kNothing;
    return sample(ids, std::move(on_sample));
  }
  tool_.sample(ids, alive_.guard([this, on_sample = std::move(on_sample)](const Result<Sample>& sample) {
    for (auto& warning : tool_.take_warnings()) warnings_.push_back(std::move(warning));
    if (sample) return on_sample(sample);
    on_sample(give_up(why_ + "; " + sample.error().what));
  }));
}

Error TelemetrySource::give_up(const std::string& why) {
  stage_ = Stage::kNothing;
  why_ = why;
  return Error{ErrorKind::kSystem, why, "", 0};
}

void TelemetrySource::stop(std::function<void()> stopped) {
  alive_.renew();
  tool_.stop(std::move(stopped));
}

namespace {

// Returns the backend of an id: "xpu:0000:03:00.0", "xpu-sim:0" -> "xpu".
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

void Telemetry::stop(std::function<void()> stopped) {
  alive_.renew();
  auto left = std::make_shared<std::size_t>(streams_.size());
  if (*left == 0) return boost::asio::post(io_, std::move(stopped));
  for (auto& [backend, stream] : streams_) {
    stream.next.cancel();
    stream.source->stop([left, stopped] {
      if (--*left == 0) stopped();
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

// Requests the next sample, unless a request is under way or no case has a device of this backend.
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
  if (devices.empty()) {  // the case has ended in the meantime
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
      if (open.began > stream.requested) continue;  // the sample may be about the case before
      const auto found = sample->devices.find(device);
      if (found == sample->devices.end()) {
        samples.miss("the source does not list this device");
      } else {
        samples.add(found->second);
      }
    }
  }
  go_on(backend);
}

}  // namespace proctor
