#include "harness/devices/care/device_news.h"

namespace proctor {

void DeviceNews::note(const std::string& device, HealthFact what, const std::string& case_id,
                      const std::string& evidence, Milliseconds waited, std::uint64_t bytes) {
  const auto at = std::chrono::duration_cast<Milliseconds>(Clock::now() - run_started_);
  sink_.on(DeviceHealth{.device = device,
                        .what = what,
                        .case_id = case_id,
                        .at_ms = at.count(),
                        .wait_ms = waited.count(),
                        .bytes = bytes,
                        .evidence = evidence});
}

void DeviceNews::tell(const DeviceFinding& finding, const std::string& case_id,
                      const std::optional<Warning>& warning) {
  if (!warning) return;
  note(finding.device, fact_of(finding.settled), case_id, warning->text, finding.waited, finding.left_bytes);
  warn(*warning);
}

}  // namespace proctor
