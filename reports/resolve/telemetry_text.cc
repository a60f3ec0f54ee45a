#include "reports/resolve/telemetry_text.h"

#include <fmt/format.h>

namespace proctor {
namespace {

std::string size_text(double bytes) {
  constexpr double kMib = 1024.0 * 1024;
  return bytes < 1024 * kMib ? fmt::format("{:.0f} MiB", bytes / kMib)
                             : fmt::format("{:.1f} GiB", bytes / kMib / 1024);
}

std::string words_text(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

// What people look for; a clock alone tells nobody anything.
std::string figure_text(const TelemetryFigure& figure) {
  if (figure.name == "throttle") return figure.seen.empty() ? "" : "held back by " + words_text(figure.seen);
  if (figure.name == "cpu_time") return figure.delta ? fmt::format("{:.1f} s CPU", *figure.delta) : "";
  if (figure.name == "ecc_errors")
    return figure.delta.value_or(0) > 0 ? fmt::format("{} uncorrected errors", *figure.delta) : "";
  if (!figure.peak) return "";
  if (figure.name == "memory_used") return "memory up to " + size_text(*figure.peak);
  if (figure.name == "host_memory") return size_text(*figure.peak);
  if (figure.name == "utilisation") return fmt::format("{:.0f} % busy", figure.mean.value_or(*figure.peak));
  if (figure.name == "temperature") return fmt::format("{:.0f} C", *figure.peak);
  if (figure.name == "power") return fmt::format("{:.0f} W", *figure.peak);
  return "";
}

void add(std::string& text, const std::string& title, const std::vector<TelemetryFigure>& figures) {
  std::string part;
  for (const auto& figure : figures) {
    const std::string one = figure_text(figure);
    if (!one.empty()) part += (part.empty() ? "" : ", ") + one;
  }
  if (!part.empty()) text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", title, part);
}

}  // namespace

std::string telemetry_text(const TelemetryInfo& telemetry) {
  std::string text;
  for (const auto& device : telemetry.devices) add(text, device.device, device.figures);
  add(text, "host", telemetry.host);
  return text;
}

}  // namespace proctor
