#include "harness/devices/care/telemetry_window.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "harness/process/host_usage.h"

namespace proctor {
namespace {

// Sysman counts energy and activity: its rates of a first sample are of the time before.
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
    cpu.note = "the cgroup does not say";
  }
  if (usage.peak_bytes) {
    memory.source = usage.peak_source;
    memory.samples = 1;
    memory.peak = static_cast<double>(*usage.peak_bytes);
    memory.note = memory.source == "rusage"
                      ? "resident set of the largest of the leader and the children that it waited for"
                      : "of the whole tree, with its page cache";
  } else {
    memory.note = "the cgroup does not say";
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

}  // namespace proctor
