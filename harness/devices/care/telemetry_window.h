// The samples of one device during one case, as the figures that its attempt reports. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/devices/telemetry/telemetry_sample.h"
#include "harness/journal/events.h"

namespace proctor {

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

}  // namespace proctor
