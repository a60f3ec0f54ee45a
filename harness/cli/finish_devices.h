// The devices of a run that did not look after them itself any more: whether the memory that its cases had on
// them has come back. For `proctor finish`.
#pragma once

#include <string>
#include <vector>

#include "harness/core/duration.h"
#include "reports/run_model.h"

namespace proctor::cli {

struct DevicesAfter {
  bool back = true;  // false as well when nobody could look
  std::vector<std::string> said{};
};

// Looks until no more memory is in use than before the first case, or for `limit`. A device that another run
// holds by now is not waited for.
DevicesAfter wait_for_devices(const RunModel& model, const std::string& run_dir, Milliseconds limit);

}  // namespace proctor::cli
